"""What a user writes: Pinocchio for the matrices, then ``sqrtm`` and ``pinv`` as in the papers.

Udwadia and Kalaba's equation for contacts and closures, Chen's for the motors, formula by formula.
Nothing is computed twice, and Pinocchio is asked for nothing that the equations do not need.
Motions are SciPy's, or RK4 with Pinocchio's own forward dynamics.
"""

from __future__ import annotations

from functools import partial

import numpy as np
import pinocchio as pin
import scipy
from loops import Arms, panda_loops, pinocchio_plant
from protocol import Case, Contestant, serve
from scipy.linalg import pinv, sqrtm

AXES = pin.LOCAL_WORLD_ALIGNED


class Script:
    """The controller of a case."""

    def __init__(self, case: Case) -> None:
        free = (pin.JointModelFreeFlyer(),) if case["floating"] else ()
        self.model = pin.buildModelFromUrdf(case.urdf, *free)
        self.model.gravity.linear = np.array(case["gravity"])
        self.data = self.model.createData()
        self.case, self.rule = case, case["rule"]
        self.q, self.v = np.array(case["q"]), np.array(case["v"])
        self.tasks, self.identity = case.references(), np.eye(self.model.nv)
        self.frames = [(self.model.getFrameId(t["frame"]), t["rows"]) for t in case["tasks"]]
        self.joints = [
            (*self.indices(task["joints"]), *(np.array(task[name]) for name in REFERENCES))
            for task in case["joint_tasks"]
        ]
        self.contacts = [
            (self.model.getFrameId(of["frame"]), of["rows"], of["held_at"])
            for of in case["contacts"]
        ]
        self.B = np.ascontiguousarray(
            self.identity[:, self.indices(case["joints"])[1]] @ case.spread()
        )
        self.rest, self.still = np.array(self.rule.get("q", [])), np.zeros(self.model.nv)

    def indices(self, names: list[str]) -> tuple[list[int], list[int]]:
        """Return where joints are in q and in v."""
        joints = [self.model.joints[self.model.getJointId(name)] for name in names]
        return [joint.idx_q for joint in joints], [joint.idx_v for joint in joints]

    def frame(self, at: int):
        """Return Jacobian, drift and place."""
        J = pin.getFrameJacobian(self.model, self.data, at, AXES)
        drift = pin.getFrameClassicalAcceleration(self.model, self.data, at, AXES).vector
        return J, drift, self.data.oMf[at]

    def task_rows(self, q, v, k: int, tasks):
        """Return ``A`` and ``b``, stabilised after Baumgarte."""
        alpha, beta = self.case["gains"]["alpha"], self.case["gains"]["beta"]
        A, b = [], []
        for (at, rows), task in zip(self.frames, tasks, strict=True):
            J, drift, place = self.frame(at)
            turned = pin.log3(place.rotation @ task["rotation"][k].T)
            error = np.concatenate([place.translation - task["position"][k], turned])
            twist = J @ v
            rate = twist - task["velocity"][k]
            wanted = task["acceleration"][k] - alpha * rate - beta * error
            if task["turning"]:  # the error is one that the frame sees
                wanted[3:] += cross(twist[3:], rate[3:])
            A.append(J[rows])
            b.append((wanted - drift)[rows])
        for at_q, at_v, position, velocity, acceleration in self.joints:
            error, rate = q[at_q] - position[k], v[at_v] - velocity[k]
            A.append(self.identity[at_v])
            b.append(acceleration[k] - alpha * rate - beta * error)
        return (A[0], b[0]) if len(A) == 1 else (np.vstack(A), np.concatenate(b))

    def contact_rows(self, v):
        """Return ``A`` and ``b`` of the contacts, stabilised likewise."""
        alpha, beta = self.case["contact_gains"]["alpha"], self.case["contact_gains"]["beta"]
        A, b = [], []
        for at, rows, held in self.contacts:
            J, drift, place = self.frame(at)
            right = -drift - alpha * (J @ v)
            for row, where in held:
                right[row] -= beta * (place.translation[row] - where)
            A.append(J[rows])
            b.append(right[rows])
        return np.vstack(A), np.concatenate(b)

    def motion(self, q, v, k: int, tasks):
        """Return the torques, and the acceleration that they give."""
        model, data = self.model, self.data
        pin.computeAllTerms(model, data, q, v)
        pin.forwardKinematics(model, data, q, v, self.still)
        pin.updateFramePlacements(model, data)
        M, nle = data.M, data.nle
        A, b = self.task_rows(q, v, k, tasks)
        if self.rule["kind"] == "resolved":
            return self.resolved(
                M, nle, A, b, self.rule["kp"] * (self.rest - q) - self.rule["kd"] * v
            )
        if self.rule["kind"] == "gauss":
            u = self.rule["kp"] * (self.rest - q) - self.rule["kd"] * v
            u += pin.computeGeneralizedGravity(model, data, q)
            return self.gauss(M, nle, A, b, u)
        return self.effort(M, nle, A, b, *(self.contact_rows(v) if self.contacts else (None, None)))

    def resolved(self, M, nle, A, b, wish):
        """Return what keeps accelerations next to those wished for."""
        a = wish + pinv(A) @ (b - A @ wish)
        return M @ a + nle, a

    def gauss(self, M, nle, A, b, u):
        """Return what Gauss' principle adds to torques, and the acceleration left to the plant."""
        half = np.real(sqrtm(M))
        a = np.linalg.solve(M, u - nle)
        return u + half @ pinv(A @ np.linalg.inv(half)) @ (b - A @ a), None

    def effort(self, M, nle, A, b, A_p, b_p):
        """Return the least torques, and the acceleration."""
        half = np.linalg.inv(np.real(sqrtm(M)))
        a, G = -half @ half @ nle, half @ half @ self.B
        if A_p is not None:
            back = half @ pinv(A_p @ half)
            a, G = a + back @ (b_p - A_p @ a), G - back @ (A_p @ G)
        u = pinv(A @ G) @ (b - A @ a)
        return u, a + G @ u

    def torque(self, q, v, k: int, tasks):
        """Return the torques."""
        return self.motion(q, v, k, tasks)[0]

    def tick(self, k: int):
        """Return the torques of state k."""
        return self.motion(self.q[k], self.v[k], k, self.tasks)[0]


def cross(a, b):
    """Return ``a x b``, sooner than NumPy does."""
    (x, y, z), (p, q, r) = a.tolist(), b.tolist()
    return np.array([y * r - z * q, z * p - x * r, x * q - y * p])


REFERENCES = ("position", "velocity", "acceleration")


def contestant(case: Case, made: Script) -> Contestant:
    """Return what a script can run."""
    loops = {}
    if case["name"] == "arms":
        loops = Arms(case, made.motion).loops(adaptive=True)
    if case["name"] == "panda":
        loops = panda_loops(case, made.torque, partial(pinocchio_plant, case))
    return Contestant(made.tick, loops)


def prepare(case: Case) -> Contestant:
    """Make the controller."""
    return contestant(case, Script(case))


def versions() -> str:
    """Return what ran."""
    return f"pin {pin.__version__}, numpy {np.__version__}, scipy {scipy.__version__}"


if __name__ == "__main__":
    serve(prepare, versions)
