"""The servo controller: a feedback and an allocation, two independent choices."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, final

import numpy as np

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.controller import Controller, Law
from ukctrl.control.error_dynamics import ErrorPolynomial
from ukctrl.control.feedback import AnyFeedback
from ukctrl.control.feedback.feedback import Asked, Feedback
from ukctrl.control.task import Signal, Task
from ukctrl.control.terms import Terms
from ukctrl.control.tick import Tick, served
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.fields import Instance, spec
from ukctrl.core.program import Call, Step
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
        return _ServoLaw(self, task)

    @property
    def row_allocation(self) -> Allocation:
        return self.allocation

    @property
    def row_law(self) -> Controller:
        return self

    def error_polynomials(self, stack: Stack) -> tuple[ErrorPolynomial, ...]:
        return self.feedback.attach(stack).error_polynomials(stack)

    def gains_for(self, terms: Terms, inertia: Callable[[], Vector]) -> Mapping[str, Any] | None:
        gains = self.feedback.gains_for(terms)
        return gains and {f"feedback.{name}": value for name, value in gains.items()}


@final
class _ServoLaw(Law):
    """Its memory is that of the feedback, and behind it that of an allocation that looks back."""

    def __init__(self, spec: Servo, task: Task) -> None:
        super().__init__(task)
        self._feedback = spec.feedback.attach(self.stack)
        self._names = self._feedback.names or self.stack.names
        self.allocator = spec.allocation.attach(task, self._names)
        start = task.robot.snapshot(task.q, task.v, task.start)
        own = self._feedback.begin(task.start, self.stack.write(start))
        self._own = len(own)
        self.memory = np.concatenate([own, self.allocator.memory])

    def steps(self, dynamics: Dynamics, tick: Tick) -> Iterator[Step]:
        rows, feedback, allocator = self.stack.rows, self._feedback, self.allocator
        own, last = tick.memory[: self._own], tick.memory[self._own :]
        yield from self.stack.steps(dynamics.snapshot).every
        asked = Asked(rows, tick.demand, tick.memory_rate[: self._own], np.ones(1))
        if feedback.asks_otherwise:
            others = Rows.zeros(len(self._names), dynamics.robot.nv)
            asked = asked._replace(rows=others, demand=np.zeros(len(self._names)))
        yield from feedback.steps(rows, own, dynamics, asked)
        if len(last):
            yield from allocator.look_back_steps(last)
        free = np.zeros(len(tick.u))
        if feedback.asks_otherwise:
            nothing = Rows.zeros(*asked.rows.A.shape)
            yield from allocator.steps(nothing, nothing.b, dynamics, free)
        yield from allocator.steps(asked.rows, asked.demand, dynamics, tick.u)
        if feedback.asks_otherwise:
            yield Call(fade, asked.share, free, tick.u)
            brought = rows.A, dynamics.a_free, dynamics.G, tick.u
            yield Call(served, *brought, tick.demand)
        if len(last):
            yield from allocator.memory_steps(tick.u, last, tick.memory_rate[self._own :])
        tick.asks[0] = 1.0

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return what the feedback promises and has learnt, and what the allocation tells."""
        rows = self.stack.write(dynamics.snapshot)
        told = self._feedback.signals(rows, memory[: self._own], dynamics)
        return {**told, **self.allocator.signals()}


@compiled
def fade(share: Vector, free: Vector, u: Vector) -> None:
    """Let an input go a share of the way from the one that asks for nothing."""
    if share[0] < 1.0:
        for k in range(len(u)):
            u[k] = free[k] + share[0] * (u[k] - free[k])
