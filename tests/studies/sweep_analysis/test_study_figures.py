"""Figures of shares and maps, and which figures a study has, against numbers made by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from pictures import (
    bar,
    heading,
    labels,
    legend,
    limits,
    line,
    marks,
    role,
    shows,
    text,
    texts,
    ticks,
    upright,
)

from ukctrl.core.statistics import Estimate
from ukctrl.studies.sweep_analysis import sensitivity_figures, study_figures
from ukctrl.studies.sweep_analysis.factor_maps import Map, MapAxis
from ukctrl.studies.sweep_analysis.failure_factors import FailureFactor, SuccessRate
from ukctrl.studies.sweep_analysis.metric_summary import Summary
from ukctrl.studies.sweep_analysis.sensitivity import Sensitivity
from ukctrl.studies.sweep_analysis.sensitivity_figures import (
    FAILURE,
    map_figure,
    sensitivity_figure,
    success_rate_figure,
)
from ukctrl.studies.sweep_analysis.study_arrays import Axis

NAN, INF = np.nan, np.inf


# Shares of variance


def sensitivity(first, total=(), high=0.1):
    """Return shares by factor, each with an interval of this half-width."""

    def of(shares):
        return {path: Estimate(value, value - high, value + high) for path, value in shares}

    return Sensitivity("rms_phi", "value", "saltelli", of(first), of(total), 64)


def test_bars_stand_in_order_of_strength_with_their_intervals_and_names():
    one = sensitivity([("a", 0.2), ("b", 0.5), ("c", 0.0)], [("a", 0.3), ("b", 0.95), ("c", NAN)])
    figure = sensitivity_figure({"Of the metric": one})
    (axes,) = figure.axes
    shows(
        axes,
        bar(0.0, 50.0, -0.04, 0.16, 0),
        bar(0.0, 95.0, 0.21, 0.41, 4),
        bar(0.0, 20.0, 0.96, 1.16, 0),
        bar(0.0, 30.0, 1.21, 1.41, 4),
        bar(0.0, 0.0, 1.96, 2.16, 0),
        line([40.0, 60.0], [0.06, 0.06], "ink"),
        line([85.0, 104.0], [0.31, 0.31], "ink"),
        line([10.0, 30.0], [1.06, 1.06], "ink"),
        line([20.0, 40.0], [1.31, 1.31], "ink"),
        line([-4.0, 10.0], [2.06, 2.06], "ink"),
        upright(0.0, "faint"),
    )
    assert texts(axes) == [text(name, 0.0, k - 0.18, "ink") for k, name in enumerate("bac")]
    assert legend(figure) == [("alone (first order)", 0, "-"), ("with others too (total)", 4, "-")]
    assert heading(axes) == "Of the metric"
    assert axes.get_xlabel() == "share of the variance [%]"
    limits(axes, x=(-4.0, 104.0), y=(2.55, -0.5))
    assert list(axes.get_yticks()) == []
    assert axes.get_position().width > 0.8
    assert axes.get_position().height * figure.get_size_inches()[1] == pytest.approx(
        0.25 + 0.42 * 3
    )


def test_shares_of_one_kind_have_one_bar_and_one_key_and_no_interval_of_no_width():
    one = sensitivity([("a", 0.5)], high=0.0)
    many = sensitivity([(f"x{k:02}", 1.0 / (k + 1)) for k in range(14)], high=NAN)
    figure = sensitivity_figure({"one": one, "many": many})
    left, right = figure.axes
    shows(left, bar(0.0, 50.0, 0.08, 0.28, 0), upright(0.0, "faint"))
    assert legend(figure) == [("alone (first order)", 0, "-")]
    assert [mark.name for mark in texts(right)] == [f"x{k:02}" for k in range(12)]
    assert len(right.patches) == 12
    height = left.get_position().height * figure.get_size_inches()[1]
    assert height == pytest.approx(0.25 + 0.42 * 12)


def separation(labels_and_shares, path="timing.control"):
    shares = [
        SuccessRate(label, 10, 5, Estimate(value, value - 0.1, value + 0.1))
        for label, value in labels_and_shares
    ]
    return FailureFactor(path, tuple(shares), 0.5, True, None)


@pytest.mark.parametrize("intervals", [True, False])
def test_rates_have_a_bar_a_dot_and_an_interval_where_chance_had_a_part(intervals):
    one = separation([("1 to 2", 0.5), ("2 to 3", NAN), ("3 to 4", 0.25)])
    (axes,) = success_rate_figure([one], intervals=intervals).axes
    ends = [
        line([k, k], [100.0 * s - 10.0, 100.0 * s + 10.0], "ink") for k, s in ((0, 0.5), (2, 0.25))
    ]
    dots = [line([k], [100.0 * s], "ink", "o") for k, s in ((0, 0.5), (2, 0.25))]
    above = [mark for pair in zip(ends, dots, strict=True) for mark in pair] if intervals else dots
    shows(axes, bar(-0.36, 0.36, 0.0, 50.0, 0), bar(1.64, 2.36, 0.0, 25.0, 0), *above)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1\n2", "2\n3", "3\n4"]
    np.testing.assert_array_equal(axes.get_xticks(), [0.0, 1.0, 2.0])
    assert (heading(axes), axes.get_ylabel()) == ("timing.control", "succeeded [%]")
    limits(axes, x=(-0.6, 2.6), y=(0.0, 104.0))
    assert axes.get_position().width > 0.8


@pytest.mark.parametrize(
    ("names", "words", "size"),
    [
        (["pd", "a controller with a name"], ["pd", "a controller wi…"], 8.0),
        (
            [f"{k}.123456 to {k}.654321" for k in range(6)],
            [f"{k}.123456\n{k}.654321" for k in range(6)],
            7.0,
        ),
        (
            ["1.0123456789 to 2"] * 7,
            ["1.0123456789\n2" if k % 2 == 0 else "" for k in range(7)],
            7.0,
        ),
    ],
)
def test_names_of_ranges_do_not_run_into_each_other(names, words, size):
    (axes,) = success_rate_figure(
        [separation([(name, 0.5) for name in names])], intervals=False
    ).axes
    found = axes.get_xticklabels()
    assert [tick.get_text() for tick in found] == words
    assert {tick.get_fontsize() for tick in found} == {size}


# Maps


GRID = Map(
    MapAxis("timing.control", ("1", "2"), np.array([1.0, 2.0]), True, False, False, "s"),
    MapAxis("servo.mass", ("10", "20", "40"), np.array([10.0, 20.0, 40.0]), True, False, False),
    np.array([[1, 2], [3, 4], [0, 5]]),
    np.array([[0.5, 1.0], [0.0, 0.75], [NAN, 0.1]]),
    np.array([[1.0, 2.0], [INF, 3.0], [NAN, 5.0]]),
)


def colorbar(axes):
    """Return the words of the small scale of colours above a panel."""
    (small,) = axes.child_axes
    return [tick.get_text() for tick in small.get_xticklabels()]


def test_a_map_has_the_median_with_failures_in_red_and_the_share_with_its_counts():
    median, succeeded = map_figure("rms_phi", "m", GRID).axes
    x, y = [0.5, 1.5, 2.5], [5.0, 15.0, 30.0, 50.0]
    red, mesh = marks(median)
    agree_mesh(red, x, y, [NAN, NAN, 1.0, NAN, NAN, NAN])
    agree_mesh(mesh, x, y, [1.0, 2.0, NAN, 3.0, NAN, 5.0])
    assert mesh.look == "1 to 5"
    failed, values = median.collections
    assert role(failed.cmap(0.5)) == FAILURE.lower() or role(failed.cmap(0.5)) == role(FAILURE)
    assert values.cmap.name.startswith("viridis_r")
    assert colorbar(median) == ["1", "5"]
    (share,) = marks(succeeded)
    agree_mesh(share, x, y, [50.0, 100.0, 0.0, 75.0, NAN, 10.0])
    assert share.look == "0 to 100"
    cmap = succeeded.collections[0].cmap
    assert (role(cmap(0.0)), role(cmap(1.0))) == (role(FAILURE), role(sensitivity_figures.SUCCESS))
    assert colorbar(succeeded) == ["0", "50", "100"]
    counts = [
        ("1", 1, 10, "ink"),
        ("2", 2, 10, "#ffffff"),
        ("3", 1, 22.5, "#ffffff"),
        ("4", 2, 22.5, "ink"),
        ("5", 2, 40, "#ffffff"),
    ]
    assert texts(succeeded) == [text(n, across, up, color) for n, across, up, color in counts]
    assert [heading(axes) for axes in (median, succeeded)] == [
        "median rms_phi [m]",
        "succeeded [%]",
    ]
    for axes in (median, succeeded):
        assert labels(axes) == ("timing.control [s]", "servo.mass", "linear", "linear")
        limits(axes, x=(0.5, 2.5), y=(5.0, 50.0))
        assert ticks(axes.xaxis) == {1.0: "1", 2.0: "2"}
        assert ticks(axes.yaxis) == {10.0: "10", 20.0: "20", 40.0: "40"}
        for small in axes.child_axes:
            assert small.xaxis.get_ticks_position() == "top"


def agree_mesh(mark, x, y, values):
    assert mark.kind == "mesh"
    for found, wanted in zip(mark.where, (x, y, values), strict=True):
        np.testing.assert_allclose(found, wanted)


def test_a_map_of_ranges_over_decades_has_log_sides_and_a_log_scale_of_colours():
    side = MapAxis("alpha", ("a", "b"), np.array([1.0, 10.0, 100.0]), False, False, True)
    one = Map(
        side,
        side._replace(path="beta"),
        np.full((2, 2), 4),
        np.full((2, 2), 0.5),
        np.array([[1.0, 10.0], [100.0, 2.0]]),
    )
    median, succeeded = map_figure("rms_phi", "", one).axes
    assert labels(median) == ("alpha", "beta", "log", "log")
    assert heading(median) == "median rms_phi"
    (mesh,) = marks(median)
    agree_mesh(mesh, [1.0, 10.0, 100.0], [1.0, 10.0, 100.0], [1.0, 10.0, 100.0, 2.0])
    assert type(median.collections[0].norm).__name__ == "LogNorm"
    for axis in (median.xaxis, median.yaxis):
        assert ticks(axis) == {1.0: "1", 10.0: "10", 100.0: "100"}
    middle = np.sqrt([10.0, 1000.0])
    np.testing.assert_allclose([mark.where[0][0] for mark in texts(succeeded)], np.tile(middle, 2))


def test_single_values_over_decades_lie_half_way_in_the_logarithm():
    side = MapAxis("alpha", ("1", "100"), np.array([1.0, 100.0]), True, False, True)
    alone = MapAxis("beta", ("4",), np.array([4.0]), True, False, False)
    one = Map(side, alone, np.ones((1, 2), dtype=int), np.ones((1, 2)), np.array([[1.0, 1.0]]))
    median, succeeded = map_figure("rms_phi", "m", one).axes
    (mesh,) = marks(median)
    agree_mesh(mesh, [0.1, 10.0, 1000.0], [3.5, 4.5], [1.0, 1.0])
    assert colorbar(median) == ["1"]  # all are equal
    assert median.collections[0].norm.vmax == 2.0
    assert not texts(succeeded)  # one sample in every cell: nothing to count
    below = side._replace(edges=np.array([0.0, 100.0]))
    assert map_figure("rms_phi", "m", one._replace(x=below)).axes[0].get_xscale() == "linear"


def test_named_sides_have_their_names_and_a_map_of_failures_alone_has_no_scale():
    named = MapAxis("controller", ("pd", "n" * 40), np.array([0.0, 1.0]), True, True, True)
    one = Map(
        named,
        named._replace(path="other"),
        np.ones((2, 2), dtype=int),
        np.zeros((2, 2)),
        np.full((2, 2), INF),
    )
    median, succeeded = map_figure("rms_phi", "m", one).axes
    assert [mark.look for mark in marks(median)] != []
    assert len(median.collections) == 1
    assert not median.child_axes
    for axis in (median.xaxis, succeeded.yaxis):
        assert ticks(axis) == {0.0: "pd", 1.0: "n" * 27 + "…"}
    assert {tick.get_rotation() for tick in succeeded.get_yticklabels()} == {90.0}
    assert {tick.get_rotation() for tick in succeeded.get_xticklabels()} == {0.0}
    assert labels(median)[2:] == ("linear", "linear")


@pytest.mark.parametrize(("cells", "counted"), [(10, True), (11, False)])
def test_counts_are_written_while_there_is_room(cells, counted):
    side = MapAxis("a", ("",) * cells, np.arange(cells + 1.0), False, False, False)
    full = np.full((cells, cells), 2)
    one = Map(side, side, full, np.ones((cells, cells)), np.ones((cells, cells)))
    assert bool(texts(map_figure("m", "", one).axes[1])) is counted


# Which figures a study has


def summary(metric, best, worst):
    return Summary(metric, 3, 0, 0, NAN, NAN, (), best, worst, 0)


def insight_of(runs_of, y, **changes):
    given = {
        "runs": runs_of(np.array([[1.0], [2.0], [3.0]]), y, "random"),
        "cost": SimpleNamespace(text="rms_phi"),
        "values": np.array(y, dtype=float),
        "merit": np.array(y, dtype=float),
        "unit": "m",
        "strongest": [],
        "sensitivities": {},
        "separations": (),
        "maps": (),
        "require": {},
        "overall": summary("rms_phi", 1.0, 3.0),
        "summaries": (),
        "unit_of": lambda name: f"unit of {name}",
    }
    return SimpleNamespace(**{**given, **changes})


def wanted(insight):
    return [each[:3] for each in study_figures._figures(insight)]


def test_a_study_draws_what_it_has(runs_of):
    y = [1.0, 2.0, 3.0]
    assert wanted(insight_of(runs_of, [NAN] * 3)) == []
    some = insight_of(runs_of, [1.0, NAN, 3.0], strongest=[Axis("x1", np.array(y))])
    assert [each[0] for each in wanted(some)] == ["study_spread", "study_factors"]
    ((name, title, caption),) = wanted(insight_of(runs_of, y))
    assert (name, title) == ("study_spread", "How it spreads")
    assert "the shade is the 95 % confidence interval of that of 95 %" in caption
    factors = [Axis(f"x{k}", np.array(y)) for k in range(10)]
    made = insight_of(
        runs_of,
        y,
        strongest=factors,
        sensitivities={"value": sensitivity([("x0", 0.5)]), "rank": sensitivity([("x0", 0.5)])},
        separations=tuple(separation([("a", 0.5)], path=f"x{k}") for k in range(10)),
        maps=(GRID, GRID, GRID),
    )
    drawn = list(study_figures._figures(made))
    assert [each[0] for each in drawn] == [
        "study_spread", "study_factors", "study_sensitivity", "study_success",
        "study_map", "study_map_2", "study_map_3",
    ]  # fmt: skip
    assert [len(each[3]().axes) for each in drawn[:5]] == [1, 8, 1, 8, 2]
    pages = study_figures.pictures(insight_of(runs_of, y))
    assert [(page.name, page.title) for page in pages] == [("study_spread", "How it spreads")]


def test_captions_say_how_samples_were_drawn_and_what_numbers_mean(runs_of):
    y = [1.0, 2.0, 3.0]
    points = np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0]])
    parts = {
        "separations": (separation([("a", 0.5)]),),
        "maps": (GRID, GRID._replace(x=GRID.x._replace(by_value=False))),
        "strongest": [Axis("x1", np.array(y))],
    }
    grid = wanted(insight_of(runs_of, y, runs=runs_of(points, y, "grid"), **parts))
    chance = wanted(insight_of(runs_of, y, require={"rms_phi": 1.0}, **parts))
    spread, factors, success, exact, ranged = (caption for *_, caption in grid)
    assert spread == (
        "Histogram of the samples. Lines are percentiles. A red bar counts the samples without a "
        "value, which rank as worst: percentiles among them are named there."
    )
    assert factors == (
        "'rms_phi' over each factor, the most influential first. Dots are samples, the dark line "
        "is their median, the grey band their range from 5 to 95 %. Red ticks at the top are "
        "failed samples, which rank as worst."
    )
    assert success == (
        "The share of samples that completed, over ranges of each factor with about as many "
        "samples each; the factor that separates best first."
    )
    assert exact.startswith("Each cell is a pair of values, over which the others vary. Left")
    assert exact.endswith("how many succeeded; numbers are samples. Empty: no sample.")
    assert ranged.startswith("Each cell is a range of both factors, over which the others vary.")
    _, _, success, exact, ranged = (caption for *_, caption in chance)
    assert success == (
        "The share of samples that completed within what is required, over ranges of each factor "
        "with about as many samples each; the factor that separates best first. Lines are 95 % "
        "confidence intervals (Wilson)."
    )
    assert exact.startswith("Each cell is a pair of values. Left: the median of 'rms_phi'")
    assert exact.endswith("how many succeeded. Empty: no sample.")
    assert ranged.endswith("how many succeeded; numbers are samples. Empty: no sample.")


CHAOS = (
    "Sobol indices of a polynomial of the factors. Lines are 95 % confidence intervals, from 64 "
    "samples; their upper ends count what the polynomial leaves unexplained, 12 %."
)
BOOTSTRAP = "Lines are 95 % confidence intervals by bootstrap, from 64 samples."
BETTER = "The rank counts how many samples are better, whatever the size of the difference"


@pytest.mark.parametrize(
    ("quantities", "method", "words"),
    [
        (["value"], "saltelli", f"Sobol indices. {BOOTSTRAP}"),
        (
            ["value"],
            "grid",
            "Exact shares over the points of the grid. They have no error of sampling.",
        ),
        (["value", "rank"], "polynomial", f"{CHAOS} {BETTER}."),
        (["rank"], "polynomial", f"{CHAOS} {BETTER}; those that failed share the last."),
    ],
)
def test_the_caption_of_shares_says_where_they_are_from(runs_of, quantities, method, words):
    one = sensitivity([("x1", 0.5)])._replace(method=method, unexplained=0.12)
    found = {of: one._replace(of=of) for of in quantities}
    ((_, _, caption),) = wanted(insight_of(runs_of, [NAN] * 3, sensitivities=found))
    assert caption == words


def test_beside_the_cost_metrics_that_differ_have_histograms(runs_of):
    y = [1.0, 2.0, NAN]
    runs = runs_of(np.array([[1.0], [2.0], [3.0]]), y, "random")
    runs.metrics["effort"] = np.array([5.0, 6.0, INF])

    overall = summary("rms_phi", 1.0, 2.0)
    others = [
        overall,
        summary("peak_u", 3.0, 3.0),
        summary("effort", 5.0, 6.0),
        summary("mean", 0.0, 1.0),
    ]
    made = insight_of(runs_of, y, runs=runs, overall=overall, summaries=others)
    amounts = study_figures._distributions(made)
    assert [one.summary.metric for one in amounts] == ["rms_phi", "effort"]
    assert [one.unit for one in amounts] == ["unit of rms_phi", "unit of effort"]
    np.testing.assert_array_equal(amounts[0].values, [1.0, 2.0])
    np.testing.assert_array_equal(amounts[1].values, [5.0, 6.0])
