"""Spans of time one after the other, with what happens at their starts and samples, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled, deferred
from ukctrl.core.program import run
from ukctrl.core.program.program import FAULT, STOP
from ukctrl.mechanics.integrate.explicit_kernels import (
    ACCEPTED,
    H_ABS,
    T_OLD,
    TOO_SMALL,
    Method,
    T,
    Trial,
    between,
    first_step,
    interpolant,
    step,
)
from ukctrl.mechanics.integrate.fixed_kernels import Fixed, bounded, fixed_steps
from ukctrl.mechanics.integrate.system import Port, rates, write_state
from ukctrl.robot.configuration_kernels import normalize

START, LAST = range(2)
"""Columns of the times of spans: where each begins and ends [s]."""
TICKS, ARRIVALS, FIRST, BEYOND = range(4)
"""Columns of what happens in a span: whether the law ticks and how many inputs arrive at its start,
the first of its outputs and that behind the last one."""
FINE, IN_RATES, IN_TICK, IN_ARRIVAL, IN_SAMPLE, GREW, STUCK, IN_GUARD = range(8)
"""How it ended: well, where a table failed, because the motion grew or no step was small enough."""
RECENT = 400
"""Steps that are remembered where singular positions are looked out for."""
SHORT_STEPS = 12
"""So many steps in a row that are short make a crawl."""
SHORT = 1e-3
"""A step is short below this fraction of the longest remembered."""
TAKEN, SHORTS = range(2)
"""Places in `Recent.counts`."""
SPANS, HOW, OUTPUTS = range(3)
"""Places in `Moving.done`: spans behind, how it ended, and outputs of the span behind."""
PAUSED, CRAWLS, CROSSED = 1, 2, 3
NEVER = -1
"""So many steps until a pause."""
FIRST_STEP = 1e-6
"""First step where the rates near the start say nothing, as a fraction of the span."""
NEAR = 1e-9
"""A step may be longer than the longest by this fraction."""


Spans = tuple[Matrix, Indices, Vector]
"""Times of spans, what happens in them, and their outputs."""


class Tables(NamedTuple):
    """What happens at a tick of the law, when a delayed input arrives, and at an output."""

    tick: Indices
    arrival: Indices
    sample: Indices
    guard: Indices
    """After a step that the error allows; nothing happens in a table of no steps."""
    margin: Vector
    """What the guard writes: not positive where the step went too far, shape ``(1,)``."""


class Moving(NamedTuple):
    """Where the loop is."""

    t: Vector
    """Shape ``(1,)`` [s]."""
    y: Vector
    """q, v and the energy fed to the robot."""
    done: Indices
    """Shape ``(3,)``."""


class Recent(NamedTuple):
    """The steps that were taken last, a ring; without room nothing is looked out for."""

    steps: Matrix
    """When each began, and how long it was, shape ``(RECENT, 2)`` [s]."""
    states: Matrix
    """Where it began, shape ``(RECENT, n)``."""
    counts: Indices
    """Steps so far, and how many of the last ones are short, shape ``(2,)``."""


class Chosen(NamedTuple):
    """A method with error control; see `ukctrl.mechanics.integrate.explicit_kernels`."""

    method: Method
    trial: Trial
    F: Matrix
    states: Matrix
    """Room for one state, shape ``(1, n)``."""
    recent: Recent
    rtol: float
    atol: float
    longest: float


class Stepping(NamedTuple):
    """A method of either kind; the other is there for its types."""

    fixed: Fixed
    chosen: Chosen
    adapts: bool


@compiled
def hold(port: Port, tables: Tables, stepping: Stepping, spans: Spans, moving: Moving) -> int:
    """Run the spans that are not behind.

    Returns 0, or what `ukctrl.core.program.run` does where it fails, or `FAULT`.
    """
    times, events, outputs = spans
    while moving.done[SPANS] < len(times):
        i = moving.done[SPANS]
        t, stop = times[i, START], times[i, LAST]
        moving.t[0] = t
        write_state(port, t, moving.y)
        if events[i, TICKS] > 0:
            code = run(tables.tick)
            if code < 0:
                moving.done[HOW] = IN_TICK
                return code
        for _ in range(events[i, ARRIVALS]):
            code = run(tables.arrival)
            if code < 0:
                moving.done[HOW] = IN_ARRIVAL
                return code
        first, beyond = events[i, FIRST], events[i, BEYOND]
        if first < beyond and outputs[first] == t:
            code = sample(port, tables, t, moving)
            if code < 0:
                return code
            first += 1
        inside = outputs[first:beyond]
        if stepping.adapts:
            code = by_chosen_steps(port, tables, stepping.chosen, stop, inside, moving)
        else:
            code = by_fixed_steps(port, tables, stepping.fixed, stop, inside, moving)
        if code < 0:
            return code
        moving.done[SPANS] += 1
    return 0


@compiled
def sample(port: Port, tables: Tables, t: float, moving: Moving) -> int:
    """Keep a sample where the loop is."""
    moving.t[0] = t
    write_state(port, t, moving.y)
    code = run(tables.sample)
    if code < 0:
        moving.done[HOW] = IN_SAMPLE
    return code


@compiled
def by_fixed_steps(
    port: Port, tables: Tables, fixed: Fixed, stop: float, outputs: Vector, moving: Moving
) -> int:
    """Go to the end of a span, with equal steps between outputs."""
    q, v, memory, y = fixed.q, fixed.v, fixed.memory, moving.y
    for k in range(len(outputs) + 1):
        t, last = moving.t[0], k == len(outputs)
        target = stop if last else outputs[k]
        if target == t:
            continue
        count = max(1, int(-((-(target - t) / fixed.length + NEAR) // 1.0)))
        h = (target - t) / count
        copy_into(y[: len(q)], q)
        copy_into(y[len(q) : len(q) + len(v)], v)
        copy_into(y[len(q) + len(v) :], memory)
        done = fixed_steps(port, fixed, t, h, count)
        if done < 0:
            moving.done[HOW] = IN_RATES
            return done
        copy_into(q, y[: len(q)])
        copy_into(v, y[len(q) : len(q) + len(v)])
        copy_into(memory, y[len(q) + len(v) :])
        moving.t[0] = target if done == count else t + done * h
        if not bounded(q, v, memory):
            moving.done[HOW] = GREW
            return FAULT
        if not last:
            code = sample(port, tables, target, moving)
            if code < 0:
                return code
    return 0


@compiled
def by_chosen_steps(
    port: Port, tables: Tables, chosen: Chosen, stop: float, outputs: Vector, moving: Moving
) -> int:
    """Go to the end of a span with steps that the error allows, and interpolate at outputs."""
    code = begin(port, chosen, stop, moving)
    if code < 0:
        return code
    return go_on(port, tables, chosen, stop, outputs, moving, NEVER)


@deferred
def begin(port: Port, chosen: Chosen, stop: float, moving: Moving) -> int:
    """Choose the first step of a span, from where the loop is."""
    method, trial, t = chosen.method, chosen.trial, moving.t[0]
    trial.times[T] = t
    copy_into(moving.y, trial.y)
    moving.done[OUTPUTS] = 0
    code = rates(port, t, trial.y, trial.K[method.stages])
    if code != STOP:  # of a fault there the steps will tell
        code = first_step(port, method, trial, stop, chosen.longest, chosen.rtol, chosen.atol)
    if not 0.0 < trial.times[H_ABS] < np.inf:
        trial.times[H_ABS] = FIRST_STEP * (stop - t)
    if code < 0:
        moving.done[HOW] = IN_RATES
    return code


@compiled
def go_on(
    port: Port,
    tables: Tables,
    chosen: Chosen,
    stop: float,
    outputs: Vector,
    moving: Moving,
    steps: int,
) -> int:
    """Go on in a span that has begun, by so many steps at most.

    Returns 0 at its end, `PAUSED` before, `CRAWLS` where steps hardly go on near what may be a
    singular position, `CROSSED` behind a step in which the guard stopped being positive, or what
    `hold` does.
    """
    method, trial, y = chosen.method, chosen.trial, moving.y
    nq, nv, code = len(port.q), len(port.v), 0
    while trial.times[T] < stop:
        if steps == 0:
            return PAUSED
        steps -= 1
        code = step(port, method, trial, stop, chosen.longest, chosen.rtol, chosen.atol)
        if code == TOO_SMALL and chosen.recent.counts[TAKEN] > 0:
            copy_into(trial.y, y)
            normalize(port.blocks, y, y)
            return CRAWLS
        if code != ACCEPTED:
            moving.done[HOW], moving.t[0] = STUCK if code == TOO_SMALL else IN_RATES, trial.times[T]
            return FAULT if code == TOO_SMALL else code
        moving.t[0] = end = trial.times[T]
        if not bounded(trial.y[:nq], trial.y[nq : nq + nv], trial.y[nq + nv :]):
            copy_into(trial.y, y)
            moving.done[HOW] = GREW
            return FAULT
        if len(tables.guard) > 1:
            write_state(port, end, trial.y)
            code = run(tables.guard)
            if code < 0:
                moving.done[HOW] = IN_GUARD
                return code
            if not tables.margin[0] > 0.0:
                return CROSSED
        code = outputs_within(port, tables, chosen, outputs, moving)
        if code < 0:
            return code
        moving.t[0] = end
        if crawls(chosen.recent, trial):
            copy_into(trial.y, y)
            normalize(port.blocks, y, y)
            return CRAWLS
    copy_into(trial.y, y)
    normalize(port.blocks, y, y)
    return 0


@deferred
def crawls(recent: Recent, trial: Trial) -> bool:
    """Remember the step that was taken last; return whether it is the last of a crawl."""
    if len(recent.steps) == 0:
        return False
    counts, h, longest = recent.counts, trial.times[T] - trial.times[T_OLD], 0.0
    k = counts[TAKEN] % len(recent.steps)
    recent.steps[k, 0], recent.steps[k, 1] = trial.times[T_OLD], h
    copy_into(trial.y_old, recent.states[k])
    counts[TAKEN] += 1
    for i in range(min(counts[TAKEN], len(recent.steps))):
        longest = max(longest, recent.steps[i, 1])
    counts[SHORTS] = counts[SHORTS] + 1 if h < SHORT * longest else 0
    return bool(counts[SHORTS] >= SHORT_STEPS)


@compiled
def outputs_within(
    port: Port, tables: Tables, chosen: Chosen, outputs: Vector, moving: Moving
) -> int:
    """Keep the samples of the step that was taken last."""
    method, trial, y = chosen.method, chosen.trial, moving.y
    end, start, at = trial.times[T], trial.times[T_OLD], moving.done[OUTPUTS]
    if at == len(outputs) or outputs[at] > end:
        return 0
    code = interpolant(port, method, trial, chosen.F)
    if code < 0:
        moving.done[HOW] = IN_RATES
        return code
    while at < len(outputs) and outputs[at] <= end:
        copy_into(trial.y, y)
        if outputs[at] < end:
            within = trial.y_old, start, end - start, outputs[at : at + 1], chosen.states
            between(method.nested, chosen.F, *within)
            copy_into(chosen.states[0], y)
        normalize(port.blocks, y, y)
        code = sample(port, tables, outputs[at], moving)
        if code < 0:
            return code
        at += 1
        moving.done[OUTPUTS] = at
    return 0
