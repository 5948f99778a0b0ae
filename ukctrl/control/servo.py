"""The servo controller: a feedback and an allocation, two independent choices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, final

import numpy as np

from ukctrl.constraints import Rows, Stack
from ukctrl.control.allocation import Allocation, AnyAllocation, LeastNorm
from ukctrl.control.base import Command, Controller, Law, Signal, Task
from ukctrl.control.feedback import AnyFeedback, BoundFeedback, Feedback, StateFeedback
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
        stack = Stack(task.servo, task.robot)
        feedback = self.feedback.attach(stack)
        if isinstance(feedback, StateFeedback):
            return _StateLaw(task, stack, feedback, self.allocation)
        return _RowLaw(task, stack, feedback, self.allocation)


@final
class _RowLaw(Law):
    """With a feedback that looks at the rows alone."""

    def __init__(
        self, task: Task, stack: Stack, feedback: BoundFeedback, allocation: Allocation
    ) -> None:
        super().__init__(task, stack)
        self._feedback = feedback
        self._allocator = allocation.attach(task, stack.names)
        self._split = len(feedback.memory)
        self._looks_back = self._allocator.memory.size > 0
        self.memory = np.concatenate([feedback.memory, self._allocator.memory])

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        if self._looks_back:
            return self._step_looking_back(dynamics, memory)
        rows = self.stack.write(dynamics.snapshot)
        demand = self._feedback.demand(rows, memory)
        u = self._allocator.input(rows, demand, dynamics)
        return Command(u, self._feedback.memory_rate(rows), demand)

    def _step_looking_back(self, dynamics: Dynamics, memory: Vector) -> Command:
        """Step an allocation with a memory, which stands behind the feedback's."""
        rows = self.stack.write(dynamics.snapshot)
        own, other = memory[: self._split], memory[self._split :]
        demand = self._feedback.demand(rows, own)
        u, rate = self._allocator.input_after(rows, demand, dynamics, other)
        return Command(u, np.concatenate([self._feedback.memory_rate(rows), rate]), demand)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return what the allocation tells of the last step."""
        return self._allocator.signals()


@final
class _StateLaw(Law):
    """With a feedback that needs the believed robot, or asks for rows of its own."""

    def __init__(
        self, task: Task, stack: Stack, feedback: StateFeedback, allocation: Allocation
    ) -> None:
        super().__init__(task, stack)
        self._feedback = feedback
        self._allocator = allocation.attach(task, feedback.names)
        start = task.robot.snapshot(task.q, task.v, task.start)
        own = feedback.begin(task.start, stack.write(start))
        self._split = len(own)
        self.memory = np.concatenate([own, self._allocator.memory])
        self._nothing = Rows.zeros(len(feedback.names), task.robot.nv)

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        rows = self.stack.write(dynamics.snapshot)
        own, other = memory[: self._split], memory[self._split :]
        asked, demand, own_rate, share = self._feedback.ask(rows, own, dynamics)
        u, rate = self._allocator.input_after(asked, demand, dynamics, other)
        if share < 1.0:
            free = self._allocator.input(self._nothing, self._nothing.b, dynamics)
            u = free + share * (u - free)
        if asked is not rows:
            demand = rows.A @ dynamics.acceleration(u)
        return Command(u, np.concatenate([own_rate, rate]), demand)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return what the feedback promises and has learnt, and what the allocation tells."""
        rows = self.stack.write(dynamics.snapshot)
        told = self._feedback.signals(rows, memory[: self._split], dynamics)
        return {**told, **self._allocator.signals()}
