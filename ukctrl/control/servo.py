"""The servo controller: a feedback and an allocation, two independent choices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, final

import numpy as np

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.controller import Command, Controller, Law
from ukctrl.control.error_dynamics import ErrorPolynomial
from ukctrl.control.feedback import AnyFeedback
from ukctrl.control.feedback.feedback import Feedback
from ukctrl.control.task import Signal, Task
from ukctrl.core.arrays import Vector
from ukctrl.core.fields import Instance, spec
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics


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
        law = _ServoLaw(self, task)
        return _LookingBack(law) if law.allocator.memory.size else law

    @property
    def row_allocation(self) -> Allocation:
        return self.allocation

    @property
    def row_law(self) -> Controller:
        return self

    def error_polynomials(self, stack: Stack) -> tuple[ErrorPolynomial, ...]:
        return self.feedback.attach(stack).error_polynomials(stack)

    def gains_for(
        self, settling: float, damping: float, inertia: Callable[[], Vector]
    ) -> Mapping[str, Any] | None:
        gains = self.feedback.gains_for(settling, damping)
        return gains and {f"feedback.{name}": value for name, value in gains.items()}


@final
class _ServoLaw(Law):
    def __init__(self, spec: Servo, task: Task) -> None:
        super().__init__(task)
        self._feedback = spec.feedback.attach(self.stack)
        names = self._feedback.names or self.stack.names
        self.allocator = spec.allocation.attach(task, names)
        start = task.robot.snapshot(task.q, task.v, task.start)
        self.memory = self._feedback.begin(task.start, self.stack.write(start))
        self._nothing = Rows.zeros(len(names), task.robot.nv)

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        rows = self.stack.write(dynamics.snapshot)
        asked, demand, memory_rate, share = self._feedback.ask(rows, memory, dynamics)
        u = self.allocator.input(asked, demand, dynamics)
        if share < 1.0:
            free = self.allocator.input(self._nothing, self._nothing.b, dynamics)
            u = free + share * (u - free)
        if asked is not rows:
            demand = rows.A @ dynamics.acceleration(u)
        return Command(u, memory_rate, demand)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return what the feedback promises and has learnt, and what the allocation tells."""
        rows = self.stack.write(dynamics.snapshot)
        return {**self._feedback.signals(rows, memory, dynamics), **self.allocator.signals()}


@final
class _LookingBack(Law):
    """With an allocation that has a memory of its own, which stands behind the other."""

    def __init__(self, law: _ServoLaw) -> None:
        super().__init__(law.task, law.stack)
        self._law, self._own = law, len(law.memory)
        self.memory = np.concatenate([law.memory, law.allocator.memory])

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        own, last = memory[: self._own], memory[self._own :]
        self._law.allocator.look_back(last)
        command = self._law.step(dynamics, own)
        later = self._law.allocator.memory_rate(command.u, last)
        return command._replace(memory_rate=np.concatenate([command.memory_rate, later]))

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return what the law itself tells."""
        return self._law.signals(dynamics, memory[: self._own])
