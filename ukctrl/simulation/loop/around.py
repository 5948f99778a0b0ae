"""What happens around a plant, and many spans of it run by machine code."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.program import Steps
from ukctrl.mechanics.integrate.explicit_kernels import T_OLD, T, between, interpolant
from ukctrl.mechanics.integrate.held_kernels import (
    CRAWLS,
    CROSSED,
    GREW,
    HOW,
    IN_ARRIVAL,
    IN_GUARD,
    IN_RATES,
    IN_SAMPLE,
    IN_TICK,
    OUTPUTS,
    PAUSED,
    START,
    STUCK,
    Moving,
    Stepping,
    Tables,
    begin,
    go_on,
    hold,
    sample,
)
from ukctrl.mechanics.integrate.integrator import IntegrationFailed, check_bounded, crossing
from ukctrl.mechanics.integrate.system import State, System
from ukctrl.simulation.loop.spans import Part, Span

PAUSE = 0.02
"""After so long Ctrl-C and progress have their turn [s]."""


class Around(NamedTuple):
    """What happens around a plant."""

    sample: Steps
    """At an output, at the state in the port of the loop."""
    tick: Steps
    """At a tick of a sampled law, likewise."""
    arrival: Steps
    """Where a delayed input arrives."""
    guard: Steps
    """After every step under continuous control, what says whether the law shall switch."""
    margin: Vector
    """What that writes: not positive where it shall, shape ``(1,)``."""
    after: Steps
    """After every step, what corrects the state."""
    stepping: Stepping | None
    """The method, where all of a step is compiled."""

    @property
    def tables(self) -> Tables:
        """What machine code takes of it."""
        around = self.tick.lines, self.arrival.lines, self.sample.lines
        return Tables(*around, self.guard.lines, self.margin)


def run_together(part: Part, system: System, around: Around, state: State) -> State:
    """Run spans with what happens at their starts; return the state after them.

    Raises:
        IntegrationFailed: The motion cannot be continued.
        Exception: What a step of the tables met.
    """
    assert around.stepping is not None
    moving = _moving(float(part.times[0, START]), state)
    code = hold(system.port, around.tables, around.stepping, part, moving)
    return _reached(code, moving, system, around, state)


def run_span(
    span: Span, system: System, around: Around, state: State, pause: Callable[[float], None]
) -> tuple[State, Span | None, bool]:
    """Run one span with steps that the error allows; ``pause`` is called now and then.

    Returns the state reached, what is left of the span, and whether that is because the guard
    stopped being positive, which is for the law to settle. Else the steps hardly went on near what
    may be a singular position: it takes another method to pass.

    Raises:
        IntegrationFailed: The motion cannot be continued.
        Exception: What a step of the tables met.
    """
    assert around.stepping is not None
    chosen, outputs, stop = around.stepping.chosen, np.asarray(span.outputs), span.stop
    moving = _moving(span.start, state)
    code = 0
    if len(outputs) and outputs[0] == span.start:
        code, outputs = sample(system.port, around.tables, span.start, moving), outputs[1:]
    code = code or begin(system.port, chosen, stop, moving)
    reached = _reached(code, moving, system, around, state)
    given = system.port, around.tables, chosen, stop, outputs, moving
    code, steps, left = code or PAUSED, 1, None
    while code == PAUSED:
        began = time.perf_counter()
        code = go_on(*given, steps)
        reached = _reached(code, moving, system, around, state)
        pause(float(moving.t[0]))
        if time.perf_counter() - began < 0.5 * PAUSE:
            steps *= 2
    if code == CROSSED:
        reached = _at_the_switch(outputs, moving, system, around)
    if code in (CRAWLS, CROSSED):
        rest = array("d", outputs[int(moving.done[OUTPUTS]) :].tobytes())
        left = span._replace(start=float(moving.t[0]), outputs=rest)
    return reached, left, code == CROSSED


def _at_the_switch(outputs: Vector, moving: Moving, system: System, around: Around) -> State:
    """Go to where the guard stops being positive within the last step, with samples before that."""
    assert around.stepping is not None
    chosen, port, nq = around.stepping.chosen, system.port, len(system.port.q)
    trial, end = chosen.trial, nq + len(port.v)
    start, stop = float(trial.times[T_OLD]), float(trial.times[T])
    if interpolant(port, chosen.method, trial, chosen.F) < 0:
        system.steps.complain()

    def at_time(t: float) -> State:
        within = trial.y_old, start, stop - start, np.array([t]), chosen.states
        between(chosen.method.nested, chosen.F, *within)
        y = chosen.states[0].copy()
        return State(system.robot.normalize(y[:nq]), y[nq:end], y[end:])

    def guard(t: float, state: State) -> float:
        system.write(t, state)
        around.guard()
        return float(around.margin[0])

    def keep(t: float) -> State:
        state = at_time(t)
        moving.t[0], moving.y[:] = t, np.concatenate(state)
        return state

    switch = crossing(guard, at_time, start, stop)
    for t in outputs[int(moving.done[OUTPUTS]) :].tolist():
        if t > switch:
            break
        reached = keep(t)
        _reached(sample(port, around.tables, t, moving), moving, system, around, reached)
        moving.done[OUTPUTS] += 1
    return keep(switch)


def _moving(t: float, state: State) -> Moving:
    return Moving(np.full(1, t), np.concatenate(state), np.zeros(3, dtype=np.int64))


def _reached(code: int, moving: Moving, system: System, around: Around, before: State) -> State:
    """Return the state in which machine code has left the loop, or raise what ended it."""
    q, v = len(before.q), len(before.q) + len(before.v)
    reached = State(moving.y[:q], moving.y[q:v], moving.y[v:])
    if code < 0:
        _complain(int(moving.done[HOW]), float(moving.t[0]), reached, system, around)
    system.steps.forget()  # of halved steps and trials, which have passed
    return reached


def _complain(where: int, t: float, state: State, system: System, around: Around) -> None:
    """Raise what ended the spans."""
    met = {
        IN_RATES: system.steps, IN_TICK: around.tick, IN_ARRIVAL: around.arrival,
        IN_SAMPLE: around.sample, STUCK: system.steps, IN_GUARD: around.guard,
    }  # fmt: skip
    if where == GREW:
        check_bounded(t, state)
    around.after.complain()
    met[where].complain()
    raise IntegrationFailed(f"the integrator needs steps below rounding at t = {t:.6g} s.")
