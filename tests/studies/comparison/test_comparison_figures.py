"""Figures of a search for gains and of a comparison, against numbers made by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from pictures import (
    area,
    heading,
    labels,
    legend,
    limits,
    line,
    marks,
    shows,
    ticks,
    upright,
)

from ukctrl.core.number_text import number
from ukctrl.core.statistics import spread
from ukctrl.reports.plot import style
from ukctrl.simulation.result.quantities import Labels
from ukctrl.studies.comparison import comparison_figures
from ukctrl.studies.comparison.comparison_figures import MARKERS, TradeoffPoint, pareto_front
from ukctrl.studies.comparison.ranking import MetricRanking, MismatchStatistics, Robustness
from ukctrl.studies.tuning import tuning_figures
from ukctrl.studies.tuning.gain_search import GainSearch, TuningTrial
from ukctrl.studies.tuning.gains import Gain

NAN, INF = math.nan, math.inf
ALPHA = Gain("controller.feedback.alpha", 1.0, 0.1, 10.0)
BETA = Gain("controller.beta", 0.0, -1.0, 1.0, "uniform")


def trial(cost, violation=0.0, **gains):
    stood = {ALPHA.path: gains.get("alpha", 1.0), BETA.path: gains.get("beta", 0.0)}
    return TuningTrial(stood, cost, 1.0, "completed", "simplex", violation)


def tuned(*trials, gains=(ALPHA, BETA), limits=(), plants=1, cost="rms_phi"):
    return GainSearch(
        entry="pd",
        gains=gains,
        cost=cost,
        limits=limits,
        budget=100,
        plants=plants,
        seed=0,
        trials=trials,
    )


SEARCHED = (trial(4.0), trial(1.0, 0.5), trial(INF), trial(2.0), trial(3.0))
"""The card, one beyond a constraint, one that failed, the best, and one more."""
NUMBER = np.arange(1.0, 6.0)
POINTS = (
    ("candidate", 0, "o"),
    ("beyond a constraint", 1, "o hollow"),
    ("did not complete", "alert", "x"),
    ("card", "ink", "D hollow"),
    ("best", "ink", "*"),
)
LOWEST = ("lowest so far", "ink", "-")


def dots(axes):
    """Return the candidates in a panel by what they are drawn as."""
    found = [mark for mark in marks(axes) if mark.kind == "line" and mark.look[:2] != "- "]
    return [(mark.color, mark.look, *np.array(mark.where).tolist()) for mark in found]


def test_a_search_shows_every_candidate_and_the_lowest_cost_so_far():
    figure = tuning_figures.search_figure(tuned(*SEARCHED, plants=2))
    (axes,) = figure.axes
    at = 2.0 * NUMBER  # two simulations each
    top = 2.5 + 0.56 * 3.0
    shows(
        axes,
        line(at, [4.0, 4.0, 4.0, 2.0, 2.0], "ink", "- step"),
        line([2.0, 8.0, 10.0], [4.0, 2.0, 3.0], 0, "o"),
        line([4.0], [1.0], 1, "o hollow"),
        line([6.0], [top], "alert", "x unclipped"),
        line([2.0], [4.0], "ink", "D hollow unclipped"),
        line([8.0], [2.0], "ink", "* unclipped"),
    )
    assert legend(figure) == [*POINTS, LOWEST]
    assert (heading(axes), labels(axes)) == (
        "cost: rms_phi",
        ("simulations", "cost", "linear", "linear"),
    )
    limits(axes, y=(2.5 - 0.56 * 3.0, top))
    left, right = axes.get_xlim()
    assert left == 0.5
    assert 10.0 < right < 10.5
    assert all(float(place).is_integer() for place in axes.get_xticks())
    assert axes.get_position().width > 0.8


def test_the_history_begins_where_a_candidate_first_keeps_to_the_constraints():
    (axes,) = tuning_figures.search_figure(tuned(trial(3.0, 0.1), trial(5.0), trial(4.0))).axes
    history = marks(axes)[0]
    np.testing.assert_array_equal(history.where[1], [NAN, 5.0, 4.0])


def test_costs_far_apart_have_a_log_scale_that_holds_them_all():
    (axes,) = tuning_figures.search_figure(tuned(trial(100.0), trial(1.0), trial(INF))).axes
    assert axes.get_yscale() == "log"
    limits(axes, y=(0.6, 140.0))
    failed = next(each for each in dots(axes) if each[0] == "alert")
    assert failed[3] == [pytest.approx(140.0)]


def test_a_search_of_failures_has_them_on_one_line_and_calls_the_last_the_nearest():
    tuning = tuned(trial(INF), trial(INF))
    figure = tuning_figures.search_figure(tuning)
    (axes,) = figure.axes
    assert next(each for each in dots(axes) if each[2]) == (
        "alert",
        "x unclipped",
        [1.0, 2.0],
        [1.0, 1.0],
    )
    limits(axes, y=(0.0, 1.0))
    assert legend(figure) == [POINTS[2], POINTS[3], ("nearest", "ink", "*")]


def test_a_bound_of_zero_has_no_fractions():
    trials = (trial(4.0), trial(1.0, 0.03))
    _, axes = tuning_figures.search_figure(tuned(*trials, limits=("worst_margin >= 0",))).axes
    assert labels(axes) == ("simulations", "beyond, added up", "linear", "linear")
    limits(axes, y=(0.0, 1.08 * 0.03))


@pytest.mark.parametrize(
    ("violation", "scale", "high"),
    [(0.5, "linear", 54.0), (2.0, "linear", 216.0), (2.5, "symlog", 500.0), (0.0, "linear", 1.0)],
)
def test_how_far_constraints_were_broken_has_a_panel_of_its_own(violation, scale, high):
    trials = (trial(4.0), trial(1.0, violation), trial(INF, INF), trial(2.0))
    _, axes = tuning_figures.search_figure(
        tuned(*trials, limits=("peak_u <= 1", "effort <= 2"))
    ).axes
    assert heading(axes) == "constraints: peak_u <= 1, effort <= 2"
    assert labels(axes) == ("simulations", "beyond [% of the bounds]", "linear", scale)
    limits(axes, y=(0.0, high))
    broken, failed = (next(e for e in dots(axes) if e[:2] == look) for look in (
        (1, "o hollow") if violation else (0, "o"), ("alert", "x unclipped")))  # fmt: skip
    assert broken[3][-1] == (100.0 * violation if violation else 0.0)
    assert failed[2:] == ([3.0], [high])
    if scale == "symlog":
        assert set(ticks(axes.yaxis).values()) == {"0", "1", "10", "10²"}
        assert axes.yaxis.get_transform().linthresh == 1.0  # percent, up to which it is linear
    assert all(float(place).is_integer() for place in axes.get_xticks())
    assert axes.get_position().width > 0.8


def test_long_names_of_costs_and_constraints_are_cut():
    figure = tuning_figures.search_figure(
        tuned(trial(1.0), cost="c" * 99, limits=("rms_phi + " * 9 + "peak_u <= 1",))
    )
    assert [heading(axes) for axes in figure.axes] == [
        f"cost: {'c' * 69}…",
        f"constraints: {('rms_phi + ' * 9)[:69]}…",
    ]


def test_costs_are_drawn_against_each_gain_within_its_range():
    trials = (
        trial(4.0, alpha=1.0, beta=0.0),
        trial(1.0, 0.5, alpha=2.0, beta=0.5),
        trial(INF, alpha=5.0, beta=0.25),
        trial(2.0, alpha=3.0, beta=-1.0),
    )
    figure = tuning_figures.gain_figure(tuned(*trials))
    over_alpha, over_beta = figure.axes
    top = 2.5 + 0.56 * 3.0
    for axes, x, (low, high) in (
        (over_alpha, [1.0, 2.0, 5.0, 3.0], (0.1, 10.0)),
        (over_beta, [0.0, 0.5, 0.25, -1.0], (-1.0, 1.0)),
    ):
        shows(
            axes,
            upright(low, "faint"),
            upright(high, "faint"),
            line([x[0], x[3]], [4.0, 2.0], 0, "o"),
            line([x[1]], [1.0], 1, "o hollow"),
            line([x[2]], [top], "alert", "x unclipped"),
            line([x[0]], [4.0], "ink", "D hollow unclipped"),
            line([x[3]], [2.0], "ink", "* unclipped"),
        )
    assert legend(figure) == list(POINTS)
    assert [heading(axes) for axes in figure.axes] == ["feedback.alpha", "beta"]
    assert labels(over_alpha) == ("value; grey: ends of the range", "cost", "log", "linear")
    assert labels(over_beta)[1:] == ("cost", "linear", "linear")
    limits(over_alpha, x=(0.1 / 100.0**0.04, 10.0 * 100.0**0.04))
    limits(over_beta, x=(-1.08, 1.08))
    quarters = [0.1, 0.3162, 1.0, 3.162, 10.0]
    assert ticks(over_alpha.xaxis) == {value: number(value) for value in quarters}
    assert ticks(over_beta.xaxis) == {x: number(x) for x in (-1.0, -0.5, 0.0, 0.5, 1.0)}
    assert not len(over_alpha.xaxis.get_minorticklocs())


def test_a_card_outside_the_range_of_a_gain_is_seen():
    trials = (trial(4.0, alpha=50.0, beta=5.0), trial(3.0, alpha=0.01, beta=-4.0))
    over_alpha, over_beta = tuning_figures.gain_figure(tuned(*trials)).axes
    limits(over_alpha, x=(0.01 / 5000.0**0.04, 50.0 * 5000.0**0.04))
    limits(over_beta, x=(-4.36, 5.36))


@pytest.mark.parametrize(("count", "drawn"), [(1, 1), (9, 8)])
def test_of_many_gains_eight_are_drawn_and_one_alone_is_wide(count, drawn):
    every = tuple(Gain(f"controller.k{k}", 1.0, 0.1, 10.0) for k in range(count))
    one = TuningTrial({gain.path: 1.0 for gain in every}, 1.0, 1.0, "completed", "simplex")
    figure = tuning_figures.gain_figure(tuned(one, gains=every))
    assert [heading(axes) for axes in figure.axes] == [f"k{k}" for k in range(drawn)]
    assert (figure.axes[0].get_position().width > 0.8) == (count == 1)


# A comparison


TIME = np.array([0.0, 1.0])
NAMES = Labels(
    rows=("x",), row_units=("m",), row_blocks=("tool",), actuators=("u",), actuator_units=("N m",)
)


class Ended(SimpleNamespace):
    """A run at rest, whose errors below 1e-11 are within the integrator's tolerance."""

    samples, scenario, status = (0.0,), {}, "diverged"

    def __getitem__(self, name):
        return np.zeros((1, 1))


