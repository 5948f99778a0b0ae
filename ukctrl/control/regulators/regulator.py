"""What regulators about an equilibrium share: where it is, and what deviates from it."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.controller import Command, Controller, Law
from ukctrl.control.planned.joint_motion import configurations, following_joints, joint_motion
from ukctrl.control.regulators.riccati import Regulator
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.extremes import first_largest
from ukctrl.core.fields import Number, Seconds, spec
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.linearise import Linearization, Linearizer, equilibrium
from ukctrl.mechanics.reference import Reference
from ukctrl.mechanics.relative_degree import ELASTIC_KINDS
from ukctrl.mechanics.start import solve_positions

OPEN = 1e-9
"""How far a given equilibrium may open the passive constraints [unit of the row]."""
STILL = 1e-9
"""A joint that a task moves by less stands still [rad or m]."""
AT_REST = 'follow = "equilibrium"'
"""What regulates robots whose task has no joint motion."""
SIGHTS = 101
"""Times along a task at which its joints are looked at."""


@spec
class Regulating(Controller):
    """What the regulators share."""

    needs_grip: ClassVar[bool] = False

    q: tuple[Number, ...] | None = None
    """Equilibrium, one number a coordinate; absent: where the servo rows hold, near the start. The
    feet of a robot that stands must be where it stands then, so give it if the start is off."""
    follow: Literal["equilibrium", "task"] = "equilibrium"
    """What deviations are measured from: the equilibrium, or the joint motion of the task."""
    plan_step: Seconds = 0.005
    """Step of the inverse kinematics of that motion [s]."""


class Regulation(Law):
    """A started regulator.

    Attributes:
        linear: The robot as a linear system about the equilibrium.
        regulator: The gains, and the poles of the closed loop.
    """

    linear: Linearization
    regulator: Regulator

    def __init__(self, spec: Regulating, task: Task) -> None:
        super().__init__(task)
        robot = task.robot
        q = _equilibrium(spec, task)
        u = equilibrium(robot, q, task.start)
        self.linear = Linearizer(robot, task.rank).at(task.start, q, np.zeros(robot.nv), u)
        self._motion = None
        if spec.follow == "task":
            self._motion = _motion(spec, task)

    def deviation(self, dynamics: Dynamics) -> Vector:
        """Return what the regulator brings back to zero, shape ``(n,)``."""
        s, linear = dynamics.snapshot, self.linear
        if self._motion is None:
            return linear.deviation(s.q, s.v)
        r, r_dot, _ = np.array(self._motion(s.t)).reshape(3, -1)
        q = configurations(linear.robot, r[None])[0]
        dq, dv = linear.robot.difference(q, s.q), s.v - r_dot
        x: Vector = np.concatenate([dq[linear.positions], dv[linear.velocities]])
        return x

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        return Command(self.linear.u - self.regulator.K @ self.deviation(dynamics), memory)

    def error(self, dynamics: Dynamics) -> float:
        r"""Return the cost that is left, $x^\top S x$, in the units of the weights."""
        x = self.deviation(dynamics)
        S = self.regulator.S[: len(x), : len(x)]  # integrals begin at zero
        return float(x @ S @ x)

    @property
    def poles(self) -> NDArray[np.complex128]:
        """Poles of the closed loop: ``s`` [1/s], or ``z`` where the input is held."""
        return self.regulator.poles


def _equilibrium(spec: Regulating, task: Task) -> Vector:
    """Return the configuration to regulate about.

    Raises:
        InputError: A given one has the wrong size, or breaks the passive constraints.
        StartError: None is near the start where the rows hold.
    """
    robot = task.robot
    passive = passive_constraints(robot)
    if spec.q is None:
        stack = Stack((*passive, *task.servo), robot)
        return solve_positions(stack, robot.snapshot(task.q), task.q, task.start)
    if len(spec.q) != robot.nq:
        raise InputError(
            f"controller.q must have one number a coordinate, {robot.nq}; got {len(spec.q)}."
        )
    q = robot.normalize(np.array(spec.q))
    stack = Stack(passive, robot, key=f"robot '{robot.name}': passive")
    open_by = np.abs(np.nan_to_num(stack.write(robot.snapshot(q)).phi))
    if open_by.max(initial=0.0) > OPEN:
        worst = first_largest(open_by)
        raise InputError(
            f"controller.q must keep the passive constraints; row '{stack.names[worst]}' is off by "
            f"{open_by[worst]:.2g} {stack.units[worst]}. Leave it out to find one near the start."
        )
    return q


def _motion(spec: Regulating, task: Task) -> Reference:
    """Return the joint motion of the task, of all joints, also those that loops move.

    Raises:
        InputError: The task has no joint motion, or says nothing of the motors behind springs.
    """
    robot = task.robot
    following_joints(task, AT_REST)
    path = joint_motion(task, spec.plan_step, robot.dofs, AT_REST).path
    if robot.elastic is not None:
        times = np.linspace(task.start, task.start + task.duration, SIGHTS)
        r = np.array([np.array(path(t)).reshape(3, -1)[0] for t in times.tolist()])
        moves = np.ptp(r, axis=0) > STILL
        left = moves[robot.elastic.links] & ~moves[robot.elastic.motors]
        if left.any():
            joint = robot.elastic.joints[int(np.argmax(left))]
            raise InputError(
                f"the task must move motors along with their links to be followed; it leaves the "
                f"motor of '{joint}' where it is. Use {ELASTIC_KINDS}."
            )
    return path
