"""The servo controller: a feedback and an allocation, two independent choices, and what is added.

An observer, and what trials have taught.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, final

import numpy as np

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.anti_windup import clamp_integrals, hold_memory
from ukctrl.control.command import LawBuffers, write_row_acceleration
from ukctrl.control.controller import Controller, Law
from ukctrl.control.disturbance import AnyDisturbanceObserver
from ukctrl.control.disturbance.disturbance_observer import (
    DisturbanceObserver,
    subtract_disturbance,
)
from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.error_polynomial import ErrorPolynomial
from ukctrl.control.feedback import AnyFeedback
from ukctrl.control.feedback.feedback import Feedback, FeedbackBuffers
from ukctrl.control.learned_correction import LearnedCorrection, add_correction
from ukctrl.control.task import NO_MEMORY, Signal, Task
from ukctrl.core.algebra.factorisation import add_scaled_into
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError
from ukctrl.core.fields import Instance, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Snapshot


@spec
class Servo(Controller):
    r"""Constraint-following control, $u = (C \bar B)^+ \bar b$ without a matrix square root.

    The feedback turns the rows into a demand, the allocation turns the demand into an input. A
    disturbance observer takes from the demand what the robot does by itself.

    References:
        Chen, "Constraint-following servo control design for mechanical systems", J. Vib.
        Control 15(3), 2009; Liu et al. 2015, eqs (24)-(35).
    """

    kind: Literal["servo"] = "servo"
    feedback: AnyFeedback | Annotated[Feedback, Instance()]
    """What row acceleration to ask for."""
    allocation: AnyAllocation | Annotated[Allocation, Instance()] = LeastNorm()
    """Which input gives it."""
    disturbance: AnyDisturbanceObserver | Annotated[DisturbanceObserver, Instance()] | None = None
    """What estimates the acceleration that the believed robot does not explain, which is taken off
    the demand; absent: nothing does."""
    learned: LearnedCorrection | None = None
    """What trials on the plant have taught, which is added to the demand; absent: nothing."""

    def start(self, task: Task) -> Law:
        return _ServoLaw(self, task)

    @property
    def row_allocation(self) -> Allocation:
        return self.allocation

    @property
    def row_law(self) -> Controller:
        return self

    @property
    def told(self) -> tuple[str, ...]:
        feedback = self.feedback
        bounds = (name for name in feedback.told if is_nonzero_bound(getattr(feedback, name)))
        learnt = () if self.learned is None else (f"{self.learned.trials} trials on the plant",)
        return *bounds, *learnt

    def error_polynomials(self, stack: Stack) -> tuple[ErrorPolynomial, ...]:
        return self.feedback.attach(stack).error_polynomials(stack)

    def gains_for(
        self, terms: ErrorSpec, inertia: Callable[[], Vector]
    ) -> Mapping[str, Any] | None:
        observed: Mapping[str, float] = {}
        if self.disturbance is not None:
            terms = terms.beside_a_third()
            observed = self.disturbance.gains_for(terms)
        gains = self.feedback.gains_for(terms)
        if not gains:
            return gains
        sections = (("feedback", gains), ("disturbance", observed))
        return {
            f"{prefix}.{name}": value
            for prefix, section in sections
            for name, value in section.items()
        }


def is_nonzero_bound(value: object) -> bool:
    """Tell whether a bound is one: a number, or several, that is not zero."""
    if isinstance(value, Mapping):
        return any(map(is_nonzero_bound, value.values()))
    if isinstance(value, tuple):
        return any(map(is_nonzero_bound, value))
    return isinstance(value, float) and value != 0.0


@final
class _ServoLaw(Law):
    """Its memory is that of the feedback, of the observer, and of an allocation that looks back."""

    def __init__(self, spec: Servo, task: Task) -> None:
        super().__init__(task)
        self._feedback = spec.feedback.attach(self.stack)
        self._names = self._feedback.names or self.stack.names
        self.gains = self._feedback.gains
        self.allocator = spec.allocation.attach(task, self._names)
        self._observer = spec.disturbance.attach(task) if spec.disturbance else None
        self._learned = spec.learned.attach(task, self.stack) if spec.learned else None
        if self._learned and self._feedback.changes_rows:
            raise GainError(
                "learned must stand beside a feedback that asks for the servo rows themselves; "
                f"{type(spec.feedback).__name__} asks for others. Take baumgarte or pid."
            )
        memories = self._initial_memories(task.robot.snapshot(task.q, task.v, task.start))
        self._feedback_end, self._observer_end = (
            len(memories[0]),
            len(memories[0]) + len(memories[1]),
        )
        self.memory = np.concatenate(memories)

    def begin(self, dynamics: Dynamics) -> Vector:
        return np.concatenate(self._initial_memories(dynamics.snapshot))

    def _initial_memories(self, s: Snapshot) -> tuple[Vector, Vector, Vector]:
        """Return the memory of a start at a state: of the feedback, observer and allocation."""
        memory = self._feedback.begin(s.t, self.stack.write(s))
        observed = self._observer.begin(s) if self._observer else NO_MEMORY
        return memory, observed, self.allocator.memory

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        rows, feedback, allocator = self.stack.rows, self._feedback, self.allocator
        memory, observed, last = np.split(tick.memory, (self._feedback_end, self._observer_end))
        yield from self.stack.steps(dynamics.snapshot).items
        buffers = FeedbackBuffers(
            rows, tick.demand, tick.memory_rate[: self._feedback_end], np.ones(1)
        )
        if feedback.changes_rows:
            out_rows = Rows.zeros(len(self._names), dynamics.robot.nv)
            buffers = buffers._replace(rows=out_rows, demand=np.zeros(len(self._names)))
        yield from feedback.steps(rows, memory, dynamics, buffers)
        if self._learned:
            yield BoundKernel(
                add_correction, dynamics.snapshot.clock, *self._learned, buffers.demand
            )
        demand, a_free = buffers.demand, dynamics.a_free
        # the disturbance goes into a_free too: limits and the free input are reckoned from it
        if self._observer:
            delta = np.zeros(len(a_free))
            demand, a_free = np.zeros(len(demand)), np.zeros(len(a_free))
            yield from self._observer.steps(dynamics, observed, delta)
            yield BoundKernel(subtract_disturbance, buffers.demand, buffers.rows.A, delta, demand)
            yield BoundKernel(add_scaled_into, dynamics.a_free, 1.0, delta, a_free)
        if len(last):
            yield from allocator.look_back_steps(last)
        free = np.zeros(len(tick.u))
        if feedback.changes_rows:
            nothing = Rows.zeros(*buffers.rows.A.shape)
            yield from allocator.steps(nothing, nothing.b, dynamics, free)
        yield from allocator.steps(buffers.rows, demand, dynamics, tick.u)
        if feedback.changes_rows:
            yield BoundKernel(blend_inputs, buffers.demand_share, free, tick.u)
            brought = rows.A, a_free, dynamics.G, tick.u
            yield BoundKernel(write_row_acceleration, *brought, tick.demand)
        if len(last):
            yield from allocator.memory_steps(tick.u, last, tick.memory_rate[self._observer_end :])
        if self._observer:
            rate = tick.memory_rate[self._feedback_end : self._observer_end]
            yield from self._observer.memory_steps(dynamics, observed, tick.u, rate)
        tick.has_demand[0] = 1.0

    def anti_windup_steps(
        self, dynamics: Dynamics, loss: Vector, tick: LawBuffers
    ) -> Iterator[KernelStep]:
        A, m, ends = self.stack.rows.A, len(self.stack), (self._feedback_end, self._observer_end)
        rate, observed_rate, _ = np.split(tick.memory_rate, ends)
        if self._feedback.has_integrals:
            yield BoundKernel(clamp_integrals, A, loss, rate[:m])
        elif len(rate):
            yield BoundKernel(hold_memory, A, loss, rate)
        if self._observer:
            observed = np.split(tick.memory, ends)[1]
            # once more, for the input after the filter: what it took is no disturbance
            yield from self._observer.memory_steps(dynamics, observed, tick.u, observed_rate)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return what the feedback promises and has learnt, and what the allocation tells."""
        rows = self.stack.write(dynamics.snapshot)
        signals = self._feedback.signals(rows, memory[: self._feedback_end], dynamics)
        observed = memory[self._feedback_end : self._observer_end]
        estimates = self._observer.signals(dynamics, observed) if self._observer else {}
        return {**signals, **estimates, **self.allocator.signals()}


@compiled
def blend_inputs(share: Vector, free: Vector, u: Vector) -> None:
    """Let an input go a share of the way from the one that asks for nothing."""
    if share[0] < 1.0:
        for k in range(len(u)):
            u[k] = free[k] + share[0] * (u[k] - free[k])
