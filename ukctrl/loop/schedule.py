"""When something happens in a run, and the spans between such moments."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from typing import NamedTuple

TICK, ARRIVAL, CHANGE = 0, 1, 2
SAME = 1e-9
"""Moments this close are one, in control periods or, without any, output intervals."""


class Span(NamedTuple):
    """A stretch of time within which nothing happens, and what happens at its start."""

    start: float
    stop: float
    outputs: list[float]
    """Output times in ``[start, stop)``; in the last span, ``stop`` as well."""
    tick: bool
    """Whether the law ticks at the start."""
    arrivals: int
    """How many delayed inputs arrive at the start."""
    changes: bool
    """Whether the plant changes at the start."""


def spans(
    outputs: Sequence[float],
    stop: float,
    near: float,
    ticks: Sequence[float],
    arrivals: Sequence[float] = (),
    changes: Sequence[float] = (),
) -> Iterator[Span]:
    """Yield the spans of a run, in order.

    An output on the border of two spans belongs to the later one, where the input is new; the
    very last one belongs to the last span.

    Args:
        outputs: Output times, increasing, from the start of the run to its end.
        stop: The end of the run [s].
        near: Moments this close are one [s].
        ticks: When the law ticks; the first one is the start of the run, if there is any.
        arrivals: When delayed inputs arrive.
        changes: When the plant changes.
    """
    marks = _marks(outputs[0], stop - near, near, ticks, arrivals, changes)
    at, last = 0, len(marks) - 1
    for k, mark in enumerate(marks):
        end = marks[k + 1].start if k < last else stop
        inside = []
        while at < len(outputs) and (outputs[at] < end - near or k == last):
            inside.append(mark.start if abs(outputs[at] - mark.start) <= near else outputs[at])
            at += 1
        yield mark._replace(stop=end, outputs=inside)


def _marks(
    start: float,
    before: float,
    near: float,
    ticks: Sequence[float],
    arrivals: Sequence[float],
    changes: Sequence[float],
) -> list[Span]:
    """Return one span for every moment, with neither its end nor its outputs."""
    found = [Span(start, start, [], False, 0, False)]
    groups = [[(t, kind) for t in times] for kind, times in enumerate((ticks, arrivals, changes))]
    for t, kind in heapq.merge(*groups):
        if t >= before:
            break
        last = found[-1]
        if t - last.start > near:
            last = Span(t, t, [], False, 0, False)
            found.append(last)
        elif kind == TICK:
            last = last._replace(start=t)  # the others happen when the law ticks
        if kind == TICK:
            found[-1] = last._replace(tick=True)
        elif kind == ARRIVAL:
            found[-1] = last._replace(arrivals=last.arrivals + 1)
        else:
            found[-1] = last._replace(changes=True)
    return found
