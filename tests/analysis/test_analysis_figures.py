"""Figures of `check` and of internal dynamics: what stands in them, against curves made by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from pictures import (
    across,
    heading,
    labels,
    legend,
    limits,
    line,
    shows,
    span,
    text,
    texts,
    upright,
)

from ukctrl import check_figure, internal_dynamics_figure
from ukctrl.analysis.check.input_feasibility import InputCurves
from ukctrl.analysis.check.limit_usage import LimitUsage
from ukctrl.analysis.check.motion_ranks import RankHistory, SingularValueCurves
from ukctrl.analysis.internal_dynamics import InternalDynamics, InternalMotion
from ukctrl.analysis.internal_dynamics.internal_dynamics_figure import drawable
from ukctrl.core.errors import InputError

T = np.array([0.0, 1.0, 2.0])
NAN = np.nan


def rank_of(highest, worst=0.5, worst_at=1.0):
    return RankHistory(
        count=3,
        highest=highest,
        lowest=highest,
        lowest_at=0.0,
        worst=worst,
        worst_at=worst_at,
        worst_row="",
        dropped=0.0,
    )


NOTHING = SimpleNamespace(servo=rank_of(0), grip=rank_of(0), passive=rank_of(0))
SERVO = np.array([[40.0, 2.0], [40.0, 0.5], [40.0, 1.0]])
GRIP = np.array([[1.0, 0.0], [0.8, 0.0], [0.0, 0.0]])
PASSIVE = np.array([3.0, 2.0, 2.5])


def checked(ranks=NOTHING, used=None, inputs=(), law=(), stop=None, **changes):
    """Return what a check found of a motion of two seconds, in a run of three."""
    loads = InputCurves(
        needed=np.array([[1.0, 5.0, -1.0], [2.0, 6.0, -2.0], [3.0, 7.0, -3.0]]),
        law=np.array([[10.0, 50.0, -10.0], [20.0, 60.0, -20.0], [30.0, 70.0, -30.0]]),
        low=-np.ones((3, 3)),
        high=np.ones((3, 3)),
        used=np.full((3, 3), NAN) if used is None else np.array(used, dtype=float),
    )
    way = SimpleNamespace(start=0.0, end=3.0, reached=2.0, stop=stop, why="")
    motion = SimpleNamespace(
        curves=SingularValueCurves(t=T, passive=PASSIVE, servo=SERVO, grip=GRIP),
        loads=loads,
        ranks=ranks,
        way=way,
        feasibility=SimpleNamespace(inputs=inputs, law=law),
    )
    return SimpleNamespace(scenario="made", motion=SimpleNamespace(**{**vars(motion), **changes}))


def test_the_last_singular_value_that_counts_is_in_colour_with_its_smallest_marked():
    ranks = SimpleNamespace(servo=rank_of(2), grip=rank_of(1, 0.0, 2.0), passive=rank_of(3, 2.0))
    (axes,) = check_figure(checked(ranks)).axes
    shows(
        axes,
        line(T, [40.0] * 3, "faint"),
        line(T, [2.0, 0.5, 1.0], 5, "-", "servo rows A"),
        line([1.0], [0.5], "ink", "o unclipped"),
        line(T, [1.0, 0.8, 1e-7], 1, "-", "grip H = A G"),
        line([2.0], [1e-7], "ink", "o unclipped"),
        line(T, PASSIVE, 2, "-", "passive rows"),
        line([1.0], [2.0], "ink", "o unclipped"),
    )
    assert heading(axes) == "Singular values along the motion, the smallest in colour"
    assert [entry[:2] for entry in legend(axes)] == [
        ("servo rows A", 5),
        ("grip H = A G", 1),
        ("passive rows", 2),
    ]
    assert labels(axes) == ("time [s]", "", "linear", "log")
    limits(axes, x=(0.0, 3.0), y=(1e-8, 100.0))
    assert not texts(axes)


@pytest.mark.parametrize("stop", [None, "reach"])
def test_where_nothing_holds_words_say_so_and_where_the_motion_ends_the_rest_is_shaded(stop):
    (axes,) = check_figure(checked(stop=stop)).axes
    shows(axes, *([span(2.0, 3.0, "alert")] if stop else []))
    assert texts(axes) == [text("nothing is held by motors or constraints", 0.5, 0.5, "muted")]
    assert axes.texts[-1].get_transform() == axes.transAxes
    assert not legend(axes)
    limits(axes, x=(0.0, 3.0))


def limits_in(used):
    return check_figure(checked(used=used)).axes[1]


def test_the_shares_of_limits_are_named_for_those_that_are_known():
    axes = limits_in([[0.5, NAN, 0.1], [1.5, NAN, 0.2], [1.0, NAN, NAN]])
    shows(
        axes,
        line(T, [50.0, 150.0, 100.0], 0, "-", "inputs"),
        line(T, [10.0, 20.0, NAN], 1, "-", "positions"),
        across(100.0, "alert", "--"),
    )
    assert heading(axes) == "Largest share of a limit that is used"
    assert labels(axes)[:2] == ("time [s]", "%")
    assert legend(axes) == [("inputs", 0, "-"), ("positions", 1, "-")]
    limits(axes, x=(0.0, 3.0), y=(0.0, 162.0))


@pytest.mark.parametrize(("largest", "top"), [(0.1, 110.0), (1.1, 118.8), (np.inf, 110.0)])
def test_the_limit_itself_is_always_seen(largest, top):
    limits(limits_in([[NAN, largest, NAN], [NAN, 0.1, NAN], [NAN] * 3]), y=(0.0, top))


USES = tuple(
    LimitUsage(name=name, unit=unit, value=0.0, t=0.0)
    for name, unit in (("u1", "N m"), ("u2", "N"), ("u3", "N m"))
)


@pytest.mark.parametrize(
    ("given", "title", "factor"),
    [
        ({"inputs": USES, "law": ()}, "Smallest input that makes the motion", 1.0),
        ({"law": USES}, "Input of the law", 10.0),
    ],
)
def test_inputs_of_one_unit_share_a_panel(given, title, factor):
    _, moments, forces = check_figure(checked(**given)).axes
    up = factor * np.array([1.0, 2.0, 3.0])
    shows(moments, line(T, up, 0, "-", "u1"), line(T, -up, 1, "-", "u3"))
    shows(forces, line(T, factor * np.array([5.0, 6.0, 7.0]), 0, "-", "u2"))
    assert [heading(axes) for axes in (moments, forces)] == [title] * 2
    assert [axes.get_ylabel() for axes in (moments, forces)] == ["u [N·m]", "u [N]"]
    assert legend(moments) == [("u1", 0, "-"), ("u3", 1, "-")]
    limits(moments, x=(0.0, 3.0), y=(-3.36 * factor, 3.36 * factor))
    limits(forces, x=(0.0, 3.0), y=(4.88 * factor, 7.12 * factor))


def test_a_check_shades_what_is_beyond_the_motion_in_every_panel():
    figure = check_figure(checked(used=[[0.5] * 3] * 3, inputs=USES, stop="reach"))
    assert len(figure.axes) == 4
    for axes in figure.axes:
        (shade,) = axes.patches
        assert (shade.get_x(), shade.get_x() + shade.get_width()) == (2.0, 3.0)
        assert axes.get_position().width > 0.8
        assert axes.get_position().height * figure.get_size_inches()[1] == pytest.approx(2.1)


@pytest.mark.parametrize(
    "changes",
    [
        {"curves": None},
        {"loads": None},
        {"curves": SingularValueCurves(t=T[:0], passive=T[:0], servo=SERVO[:0], grip=GRIP[:0])},
    ],
)
@pytest.mark.parametrize("why", ["it has no task", ""])
def test_without_curves_there_is_no_figure_and_the_reason_is_told(changes, why):
    way = SimpleNamespace(start=0.0, end=3.0, reached=0.0, stop=None, why=why)
    words = f"'made' must have a motion for a figure of its check; {why or 'there is none'}."
    with pytest.raises(InputError, match=words):
        check_figure(checked(way=way, **changes))


# Internal dynamics

MOVED = np.array([[0.0, 0.0, 0.0], [1.0, 0.1, -1.0], [2.0, 0.2, -2.0]])


def moving(moved=MOVED, beside=0.5, units=("rad", "m", "rad"), times=T):
    return InternalMotion(
        times=times,
        q=moved,
        v=moved,
        coordinates=tuple(f"q{k}" for k in range(len(units))),
        units=units,
        moved=moved,
        pushed=moved + beside,
        deviation=np.array([1.0, 2.0, 4.0])[: len(times)],
        fate="drifts",
        rate=0.0,
        ended="",
    )


def left(*poles, motion=None, dimension=2):
    """Return internal dynamics with these poles about its states of rest."""
    rests = [SimpleNamespace(modes=SimpleNamespace(poles=np.array(each))) for each in poles]
    return InternalDynamics(
        scenario="made",
        robot="made",
        states=4,
        reached=2,
        dimension=dimension,
        coordinates=(),
        grip=True,
        free=0,
        path_moves=False,
        rests=tuple(rests),
        motion=motion,
        verdict="Nothing is known.",
    )


def test_internal_motion_is_drawn_by_unit_with_the_pushed_one_dotted():
    figure = internal_dynamics_figure(left(motion=moving()))
    angles, positions, apart = figure.axes
    shows(
        angles,
        line(T, [0.0, 1.0, 2.0], 0, "-", "q0"),
        line(T, [0.0, -1.0, -2.0], 1, "-", "q2"),
        line(T, [0.5, 1.5, 2.5], 0, ":"),
        line(T, [0.5, -0.5, -1.5], 1, ":"),
    )
    shows(positions, line(T, [0.0, 0.1, 0.2], 0, "-", "q1"), line(T, [0.5, 0.6, 0.7], 0, ":"))
    shows(apart, line(T, [1.0, 2.0, 4.0], 0), across(1.0, "faint"))
    assert [heading(axes) for axes in figure.axes] == [
        "Internal motion; dotted: pushed by 0.0001 rad",
        "Internal motion; dotted: pushed by 0.0001 m",
        "Response to the push",
    ]
    assert [labels(axes)[:2] for axes in figure.axes] == [
        ("time [s]", "since the start [rad]"),
        ("time [s]", "since the start [m]"),
        ("time [s]", "times the push"),
    ]
    assert legend(angles) == [("q0", 0, "-"), ("q2", 1, "-")]
    assert apart.get_yscale() == "log"
    limits(angles, x=(0.0, 2.0), y=(0.25 - 0.56 * 4.5, 0.25 + 0.56 * 4.5))
    limits(positions, y=(0.35 - 0.56 * 0.7, 0.35 + 0.56 * 0.7))
    limits(apart, y=(0.1, 10.0))
    widths = [axes.get_position().width > 0.8 for axes in figure.axes]
    assert widths == [True, True, False]
    assert angles.get_position().height * figure.get_size_inches()[1] == pytest.approx(2.1)


@pytest.mark.parametrize(("count", "panels", "dotted"), [(8, 1, 8), (9, 2, 9), (49, 1, 0)])
def test_of_very_many_internal_coordinates_only_the_motion_itself_is_drawn(count, panels, dotted):
    motion = moving(np.outer(T, np.arange(1.0, count + 1.0)), units=("rad",) * count)
    drawn = internal_dynamics_figure(left(motion=motion)).axes[:panels]
    looks = [each.get_linestyle() for axes in drawn for each in axes.lines if len(each.get_xdata())]
    assert (looks.count(":"), looks.count("-")) == (dotted, count)
    for axes in drawn:
        said = "; dotted: pushed by 0.0001 rad" if dotted else ""
        assert heading(axes) == f"Internal motion{said}"


def test_poles_about_states_of_rest_have_a_colour_each_and_the_right_half_is_shaded():
    poles = [[-1.0 + 2.0j, -1.0 - 2.0j], [], [3.0], [0.0]]
    figure = internal_dynamics_figure(left(*poles, [[100.0]]))
    (axes,) = figure.axes
    reach = 1.15 * 3.0
    shows(
        axes,
        span(0.0, reach, "alert"),
        upright(0.0, "ink"),
        line([-1.0, -1.0], [2.0, -2.0], 0, "x unclipped"),
        line([3.0], [0.0], 1, "x unclipped"),
        line([0.0], [0.0], 2, "x unclipped"),
    )
    assert heading(axes) == "Poles about states of rest, the nearest first"
    assert labels(axes)[:2] == ("real part [rad/s]", "imaginary part [rad/s]")
    limits(axes, x=(-reach, reach), y=(-reach, reach))
    limits(internal_dynamics_figure(left([0.0])).axes[0], x=(-1.15, 1.15), y=(-1.15, 1.15))


@pytest.mark.parametrize(
    ("found", "panels"),
    [
        (left([-1.0]), 1),
        (left([-1.0], motion=moving()), 4),
        (left(motion=moving(MOVED[:2], times=T[:2])), 3),
        (left([-1.0], motion=moving(), dimension=0), 0),
        (left(), 0),
        (left([]), 0),
        (left(motion=moving(MOVED[:1], times=T[:1])), 0),
    ],
)
def test_what_can_be_drawn_is_drawn_and_nothing_is_refused(found, panels):
    assert drawable(found) == bool(panels)
    if panels:
        assert len(internal_dynamics_figure(found).axes) == panels
    else:
        with pytest.raises(
            InputError, match="'made' must have internal dynamics .* Nothing is known"
        ):
            internal_dynamics_figure(found)
