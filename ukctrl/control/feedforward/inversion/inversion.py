"""What an inversion is, and the simplest one: inverse kinematics, then inverse dynamics."""

from __future__ import annotations

import abc
from typing import ClassVar, Literal

from ukctrl.control.feedforward.nominal_motion import NominalMotion, invert_joint_motion
from ukctrl.control.task import Task
from ukctrl.core.fields import Seconds, spec


@spec
class Inversion(abc.ABC):
    r"""A way to work out $x^*(t)$ and $u^*(t)$ from the rows of a task.

    The result feeds a controller with two degrees of freedom: $u = u^*(t)$ alone is
    ``feedforward``; $u = u^*(t) - K(t) (x - x^*(t))$ is ``tvlqr``.
    """

    forgets_growth: ClassVar[bool] = True
    """Whether its motion is free of what would grow in the internal dynamics, as one that only
    goes forward from the start is not."""

    @abc.abstractmethod
    def solve(self, task: Task) -> NominalMotion:
        """Return the motion of the believed robot that keeps the task's servo rows.

        It must cover the whole run; it may begin before it and end after it.

        Raises:
            InputError: This inversion cannot serve the task; the message says what can.
            StartError: No state near the start keeps the rows.
        """


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

    def solve(self, task: Task) -> NominalMotion:
        return invert_joint_motion(task, self.step)
