"""A tick of TSID: set references, compute the problem, solve its quadratic program, read torques.

Tasks and contacts are equality constraints (priority 0). Where the task leaves joints free, the
cost is the distance of their accelerations from the posture's wish, which is the rule ``resolved``
but for a term of 1e-8 that TSID adds to its Hessian; it has no metric of Gauss. Where motors are
redundant, its cost is that of the contact forces: it has no least effort. Friction cones are so
wide that none binds. The plant of its loops is Pinocchio's forward dynamics.
"""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

import numpy as np
import pinocchio as pin
from loops import panda_loops, pinocchio_plant
from protocol import Case, Contestant, serve
from tsid import tsid_pywrap as tsid  # the wheel's package is nested one level too deep

WIDE = 1e3
"""Friction coefficient, and half the edge of a foot [m]: beyond what any motion here needs."""
MOST = 1e5
"""Largest normal force [N]."""
FORCE_WEIGHT = 1e-4
"""Weight of the contact forces in the cost."""


class Tsid:
    """The controller of a case."""

    def __init__(self, case: Case) -> None:
        self.case = case
        root = (pin.JointModelFreeFlyer(),) if case["floating"] else ()
        self.robot = tsid.RobotWrapper(case.urdf, pin.StdVec_StdString(), *root, False)
        model = self.robot.model()
        self.problem = tsid.InverseDynamicsFormulationAccForce("tsid", self.robot, False)
        self.q, self.v = [np.array(q) for q in case["q"]], [np.array(v) for v in case["v"]]
        self.problem.computeProblemData(0.0, self.q[0], self.v[0])
        gains = case["gains"]
        self.tasks = []
        for number, given in enumerate(case["tasks"]):
            task = tsid.TaskSE3Equality(f"task{number}", self.robot, given["frame"])
            task.setKp(gains["beta"] * np.ones(6))
            task.setKd(gains["alpha"] * np.ones(6))
            task.useLocalFrame(False)
            task.setMask(np.isin(np.arange(6), given["rows"]).astype(float))
            self.problem.addMotionTask(task, 1.0, 0, 0.0)
            self.tasks.append((task, references(given)))
        joints = [str(name) for name in model.names][2 if case["floating"] else 1 :]
        self.order = [joints.index(name) for name in case["joints"]]
        for number, given in enumerate(case["joint_tasks"]):
            task = tsid.TaskJointPosture(f"joints{number}", self.robot)
            mask = np.isin(joints, given["joints"]).astype(float)
            task.setKp(gains["beta"] * np.ones(len(joints)))
            task.setKd(gains["alpha"] * np.ones(len(joints)))
            task.setMask(mask)
            self.problem.addMotionTask(task, 1.0, 0, 0.0)
            self.tasks.append((task, whole(given, joints, case.count)))
        rule = case["rule"]
        if rule["kind"] in ("resolved", "gauss"):
            task = tsid.TaskJointPosture("posture", self.robot)
            task.setKp(rule["kp"] * np.ones(len(joints)))
            task.setKd(rule["kd"] * np.ones(len(joints)))
            still = sample(np.array(rule["q"]), np.zeros(len(joints)), np.zeros(len(joints)))
            self.problem.addMotionTask(task, 1.0, 1, 0.0)
            self.tasks.append((task, [still] * case.count))
        self.contacts = [self.contact(given) for given in case["contacts"]]
        problem = self.problem
        self.solver = tsid.SolverHQuadProgFast("solver")
        self.solver.resize(problem.nVar, problem.nEq, problem.nIn)

    def contact(self, given):
        """Add a contact; return it and its place at every state."""
        frame, up, gains = given["frame"], np.array([0.0, 0.0, 1.0]), self.case["contact_gains"]
        if given["type"] == "point":
            contact = tsid.ContactPoint(frame, self.robot, frame, up, WIDE, 0.0, MOST)
            contact.useLocalFrame(False)
            size = 3
        else:
            corners = WIDE * np.array([[-1, -1, 1, 1], [-1, 1, -1, 1], [0, 0, 0, 0]])
            contact = tsid.Contact6d(frame, self.robot, frame, corners, up, WIDE, 0.0, MOST)
            size = 6
        contact.setKp(gains["beta"] * np.ones(size))
        contact.setKd(gains["alpha"] * np.ones(size))
        model = self.robot.model()
        data = model.createData()
        places = []
        for q in self.q:
            pin.framesForwardKinematics(model, data, q)
            place = data.oMf[model.getFrameId(frame)].copy()
            place.translation[2] = 0.0  # the ground's height; along it a contact has no place
            places.append(place)
        contact.setReference(places[0])
        self.problem.addRigidContact(contact, FORCE_WEIGHT, 1.0, 0)
        return contact, places

    def tick(self, k: int):
        """Return the torques of state k."""
        for task, samples in self.tasks[1:]:
            task.setReference(samples[k])
        for contact, places in self.contacts:
            contact.setReference(places[k])
        return self.torque(self.q[k], self.v[k], k, self.tasks[0][1])

    def torque(self, q, v, k: int, samples):
        """Return the torques."""
        self.tasks[0][0].setReference(samples[k])
        data = self.problem.computeProblemData(0.0, q, v)
        solution = self.solver.solve(data)
        if solution.status != 0:
            raise SystemExit(f"TSID's solver stops with status {solution.status}.")
        return self.problem.getActuatorForces(solution)[self.order]


def sample(value, velocity, acceleration):
    """Return a reference."""
    made = tsid.TrajectorySample(len(value), len(velocity))
    made.value(value)
    made.derivative(velocity)
    made.second_derivative(acceleration)
    return made


def references(given):
    """Return the references of a frame; TSID wants the rotation column by column."""
    found = []
    for k in range(len(given["position"])):
        R = np.array(given["rotation"][k]).reshape(3, 3)
        value = np.concatenate([given["position"][k], R.T.ravel()])
        found.append(
            sample(value, np.array(given["velocity"][k]), np.array(given["acceleration"][k]))
        )
    return found


def whole(given, joints: list[str], count: int):
    """Return the references of all joints, zero where none is given."""
    at = [joints.index(name) for name in given["joints"]]
    found = []
    for k in range(count):
        values = np.zeros((3, len(joints)))
        for row, name in enumerate(("position", "velocity", "acceleration")):
            values[row, at] = given[name][k]
        found.append(sample(*values))
    return found


def prepare(case: Case) -> Contestant:
    """Make the controller."""
    made, loops = Tsid(case), {}
    if case["name"] == "panda":
        tasks = references(case.sampled()[0])
        plants = partial(pinocchio_plant, case)
        loops = panda_loops(case, made.torque, plants, tasks)
        del loops["rollouts"]  # where its tool is off, its other posture shows
    return Contestant(made.tick, loops)


def versions() -> str:
    """Return what ran."""
    return f"tsid {version('tsid')}, pin {pin.__version__}"


if __name__ == "__main__":
    serve(prepare, versions)