def outcome(norm=None, completed=True):
    curves = None if norm is None else SimpleNamespace(time=TIME, norms={"phi": np.array(norm)})
    return SimpleNamespace(curves=curves, completed=completed)


def compared(effort, error, *, ended=(), beyond=(), runs=None):
    """Return a comparison of controllers by their values over repeats."""
    names = list(effort)
    rows = tuple(
        MetricRanking(
            metric,
            "",
            {name: float(np.mean(of[name])) for name in names},
            (),
            {name: spread(np.array(of[name])) for name in names},
        )
        for metric, of in (("rms_phi", error), ("effort", effort))
    )
    return SimpleNamespace(
        rows=rows,
        error="rms_phi",
        results={name: Ended() for name in names},
        completed=tuple(name for name in names if name not in ended),
        ranked=tuple(name for name in names if name not in (*ended, *beyond)),
        first=SimpleNamespace(labels=NAMES),
        shown=str,
        runs=runs or {name: (outcome(completed=name not in ended),) for name in names},
        repeats=max(map(len, (runs or {"": [1]}).values())),
    )


def test_who_crossed_a_limit_is_drawn_and_said_to_have():
    both = {"pd": [1.0], "gone": [2.0]}
    points = comparison_figures._points(compared(both, both, beyond=("gone",)))
    assert [point.note for point in points.values()] == ["", "crossed a limit"]


