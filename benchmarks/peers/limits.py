"""Ticks of a humanoid held by its pelvis in which limits of joints bind, by one contestant.

    python benchmarks/peers/limits.py CASE.json NAME

Its left hand stays where it is, three rows, and 27 joints are held, some of them beyond their ends:
of these the limits bind. ukctrl and TSID choose torques: the hand comes first, then the joints in
the sense of least squares, within ranges, speeds and decelerations of joints and torques of motors.
Pink and mink choose velocities within ranges and speeds, and know neither masses nor torques; the
hand has a weight of a thousand there, and all joints are held.
"""

from __future__ import annotations

import sys
from importlib.metadata import version

import numpy as np
from protocol import Case, Contestant, serve

FIRST = 1e3
"""Weight of the hand where there is no order."""
SLOWLY = 0.01
"""Part of an error that is taken away in a tick by velocities, so that no speed limit binds."""


class Ukctrl:
    """The runtime of a scenario that keeps limits."""

    def __init__(self, case: Case) -> None:
        from ukctrl import Runtime, Scenario

        self.runtime = Runtime(
            Scenario.from_toml(case["scenario"].replace("@", str(case.file.parent)))
        )
        self.case, self.period = case, case["period"]
        self.q, self.v = np.array(case["q"]), np.array(case["v"])

    def tick(self, k: int):
        """Return the torques of state k."""
        if k == 0:
            self.runtime.restart()
        return self.runtime.step(self.period * k, self.q[k], self.v[k])


class Tsid:
    """The problem of a case, in two levels."""

    def __init__(self, case: Case) -> None:
        import pinocchio as pin
        from tsid import tsid_pywrap as tsid
        from with_tsid import sample

        self.robot = tsid.RobotWrapper(case.urdf, pin.StdVec_StdString(), False)
        self.problem = tsid.InverseDynamicsFormulationAccForce("tsid", self.robot, False)
        self.q, self.v = [np.array(q) for q in case["q"]], [np.array(v) for v in case["v"]]
        self.problem.computeProblemData(0.0, self.q[0], self.v[0])
        n, gains, one = len(self.q[0]), case["gains"], np.ones(len(self.q[0]))
        hand = tsid.TaskSE3Equality("hand", self.robot, case["frame"])
        hand.setKp(gains["beta"] * np.ones(6))
        hand.setKd(gains["alpha"] * np.ones(6))
        hand.useLocalFrame(False)
        hand.setMask(np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]))
        place = np.concatenate([case["place"], np.eye(3).ravel()])
        hand.setReference(sample(place, np.zeros(6), np.zeros(6)))
        joints = tsid.TaskJointPosture("joints", self.robot)
        joints.setMask(np.array(case["held"], dtype=float))
        joints.setKp(gains["beta"] * one)
        joints.setKd(gains["alpha"] * one)
        joints.setReference(sample(np.array(case["target"]), np.zeros(n), np.zeros(n)))
        bounds = tsid.TaskJointPosVelAccBounds("bounds", self.robot, case["period"], False)
        bounds.setPositionBounds(-case["end"] * one, case["end"] * one)
        bounds.setVelocityBounds(case["speed"] * one)
        bounds.setAccelerationBounds(case["acceleration"] * one)
        motors = tsid.TaskActuationBounds("motors", self.robot)
        motors.setBounds(-case["effort"] * one, case["effort"] * one)
        self.problem.addMotionTask(hand, 1.0, 0, 0.0)
        self.problem.addMotionTask(joints, 1.0, 1, 0.0)
        self.problem.addMotionTask(bounds, 1.0, 0, 0.0)
        self.problem.addActuationTask(motors, 1.0, 0, 0.0)
        self.tasks = hand, joints, bounds, motors
        self.solver = tsid.SolverHQuadProgFast("solver")
        self.solver.resize(self.problem.nVar, self.problem.nEq, self.problem.nIn)

    def tick(self, k: int):
        """Return the torques of state k."""
        data = self.problem.computeProblemData(0.0, self.q[k], self.v[k])
        solution = self.solver.solve(data)
        if solution.status != 0:
            raise SystemExit(f"TSID's solver stops with status {solution.status}.")
        return self.problem.getActuatorForces(solution)


