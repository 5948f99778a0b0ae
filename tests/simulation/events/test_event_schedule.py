"""When something happens in a run: ticks, arrivals, changes and outputs on one line of time."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.simulation.assemble.loop import output_times
from ukctrl.simulation.events import event_schedule
from ukctrl.simulation.events.event_schedule import MAX_SEGMENT, EventSchedule

GRID = [0.1 * k for k in range(11)]
NEAR = 1e-10


def scheduled(ticks=(), arrivals=(), changes=(), outputs=GRID):
    return list(EventSchedule(outputs, 1.0, NEAR, ticks, arrivals, changes).intervals())


def test_without_anything_there_is_one_span_with_every_output():
    (span,) = scheduled()
    assert (span.start, span.stop, span.outputs.tolist()) == (0.0, 1.0, GRID)
    assert (span.tick, span.arrivals, span.plant_changes) == (False, 0, False)


def test_spans_follow_each_other_and_every_output_is_in_one_of_them():
    ticks = [0.03 * k for k in range(34)]
    found = scheduled(ticks, [t + 0.011 for t in ticks], [0.5, 0.755])
    assert [span.start for span in found[1:]] == [span.stop for span in found[:-1]]
    assert (found[0].start, found[-1].stop) == (0.0, 1.0)
    np.testing.assert_allclose([t for span in found for t in span.outputs], GRID, atol=NEAR)
    assert sum(span.tick for span in found) == 34
    assert sum(span.arrivals for span in found) == 33  # the last one comes after the end
    assert [span.start for span in found if span.plant_changes] == [0.5, 0.755]


def test_an_output_on_a_border_belongs_to_the_later_span_the_last_one_to_the_last():
    first, second = scheduled(ticks=[0.0, 0.5])
    assert first.outputs[-1] == pytest.approx(0.4)
    assert second.outputs[0] == 0.5
    assert second.outputs[-1] == 1.0


def test_moments_that_differ_by_rounding_are_one_and_it_is_the_tick():
    late = 0.1 + 0.2  # 0.30000000000000004
    found = scheduled(ticks=[0.0, 0.3, 0.6], arrivals=[late], changes=[np.nextafter(0.3, 0.0)])
    together = next(span for span in found if span.arrivals)
    assert (together.start, together.tick, together.plant_changes) == (0.3, True, True)
    assert len(found) == 3


def test_a_moment_at_the_very_end_is_none():
    assert len(scheduled(ticks=[0.0, 1.0 - 1e-12])) == 1


def test_a_part_ends_where_the_plant_changes_and_where_it_has_enough(monkeypatch):
    monkeypatch.setattr(event_schedule, "SEGMENT_SECONDS", np.inf)
    ticks = [1e-3 * k for k in range(1000)]
    parts = list(EventSchedule(GRID, 1.0, NEAR, ticks, (), [0.0202, 0.9]).segments())
    starts = [part.times[0, 0] for part in parts]
    wanted = [0.0, 0.001, 0.003, 0.007, 0.015, 0.0202, 0.052, 0.116, 0.244, 0.5, 0.9]
    np.testing.assert_allclose(starts, wanted, atol=NEAR)
    assert [part.times[0, 0] for part in parts if part.plant_changes] == [0.0202, 0.9]
    fine = np.linspace(0.0, 1.0, 10_001)
    parts = list(EventSchedule(fine, 1.0, NEAR, ticks).segments())
    sizes = [part.events[-1, 3] - part.events[0, 2] for part in parts]
    assert sum(sizes) == len(fine)
    assert max(sizes) < MAX_SEGMENT + 20


def test_parts_that_take_long_stay_short_so_that_somebody_may_stop_the_run(monkeypatch):
    monkeypatch.setattr(event_schedule, "SEGMENT_SECONDS", 0.0)
    ticks = [1e-3 * k for k in range(50)]
    assert {len(part.times) for part in EventSchedule(GRID, 1.0, NEAR, ticks).segments()} == {1}


@pytest.mark.parametrize("t0", [0.0, 0.7, -3.0])
@pytest.mark.parametrize("interval", [0.1, 1e-3, 1.0 / 3.0])
@pytest.mark.parametrize(
    ("lengths", "count"),
    [(0.0, 0), (1e-12, 0), (0.4, 1), (1.0, 1), (1.5, 2), (7.0 - 1e-11, 7), (7.0, 7),
     (7.0 + 1e-11, 7), (7.0 + 1e-3, 8)],
)  # fmt: skip
def test_outputs_are_an_interval_apart_and_the_last_is_the_end(t0, interval, lengths, count):
    t1 = t0 + lengths * interval
    times = np.array(output_times(t0, t1, interval))
    assert (len(times), times[-1]) == (count + 1, t1)
    np.testing.assert_array_equal(times[:-1], t0 + interval * np.arange(count))


def test_rounding_of_a_long_run_neither_loses_nor_doubles_an_output():
    """A tenth of a second is no binary number: 10^k of them are a little more or less."""
    for seconds in (3, 1000, 100_000):
        times = np.array(output_times(0.0, float(seconds), 0.1))
        assert len(times) == 10 * seconds + 1
        assert np.diff(times).min() > 0.0999
