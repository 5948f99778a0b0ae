"""A tick of an inverse-dynamics controller on Drake's MultibodyPlant.

For a robot with one motor a joint, the wanted acceleration goes through ``CalcInverseDynamics``;
for one on contacts, the plant's matrices go through NumPy.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
from loops import Arms, panda_loops, rk4
from operational_space import contact_motion, demand, gauss_torque, joint_acceleration
from protocol import Case, Contestant, references, serve
from pydrake.math import RotationMatrix
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import JacobianWrtVariable, MultibodyForces, SpatialInertia

V = JacobianWrtVariable.kV


class InverseDynamics:
    """The controller of a case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.plant = plant = finished(case)
        base = plant.GetBodyByName(root_link(case))
        self.context, self.world = plant.CreateDefaultContext(), plant.world_frame()
        joints = [plant.GetJointByName(name) for name in case["joints"]]
        self.at_q = np.array([joint.position_start() for joint in joints])
        self.at_v = np.array([joint.velocity_start() for joint in joints])
        self.forces = MultibodyForces(plant)
        self.states = [
            self.state(base, np.array(q), np.array(v))
            for q, v in zip(case["q"], case["v"], strict=True)
        ]
        self.tasks = [(plant.GetFrameByName(task["frame"]), task["rows"]) for task in case["tasks"]]
        self.references, self.rest = case.references(), np.array(case["rule"].get("q", []))
        self.joints = []
        for task in case["joint_tasks"]:
            of = [case["joints"].index(name) for name in task["joints"]]
            self.joints.append((self.at_q[of], self.at_v[of], references(task)))
        self.contacts = [
            (plant.GetFrameByName(contact["frame"]), contact["rows"], contact["held_at"])
            for contact in case["contacts"]
        ]
        self.B = np.eye(plant.num_velocities())[:, self.at_v] @ case.spread()
        self.J = np.zeros((6, plant.num_velocities()))

    def state(self, base, q, v):
        """Return a state in Drake's coordinates: scalar first, turning before moving, in world."""
        plant, joints = self.plant, len(self.at_q)
        whole = np.zeros(plant.num_positions() + plant.num_velocities())
        at_v = plant.num_positions()
        if self.case["floating"]:
            start = base.floating_positions_start()
            speed = base.floating_velocities_start_in_v() + at_v
            whole[start : start + 4] = np.roll(q[3:7], 1)
            whole[start + 4 : start + 7] = q[:3]
            R = rotation_of(q[3:7])
            whole[speed : speed + 3], whole[speed + 3 : speed + 6] = R @ v[3:6], R @ v[:3]
        whole[self.at_q], whole[at_v + self.at_v] = q[-joints:], v[-joints:]
        return whole[:at_v].copy(), whole[at_v:].copy()

    def frame(self, frame):
        """Return Jacobian, drift, position and rotation, in world axes, moving before turning."""
        plant, context, world = self.plant, self.context, self.world
        J = plant.CalcJacobianSpatialVelocity(context, V, frame, np.zeros(3), world, world)
        bias = plant.CalcBiasSpatialAcceleration(context, V, frame, np.zeros(3), world, world)
        place = plant.CalcRelativeTransform(context, world, frame)
        drift = np.concatenate([bias.translational(), bias.rotational()])
        return np.vstack([J[3:], J[:3]]), drift, place.translation(), place.rotation().matrix()

    def tick(self, k: int):
        """Return the torques of state k."""
        return self.motion(*self.states[k], k, self.references)[0]

    def torque(self, q, v, k: int, tasks):
        """Return the torques."""
        return self.motion(q, v, k, tasks)[0]

    def motion(self, q, v, k: int, tasks):
        """Return the torques, and the acceleration where it falls off."""
        plant, context, case = self.plant, self.context, self.case
        plant.SetPositionsAndVelocities(context, np.concatenate([q, v]))
        gains, A, b = case["gains"], [], []
        for (frame, rows), task in zip(self.tasks, tasks, strict=True):
            J, drift, position, rotation = self.frame(frame)
            wanted = demand(gains, task, k, J, drift, position, rotation, v)
            A.append(J[rows])
            b.append(wanted[rows])
        for at_q, at_v, task in self.joints:
            error, rate = q[at_q] - task["position"][k], v[at_v] - task["velocity"][k]
            A.append(np.eye(len(v))[at_v])
            b.append(task["acceleration"][k] - gains["alpha"] * rate - gains["beta"] * error)
        A, b, rule = np.vstack(A), np.concatenate(b), case["rule"]
        if rule["kind"] in ("resolved", "unique"):
            if rule["kind"] == "resolved":
                wish = np.zeros(len(v))
                wish[self.at_v] = rule["kp"] * (self.rest - q[self.at_q])
                a = joint_acceleration(A, b, wish - rule["kd"] * v)
            else:
                a = np.linalg.solve(A, b)
            plant.CalcForceElementsContribution(context, self.forces)  # gravity
            return plant.CalcInverseDynamics(context, a, self.forces)[self.at_v], None
        M, weight = plant.CalcMassMatrix(context), plant.CalcGravityGeneralizedForces(context)
        nle = plant.CalcBiasTerm(context) - weight
        if rule["kind"] == "gauss":
            u = rule["kp"] * (self.rest - q[self.at_q]) - rule["kd"] * v[self.at_v]
            return gauss_torque(M, nle, A, b, u - weight), None
        gains, A_p, b_p = case["contact_gains"], [], []
        for frame, rows, held in self.contacts:
            J, drift, position, _ = self.frame(frame)
            right = -drift - gains["alpha"] * (J @ v)
            for row, where in held:
                right[row] -= gains["beta"] * (position[row] - where)
            A_p.append(J[rows])
            b_p.append(right[rows])
        return contact_motion(M, nle, self.B, np.vstack(A_p), np.concatenate(b_p), A, b)