def ring(x, y):
    return line([x], [y], "muted", "o hollow")


def test_error_stands_against_effort_with_a_line_for_those_whom_nobody_beats_and_no_ring():
    """One run of each marks nobody."""
    made = compared(
        {"pd": [1.0], "servo": [2.0], "worse": [3.0], "gone": [0.5], "far": [1e9]},
        {"pd": [4.0], "servo": [2.0], "worse": [3.0], "gone": [0.1], "far": [1e9]},
        ended=("gone", "far"),
    )
    figure = comparison_figures.tradeoff_figure(made)
    (axes,) = figure.axes
    shows(
        axes,
        line([1.0, 2.0], [4.0, 2.0], "faint", "- step"),
        line([1.0], [4.0], 0, "o"),
        line([2.0], [2.0], 1, "s"),
        line([3.0], [3.0], 2, "^"),
        line([0.76], [1.0 / 3.0], 3, "D hollow"),  # on the edges: what ended has no say in them
        line([3.24], [10.0], 4, "v hollow"),
    )
    assert legend(figure) == [
        ("pd", 0, "o"),
        ("servo", 1, "s"),
        ("worse", 2, "^"),
        ("gone (diverged)", 3, "D hollow"),
        ("far (diverged)", 4, "v hollow"),
    ]
    assert heading(axes) == "error against effort"
    assert labels(axes) == ("effort [(N·m)²·s]", "rms error [m]", "linear", "log")
    limits(axes, x=(1.0 - 0.24, 3.0 + 0.24), y=(1.0 / 3.0, 10.0))
    assert axes.get_position().width > 0.8


