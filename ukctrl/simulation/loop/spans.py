"""When something happens in a run, and the spans between such moments."""

from __future__ import annotations

import array
import bisect
import heapq
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

Times: TypeAlias = "array.array[float] | memoryview[Any]"
"""Moments [s], eight bytes each: a run may have millions."""

TICK, ARRIVAL, CHANGE = 0, 1, 2
NONE = array.array("d")
SAME = 1e-9
"""Moments this close are one, in control periods or, without any, output intervals."""


class Span(NamedTuple):
    """A stretch of time within which nothing happens, and what happens at its start."""

    start: float
    stop: float
    outputs: array.array[float]
    """Output times in ``[start, stop)``; in the last span, ``stop`` as well."""
    tick: bool
    """Whether the law ticks at the start."""
    arrivals: int
    """How many delayed inputs arrive at the start."""
    changes: bool
    """Whether the plant changes at the start."""


def between_outputs(span: Span) -> Iterator[Span]:
    """Yield the parts of a span from output to output, each with those at its ends."""
    start, kept = span.start, span.outputs[:0]
    for k, t in enumerate(span.outputs):
        if t > start:
            yield span._replace(start=start, stop=t, outputs=span.outputs[k - len(kept) : k + 1])
            start, kept = t, span.outputs[:0]
        else:
            kept = span.outputs[:1]
    if start < span.stop:
        yield span._replace(start=start, outputs=kept)


def spans(
    outputs: array.array[float],
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
    at = 0
    marks = _marks(outputs[0], stop - near, near, ticks, arrivals, changes)
    for mark, after in itertools.pairwise(itertools.chain(marks, (None,))):
        assert mark is not None  # only the last one is
        end = stop if after is None else after.start
        upto = len(outputs) if after is None else bisect.bisect_left(outputs, end - near, at)
        inside = outputs[at:upto]
        if inside and abs(inside[0] - mark.start) <= near:
            inside[0] = mark.start
        at = upto
        yield Span(mark.start, end, inside, mark.tick, mark.arrivals, mark.changes)


def _marks(
    start: float,
    before: float,
    near: float,
    ticks: Sequence[float],
    arrivals: Sequence[float],
    changes: Sequence[float],
) -> Iterator[Span]:
    """Yield one span for every moment, with neither its end nor its outputs."""
    at, counts = start, [0, 0, 0]
    groups = (
        zip(times, itertools.repeat(kind), strict=False)
        for kind, times in enumerate((ticks, arrivals, changes))
    )
    for t, kind in heapq.merge(*groups):
        if t >= before:
            break
        if t - at > near:
            yield Span(at, at, NONE, counts[TICK] > 0, counts[ARRIVAL], counts[CHANGE] > 0)
            at, counts = t, [0, 0, 0]
        elif kind == TICK:
            at = t  # the others happen when the law ticks
        counts[kind] += 1
    yield Span(at, at, NONE, counts[TICK] > 0, counts[ARRIVAL], counts[CHANGE] > 0)
