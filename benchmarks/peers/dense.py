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
        self.B = np.zeros((model.nv, len(self.motors)))
        self.B[self.motors, range(len(self.motors))] = 1.0

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
            size = 3 if contact["type"] == "point" else 6
            J, drift, placed = self.frame(contact["frame"])
            right = -drift - alpha * (J @ v)
            right[2] -= beta * placed.translation[2]
            A_p.append(J[:size])
            b_p.append(right[:size])
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

    def wished(self, k: int) -> np.ndarray:
        """Return the acceleration that the rule ``resolved`` wishes for."""
        rule, case = self.case["rule"], self.case
        return rule["kp"] * (np.array(rule["q"]) - case["q"][k]) - rule["kd"] * np.array(
            case["v"][k]
        )


def optimum(model: Model, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return torques and accelerations of state k."""
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
    else:
        Q[nv : nv + nu, nv : nv + nu] = np.eye(nu)
    whole = np.block([[Q, C.T], [C, np.zeros((len(C), len(C)))]])
    x = np.linalg.solve(whole, np.concatenate([c, d]))
    return x[nv : nv + nu], x[:nv]


def acceleration(model: Model, k: int, u: np.ndarray) -> np.ndarray:
    """Return the acceleration that torques give, contacts held."""
    M, nle, _, _, A_p, b_p = model.evaluate(k)
    whole = np.block([[M, -A_p.T], [A_p, np.zeros((len(A_p), len(A_p)))]])
    return np.linalg.solve(whole, np.concatenate([model.B @ u - nle, b_p]))[: len(M)]


def reference(file: Path) -> tuple[list[list[float]], list[list[float]]]:
    """Return torques and accelerations of every state of a case."""
    model = Model(file)
    found = [optimum(model, k) for k in range(len(model.case["t"]))]
    return [u.tolist() for u, _ in found], [a.tolist() for _, a in found]
