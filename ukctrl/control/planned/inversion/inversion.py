"""What an inversion is: it works out, before the run, which motion keeps the servo rows."""

from __future__ import annotations

import abc
from typing import ClassVar

from ukctrl.control.planned.nominal_motion import Nominal
from ukctrl.control.task import Task
from ukctrl.core.fields import spec


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
    def solve(self, task: Task) -> Nominal:
        """Return the motion of the believed robot that keeps the task's servo rows.

        It must cover the whole run; it may begin before it and end after it.

        Raises:
            InputError: This inversion cannot serve the task; the message says what can.
            StartError: No state near the start keeps the rows.
        """
