"""The servo controller: a feedback and an allocation, two independent choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from ukctrl.control.allocation import Allocation, AnyAllocation, LeastNorm
from ukctrl.control.base import Command, Controller, Law, Signal, Task
from ukctrl.control.feedback import AnyFeedback, Feedback
from ukctrl.dynamics import Dynamics
from ukctrl.factor import Vector
from ukctrl.fields import Instance, spec


@spec
class Servo(Controller):
    r"""Constraint-following control, $u = (C \bar B)^+ \bar b$ without a matrix square root.

    The feedback turns the rows into a demand, the allocation turns the demand into an input.

    References:
        Chen, "Constraint-following servo control design for mechanical systems", J. Vib.
        Control 15(3), 2009; Liu et al. 2015, eqs (24)-(35).
    """

    kind: Literal["servo"] = "servo"
    feedback: AnyFeedback | Annotated[Feedback, Instance()]
    """What row acceleration to ask for."""
    allocation: AnyAllocation | Annotated[Allocation, Instance()] = LeastNorm()
    """Which input gives it."""

    def start(self, task: Task) -> Law:
        return _ServoLaw(self, task)


class _ServoLaw(Law):
    def __init__(self, spec: Servo, task: Task) -> None:
        super().__init__(task)
        self._feedback = spec.feedback.attach(self.stack)
        self._allocator = spec.allocation.attach(task, self.stack.names)
        self.memory = self._feedback.memory

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        rows = self.stack.write(dynamics.snapshot)
        demand = self._feedback.demand(rows, memory)
        u = self._allocator.input(rows, demand, dynamics)
        return Command(u, self._feedback.memory_rate(rows), demand)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return what the allocation tells of the last step."""
        return self._allocator.signals()
