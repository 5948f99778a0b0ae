"""What an allocation is: a description that attaches to a task and then gives inputs."""

from __future__ import annotations

import abc
from collections.abc import Mapping

from ukctrl.control.controller import NO_MEMORY, Signal, Task
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError, quoted
from ukctrl.core.fields import spec
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics


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

    def look_back(self, memory: Vector) -> None:  # noqa: B027 (most have nothing to look back on)
        """Take the memory as it is now, for the next `input`."""

    def memory_rate(self, u: Vector, memory: Vector) -> Vector:
        """Return the time derivative of the memory, where ``u`` is applied."""
        return memory

    def signals(self) -> Mapping[str, Signal]:
        """Return what is worth recording of the last `input`."""
        return {}


def own_stack(task: Task, rows: tuple[str, ...], kind: str) -> Stack:
    """Return the task's rows, for an allocation that tells them apart.

    Raises:
        GainError: The feedback asks for other rows.
    """
    stack = Stack(task.servo, task.robot)
    if stack.names != rows:
        raise GainError(
            f'allocation "{kind}" needs a feedback that asks for the rows of the task; this one '
            f'asks for {quoted(rows)}. Use it with kind = "least_norm".'
        )
    return stack


def row_unit(task: Task, rows: tuple[str, ...]) -> str:
    """Return the unit of the rows' accelerations, ``1/s^2`` where they have no common one."""
    stack = Stack(task.servo, task.robot)
    units = set(stack.units) if stack.names == rows else set[str]()
    return f"{units.pop() if len(units) == 1 else '1'}/s^2"


def row_miss(miss: Vector, rows: tuple[str, ...], unit: str) -> Signal:
    """Return ``H u - d`` as a signal, row by row."""
    return Signal(miss.copy(), unit, "row acceleration missed", rows)
