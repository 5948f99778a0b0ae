"""What happens around a plant, and many spans of it run by machine code."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.program import Steps
from ukctrl.mechanics.integrate.held_kernels import (
    GREW,
    IN_ARRIVAL,
    IN_RATES,
    IN_SAMPLE,
    IN_TICK,
    STUCK,
    Moving,
    Stepping,
    Tables,
    hold,
)
from ukctrl.mechanics.integrate.integrator import SPEED_LIMIT, IntegrationFailed, check_bounded
from ukctrl.mechanics.integrate.system import State, System
from ukctrl.simulation.loop.spans import Span

TOGETHER = 250
"""Spans and outputs that are run together; between them Ctrl-C and progress have their turn."""


class Around(NamedTuple):
    """What happens around a plant."""

    sample: Steps
    """At an output, at the state in the port of the loop."""
    tick: Steps
    """At a tick of a sampled law, likewise."""
    arrival: Steps
    """Where a delayed input arrives."""
    stepping: Stepping | None
    """The method, where all of a step under a held input is compiled."""


def together(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """Yield spans in parts, none of which has a change of the plant but at its start."""
    part: list[Span] = []
    outputs = 0
    for span in spans:
        outputs += len(span.outputs)
        if part and (span.changes or len(part) == TOGETHER or outputs > TOGETHER):
            yield part
            part, outputs = [], len(span.outputs)
        part.append(span)
    yield part


def run_held(spans: Sequence[Span], system: System, around: Around, state: State) -> State:
    """Run spans of a plant whose input is held; return the state after them.

    Raises:
        IntegrationFailed: The motion cannot be continued.
        Exception: What a step of the tables met.
    """
    assert around.stepping is not None
    ends = list(itertools.accumulate((len(span.outputs) for span in spans), initial=0))
    outputs = np.array([t for span in spans for t in span.outputs])
    events = [
        (span.tick, span.arrivals, *at)
        for span, at in zip(spans, itertools.pairwise(ends), strict=True)
    ]
    moving = Moving(np.zeros(1), np.concatenate(state), np.zeros(2, dtype=np.int64))
    tables = Tables(around.tick.lines, around.arrival.lines, around.sample.lines)
    times = np.array([(span.start, span.stop) for span in spans])
    code = hold(
        system.port, tables, around.stepping, times, np.array(events, dtype=np.int64), outputs,
        SPEED_LIMIT, moving,
    )  # fmt: skip
    q, v = len(state.q), len(state.q) + len(state.v)
    reached = State(moving.y[:q], moving.y[q:v], moving.y[v:])
    if code < 0:
        _complain(int(moving.done[1]), float(moving.t[0]), reached, system, around)
    system.steps.forget()  # of halved steps and trials, which have passed
    return reached


def _complain(where: int, t: float, state: State, system: System, around: Around) -> None:
    """Raise what ended the spans."""
    met = {
        IN_RATES: system.steps, IN_TICK: around.tick, IN_ARRIVAL: around.arrival,
        IN_SAMPLE: around.sample, STUCK: system.steps,
    }  # fmt: skip
    if where == GREW:
        check_bounded(t, state)
    met[where].complain()
    raise IntegrationFailed(f"the integrator needs steps below rounding at t = {t:.6g} s.")
