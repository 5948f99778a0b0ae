"""The figure of a path: three views of it, against a path and a projection known in closed form."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from pictures import heading, labels, legend, line, marks, texts

from ukctrl import plot
from ukctrl.reports.plot import panels, path_views
from ukctrl.simulation.result.quantities import Labels
from ukctrl.simulation.result.result import Result

T = np.array([0.0, 1.0, 2.0])
NAN = np.nan


def run(samples, time=T, **names):
    """Return a run with these samples and names along the axes."""
    return Result.build(time=time, samples=samples, labels=Labels(**names), status="completed")


RIGHT = np.array([np.sin(np.deg2rad(56.0)), np.cos(np.deg2rad(56.0)), 0.0])
UP = np.array(
    [
        -np.sin(np.deg2rad(24.0)) * np.cos(np.deg2rad(56.0)),
        np.sin(np.deg2rad(24.0)) * np.sin(np.deg2rad(56.0)),
        np.cos(np.deg2rad(24.0)),
    ]
)
"""Directions on paper of a parallel projection, seen from -56 degrees around and 24 above."""
WENT = np.array([[0.0, 0.0, 0.0], [1.0, 0.5, 0.5], [1.0, 1.0, 1.0]])
VIEWS = {"in space": np.stack([RIGHT, UP], axis=1), "from above": np.eye(3)[:, :2]}


def path_of(*went, wanted=None):
    position = np.stack(went, axis=1)
    samples = {"frame_position": position}
    if wanted is not None:
        samples["frame_reference"] = np.stack(wanted, axis=1)
    return plot.path(run(samples, frames=[f"frame{k}" for k in range(len(went))]))


@pytest.mark.parametrize(("turned", "across_view"), [(False, [1, 2]), (True, [0, 2])])
def test_a_path_is_seen_in_space_from_above_and_from_the_wider_side(turned, across_view):
    went = WENT * ([2.0, 1.0, 1.0] if turned else [0.5, 1.0, 1.0]) + np.array([3.0, 10.0, 0.0])
    nowhere = np.full((3, 3), NAN)
    figure = path_of(went, went + 0.2, wanted=[went + 0.1, nowhere])
    views = {**VIEWS, "from the side": np.eye(3)[:, across_view]}
    assert [heading(axes) for axes in figure.axes] == list(views)
    for axes, view in zip(figure.axes, views.values(), strict=True):
        traces = [mark for mark in marks(axes) if mark.color in (0, 1)]
        wanted = []
        ends = [(went, 0), (went + 0.2, 1)]
        wanted.append(line(*((went + 0.1) @ view).T, 0))
        wanted += [line(*(each @ view).T, k, "-", f"frame{k}") for each, k in ends]
        for each, k in ends:
            wanted += [
                line(*(each[:1] @ view).T, k, "o hollow"),
                line(*(each[-1:] @ view).T, k, "o"),
            ]
        assert [each._replace(where=()) for each in traces] == [
            each._replace(where=()) for each in wanted
        ]
        for mark, other in zip(traces, wanted, strict=True):
            x, y = mark.where
            if mark.look == "-" and mark.name:  # the last sample is always among the drawn ones
                x, y = x[:3], y[:3]
            np.testing.assert_allclose((x, y), other.where, atol=1e-12)
    _, above, side = figure.axes
    assert labels(above)[:2] == ("x [m]", "y [m]")
    assert labels(side)[:2] == ("xy"[across_view[0]] + " [m]", "z [m]")
    assert legend(figure) == [("frame0", 0, "-"), ("frame1", 1, "-")]
    assert legend(above) == []


def test_a_single_frame_without_a_wish_has_neither_legend_nor_pale_band():
    figure = path_of(WENT)
    for axes in figure.axes:
        assert legend(axes) == []
        looks = [mark.look for mark in marks(axes) if mark.color == 0]
        assert looks == ["-", "o hollow", "o"]


def test_a_frame_that_is_nowhere_leaves_no_end():
    figure = path_of(np.full((3, 3), NAN))
    for axes in figure.axes:
        assert [mark.look for mark in marks(axes) if mark.color == 0] == ["-"]


def test_flat_views_are_centred_and_hold_the_path_with_a_tenth_to_spare():
    _, above, side = path_of(WENT, wanted=[WENT + np.array([0.0, 0.0, 1.0])]).axes
    for axes, low, high in ((above, (0.0, 0.0), (1.0, 1.0)), (side, (0.0, 0.0), (1.0, 2.0))):
        lows, highs = np.array([axes.get_xlim(), axes.get_ylim()]).T
        np.testing.assert_allclose(0.5 * (lows + highs), 0.5 * (np.array(low) + high), atol=1e-12)
        fractions = (np.array(high) - low) / (highs - lows)
        assert fractions.max() == pytest.approx(1.0 / 1.1)


def test_flat_views_go_where_the_path_goes():
    far = np.array([30.0, -20.0, 10.0])
    _, *here = path_of(WENT).axes
    _, *there = path_of(WENT + far).axes
    for axes, moved, at in zip(here, there, ((0, 1), (0, 2)), strict=True):
        shift = far[list(at)][:, None] + [axes.get_xlim(), axes.get_ylim()]
        np.testing.assert_allclose([moved.get_xlim(), moved.get_ylim()], shift, atol=1e-9)


@pytest.mark.parametrize(
    ("height", "below", "above"),
    [(1.0, -0.04, 1.04), (0.0, -0.19, 0.19)],  # a flat path has three tenths, and as much to spare
)
def test_the_box_in_space_has_its_grid_where_its_numbers_say(height, below, above):
    went = WENT * [1.0, 1.0, height] + [0.0, 5.0, 0.0]
    space, *_ = path_of(went).axes
    view = VIEWS["in space"]
    low, high = np.array([-0.04, 4.96, below]), np.array([1.04, 6.04, above])
    words = texts(space)
    assert {mark.color for mark in words} == {"muted"}
    names = [mark.name for mark in words if mark.name.endswith("[m]")]
    assert names == ["x [m]", "y [m]", "z [m]"]
    named = np.array([np.ravel(mark.where) for mark in words if mark.name in names])
    middle = 0.5 * (low + high)
    beside = (
        named
        - np.array([[middle[0], *low[1:]], [high[0], middle[1], low[2]], [*low[:2], high[2]]])
        @ view
    )
    np.testing.assert_array_equal(np.sign(beside.round(12)), [[-1, -1], [1, -1], [0, 1]])
    assert np.abs(beside).max() < 0.3
    split = [k for k, mark in enumerate(words) if mark.name in names]
    parts = [words[: split[0]], words[split[0] + 1 : split[1]], words[split[1] + 1 : split[2]]]
    edges = [[NAN, low[1], low[2]], [high[0], NAN, low[2]], [low[0], low[1], NAN]]
    segments, frame = [], []
    for axis, (part, edge) in enumerate(zip(parts, edges, strict=True)):
        numbers = [float(mark.name.replace("\u2212", "-")) for mark in part]
        assert len(numbers) >= 2
        assert low[axis] < min(numbers) < max(numbers) < high[axis]
        at = np.array([np.ravel(mark.where) for mark in part])
        on = np.array([[tick if np.isnan(x) else x for x in edge] for tick in numbers])
        beside = at - on @ view  # all numbers of an edge stand equally far from it
        np.testing.assert_allclose(beside, beside[:1].repeat(len(beside), axis=0), atol=1e-12)
        assert 0.0 < np.hypot(*beside[0]) < 0.2
        assert beside[0] @ ([-1.0, -1.0], [1.0, -1.0], [-1.0, 0.0])[axis] > 0.0
        other = (1, 0, 1)[axis]
        for point in on:
            over = point.copy()
            over[other] = low[other] + high[other] - point[other]
            segments.append(np.stack([point, over]) @ view)
            if axis == 2:
                behind = over.copy()
                behind[0] = high[0]
                segments.append(np.stack([over, behind]) @ view)
        ends = [[end if np.isnan(x) else x for x in edge] for end in (low[axis], high[axis])]
        frame.append(np.array(ends) @ view)
    far = np.array([low[0], high[1], low[2]])
    segments += [np.stack([far, far + step]) @ view for step in np.diag((high - low) * [1, -1, 1])]
    drawn = [mark for mark in marks(space) if mark.color in ("grid", "faint")]
    *walls, floor = [np.stack(mark.where, axis=1) for mark in drawn if mark.color == "grid"]
    np.testing.assert_allclose(np.array(walls), np.array(segments), atol=1e-12)
    edges_drawn = [np.stack(mark.where, axis=1) for mark in drawn if mark.color == "faint"]
    np.testing.assert_allclose(np.array(edges_drawn), np.array(frame), atol=1e-12)
    np.testing.assert_allclose(
        floor, (went * [1.0, 1.0, 0.0] + [0.0, 0.0, low[2]]) @ view, atol=1e-12
    )
    assert [mark.color for mark in drawn] == ["grid"] * len(walls) + ["faint"] * 3 + ["grid"]
    corners = np.array(list(itertools.product(*zip(low, high, strict=True)))) @ view
    lows, highs = np.array([space.get_xlim(), space.get_ylim()]).T
    assert (lows < corners.min(axis=0)).all()
    assert (highs > corners.max(axis=0)).all()
    assert not space.axison


@pytest.mark.parametrize(
    ("low", "high", "length", "numbers"),
    [
        (0.0, 1.0, 3.0, [0.2, 0.4, 0.6, 0.8]),  # none at the corners, where edges meet
        (-0.3, 0.3, 3.0, [-0.2, -0.1, 0.0, 0.1, 0.2]),
        (0.0, 1.0, 0.1, [0.5]),
    ],
)
def test_an_edge_has_round_numbers_between_its_corners(low, high, length, numbers):
    found = path_views._ticks(low, high, length)
    np.testing.assert_allclose(found, numbers, atol=1e-12)
    assert [x for x in found if abs(x) < 1e-6] == [x for x in numbers if x == 0.0]


def test_a_long_path_is_thinned_but_ends_where_it_ends():
    n = 3 * panels.MOST_POINTS + 5
    went = np.outer(np.linspace(0.0, 1.0, n), [1.0, 2.0, 3.0])
    made = run({"frame_position": went[:, None]}, time=np.linspace(0.0, 1.0, n), frames=["tool"])
    for axes in plot.path(made).axes[1:]:
        trace, start, end = marks(axes)
        assert len(trace.where[0]) <= panels.MOST_POINTS + 1
        for at, k in ((start, 0), (end, -1)):
            np.testing.assert_array_equal(np.ravel(at.where), np.array(trace.where)[:, k])
        assert end.where[1][0] == went[-1, 1 if axes.get_ylabel() == "y [m]" else 2]
