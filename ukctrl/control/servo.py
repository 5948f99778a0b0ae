"""The servo controller: a feedback and an allocation, two independent choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, final

import numpy as np

from ukctrl.control.allocation import Allocation, AnyAllocation, LeastNorm
from ukctrl.control.controller import Command, Controller, Law, Signal, Task
from ukctrl.control.feedback import AnyFeedback, BoundFeedback, Feedback, StateFeedback
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import ShapeError
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
        stack = Stack(task.servo, task.robot)
        feedback = self.feedback.attach(stack)
        law: _RowLaw | _StateLaw
        if isinstance(feedback, StateFeedback):
            law = _StateLaw(task, stack, feedback, self.allocation)
        else:
            law = _RowLaw(task, stack, feedback, self.allocation)
        return _LookingBack(law) if law.allocator.memory.size else law


@final
class _RowLaw(Law):
    """With a feedback that looks at the rows alone."""

    def __init__(
        self, task: Task, stack: Stack, feedback: BoundFeedback, allocation: Allocation
    ) -> None:
        super().__init__(task, stack)
        self._feedback = feedback
        self.allocator = allocation.attach(task, stack.names)
        self.memory = feedback.memory

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        rows = self.stack.write(dynamics.snapshot)
        demand = self._feedback.demand(rows, memory)
        if demand.shape != rows.b.shape:  # a single number would pass for all rows
            raise ShapeError(
                f"feedback '{type(self._feedback).__name__}' must return a demand of shape "
                f"{rows.b.shape}; got {demand.shape}."
            )
        u = self.allocator.input(rows, demand, dynamics)
        return Command(u, self._feedback.memory_rate(rows), demand)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return what the allocation tells of the last step."""
        return self.allocator.signals()


@final
class _StateLaw(Law):
    """With a feedback that needs the believed robot, or asks for rows of its own."""

    def __init__(
        self, task: Task, stack: Stack, feedback: StateFeedback, allocation: Allocation
    ) -> None:
        super().__init__(task, stack)
        self._feedback = feedback
        self.allocator = allocation.attach(task, feedback.names)
        start = task.robot.snapshot(task.q, task.v, task.start)
        self.memory = feedback.begin(task.start, stack.write(start))
        self._nothing = Rows.zeros(len(feedback.names), task.robot.nv)

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
        told = self._feedback.signals(self.stack.write(dynamics.snapshot), memory, dynamics)
        return {**told, **self.allocator.signals()}


@final
class _LookingBack(Law):
    """With an allocation that has a memory of its own, which stands behind the other."""

    def __init__(self, law: _RowLaw | _StateLaw) -> None:
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