def test_repeats_have_a_cross_of_their_intervals_and_those_not_ranked_none():
    two = {"pd": [1.0, 3.0], "gone": [1.0, 3.0]}
    runs = {
        "pd": (outcome(), outcome()),
        "gone": (outcome(), outcome(completed=False)),
    }
    made = compared(two, {"pd": [10.0, 12.0], "gone": [20.0, 22.0]}, ended=("gone",), runs=runs)
    figure = comparison_figures.tradeoff_figure(made)
    (axes,) = figure.axes
    effort, error = (spread(np.array(values)) for values in ([1.0, 3.0], [10.0, 12.0]))
    low = max(error.low, axes.get_ylim()[0])
    shows(
        axes,
        ring(2.0, 11.0),
        line([effort.low, effort.high], [11.0, 11.0], 0),
        line([2.0, 2.0], [low, error.high], 0),
        line([2.0], [11.0], 0, "o"),
        line([2.0], [21.0], 1, "s hollow"),
    )
    assert legend(figure)[1][0] == "gone (1 of 2)"
    left, right = axes.get_xlim()
    assert left < effort.low < effort.high < right


def test_errors_and_efforts_over_decades_are_all_where_they_are():
    made = compared(
        {"a": [1e-3], "b": [1.0], "c": [2.0], "d": [2.0]},
        {"a": [1.0], "b": [1e-9], "c": [2.0], "d": [0.0]},
    )
    (axes,) = comparison_figures.tradeoff_figure(made).axes
    assert labels(axes)[2:] == ("log", "log")
    limits(axes, x=(1e-4, 10.0), y=(1e-12, 10.0))
    assert "below 1×10⁻¹¹, the integrator's tolerance" in axes.texts[-1].get_text()
    points = {
        mark.look: np.ravel(mark.where).tolist() for mark in marks(axes) if mark.color in range(4)
    }
    assert points == {"o": [1e-3, 1.0], "s": [1.0, 1e-9], "^": [2.0, 2.0], "D": [2.0, 1e-12]}


