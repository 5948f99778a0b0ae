"""Inverse kinematics, then inverse dynamics: for tasks that determine every joint."""

from __future__ import annotations

from typing import ClassVar, Literal

from ukctrl.control.planned.inversion.inversion import Inversion
from ukctrl.control.planned.nominal_motion import Nominal, by_joint_motion
from ukctrl.control.task import Task
from ukctrl.core.fields import Seconds, spec


@spec
class JointMotion(Inversion):
    r"""The joint motion that keeps the servo rows, with the inputs that make it.

    At every knot the configuration is the one nearest to the last with $\phi(q, t) = 0$; a quintic
    spline joins them, and $u$ is that of inverse dynamics. Every acceleration of that motion must
    be within reach of the motors, so that it serves no underactuated robot.
    """

    kind: Literal["joint_motion"] = "joint_motion"
    forgets_growth: ClassVar[bool] = False
    step: Seconds = 0.01
    """Time between the knots of the motion [s]."""

    def solve(self, task: Task) -> Nominal:
        return by_joint_motion(task, self.step)