class Pink:
    """Its inverse kinematics, by DAQP."""

    def __init__(self, case: Case) -> None:
        import pink
        import pinocchio as pin
        from pink.limits import ConfigurationLimit, VelocityLimit
        from pink.tasks import FrameTask, PostureTask

        model = pin.buildModelFromUrdf(case.urdf)
        model.lowerPositionLimit[:], model.upperPositionLimit[:] = -case["end"], case["end"]
        model.velocityLimit[:] = case["speed"]
        self.configuration = pink.Configuration(model, model.createData(), np.array(case["q"][0]))
        hand = FrameTask(case["frame"], position_cost=FIRST, orientation_cost=0.0, gain=SLOWLY)
        hand.set_target(pin.SE3(np.eye(3), np.array(case["place"])))
        joints = PostureTask(cost=1.0, gain=SLOWLY)
        joints.set_target(np.array(case["target"]))
        self.tasks, self.limits = [hand, joints], [ConfigurationLimit(model), VelocityLimit(model)]
        self.solve, self.period = pink.solve_ik, case["period"]
        self.q = np.array(case["q"])

    def tick(self, k: int):
        """Return the velocities of state k."""
        self.configuration.update(self.q[k])
        return self.solve(
            self.configuration, self.tasks, self.period, solver="daqp", limits=self.limits
        )


class Mink:
    """The same on MuJoCo."""

    def __init__(self, case: Case) -> None:
        import mink
        import mujoco

        spec = mujoco.MjSpec.from_file(case.urdf)
        spec.compiler.fusestatic = False  # or the hand's frame is lost
        model = spec.compile()
        model.jnt_range[:] = [-case["end"], case["end"]]
        names = [model.joint(i).name for i in range(model.njnt)]
        self.order = [names.index(name) for name in case["joints"]]
        self.configuration = mink.Configuration(model)
        self.configuration.update(self.placed(case["q"][0]))
        hand = mink.FrameTask(case["frame"], "body", FIRST, 0.0, gain=SLOWLY)
        hand.set_target(mink.SE3.from_translation(np.array(case["place"])))
        joints = mink.PostureTask(model, cost=1.0, gain=SLOWLY)
        joints.set_target(self.placed(case["target"]))
        speeds = dict.fromkeys(names, case["speed"])
        self.limits = [mink.ConfigurationLimit(model), mink.VelocityLimit(model, speeds)]
        self.solve, self.period, self.tasks = mink.solve_ik, case["period"], [hand, joints]
        self.q = [self.placed(q) for q in case["q"]]

    def placed(self, values):
        """Return values of joints in the order of the model."""
        made = np.zeros(len(self.order))
        made[self.order] = values
        return made

    def tick(self, k: int):
        """Return the velocities of state k."""
        self.configuration.update(self.q[k])
        made = self.solve(self.configuration, self.tasks, self.period, "daqp", limits=self.limits)
        return made[self.order]


MADE = {"ukctrl": Ukctrl, "tsid": Tsid, "pink": Pink, "mink": Mink}
PACKAGES = {
    "ukctrl": ("ukctrl", "numba"),
    "tsid": ("tsid", "pin"),
    "pink": ("pin-pink", "pin", "daqp"),
    "mink": ("mink", "mujoco", "daqp"),
}


def prepare(case: Case) -> Contestant:
    """Make the contestant."""
    return Contestant(MADE[sys.argv[2]](case).tick)


def versions() -> str:
    """Return what ran."""
    return ", ".join(f"{name} {version(name)}" for name in PACKAGES[sys.argv[2]])


if __name__ == "__main__":
    serve(prepare, versions)
