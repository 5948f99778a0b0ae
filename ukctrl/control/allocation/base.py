"""What an allocation is: a description that attaches to a task and then gives inputs."""

from __future__ import annotations

import abc
from collections.abc import Mapping

from ukctrl.constraints import Rows, Stack
from ukctrl.control.base import NO_MEMORY, Signal, Task
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

    memory: Vector = NO_MEMORY
    """Memory at the start of a run, which the law carries; empty unless it looks back."""

    @abc.abstractmethod
    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        """Return the input that makes the rows accelerate as demanded, shape ``(nu,)``.

        Raises:
            InfeasibleConstraint: No input does.
        """

    def input_after(
        self, rows: Rows, demand: Vector, dynamics: Dynamics, memory: Vector
    ) -> tuple[Vector, Vector]:
        """Return the input and the rate of the memory, for an allocation that has one."""
        return self.input(rows, demand, dynamics), memory

    def signals(self) -> Mapping[str, Signal]:
        """Return what is worth recording of the last `input`."""
        return {}


def row_miss(miss: Vector, stack: Stack) -> Signal:
    """Return ``H u - d`` as a signal, row by row."""
    words = "acceleration by which the row misses what was asked for"
    return Signal(miss.copy(), row_acceleration_unit(stack), words, stack.names)


def row_acceleration_unit(stack: Stack) -> str:
    """Return the unit of the rows' accelerations, ``1/s^2`` where they have no common one."""
    units = set(stack.units)
    return f"{units.pop() if len(units) == 1 else '1'}/s^2"
