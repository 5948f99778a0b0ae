"""Event queue of a run, merged into the intervals between its events."""

from __future__ import annotations

import time
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias, final

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled, deferred
from ukctrl.mechanics.integrate.interval_kernels import (
    ARRIVALS,
    BEGIN,
    END,
    END_OUTPUT,
    FIRST_OUTPUT,
    TICKS,
)

Times: TypeAlias = "array[float] | memoryview[Any]"
"""Moments [s], eight bytes each: a run may have millions."""

PLANT_CHANGES = 4
"""Column of events: how often the plant changes at the start of a span."""
TICK, ARRIVAL, CHANGE, OUTPUT = range(4)
"""Places in a cursor: how many of each are behind."""
TIME_RTOL = 1e-9
"""Moments this close are one, in control periods or, without any, output intervals."""
MAX_SEGMENT = 8192
"""Spans, and outputs in them, that are looked at together at most."""
SEGMENT_SECONDS = 0.01
"""Segments that take less are made longer; between them Ctrl-C and progress have their turn [s]."""


class Interval(NamedTuple):
    """Interval between two events, and what happens at its start."""

    start: float
    stop: float
    outputs: array[float]
    """Output times in ``[start, stop)``; in the last span, ``stop`` as well."""
    tick: bool
    """Whether the law ticks at the start."""
    arrivals: int
    """How many delayed inputs arrive at the start."""
    plant_changes: int
    """How often the plant changes at the start."""


class EventTimes(NamedTuple):
    """Event times, each kind in order [s]."""

    ticks: Vector
    arrivals: Vector
    changes: Vector
    outputs: Vector


class ScheduleCursor(NamedTuple):
    """Position in an event schedule."""

    counts_passed: Indices
    """Shape ``(4,)``."""
    counts: Indices
    """What happens at the start of the span that comes next, shape ``(3,)``."""
    at: Vector
    """When that is, shape ``(1,)`` [s]."""


class Segment(NamedTuple):
    """Intervals as arrays; see `ukctrl.mechanics.integrate.interval_kernels.run_intervals`."""

    times: Matrix
    events: Indices
    outputs: Vector

    @property
    def plant_changes(self) -> int:
        """How often the plant changes at the start of the first, as of no other."""
        return int(self.events[0, PLANT_CHANGES])

    def interval(self, k: int) -> Interval:
        """Return one of the spans."""
        (start, stop), at, outputs = self.times[k].tolist(), self.events[k].tolist(), array("d")
        outputs.frombytes(self.outputs[at[FIRST_OUTPUT] : at[END_OUTPUT]].view(np.uint8).data)
        return Interval(start, stop, outputs, at[TICKS] > 0, at[ARRIVALS], at[PLANT_CHANGES])

    def intervals(self) -> Iterator[Interval]:
        """Yield the spans."""
        for k in range(len(self.times)):
            yield self.interval(k)


@final
class EventSchedule:
    """Event queue: the intervals of a run, in order.

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

    def __init__(
        self,
        outputs: Sequence[float],
        stop: float,
        near: float,
        ticks: Sequence[float] = (),
        arrivals: Sequence[float] = (),
        changes: Sequence[float] = (),
    ) -> None:
        arrays = (
            np.array(times, dtype=np.float64) for times in (ticks, arrivals, changes, outputs)
        )
        self._moments, self._stop, self._near = EventTimes(*arrays), stop, near
        self._cursor = ScheduleCursor(
            np.zeros(4, dtype=np.int64), np.zeros(3, dtype=np.int64), np.array(outputs[:1])
        )
        take_events(self._moments, self._cursor, stop - near, near)

    def segments(self) -> Iterator[Segment]:
        """Yield the spans, ever more at a time; where the plant changes a part begins."""
        # machine code is not interrupted within a segment: the first are short, so that Ctrl-C is
        # answered from the start
        capacity = 1
        while True:
            times, events = np.zeros((capacity, 2)), np.zeros((capacity, 5), dtype=np.int64)
            args = self._moments, self._cursor, self._stop, self._near
            count = next_intervals(*args, times, events)
            if not count:
                return
            began = time.perf_counter()
            yield Segment(times[:count], events[:count], self._moments.outputs)
            if time.perf_counter() - began < SEGMENT_SECONDS:
                capacity = min(2 * capacity, MAX_SEGMENT)

    def intervals(self) -> Iterator[Interval]:
        """Yield the spans one by one."""
        for segment in self.segments():
            yield from segment.intervals()


@deferred
def take_events(moments: EventTimes, cursor: ScheduleCursor, horizon: float, near: float) -> None:
    """Take all that happens with the moment of the cursor; a tick says when exactly."""
    behind, counts = cursor.counts_passed, cursor.counts
    for kind in range(3):
        counts[kind] = 0
    while True:
        kind, t = next_event(moments, behind)
        if not t < horizon or t - cursor.at[0] > near:
            return
        if kind == TICK:
            # the tick says when exactly: what is within a rounding of it happens then
            cursor.at[0] = t
        counts[kind] += 1
        behind[kind] += 1


@compiled
def next_event(moments: EventTimes, behind: Indices) -> tuple[int, float]:
    """Return what happens next but for outputs, and when; infinity: nothing does."""
    # strictly earlier below: of equal moments the tick comes first, then what arrives
    kind, t = TICK, np.inf
    if behind[TICK] < len(moments.ticks):
        t = moments.ticks[behind[TICK]]
    if behind[ARRIVAL] < len(moments.arrivals) and moments.arrivals[behind[ARRIVAL]] < t:
        kind, t = ARRIVAL, moments.arrivals[behind[ARRIVAL]]
    if behind[CHANGE] < len(moments.changes) and moments.changes[behind[CHANGE]] < t:
        kind, t = CHANGE, moments.changes[behind[CHANGE]]
    return kind, t


@deferred
def next_intervals(
    moments: EventTimes,
    cursor: ScheduleCursor,
    stop: float,
    near: float,
    times: Matrix,
    events: Indices,
) -> int:
    """Write the spans that come next; return how many there are in this part."""
    behind, at, outputs, count, inside = cursor.counts_passed, cursor.at, moments.outputs, 0, 0
    while at[0] < stop and count < len(times):
        # another plant has other tables, and many outputs take long: both end a segment
        if count > 0 and (cursor.counts[CHANGE] > 0 or inside > len(times)):
            break
        start, first = at[0], behind[OUTPUT]
        events[count, TICKS], events[count, ARRIVALS] = cursor.counts[TICK], cursor.counts[ARRIVAL]
        events[count, PLANT_CHANGES] = cursor.counts[CHANGE]
        _, t = next_event(moments, behind)
        if t < stop - near:
            at[0] = t
            take_events(moments, cursor, stop - near, near)
            while behind[OUTPUT] < len(outputs) and outputs[behind[OUTPUT]] < at[0] - near:
                behind[OUTPUT] += 1
        else:
            # what is due within a rounding of the end would act for no time
            at[0], behind[OUTPUT] = stop, len(outputs)
        if first < behind[OUTPUT] and abs(outputs[first] - start) <= near:
            # a rounding off the start it would ask for a step of that length
            outputs[first] = start
        inside += behind[OUTPUT] - first
        times[count, BEGIN], times[count, END] = start, at[0]
        events[count, FIRST_OUTPUT], events[count, END_OUTPUT] = first, behind[OUTPUT]
        count += 1
    return count
