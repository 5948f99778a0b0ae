"""What a user writes: Pinocchio for the matrices, then ``sqrtm`` and ``pinv`` as in the papers.

Udwadia and Kalaba's equation for the contacts, Chen's for the motors, formula by formula; nothing
is computed twice.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import scipy
from protocol import Case, Tick, serve
from scipy.linalg import pinv, sqrtm


class Script:
    """The controller of a case."""

    def __init__(self, case: Case) -> None:
        free = (pin.JointModelFreeFlyer(),) if case["floating"] else ()
        self.model = pin.buildModelFromUrdf(case.urdf, *free)
        self.model.gravity.linear = np.array(case["gravity"])
        self.data = self.model.createData()
        self.case, self.rule = case, case["rule"]
        self.q, self.v = np.array(case["q"]), np.array(case["v"])
        self.tasks = [
            (self.model.getFrameId(task["frame"]), task["rows"], *arrays(task, "rotation"))
            for task in case["tasks"]
        ]
        self.joints = [
            (*self.indices(task["joints"]), *arrays(task)) for task in case["joint_tasks"]
        ]
        self.contacts = [
            (self.model.getFrameId(contact["frame"]), 3 if contact["type"] == "point" else 6)
            for contact in case["contacts"]
        ]
        self.B = np.eye(self.model.nv)[:, self.indices(case["joints"])[1]]
        self.still = np.zeros(self.model.nv)

    def indices(self, names: list[str]) -> tuple[list[int], list[int]]:
        """Return where joints are in q and in v."""
        joints = [self.model.joints[self.model.getJointId(name)] for name in names]
        return [joint.idx_q for joint in joints], [joint.idx_v for joint in joints]

    def frame(self, at: int):
        """Return Jacobian, drift and place."""
        axes = pin.LOCAL_WORLD_ALIGNED
        J = pin.getFrameJacobian(self.model, self.data, at, axes)
        drift = pin.getFrameClassicalAcceleration(self.model, self.data, at, axes).vector
        return J, drift, self.data.oMf[at]

    def task_rows(self, k: int, q, v):
        """Return ``A`` and ``b``, stabilised after Baumgarte."""
        alpha, beta = self.case["gains"]["alpha"], self.case["gains"]["beta"]
        A, b = [], []
        for at, rows, position, velocity, acceleration, rotation in self.tasks:
            J, drift, place = self.frame(at)
            turned = pin.log3(place.rotation @ rotation[k].reshape(3, 3).T)
            error = np.concatenate([place.translation - position[k], turned])
            wanted = acceleration[k] - alpha * (J @ v - velocity[k]) - beta * error
            A.append(J[rows])
            b.append((wanted - drift)[rows])
        for at_q, at_v, position, velocity, acceleration in self.joints:
            error, rate = q[at_q] - position[k], v[at_v] - velocity[k]
            A.append(np.eye(len(v))[at_v])
            b.append(acceleration[k] - alpha * rate - beta * error)
        return np.vstack(A), np.concatenate(b)

    def contact_rows(self, v):
        """Return ``A`` and ``b`` of the contacts, stabilised likewise."""
        alpha, beta = self.case["contact_gains"]["alpha"], self.case["contact_gains"]["beta"]
        A, b = [], []
        for at, size in self.contacts:
            J, drift, place = self.frame(at)
            right = -drift - alpha * (J @ v)
            right[2] -= beta * place.translation[2]
            A.append(J[:size])
            b.append(right[:size])
        return np.vstack(A), np.concatenate(b)

    def torque(self, k: int):
        """Return the torques of state k."""
        q, v, model, data = self.q[k], self.v[k], self.model, self.data
        pin.computeAllTerms(model, data, q, v)
        pin.forwardKinematics(model, data, q, v, self.still)
        pin.updateFramePlacements(model, data)
        M, nle = data.M, data.nle
        A, b = self.task_rows(k, q, v)
        if self.rule["kind"] == "resolved":
            wish = self.rule["kp"] * (np.array(self.rule["q"]) - q) - self.rule["kd"] * v
            return M @ (wish + pinv(A) @ (b - A @ wish)) + nle
        half = np.linalg.inv(np.real(sqrtm(M)))
        a, G = -half @ half @ nle, half @ half @ self.B
        if self.contacts:
            A_p, b_p = self.contact_rows(v)
            back = half @ pinv(A_p @ half)
            a, G = a + back @ (b_p - A_p @ a), G - back @ (A_p @ G)
        return pinv(A @ G) @ (b - A @ a)


def arrays(task, *more: str):
    """Return the references of a task."""
    return [np.array(task[name]) for name in ("position", "velocity", "acceleration", *more)]


def prepare(case: Case) -> Tick:
    """Make the controller."""
    return Script(case).torque


def versions() -> str:
    """Return what ran."""
    return f"pin {pin.__version__}, numpy {np.__version__}, scipy {scipy.__version__}"


if __name__ == "__main__":
    serve(prepare, versions)
