"""What happens around a plant, and many spans of it run by machine code."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.program import KernelSequence
from ukctrl.mechanics.integrate.integrator import IntegrationFailed, check_bounded, locate_event
from ukctrl.mechanics.integrate.interval_kernels import (
    ARRIVAL_FAILED,
    BEGIN,
    DIVERGED,
    GUARD_CROSSED,
    GUARD_FAILED,
    OUTPUTS_DONE,
    PAUSED,
    RATES_FAILED,
    SAMPLE_FAILED,
    STALLED,
    STATUS,
    STEP_UNDERFLOW,
    TICK_FAILED,
    EventTables,
    LoopState,
    StepMethod,
    begin_interval,
    continue_interval,
    run_intervals,
    take_sample,
)
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem
from ukctrl.mechanics.integrate.runge_kutta_kernels import T_OLD, T, dense_output, interpolate
from ukctrl.simulation.events.event_schedule import Interval, Segment

PROGRESS_INTERVAL = 0.02
"""After so long Ctrl-C and progress have their turn [s]."""


class PlantTables(NamedTuple):
    """What happens around a plant."""

    sample: KernelSequence
    """At an output, at the state in the port of the loop."""
    tick: KernelSequence
    """At a tick of a sampled law, likewise."""
    arrival: KernelSequence
    """Where a delayed input arrives."""
    guard: KernelSequence
    """After every step under continuous control, what says whether the law shall switch."""
    margin: Vector
    """What that writes: not positive where it shall, shape ``(1,)``."""
    correction: KernelSequence
    """After every step, what corrects the state."""
    method: StepMethod | None
    """The method, where all of a step is compiled."""

    @property
    def tables(self) -> EventTables:
        """What machine code takes of it."""
        around = self.tick.lines, self.arrival.lines, self.sample.lines
        return EventTables(*around, self.guard.lines, self.margin)


def run_segment(
    segment: Segment, system: OdeSystem, around: PlantTables, state: IntegratorState
) -> IntegratorState:
    """Run spans with what happens at their starts; return the state after them.

    Raises:
        IntegrationFailed: The motion cannot be continued.
        Exception: What a step of the tables met.
    """
    assert around.method is not None
    moving = _progress_arrays(float(segment.times[0, BEGIN]), state)
    code = run_intervals(system.arrays, around.tables, around.method, segment, moving)
    return _state_or_fault(code, moving, system, around, state)


def run_interval(
    span: Interval,
    system: OdeSystem,
    around: PlantTables,
    state: IntegratorState,
    pause: Callable[[float], None],
) -> tuple[IntegratorState, Interval | None, bool]:
    """Run one span with steps that the error allows; ``pause`` is called now and then.

    Returns the state reached, what is left of the span, and whether that is because the guard
    stopped being positive, which is for the law to settle. Else the steps hardly went on near what
    may be a singular position: it takes another method to pass.

    Raises:
        IntegrationFailed: The motion cannot be continued.
        Exception: What a step of the tables met.
    """
    assert around.method is not None
    chosen, outputs, stop = around.method.adaptive, np.asarray(span.outputs), span.stop
    moving = _progress_arrays(span.start, state)
    code = 0
    # before `begin_interval`, which moves the state to find a first step
    if len(outputs) and outputs[0] == span.start:
        code, outputs = take_sample(system.arrays, around.tables, span.start, moving), outputs[1:]
    code = code or begin_interval(system.arrays, chosen, stop, moving)
    reached = _state_or_fault(code, moving, system, around, state)
    args = system.arrays, around.tables, chosen, stop, outputs, moving
    code, steps, remaining = code or PAUSED, 1, None
    while code == PAUSED:
        began = time.perf_counter()
        code = continue_interval(*args, steps)
        reached = _state_or_fault(code, moving, system, around, state)
        pause(float(moving.t[0]))
        # twice the steps must still end within the interval
        if time.perf_counter() - began < 0.5 * PROGRESS_INTERVAL:
            steps *= 2
    if code == GUARD_CROSSED:
        reached = _state_at_event(outputs, moving, system, around)
    if code in (STALLED, GUARD_CROSSED):
        tail = array("d", outputs[int(moving.progress[OUTPUTS_DONE]) :].tobytes())
        remaining = span._replace(start=float(moving.t[0]), outputs=tail)
    return reached, remaining, code == GUARD_CROSSED


def _state_at_event(
    outputs: Vector, moving: LoopState, system: OdeSystem, around: PlantTables
) -> IntegratorState:
    """Go to where the guard stops being positive within the last step, with samples before that."""
    assert around.method is not None
    chosen, port, nq = around.method.adaptive, system.arrays, len(system.arrays.q)
    trial, end = chosen.buffers, nq + len(port.v)
    start, stop = float(trial.times[T_OLD]), float(trial.times[T])
    if dense_output(port, chosen.method, trial, chosen.dense) < 0:
        system.steps.raise_fault()

    def at_time(t: float) -> IntegratorState:
        within = trial.y_old, start, stop - start, np.array([t]), chosen.states
        interpolate(chosen.method.nested, chosen.dense, *within)
        y = chosen.states[0].copy()
        return IntegratorState(system.robot.normalize(y[:nq]), y[nq:end], y[end:])

    def guard(t: float, state: IntegratorState) -> float:
        system.write(t, state)
        around.guard()
        return float(around.margin[0])

    def keep(t: float) -> IntegratorState:
        state = at_time(t)
        moving.t[0], moving.y[:] = t, np.concatenate(state)
        return state

    switch = locate_event(guard, at_time, start, stop)
    for t in outputs[int(moving.progress[OUTPUTS_DONE]) :].tolist():
        if t > switch:
            break
        reached = keep(t)
        _state_or_fault(
            take_sample(port, around.tables, t, moving), moving, system, around, reached
        )
        moving.progress[OUTPUTS_DONE] += 1
    return keep(switch)


def _progress_arrays(t: float, state: IntegratorState) -> LoopState:
    return LoopState(np.full(1, t), np.concatenate(state), np.zeros(3, dtype=np.int64))


def _state_or_fault(
    code: int, moving: LoopState, system: OdeSystem, around: PlantTables, state: IntegratorState
) -> IntegratorState:
    """Return the state in which machine code has left the loop, or raise what ended it."""
    q, v = len(state.q), len(state.q) + len(state.v)
    reached = IntegratorState(moving.y[:q], moving.y[q:v], moving.y[v:])
    if code < 0:
        _raise_fault(int(moving.progress[STATUS]), float(moving.t[0]), reached, system, around)
    system.steps.take_fault()  # of halved steps and trials, which have passed
    return reached


def _raise_fault(
    where: int, t: float, state: IntegratorState, system: OdeSystem, around: PlantTables
) -> None:
    """Raise what ended the spans."""
    sources = {
        RATES_FAILED: system.steps, TICK_FAILED: around.tick, ARRIVAL_FAILED: around.arrival,
        SAMPLE_FAILED: around.sample, STEP_UNDERFLOW: system.steps, GUARD_FAILED: around.guard,
    }  # fmt: skip
    if where == DIVERGED:
        check_bounded(t, state)
    around.correction.raise_fault()
    sources[where].raise_fault()
    raise IntegrationFailed(f"the integrator needs steps below rounding at t = {t:.6g} s.")
