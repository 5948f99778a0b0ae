"""A tick of an operational-space script on MuJoCo: its matrices and Jacobians, then NumPy.

MuJoCo's own contacts are soft and take no part: feet are rows of the script's equation.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from functools import partial
from pathlib import Path

import mujoco
import numpy as np
from loops import STEP, Arms, panda_loops
from operational_space import contact_motion, demand, gauss_torque, joint_acceleration
from protocol import Case, Contestant, references, serve


def compiled(case: Case) -> mujoco.MjModel:
    """Return the model of the same URDF; a floating base gets its joint."""
    root = ET.parse(Path(case.urdf)).getroot()
    options = ET.SubElement(ET.SubElement(root, "mujoco"), "compiler")
    options.set("fusestatic", "false")
    options.set("balanceinertia", "false")
    spec = mujoco.MjSpec.from_string(ET.tostring(root, encoding="unicode"))
    if case["floating"]:
        spec.worldbody.bodies[0].add_freejoint()
    spec.option.gravity = case["gravity"]
    spec.option.timestep, spec.option.integrator = STEP, mujoco.mjtIntegrator.mjINT_RK4
    spec.option.disableflags = mujoco.mjtDisableBit.mjDSBL_CONSTRAINT  # and the search for contacts
    return spec.compile()


class OperationalSpace:
    """The controller of a case."""

    def __init__(self, case: Case) -> None:
        self.case, self.model = case, compiled(case)
        self.data = mujoco.MjData(self.model)
        model = self.model
        joints = [model.joint(name) for name in case["joints"]]
        at_q, at_v = [j.qposadr[0] for j in joints], [j.dofadr[0] for j in joints]
        self.at_q, self.at_v = np.array(at_q), np.array(at_v)
        self.states = [self.state(np.array(q), np.array(v)) for q, v in zip_states(case)]
        self.tasks = [(self.place(task["frame"]), task["rows"]) for task in case["tasks"]]
        self.references, self.rest = case.references(), np.array(case["rule"].get("q", []))
        self.joints = []
        for task in case["joint_tasks"]:
            of = [case["joints"].index(name) for name in task["joints"]]
            self.joints.append((self.at_q[of], self.at_v[of], references(task)))
        self.contacts = [
            (self.place(contact["frame"]), contact["rows"], contact["held_at"])
            for contact in case["contacts"]
        ]
        n = model.nv
        self.B = np.eye(n)[:, self.at_v] @ case.spread()
        self.M, self.weight = np.zeros((n, n)), np.zeros(n)
        self.J, self.J_dot = np.zeros((6, n)), np.zeros((6, n))

    def place(self, frame: str) -> int:
        """Return the body of a frame; its origin is that of the link."""
        return self.model.body(frame).id

    def state(self, q, v):
        """Return a state in MuJoCo's coordinates: scalar first, linear velocity in the world."""
        qpos, qvel = np.zeros(self.model.nq), np.zeros(self.model.nv)
        joints = len(self.at_q)
        if self.case["floating"]:
            qpos[:3], qpos[3:7] = q[:3], np.roll(q[3:7], 1)
            R = np.empty(9)
            mujoco.mju_quat2Mat(R, qpos[3:7])
            qvel[:3], qvel[3:6] = R.reshape(3, 3) @ v[:3], v[3:6]
        qpos[self.at_q], qvel[self.at_v] = q[-joints:], v[-joints:]
        return qpos, qvel

    def frame(self, body: int, v):
        """Return Jacobian, drift, position and rotation, in world axes."""
        model, data, J, J_dot = self.model, self.data, self.J, self.J_dot
        position = data.xpos[body]
        mujoco.mj_jac(model, data, J[:3], J[3:], position, body)
        mujoco.mj_jacDot(model, data, J_dot[:3], J_dot[3:], position, body)
        return J.copy(), J_dot @ v, position, data.xmat[body].reshape(3, 3)

    def tick(self, k: int):
        """Return the torques of state k."""
        return self.motion(*self.states[k], k, self.references)[0]

    def torque(self, q, v, k: int, tasks):
        """Return the torques."""
        return self.motion(q, v, k, tasks)[0]

    def motion(self, q, v, k: int, tasks):
        """Return the torques, and the acceleration where it falls off."""
        model, data, case = self.model, self.data, self.case
        data.qpos[:], data.qvel[:] = q, v
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_makeM(model, data)
        mujoco.mj_comVel(model, data)
        mujoco.mj_rne(model, data, 0, data.qfrc_bias)
        mujoco.mj_fullM(model, data, self.M)
        M, nle, A, b = self.M, data.qfrc_bias, [], []
        for (body, rows), task in zip(self.tasks, tasks, strict=True):
            J, drift, position, rotation = self.frame(body, v)
            wanted = demand(case["gains"], task, k, J, drift, position, rotation, v)
            A.append(J[rows])
            b.append(wanted[rows])
        gains = case["gains"]
        for at_q, at_v, task in self.joints:
            error, rate = q[at_q] - task["position"][k], v[at_v] - task["velocity"][k]
            A.append(np.eye(len(v))[at_v])
            b.append(task["acceleration"][k] - gains["alpha"] * rate - gains["beta"] * error)
        A, b, rule = np.vstack(A), np.concatenate(b), case["rule"]
        if rule["kind"] == "resolved":
            wish = np.zeros(len(v))
            wish[self.at_v] = rule["kp"] * (self.rest - q[self.at_q])
            wish -= rule["kd"] * v
            return (M @ joint_acceleration(A, b, wish) + nle)[self.at_v], None
        if rule["kind"] == "gauss":
            u = rule["kp"] * (self.rest - q[self.at_q]) - rule["kd"] * v[self.at_v]
            data.qvel[:] = 0.0
            mujoco.mj_comVel(model, data)
            mujoco.mj_rne(model, data, 0, self.weight)
            return gauss_torque(M, nle, A, b, u + self.weight), None
        if rule["kind"] == "unique":
            return (M @ np.linalg.solve(A, b) + nle)[self.at_v], None
        gains, A_p, b_p = case["contact_gains"], [], []
        for body, rows, held in self.contacts:
            J, drift, position, _ = self.frame(body, v)
            right = -drift - gains["alpha"] * (J @ v)
            for row, where in held:
                right[row] -= gains["beta"] * (position[row] - where)
            A_p.append(J[rows])
            b_p.append(right[rows])
        return contact_motion(M, nle, self.B, np.vstack(A_p), np.concatenate(b_p), A, b)


def zip_states(case: Case):
    """Return the states in Pinocchio's coordinates."""
    return zip(case["q"], case["v"], strict=True)


def plant(case: Case, scale):
    """Return what advances a robot whose masses are other ones, by MuJoCo's own RK4."""
    model = compiled(case)
    joints = model.body_jntadr[model.body_weldid]  # what a joint carries is welded to its body
    factors = np.where(joints < 0, 1.0, np.array(scale)[joints])
    model.body_mass *= factors
    model.body_inertia *= factors[:, None]
    data = mujoco.MjData(model)

    def advance(q, v, u):
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, u
        mujoco.mj_step(model, data)
        return data.qpos.copy(), data.qvel.copy()

    return advance


def prepare(case: Case) -> Contestant:
    """Make the controller."""
    made, loops = OperationalSpace(case), {}
    if case["name"] == "arms":
        loops = Arms(case, made.motion).loops()
    if case["name"] == "panda":
        loops = panda_loops(case, made.torque, partial(plant, case))
    return Contestant(made.tick, loops)


def versions() -> str:
    """Return what ran."""
    return f"mujoco {mujoco.__version__}, numpy {np.__version__}"


if __name__ == "__main__":
    serve(prepare, versions)
