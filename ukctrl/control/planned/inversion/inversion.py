"""What an inversion is: it works out, before the run, which motion keeps the servo rows."""

from __future__ import annotations

import abc

from ukctrl.control.controller import Task
from ukctrl.control.planned.nominal_motion import Nominal
from ukctrl.core.fields import spec


@spec
class Inversion(abc.ABC):
    r"""A way to work out $x^*(t)$ and $u^*(t)$ from the rows of a task.

    The result feeds a controller with two degrees of freedom: $u = u^*(t)$ alone is
    ``feedforward``; $u = u^*(t) - K(t) (x - x^*(t))$ is ``tvlqr``.
    """

    @abc.abstractmethod
    def solve(self, task: Task) -> Nominal:
        """Return the motion of the believed robot that keeps the task's servo rows.

        It must cover the whole run; it may begin before it and end after it.

        Raises:
            InputError: This inversion cannot serve the task; the message says what can.
            StartError: No state near the start keeps the rows.
        """