@pytest.mark.slow(only=["effort2-x2"])
@pytest.mark.parametrize(
    ("effort", "x"),
    [
        ([2.0, 2.0], (1.9, 2.1)),
        ([0.0, 0.0], (-1e-12, 1e-12)),
        ([NAN, NAN], (-0.12, 1.12)),
    ],
)
def test_equal_and_unknown_efforts_have_an_axis(effort, x):
    made = compared({"a": effort[:1], "b": effort[1:]}, {"a": [1.0], "b": [2.0]})
    (axes,) = comparison_figures.tradeoff_figure(made).axes
    np.testing.assert_allclose(axes.get_xlim(), x, rtol=1e-9)
    drawn = [mark for mark in marks(axes) if mark.color in (0, 1)]
    assert len(drawn) == (0 if np.isnan(effort[0]) else 2)


def test_where_none_is_ranked_all_are_seen():
    made = compared({"a": [1.0], "b": [2.0]}, {"a": [1.0], "b": [2.0]}, ended=("a", "b"))
    (axes,) = comparison_figures.tradeoff_figure(made).axes
    limits(axes, x=(0.88, 2.12))
    assert [mark.look for mark in marks(axes)] == ["o hollow", "s hollow"]


@pytest.mark.parametrize(
    ("points", "front"),
    [
        ({"a": (1.0, 2.0), "b": (2.0, 1.0), "c": (2.0, 2.0)}, ["a", "b"]),
        ({"b": (2.0, 1.0), "a": (1.0, 2.0)}, ["a", "b"]),
        ({"a": (1.0, 1.0), "b": (1.0, 1.0)}, ["a", "b"]),
        ({"a": (1.0, 1.0), "b": (1.0, 2.0)}, ["a"]),
        ({"a": (1.0, NAN), "b": (3.0, 3.0)}, ["b"]),
        ({}, []),
    ],
)
def test_the_front_is_who_is_beaten_by_nobody(points, front):
    none = (NAN, NAN)
    assert (
        pareto_front({name: TradeoffPoint(*at, none, none) for name, at in points.items()}) == front
    )


def test_the_error_over_mismatch_has_a_band_and_the_share_that_completed():
    levels = {
        "pd": (MismatchStatistics(4, 4, 0.1, 0.05, 0.2), MismatchStatistics(4, 1, 0.4, 0.3, 0.5)),
        "servo": (
            MismatchStatistics(4, 2, 1e-9, 1e-9, 1e-9),
            MismatchStatistics(0, 0, NAN, NAN, NAN),
        ),
    }
    figure = comparison_figures.mismatch_figure(Robustness("rms_phi", "m", (0.0, 0.2), levels, ()))
    errors, shares = figure.axes
    x = [0.0, 20.0]
    shows(
        errors,
        area(x, [0.05, 0.3], [0.2, 0.5], 0),
        area(x, [1e-9, NAN], [1e-9, NAN], 1),
        line(x, [0.1, 0.4], 0, "-o"),
        line(x, [1e-9, NAN], 1, "--s"),
    )
    shows(shares, line(x, [100.0, 25.0], 0, "-o"), line(x, [50.0, NAN], 1, "--s"))
    assert legend(figure) == [("pd", 0, "-o"), ("servo", 1, "--s")]
    assert [heading(axes) for axes in figure.axes] == ["error", "completed"]
    x_label = "mismatch of the true robot [%]"
    assert labels(errors) == (x_label, "rms_phi [m]", "linear", "log")
    assert labels(shares) == (x_label, "runs completed [%]", "linear", "linear")
    limits(errors, x=(-0.8, 20.8), y=(1e-10, 1.0))
    limits(shares, x=(-0.8, 20.8), y=(-5.0, 105.0))
    for axes in figure.axes:
        np.testing.assert_array_equal(axes.get_xticks(), x)


