"""Spans of time one after the other, with what happens at their starts and samples, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled, deferred
from ukctrl.core.program import run
from ukctrl.core.program.kernel_sequence import FAULT, STOP
from ukctrl.mechanics.integrate.fixed_step_kernels import FixedStepper, fixed_steps, is_bounded
from ukctrl.mechanics.integrate.ode_system import System, state_rates, write_state
from ukctrl.mechanics.integrate.runge_kutta_kernels import (
    ACCEPTED,
    H_ABS,
    STEP_TOO_SMALL,
    T_OLD,
    ButcherTableau,
    StepBuffers,
    T,
    dense_output,
    initial_step,
    interpolate,
    take_step,
)
from ukctrl.robot.manifold_kernels import normalize

BEGIN, END = range(2)
"""Columns of the times of intervals: where each begins and ends [s]."""
TICKS, ARRIVALS, FIRST_OUTPUT, END_OUTPUT = range(4)
"""Columns of what happens in an interval: whether the law ticks and how many inputs arrive at its
start, the first of its outputs and that behind the last one."""
(
    OK,
    RATES_FAILED,
    TICK_FAILED,
    ARRIVAL_FAILED,
    SAMPLE_FAILED,
    DIVERGED,
    STEP_UNDERFLOW,
    GUARD_FAILED,
) = range(8)
"""How it ended: well, where a table failed, because the motion grew or no step was small enough."""
HISTORY_SIZE = 400
"""Steps that are remembered where singular positions are looked out for."""
STALL_STEPS = 12
"""So many steps in a row that are short make a crawl."""
SHORT_STEP_RATIO = 1e-3
"""A step is short below this fraction of the longest remembered."""
TOTAL_STEPS, SHORT_RUN = range(2)
"""Places in `StepHistory.counts`."""
INTERVALS_DONE, STATUS, OUTPUTS_DONE = range(3)
"""Places in `LoopState.progress`: intervals behind, how it ended, outputs behind in this one."""
PAUSED, STALLED, GUARD_CROSSED, UNSETTLED = 1, 2, 3, 4
NO_PAUSE = -1
"""So many steps until a pause."""
FIRST_STEP = 1e-6
"""First step where the rates near the start say nothing, as a fraction of the interval."""
STEP_RTOL = 1e-9
"""A step may be longer than the longest by this fraction."""


Intervals = tuple[Matrix, Indices, Vector]
"""Times of intervals, what happens in them, and their outputs."""


class EventTables(NamedTuple):
    """What happens at a tick of the law, when a delayed input arrives, and at an output."""

    tick: Indices
    arrival: Indices
    sample: Indices
    guard: Indices
    """After a step that the error allows; nothing happens in a table of no steps."""
    settle: Indices
    """At the start of an interval, likewise: whether the modes there last."""
    margin: Vector
    """What both write: positive while modes last, shape ``(1,)``."""


class LoopState(NamedTuple):
    """Where the loop is."""

    t: Vector
    """Shape ``(1,)`` [s]."""
    y: Vector
    """q, v and the energy fed to the robot."""
    progress: Indices
    """Shape ``(3,)``."""


class StepHistory(NamedTuple):
    """The steps that were taken last, a ring; without room nothing is looked out for."""

    steps: Matrix
    """When each began, and how long it was, shape ``(HISTORY_SIZE, 2)`` [s]."""
    states: Matrix
    """Where it began, shape ``(HISTORY_SIZE, n)``."""
    counts: Indices
    """Steps so far, and how many of the last ones are short, shape ``(2,)``."""


class AdaptiveStepper(NamedTuple):
    """A method with error control; see `ukctrl.mechanics.integrate.runge_kutta_kernels`."""

    method: ButcherTableau
    buffers: StepBuffers
    dense: Matrix
    states: Matrix
    """Room for one state, shape ``(1, n)``."""
    history: StepHistory
    rtol: float
    atol: float
    max_step: float


class StepMethod(NamedTuple):
    """A method of either kind; the other is there for its types."""

    fixed: FixedStepper
    adaptive: AdaptiveStepper
    is_adaptive: bool


@compiled
def run_intervals(
    port: System,
    tables: EventTables,
    stepping: StepMethod,
    intervals: Intervals,
    loop_state: LoopState,
) -> int:
    """Run the intervals that are not behind.

    Returns 0; `UNSETTLED` where modes do not last at the start of one, which has ticked; what
    `continue_interval` does, within one; what `ukctrl.core.program.run` does where it fails; or
    `FAULT`.
    """
    times, events, outputs = intervals
    while loop_state.progress[INTERVALS_DONE] < len(times):
        i = loop_state.progress[INTERVALS_DONE]
        t, stop = times[i, BEGIN], times[i, END]
        loop_state.t[0] = t
        write_state(port, t, loop_state.y)
        if events[i, TICKS] > 0:
            code = run(tables.tick)
            if code < 0:
                loop_state.progress[STATUS] = TICK_FAILED
                return code
        for _ in range(events[i, ARRIVALS]):
            code = run(tables.arrival)
            if code < 0:
                loop_state.progress[STATUS] = ARRIVAL_FAILED
                return code
        code = mode_end(tables.settle, tables.margin, loop_state)
        if code != 0:
            return code if code < 0 else UNSETTLED
        first, end = events[i, FIRST_OUTPUT], events[i, END_OUTPUT]
        if first < end and outputs[first] == t:
            code = take_sample(port, tables, t, loop_state)
            if code < 0:
                return code
            first += 1
        inside = outputs[first:end]
        if stepping.is_adaptive:
            code = integrate_adaptive(port, tables, stepping.adaptive, stop, inside, loop_state)
        else:
            code = integrate_fixed(port, tables, stepping.fixed, stop, inside, loop_state)
        if code != 0:
            return code
        loop_state.progress[INTERVALS_DONE] += 1
    return 0


@compiled
def mode_end(table: Indices, margin: Vector, loop_state: LoopState) -> int:
    """Return 1 where a mode does not last any more, as a table of a guard tells; else 0, or what
    `ukctrl.core.program.run` does where it fails.
    """
    if len(table) == 1:
        return 0
    code = run(table)
    if code < 0:
        loop_state.progress[STATUS] = GUARD_FAILED
        return code
    return 0 if margin[0] > 0.0 else 1


@compiled
def take_sample(port: System, tables: EventTables, t: float, loop_state: LoopState) -> int:
    """Keep a sample where the loop is."""
    loop_state.t[0] = t
    write_state(port, t, loop_state.y)
    code = run(tables.sample)
    if code < 0:
        loop_state.progress[STATUS] = SAMPLE_FAILED
    return code


@compiled
def integrate_fixed(
    port: System,
    tables: EventTables,
    fixed: FixedStepper,
    stop: float,
    outputs: Vector,
    loop_state: LoopState,
) -> int:
    """Go to the end of an interval, with equal steps between outputs."""
    q, v, memory, y = fixed.q, fixed.v, fixed.memory, loop_state.y
    for k in range(len(outputs) + 1):
        t, last = loop_state.t[0], k == len(outputs)
        target = stop if last else outputs[k]
        if target == t:
            continue
        count = max(1, int(-((-(target - t) / fixed.max_step + STEP_RTOL) // 1.0)))
        h = (target - t) / count
        copy_into(y[: len(q)], q)
        copy_into(y[len(q) : len(q) + len(v)], v)
        copy_into(y[len(q) + len(v) :], memory)
        done = fixed_steps(port, fixed, t, h, count)
        if done < 0:
            loop_state.progress[STATUS] = RATES_FAILED
            return done
        copy_into(q, y[: len(q)])
        copy_into(v, y[len(q) : len(q) + len(v)])
        copy_into(memory, y[len(q) + len(v) :])
        loop_state.t[0] = target if done == count else t + done * h
        if not is_bounded(q, v, memory):
            loop_state.progress[STATUS] = DIVERGED
            return FAULT
        if not last:
            code = take_sample(port, tables, target, loop_state)
            if code < 0:
                return code
    return 0


@compiled
def integrate_adaptive(
    port: System,
    tables: EventTables,
    chosen: AdaptiveStepper,
    stop: float,
    outputs: Vector,
    loop_state: LoopState,
) -> int:
    """Go to the end of an interval with steps that the error allows, and interpolate at outputs."""
    code = begin_interval(port, chosen, stop, loop_state)
    if code < 0:
        return code
    return continue_interval(port, tables, chosen, stop, outputs, loop_state, NO_PAUSE)


@deferred
def begin_interval(
    port: System, chosen: AdaptiveStepper, stop: float, loop_state: LoopState
) -> int:
    """Choose the first step of an interval, from where the loop is."""
    method, trial, t = chosen.method, chosen.buffers, loop_state.t[0]
    trial.times[T] = t
    copy_into(loop_state.y, trial.y)
    loop_state.progress[OUTPUTS_DONE] = 0
    code = state_rates(port, t, trial.y, trial.K[method.stages])
    if code != STOP:  # of a fault there the steps will tell
        code = initial_step(port, method, trial, stop, chosen.max_step, chosen.rtol, chosen.atol)
    if not 0.0 < trial.times[H_ABS] < np.inf:
        trial.times[H_ABS] = FIRST_STEP * (stop - t)
    if code < 0:
        loop_state.progress[STATUS] = RATES_FAILED
    return code


@compiled
def continue_interval(
    port: System,
    tables: EventTables,
    chosen: AdaptiveStepper,
    stop: float,
    outputs: Vector,
    loop_state: LoopState,
    steps: int,
) -> int:
    """Go on in an interval that has begun, by so many steps at most.

    Returns 0 at its end, `PAUSED` before, `STALLED` where steps hardly go on near what may be a
    singular position, `GUARD_CROSSED` behind a step in which the guard stopped being positive, or
    what `run_intervals` does.
    """
    method, trial, y = chosen.method, chosen.buffers, loop_state.y
    nq, nv, code = len(port.q), len(port.v), 0
    while trial.times[T] < stop:
        if steps == 0:
            return PAUSED
        steps -= 1
        code = take_step(port, method, trial, stop, chosen.max_step, chosen.rtol, chosen.atol)
        if code == STEP_TOO_SMALL and chosen.history.counts[TOTAL_STEPS] > 0:
            copy_into(trial.y, y)
            normalize(port.blocks, y, y)
            return STALLED
        if code != ACCEPTED:
            loop_state.progress[STATUS], loop_state.t[0] = (
                STEP_UNDERFLOW if code == STEP_TOO_SMALL else RATES_FAILED,
                trial.times[T],
            )
            return FAULT if code == STEP_TOO_SMALL else code
        loop_state.t[0] = end = trial.times[T]
        if not is_bounded(trial.y[:nq], trial.y[nq : nq + nv], trial.y[nq + nv :]):
            copy_into(trial.y, y)
            loop_state.progress[STATUS] = DIVERGED
            return FAULT
        if len(tables.guard) > 1:
            write_state(port, end, trial.y)
        code = mode_end(tables.guard, tables.margin, loop_state)
        if code != 0:
            return code if code < 0 else GUARD_CROSSED
        code = sample_outputs(port, tables, chosen, outputs, loop_state)
        if code < 0:
            return code
        loop_state.t[0] = end
        if update_history(chosen.history, trial):
            copy_into(trial.y, y)
            normalize(port.blocks, y, y)
            return STALLED
    copy_into(trial.y, y)
    normalize(port.blocks, y, y)
    return 0


@deferred
def update_history(recent: StepHistory, trial: StepBuffers) -> bool:
    """Remember the step that was taken last; return whether it is the last of a crawl."""
    if len(recent.steps) == 0:
        return False
    counts, h, longest = recent.counts, trial.times[T] - trial.times[T_OLD], 0.0
    k = counts[TOTAL_STEPS] % len(recent.steps)
    recent.steps[k, 0], recent.steps[k, 1] = trial.times[T_OLD], h
    copy_into(trial.y_old, recent.states[k])
    counts[TOTAL_STEPS] += 1
    for i in range(min(counts[TOTAL_STEPS], len(recent.steps))):
        longest = max(longest, recent.steps[i, 1])
    counts[SHORT_RUN] = counts[SHORT_RUN] + 1 if h < SHORT_STEP_RATIO * longest else 0
    return bool(counts[SHORT_RUN] >= STALL_STEPS)


@compiled
def sample_outputs(
    port: System,
    tables: EventTables,
    chosen: AdaptiveStepper,
    outputs: Vector,
    loop_state: LoopState,
) -> int:
    """Keep the samples of the step that was taken last."""
    method, trial, y = chosen.method, chosen.buffers, loop_state.y
    end, start, at = trial.times[T], trial.times[T_OLD], loop_state.progress[OUTPUTS_DONE]
    if at == len(outputs) or outputs[at] > end:
        return 0
    code = dense_output(port, method, trial, chosen.dense)
    if code < 0:
        loop_state.progress[STATUS] = RATES_FAILED
        return code
    while at < len(outputs) and outputs[at] <= end:
        copy_into(trial.y, y)
        if outputs[at] < end:
            within = trial.y_old, start, end - start, outputs[at : at + 1], chosen.states
            interpolate(method.nested, chosen.dense, *within)
            copy_into(chosen.states[0], y)
        normalize(port.blocks, y, y)
        code = take_sample(port, tables, outputs[at], loop_state)
        if code < 0:
            return code
        at += 1
        loop_state.progress[OUTPUTS_DONE] = at
    return 0