def finished(case: Case) -> MultibodyPlant:
    """Return the plant of the same URDF, its root on the ground unless it floats."""
    plant = MultibodyPlant(0.0)
    Parser(plant).AddModelsFromString(Path(case.urdf).read_text(), "urdf")
    if not case["floating"]:
        base = plant.GetBodyByName(root_link(case))
        plant.WeldFrames(plant.world_frame(), base.body_frame())
    plant.mutable_gravity_field().set_gravity_vector(case["gravity"])
    plant.Finalize()
    return plant


def plant_of(case: Case, scale):
    """Return what advances a robot whose masses are other ones."""
    plant = finished(case)
    context = plant.CreateDefaultContext()
    for name, factor in zip(case["joints"], scale, strict=True):
        for body in plant.GetBodiesWeldedTo(plant.GetJointByName(name).child_body()):
            inertia = body.CalcSpatialInertiaInBodyFrame(context)
            shape = inertia.get_com(), inertia.get_unit_inertia()
            changed = SpatialInertia(factor * inertia.get_mass(), *shape)
            body.SetSpatialInertiaInBodyFrame(context, changed)
    port, n = plant.get_applied_generalized_force_input_port(), plant.num_velocities()
    held = port.FixValue(context, np.zeros(n)).GetMutableData().get_mutable_value()

    def acceleration(q, v, u):
        held.SetFromVector(u)
        plant.SetPositionsAndVelocities(context, np.concatenate([q, v]))
        return plant.EvalTimeDerivatives(context).CopyToVector()[n:]

    return rk4(acceleration)


def root_link(case: Case) -> str:
    """Return the link that no joint carries."""
    import xml.etree.ElementTree as ET

    root = ET.parse(Path(case.urdf)).getroot()
    children = {joint.find("child").get("link") for joint in root.findall("joint")}
    return next(
        link.get("name") for link in root.findall("link") if link.get("name") not in children
    )


def rotation_of(xyzw):
    """Return the rotation of a quaternion."""
    from pydrake.common.eigen_geometry import Quaternion

    unit = np.roll(xyzw, 1) / np.linalg.norm(xyzw)
    return RotationMatrix(Quaternion(unit)).matrix()


def prepare(case: Case) -> Contestant:
    """Make the controller."""
    made, loops = InverseDynamics(case), {}
    if case["name"] == "arms":
        loops = Arms(case, made.motion).loops()
    if case["name"] == "panda":
        loops = panda_loops(case, made.torque, partial(plant_of, case))
    return Contestant(made.tick, loops)


def versions() -> str:
    """Return what ran."""
    return f"drake {version('drake')}, numpy {np.__version__}"


if __name__ == "__main__":
    serve(prepare, versions)
