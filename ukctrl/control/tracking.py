"""Baselines in joint space, on the same face as the servo controller.

They follow a joint motion. Where a user gives none, it is the motion that keeps the servo
constraints, found once by inverse kinematics before the run, so that every controller of a
comparison is asked for the same thing.
"""

from __future__ import annotations

import dataclasses as dc
from typing import Annotated, Literal

import numpy as np

from ukctrl.constraints import JointFollows, Stack
from ukctrl.control.actuation import InverseActuation
from ukctrl.control.base import Command, Controller, Law, Task
from ukctrl.control.feedback import Baumgarte, PerRow, RateGain, StiffnessGain, spread
from ukctrl.control.servo import Servo
from ukctrl.dynamics import Dynamics
from ukctrl.errors import InputError
from ukctrl.factor import Vector
from ukctrl.fields import Each, Positive, Quantity, spec
from ukctrl.reference import AnyReference, Spline
from ukctrl.start import solve_positions

MAX_KNOTS = 1_000_000
"""More configurations than this along one motion are a typing error."""


def joint_motion(task: Task, step: float) -> JointFollows:
    r"""Return the joint motion that keeps the servo constraints, as a constraint itself.

    At every ``step`` the configuration is moved by Newton's method, along the smallest joint
    motion, onto $\phi(q, t) = 0$; a quintic spline joins them. With $h$ = ``step`` the spline
    keeps the constraints to $O(h^6)$.

    Raises:
        InputError: The task has no end, has rows without a position level, or the robot has
            coordinates that are no joint angles.
        StartError: The constraints cannot be reached at some time.
    """
    robot = task.robot
    if not robot.is_euclidean:
        raise InputError(
            f"robot '{robot.name}' must have joint angles only for a joint-space controller; it "
            'has a floating base or continuous joints. Use kind = "servo".'
        )
    if robot.passive:
        raise InputError(
            f"robot '{robot.name}' must have no passive constraints for a joint-space controller, "
            'which moves every joint by itself. Use kind = "servo".'
        )
    stack = Stack(task.servo, robot)
    if not stack.holonomic.all():
        row = stack.names[int(np.flatnonzero(~stack.holonomic)[0])]
        raise InputError(
            f"servo row '{row}' must have a position level for a joint-space controller; it is "
            'nonholonomic. Use kind = "servo", or give the controller a path.'
        )
    if not np.isfinite(task.duration):
        raise InputError("task must have a finite duration to plan its joint motion; got inf.")
    if task.duration / step > MAX_KNOTS:
        raise InputError(
            f"controller.plan_step must be at least {task.duration / MAX_KNOTS:.1e} s; "
            f"got {step:g} s."
        )
    # One step further than the run, because a spline stands still from its last knot on.
    count = max(6, int(np.ceil(task.duration / step)) + 2)
    times = (task.start + step * np.arange(count)).tolist()
    snapshot = robot.snapshot(task.q)
    q, knots = task.q, []
    for t in times:
        q = solve_positions(stack, snapshot, q, t)
        knots.append(tuple(q.tolist()))
    path = Spline(times=tuple(times), points=tuple(knots), degree="quintic", ends="free")
    return JointFollows(joints=robot.dofs, path=path)


@spec
class Tracking(Controller):
    """What the joint-space baselines share."""

    path: AnyReference | None = None
    """Joint motion to follow, one component a joint [rad or m]; absent: inverse kinematics."""
    plan_step: Positive = 0.005
    """Step of the inverse kinematics [s]."""

    def _motion(self, task: Task) -> JointFollows:
        if self.path is None:
            return joint_motion(task, self.plan_step)
        if self.path.size != task.robot.nv:
            raise InputError(
                f"controller.path must have {task.robot.nv} components, one a joint; "
                f"got {self.path.size}."
            )
        return JointFollows(joints=task.robot.dofs, path=self.path)


@spec
class ComputedTorque(Tracking):
    r"""Computed torque: $u = B^+ (M (\ddot q_r + k_d \dot e + k_p e) + \mathrm{nle} - f)$.

    This is the servo controller whose constraint is the joint motion itself, ``A = I``.

    References:
        Spong, Hutchinson, Vidyasagar, "Robot Modeling and Control", section 9.3.
    """

    kind: Literal["computed_torque"] = "computed_torque"
    kp: StiffnessGain
    """Gain of the joint error [1/s^2]."""
    kd: RateGain
    """Gain of the joint rate error [1/s]."""

    def start(self, task: Task) -> Law:
        joints = dc.replace(task, servo=(self._motion(task),))
        return Servo(feedback=Baumgarte(alpha=self.kd, beta=self.kp)).start(joints)


@spec
class PdGravity(Tracking):
    r"""PD with gravity compensation: $u = B^+ (g(q) + k_p e + k_d \dot e)$, $e = q_r - q$.

    Exact at rest only, and without springs; along a motion its error grows with the inertia that
    it neglects.

    References:
        Takegaki & Arimoto, J. Dyn. Syst. Meas. Control 103(2), 1981.
    """

    kind: Literal["pd_gravity"] = "pd_gravity"
    kp: Annotated[PerRow, Each(Quantity(minimum=0.0))]
    """Stiffness, one number or one a joint [N m/rad or N/m]."""
    kd: Annotated[PerRow, Each(Quantity(minimum=0.0))]
    """Damping, one number or one a joint [N m s/rad or N s/m]."""

    def start(self, task: Task) -> Law:
        return _PdGravity(self, task)


class _PdGravity(Law):
    def __init__(self, spec: PdGravity, task: Task) -> None:
        super().__init__(dc.replace(task, servo=(spec._motion(task),)))
        self._kp, self._kd = spread(spec.kp, self.stack, "kp"), spread(spec.kd, self.stack, "kd")
        self._motors = _full_actuation(task)

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        s = dynamics.snapshot
        rows = self.stack.write(s)
        force = s.gravity - self._kp * rows.phi - self._kd * rows.beta
        return Command(self._motors.input(s, force), memory)


def _full_actuation(task: Task) -> InverseActuation:
    """Return the way from forces to inputs, or refuse a robot not driven in every freedom."""
    motors = InverseActuation(task)
    if motors.rank < task.robot.nv:
        raise InputError(
            f"robot '{task.robot.name}' must have a motor for each of its {task.robot.nv} freedoms "
            f'to follow a joint motion; its motors reach {motors.rank}. Use kind = "servo".'
        )
    return motors