def test_a_single_level_of_mismatch_has_room_and_a_metric_without_unit_a_one():
    levels = {"pd": (MismatchStatistics(1, 1, 0.0, 0.0, 0.0),)}
    errors, _ = comparison_figures.mismatch_figure(
        Robustness("rms_phi", "", (0.1,), levels, ())
    ).axes
    limits(errors, x=(9.96, 10.04))
    assert errors.get_ylabel() == "rms_phi [1]"


def test_searches_of_several_controllers_are_drawn_over_each_other():
    both = {
        "pd": tuned(trial(4.0), trial(5.0), trial(3.0), cost="c" * 70),
        "servo": tuned(trial(INF), trial(3.5)),
        "alone": tuned(trial(2.0)),
    }
    figure = comparison_figures.tuning_figure(both)
    (axes,) = figure.axes
    shows(
        axes,
        line([1, 2, 3], [4.0, 4.0, 3.0], 0, "- step"),
        line([1, 2], [INF, 3.5], 1, "-- step"),
        line([1], [2.0], 2, "o step"),
    )
    assert legend(figure) == [("pd", 0, "-"), ("servo", 1, "--"), ("alone", 2, "-.")]
    assert heading(axes) == f"cost: {'c' * 59}…"
    assert labels(axes) == ("simulation", "lowest cost", "linear", "linear")
    limits(axes, y=(3.0 - 0.56 * 2.0, 3.0 + 0.56 * 2.0))
    assert all(float(place).is_integer() for place in axes.get_xticks())
    assert axes.get_position().width > 0.8


def test_lowest_costs_far_apart_have_decades_for_all_of_them():
    (axes,) = comparison_figures.tuning_figure({"pd": tuned(trial(100.0), trial(1e-6))}).axes
    assert axes.get_yscale() == "log"
    limits(axes, y=(1e-7, 1000.0))


def test_bands_of_repeats_are_quantiles_over_those_that_got_so_far():
    runs = {
        "pd": [outcome([1.0, NAN]), outcome([2.0, NAN]), outcome([3.0, NAN]), outcome()],
        "none": [outcome()],
    }
    one = {"pd": [1.0], "none": [1.0]}
    bands = comparison_figures.error_bands(compared(one, one, runs=runs))
    band = bands["pd"]["phi"]
    np.testing.assert_array_equal(band.time, TIME)
    np.testing.assert_array_equal(band.middle, [2.0, NAN])
    low, high = comparison_figures.BAND_QUANTILES
    np.testing.assert_allclose([band.low[0], band.high[0]], [1.0 + 2.0 * low, 1.0 + 2.0 * high])
    assert low < 0.5 < high
    assert bands["none"] == {}
    single = {name: every[:1] for name, every in runs.items()}
    assert comparison_figures.error_bands(compared(one, one, runs=single)) == {}


def test_the_ninth_controller_has_the_first_marker_again():
    values = {f"c{k}": [1.0 + k] for k in range(9)}
    levels = {name: (MismatchStatistics(1, 1, 1.0, 1.0, 1.0),) for name in values}
    robustness = Robustness("rms_phi", "m", (0.0,), levels, ())
    for figure in (
        comparison_figures.tradeoff_figure(compared(values, values)),
        comparison_figures.mismatch_figure(robustness),
    ):
        looks = [entry[2].lstrip("-.:") for entry in legend(figure)]
        assert looks == [MARKERS[k % 8] for k in range(9)]
    assert len(set(MARKERS)) == len(style.PALETTE) == 8
