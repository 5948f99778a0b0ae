"""Reference torques by one dense linear system, from Pinocchio's own frame functions.

With unknowns ``x = (a, u, lam)``, the equation of motion, the contacts and the task are equality
constraints ``C x = d``; what is least is a quadratic ``x' Q x / 2 - c' x``. The optimum solves

    [Q  C'] [x ]   [c]
    [C  0 ] [mu] = [d].

Nothing is eliminated, no matrix is factored cleverly and nothing comes from ukctrl.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin


class Model:
    """A case's robot in Pinocchio, with the rows of its task and contacts."""

    def __init__(self, file: Path) -> None:
        self.case: dict[str, Any] = json.loads(file.read_text())
        case = self.case
        urdf = str(file.parent / case["urdf"])
        free = pin.JointModelFreeFlyer()
        self.model = (
            pin.buildModelFromUrdf(urdf, free) if case["floating"] else pin.buildModelFromUrdf(urdf)
        )
        self.model.gravity.linear = np.array(case["gravity"])
        self.data = self.model.createData()
        model = self.model
        self.motors = [model.joints[model.getJointId(name)].idx_v for name in case["joints"]]
        along = np.eye(model.nv)[:, self.motors]
        self.B = along @ np.array(case["spread"])

    def evaluate(self, k: int) -> tuple[np.ndarray, ...]:
        """Return ``M, nle, A, b, A_p, b_p`` of state k."""
        model, data, case = self.model, self.data, self.case
        q, v = np.array(case["q"][k]), np.array(case["v"][k])
        pin.computeAllTerms(model, data, q, v)
        pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
        pin.updateFramePlacements(model, data)
        alpha, beta = case["gains"]["alpha"], case["gains"]["beta"]
        A, b = [np.zeros((0, model.nv))], [np.zeros(0)]
        for task in case["tasks"]:
            J, drift, placed = self.frame(task["frame"])
            R = np.array(task["rotation"][k]).reshape(3, 3)
            turned = pin.log3(placed.rotation @ R.T)
            error = np.concatenate([placed.translation - task["position"][k], turned])
            error_dot = J @ v - task["velocity"][k]
            demand = np.array(task["acceleration"][k]) - alpha * error_dot - beta * error
            A.append(J[task["rows"]])
            b.append((demand - drift)[task["rows"]])
        for task in case["joint_tasks"]:
            joints = [model.joints[model.getJointId(name)] for name in task["joints"]]
            error = q[[joint.idx_q for joint in joints]] - task["position"][k]
            error_dot = v[[joint.idx_v for joint in joints]] - task["velocity"][k]
            A.append(np.eye(model.nv)[[joint.idx_v for joint in joints]])
            b.append(task["acceleration"][k] - alpha * error_dot - beta * error)
        alpha, beta = case["contact_gains"]["alpha"], case["contact_gains"]["beta"]
        A_p, b_p = [np.zeros((0, model.nv))], [np.zeros(0)]
        for contact in case["contacts"]:
            J, drift, placed = self.frame(contact["frame"])
            right = -drift - alpha * (J @ v)
            for row, place in contact["held_at"]:
                right[row] -= beta * (placed.translation[row] - place)
            A_p.append(J[contact["rows"]])
            b_p.append(right[contact["rows"]])
        return (
            data.M.copy(), data.nle.copy(), np.vstack(A), np.concatenate(b),
            np.vstack(A_p), np.concatenate(b_p),
        )  # fmt: skip

    def frame(self, name: str) -> tuple[np.ndarray, np.ndarray, pin.SE3]:
        """Return Jacobian, drift and place of a frame, in world axes."""
        model, data, axes = self.model, self.data, pin.LOCAL_WORLD_ALIGNED
        at = model.getFrameId(name)
        J = pin.getFrameJacobian(model, data, at, axes)
        return J, pin.getFrameClassicalAcceleration(model, data, at, axes).vector, data.oMf[at]

    def missed(self, k: int, u: np.ndarray) -> float:
        """Return by how much torques miss what the task demands of accelerations."""
        _, _, A, b, _, _ = self.evaluate(k)
        return float(np.abs(A @ acceleration(self, k, u) - b).max())

    def tool(self, q: np.ndarray) -> np.ndarray:
        """Return where the task's frame is."""
        data, at = self.model.createData(), self.model.getFrameId(self.case["tasks"][0]["frame"])
        pin.framesForwardKinematics(self.model, data, q)
        return np.array(data.oMf[at].translation)

    def wished(self, k: int) -> np.ndarray:
        """Return what pulls to the posture: an acceleration, or with `gauss` motors' torques."""
        rule, q, v = self.case["rule"], np.array(self.case["q"][k]), np.array(self.case["v"][k])
        wish: np.ndarray = rule["kp"] * (np.array(rule["q"]) - q) - rule["kd"] * v
        if rule["kind"] == "gauss":
            wish += pin.computeGeneralizedGravity(self.model, self.model.createData(), q)
        return wish


def optimum(model: Model, k: int) -> np.ndarray:
    """Return the torques of state k."""
    M, nle, A, b, A_p, b_p = model.evaluate(k)
    B = model.B
    nv, nu, rows = len(M), B.shape[1], len(A_p)
    size = nv + nu + rows
    C = np.block(
        [
            [M, -B, -A_p.T],
            [A_p, np.zeros((rows, nu + rows))],
            [A, np.zeros((len(A), nu + rows))],
        ]
    )
    d = np.concatenate([-nle, b_p, b])
    Q, c = np.zeros((size, size)), np.zeros(size)
    if model.case["rule"]["kind"] == "resolved":
        Q[:nv, :nv] = np.eye(nv)
        c[:nv] = model.wished(k)
    else:  # the least of u' R u, or of (u - u_0)' R (u - u_0)
        gauss = model.case["rule"]["kind"] == "gauss"
        R = np.linalg.inv(M)[np.ix_(model.motors, model.motors)] if gauss else np.eye(nu)
        Q[nv : nv + nu, nv : nv + nu] = R
        c[nv : nv + nu] = R @ model.wished(k) if gauss else 0.0
    whole = np.block([[Q, C.T], [C, np.zeros((len(C), len(C)))]])
    x = np.linalg.solve(whole, np.concatenate([c, d]))
    return x[nv : nv + nu]


def acceleration(model: Model, k: int, u: np.ndarray) -> np.ndarray:
    """Return the acceleration that torques give, contacts held."""
    M, nle, _, _, A_p, b_p = model.evaluate(k)
    whole = np.block([[M, -A_p.T], [A_p, np.zeros((len(A_p), len(A_p)))]])
    return np.linalg.solve(whole, np.concatenate([model.B @ u - nle, b_p]))[: len(M)]


def reference(file: Path) -> list[list[float]]:
    """Return the torques of every state of a case."""
    model = Model(file)
    return [optimum(model, k).tolist() for k in range(len(model.case["t"]))]
