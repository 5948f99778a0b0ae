"""What an allocation is: a description that attaches to a task and then gives inputs."""

from __future__ import annotations

import abc

from ukctrl.constraints import Rows
from ukctrl.control.base import Task
from ukctrl.dynamics import Dynamics
from ukctrl.factor import Vector
from ukctrl.fields import spec


@spec
class Allocation(abc.ABC):
    """How a servo controller shares its demand among the motors."""

    @abc.abstractmethod
    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        """Bind to a robot and a task; ``rows`` are the names that a refusal mentions."""


class Allocator(abc.ABC):
    """An allocation bound to a task."""

    @abc.abstractmethod
    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        """Return the input that makes the rows accelerate as demanded, shape ``(nu,)``.

        Raises:
            InfeasibleConstraint: No input does.
        """
