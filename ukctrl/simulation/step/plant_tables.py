"""Plant tables: kernel sequences at a sample, a tick, an arrival, a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.integrate.interval_kernels import EventTables, StepMethod
from ukctrl.mechanics.integrate.ode_system import advance_memory, copy_state
from ukctrl.simulation.assemble.loop import Loop
from ukctrl.simulation.assemble.right_hand_side import (
    acceleration_steps,
    accepted_input,
    applied_input,
    command_steps,
    copy_leading,
    copy_minimum,
)
from ukctrl.simulation.effects.effect_recorder import EffectSample
from ukctrl.simulation.events.input_delay import InputDelayLine
from ukctrl.simulation.record.recorder import Recorder, SampleSource
from ukctrl.simulation.record.sample_kernels import increment


class MeasuredState(NamedTuple):
    """Measured state of a sampled law at its last tick."""

    clock: Vector
    """When, shape ``(1,)`` [s]."""
    q: Vector
    v: Vector


class TickState(NamedTuple):
    """State of a sampled law from one tick to the next."""

    measured: MeasuredState
    memory: Vector
    """Its memory at the last tick."""
    tick_count: Indices
    """How often it has ticked, shape ``(1,)``."""


class PlantTables(NamedTuple):
    """Kernel sequences of one plant: what happens around the steps of its integrator."""

    sample: KernelSequence
    """At an output, at the state in the port of the loop."""
    tick: KernelSequence
    """At a tick of a sampled law, likewise."""
    arrival: KernelSequence
    """Where a delayed input arrives."""
    guard: KernelSequence
    """After every step within which modes may end, what writes the margin."""
    settle: KernelSequence
    """After a tick, likewise: whether contacts may go on as they are."""
    margin: Vector
    """Least margin of the modes of law and contacts, shape ``(1,)``; positive while all last."""
    correction: KernelSequence
    """After every step, what corrects the state."""
    method: StepMethod | None
    """The method, where all of a step is compiled."""

    @property
    def events(self) -> EventTables:
        """What machine code takes of it."""
        around = self.tick.lines, self.arrival.lines, self.sample.lines
        return EventTables(*around, self.guard.lines, self.settle.lines, self.margin)


@compiled
def is_positive(margin: Vector) -> bool:
    """Return whether a law stays in its mode."""
    return bool(margin[0] > 0.0)


def sample_sequence(
    loop: Loop, recorder: Recorder, ticks: TickState, *, signals: bool
) -> KernelSequence:
    """Return what records a sample at the state in the port of the loop around its plant.

    Args:
        loop: The loop.
        recorder: Where the sample goes.
        ticks: The state of a sampled law.
        signals: Whether law or effects have something to tell beside.
    """
    plant, belief, effects = loop.plant, loop.believed_model, loop.effects
    s, b, tick, system = plant.snapshot, belief.snapshot, loop.tick, loop.plants.integrator.system
    u, drives = applied_input(effects, s, loop.held_input if loop.sampled else tick.u)
    asked_at, a, first = s.clock, system.arrays.a, [system.steps.as_step(), *drives]
    if not system.steps.contains_all(plant.motor_steps):
        # the rates of large robots leave out the terms of their motors; authority needs them
        first += plant.motor_steps.items
    measured = MeasuredState(b.clock, b.q, b.v)
    if loop.sampled:
        measured, a = ticks.measured, np.zeros(plant.robot.nv)
        asked_at = measured.clock
        # the held system writes no G, of which recorded authority is made
        first = [*acceleration_steps(plant, u, a, drives)]
        if signals and belief is not plant:
            # what the law tells is of the state that it saw, now; its tick may be long ago
            is_measured = effects.senses or loop.estimator is not None
            q, v = (measured.q, measured.v) if is_measured else (s.q, s.v)
            first += [
                BoundKernel(copy_state, s.clock, q, v, b.clock, b.q, b.v),
                *belief.steps.items,
            ]
    energy = system.arrays.memory[-1:] if loop.sampled or loop.integrates_energy else None
    read = (measured.q, measured.v) if loop.estimator is None else loop.estimator.measured
    effect_sample = EffectSample(*read, tick.u, loop.plants.start_time)
    source = SampleSource(plant, a, u, asked_at, energy, effect_sample, signals)
    return KernelSequence((*first, *recorder.steps(source)))


def tick_sequence(
    loop: Loop, ticks: TickState, delay_line: InputDelayLine, switch: Callable[[], None]
) -> KernelSequence:
    """Return what happens at a tick of a sampled law, at the state in the plant's snapshot.

    Args:
        loop: The loop.
        ticks: The state of the law, which is advanced.
        delay_line: Where inputs wait that arrive late.
        switch: Lets the law change its mode, where its guard is not positive.
    """
    plant, belief, effects, tick = loop.plant, loop.believed_model, loop.effects, loop.tick
    s, b, (measured, memory, count) = plant.snapshot, belief.snapshot, ticks
    q, v, sensors = effects.sensor_steps(s.clock, s.q, s.v)
    if loop.estimator is not None:
        u, a, acceleration = loop.held_input, np.zeros(plant.robot.nv), tuple[KernelStep, ...]()
        # an accelerometer feels the input held until now: the law has not answered yet
        if loop.estimator.measures_acceleration:
            acting, drives = applied_input(effects, s, u)
            acceleration = tuple(acceleration_steps(plant, acting, a, drives))
        # the observer is the last sensor; told the command instead of the held input, it would take
        # a saturation for a disturbance (decision 0137)
        q, v, estimates = loop.estimator.reading(s.clock, (s.q, s.v, a), q, v, u)
        sensors = (*sensors, *acceleration, *estimates)
    steps: list[KernelStep] = [
        BoundKernel(increment, count),
        # an Euler step at the rate of the last tick, as a computer takes it (decision 0002)
        BoundKernel(advance_memory, s.clock, measured.clock, memory, tick.memory_rate),
        *sensors,
        BoundKernel(copy_state, s.clock, q, v, *measured),
    ]
    if loop.law.switches:
        margin = np.ones(1)
        guard = KernelSequence(loop.law.guard_steps(belief, memory, margin))
        steps += [
            BoundKernel(copy_state, *measured, b.clock, b.q, b.v),
            *belief.steps_for(guard),
            *guard.items,
            BoundKernel(is_positive, margin, fault=lambda code: switch()),
        ]
    # after the switches: the law answers in its new mode at this very tick
    steps.append(BoundKernel(copy_leading, memory, tick.memory))
    # The plant is evaluated at a tick where the law believes in it, or where drives read B' v of
    # it; the believed robot where it is another one.
    if belief is plant or effects.drives:
        steps += plant.steps_for(tick.steps)
    if belief is not plant:
        copy_step = BoundKernel(copy_state, *measured, b.clock, b.q, b.v)
        steps += [copy_step, *belief.steps_for(tick.steps)]
    steps += command_steps(tick, b, loop.law_checks)
    u, drives = accepted_input(effects, s, tick.u)
    late = effects.delay > 0.0
    last = delay_line.send(u) if late else BoundKernel(copy_leading, u, loop.held_input)
    return KernelSequence((*steps, *drives, last))


def guard_sequences(loop: Loop) -> tuple[KernelSequence, KernelSequence, Vector]:
    """Return what writes the margin of the modes at the state in the port of the loop, and where.

    First after a step, then after a tick, where contacts also may share their load otherwise.

    The margin is the smaller one of the law's guard and of the contacts; it is positive while all
    modes last. Of a sampled law the ticks alone see to the guard.
    """
    margin, law, steps = np.ones(1), np.full(1, np.inf), list[KernelStep]()
    plant, system = loop.plant, loop.plants.integrator.system
    s, contacts = plant.snapshot, plant.contacts
    if contacts is not None:
        u, drives = applied_input(loop.effects, s, loop.held_input if loop.sampled else loop.tick.u)
        steps += [*system.steps.items, *drives, *plant.margin_steps(system.arrays.a, u)]
    if loop.law.switches and not loop.sampled:
        steps += _law_guard(loop, law)
    # no mode can end: the margin stays at one, and no step is looked at
    if not steps:
        return KernelSequence(()), KernelSequence(()), margin
    # one number, since the root finder follows one function
    contact_margin = law if contacts is None else contacts.smallest_margin
    steps.append(BoundKernel(copy_minimum, law, contact_margin, margin))
    settle = list[KernelStep]()
    if contacts is not None and loop.sampled:
        settle = [*steps, contacts.sharing_step(plant.ranks, margin)]
    return KernelSequence(steps), KernelSequence(settle), margin


def _law_guard(loop: Loop, margin: Vector) -> Iterator[KernelStep]:
    """Yield what writes the guard of a law under continuous control."""
    plant, belief, effects = loop.plant, loop.believed_model, loop.effects
    s, b, memory = plant.snapshot, belief.snapshot, loop.tick.memory
    yield BoundKernel(copy_leading, loop.plants.integrator.system.arrays.memory, memory)
    if belief is not plant:
        if effects.senses:
            yield from plant.steps.items
        q, v, sensors = effects.sensor_steps(s.clock, s.q, s.v)
        yield from sensors
        yield BoundKernel(copy_state, s.clock, q, v, b.clock, b.q, b.v)
    guard = KernelSequence(loop.law.guard_steps(belief, memory, margin))
    yield from (*belief.steps_for(guard), *guard.items)
