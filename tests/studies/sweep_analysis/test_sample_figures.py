"""Figures of the samples of a study: how a metric spreads, and how it goes with a factor."""

from __future__ import annotations

import numpy as np
import pytest
from pictures import (
    Mark,
    area,
    bar,
    heading,
    labels,
    limits,
    line,
    marks,
    shows,
    span,
    text,
    texts,
    ticks,
    upright,
)

from ukctrl.core.statistics import Estimate
from ukctrl.studies.sweep_analysis import sample_figures
from ukctrl.studies.sweep_analysis.metric_summary import Percentile, Summary
from ukctrl.studies.sweep_analysis.sample_figures import (
    MetricDistribution,
    histograms,
    scatter_figure,
)
from ukctrl.studies.sweep_analysis.study_arrays import Axis

NAN, INF = np.nan, np.inf


# Histograms


def amount(values, unit="m", *, failed=0, without=0, percentiles=(), metric="rms_phi"):
    """Return a metric with these values and percentiles, each a level and an estimate."""
    summary = Summary(
        metric=metric,
        known=len(values),
        failed=failed,
        without=without,
        mean=NAN,
        deviation=NAN,
        percentiles=tuple(Percentile(level, Estimate(*at)) for level, at in percentiles),
        best=NAN,
        worst=NAN,
        worst_sample=0,
    )
    return MetricDistribution(summary, unit, np.array(values, dtype=float))


def boxes(axes):
    return [mark for mark in marks(axes) if mark.kind == "box"]


def test_a_histogram_counts_samples_and_names_their_percentiles():
    values = [0.0, 1.0, 1.1, 1.2, 2.5, 3.0, 5.0]  # 2 * 7^(1/3) = 3.8: the least of five ranges
    percentiles = (
        (0.05, (0.3, NAN, NAN)),
        (0.25, (1.0, 0.5, 1.5)),
        (0.5, (1.2, 1.0, 2.0)),
        (0.95, (4.0, 3.0, 4.9)),
        (0.99, (4.1, 3.0, 5.0)),
    )
    (axes,) = histograms([amount(values, percentiles=percentiles)]).axes
    counts = [1, 3, 1, 1, 1]
    shows(
        axes,
        *(bar(k, k + 1, 0.0, n, 0) for k, n in enumerate(counts)),
        span(3.0, 4.9, "ink"),
        *(upright(at, "ink") for at in (0.3, 1.2, 4.0, 4.1)),
    )
    top = 1.14 * 3.15  # a twentieth above the highest bar, and room for the words
    limits(axes, x=(-0.1, 5.1), y=(0.0, top))
    # 99 % would lie on 95 %.
    assert texts(axes) == [
        text(f"{p} %", at, top, "ink") for p, at in ((5, 0.3), (50, 1.2), (95, 4.0))
    ]
    axes.figure.draw_without_rendering()
    levels = [word for word in axes.texts if word.get_text().endswith("%")]
    assert all(word.get_window_extent().y1 < axes.get_window_extent().y1 for word in levels)
    assert labels(axes) == ("rms_phi [m]", "samples", "linear", "linear")
    assert heading(axes) == "rms_phi"
    assert axes.get_position().width > 0.8


def test_samples_without_a_value_are_a_red_bar_that_says_why():
    percentiles = ((0.5, (2.0, NAN, NAN)), (0.95, (INF, INF, INF)), (0.99, (INF, NAN, NAN)))
    for failed, without, words in ((3, 0, "failed"), (0, 3, "none"), (1, 2, "failed or none")):
        one = amount([0.0, 10.0], failed=failed, without=without, percentiles=percentiles)
        (axes,) = histograms([one]).axes
        *_, red = boxes(axes)
        assert red.color == "alert"
        np.testing.assert_allclose(red.where, [[10.4, 10.9], [0.0, 3.0]])
        label, median = texts(axes)
        assert (label.name, label.color) == (f"{words}, 95 %, 99 %", "alert")
        np.testing.assert_allclose(np.ravel(label.where), [10.9, 3.0])
        assert median.name == "50 %"
        limits(axes, x=(-0.2, 11.1), y=(0.0, 1.14 * 3.15))
        assert [mark.where[0][0] for mark in marks(axes) if mark.kind == "upright"] == [2.0]


def test_values_over_decades_have_ranges_over_decades():
    one = amount([1e-3, 1e-2, 1e-2, 1.0], failed=1)
    (axes,) = histograms([one]).axes
    *ranges, red = boxes(axes)
    edges = np.geomspace(1e-3, 1.0, 6)
    np.testing.assert_allclose(
        [box.where[0] for box in ranges], np.stack([edges[:-1], edges[1:]], 1)
    )
    assert [box.where[1][1] for box in ranges] == [1.0, 2.0, 0.0, 0.0, 1.0]
    np.testing.assert_allclose(np.log10(red.where[0]), [0.12, 0.27])
    assert axes.get_xscale() == "log"
    np.testing.assert_allclose(np.log10(axes.get_xlim()), [-3.06, 0.33])
    assert ticks(axes.xaxis) == {0.001: "0.001", 0.01: "0.01", 0.1: "0.1", 1.0: "1"}


@pytest.mark.parametrize(
    ("value", "low", "high"), [(5.0, 4.5, 5.5), (0.0, -0.1, 0.1), (-2.0, -2.2, -1.8)]
)
def test_a_single_value_has_a_range_around_it(value, low, high):
    (axes,) = histograms([amount([value, value])]).axes
    ranges = boxes(axes)
    assert [box.where[1][1] for box in ranges] == [0.0, 0.0, 2.0, 0.0, 0.0]
    assert (ranges[0].where[0][0], ranges[-1].where[0][1]) == pytest.approx((low, high))


@pytest.mark.parametrize(("count", "ranges"), [(8, 5), (100, 9), (1200, 21), (8000, 24)])
def test_more_samples_have_finer_ranges(count, ranges):
    assert len(boxes(histograms([amount(np.linspace(0.0, 1.0, count))]).axes[0])) == ranges


def test_a_metric_that_no_sample_has_keeps_its_names_and_one_without_a_unit_no_brackets():
    left, right = histograms([amount([]), amount([1.0, 2.0], "1", metric="n" * 40)]).axes
    assert labels(left)[:2] == ("rms_phi [m]", "samples")
    assert marks(left) == []
    assert right.get_xlabel() == "n" * 40
    assert heading(right) == "n" * 29 + "…"


# Clouds


def cloud(x, merit, unit="m", names=(), log=False, path="controller.alpha"):
    (axes,) = scatter_figure(
        "rms_phi", unit, np.array(merit), [Axis(path, np.array(x), names, log)]
    ).axes
    return axes


def test_samples_of_a_few_values_are_dots_with_the_median_and_what_90_percent_lie_within():
    merit = [1.0, 2.0, 3.0, 5.0, 6.0, INF]
    axes = cloud([1.0, 1.0, 1.0, 2.0, 2.0, 2.0], merit)
    rug = Mark("upright", ([2.0], [0.975]), "alert", "| unclipped")
    shows(
        axes,
        line([1.0, 1.0, 1.0, 2.0, 2.0], merit[:5], 0, "o"),
        line([1.0, 1.0], [1.0, 3.0], "ink"),
        line([2.0, 2.0], [5.0, 6.0], "ink"),
        line([1.0, 2.0], [2.0, 6.0], "ink", "-o"),
        rug,
    )
    limits(axes, x=(0.97, 2.03))
    assert labels(axes) == ("", "rms_phi [m]", "linear", "linear")
    assert heading(axes) == "controller.alpha"
    assert axes.get_position().width > 0.8


def test_a_median_among_failures_is_not_drawn():
    axes = cloud([1.0, 1.0, 1.0, 2.0, 2.0, 2.0], [1.0, INF, INF, 4.0, 4.0, 4.0])
    lines = [mark for mark in marks(axes) if mark.color == "ink"]
    np.testing.assert_array_equal(lines[0].where[1], [1.0, 4.0])  # open above: to the largest known
    np.testing.assert_array_equal(lines[2].where[1], [NAN, 4.0])
    nothing = cloud([1.0, 2.0], [INF, INF])
    for mark in marks(nothing):
        assert mark.color == "alert" or not np.isfinite(mark.where[1]).any()


def test_many_values_have_a_band_between_ranges_of_25_samples():
    x = np.arange(100.0)
    merit = np.where(x < 50.0, 1.0, 2.0) + np.where(x % 25 == 0, 0.5, 0.0)
    merit[60:63] = INF
    shade, dots, half, rug = marks(cloud(x, merit))
    middles = [12.0, 37.0, 62.0, 87.0]
    assert shade == area(middles, [1.0] * 4, [1.0, 1.0, 2.5, 2.0], "ink")._replace(
        where=shade.where
    )
    corners = set(zip(*np.array(shade.where).tolist(), strict=True))
    assert corners == {*zip(middles * 2, [1.0, 1.0, 2.0, 2.0, 1.0, 1.0, 2.5, 2.0], strict=True)}
    np.testing.assert_array_equal(half.where, [middles, [1.0, 1.0, 2.0, 2.0]])
    assert (half.look, half.color) == ("-", "ink")
    assert (dots.look, dots.color, len(dots.where[0])) == ("o", 0, 97)
    np.testing.assert_array_equal(rug.where[0], [60.0, 61.0, 62.0])


def test_named_values_stand_side_by_side_with_a_dot_for_the_median():
    names = ("pd", "servo", "a law with a very long name indeed it is")
    x = np.repeat([0.0, 1.0, 2.0], 40)
    axes = cloud(x, np.repeat([1.0, 2.0, 3.0], 40), names=names)
    dots, *middles, half = marks(axes)
    off = dots.where[0] - x
    assert 0.1 < np.abs(off).max() <= 0.16
    assert off.min() < 0.0 < off.max()
    assert (half.look, half.color) == ("o", "ink")
    np.testing.assert_array_equal(half.where, [[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    assert len(middles) == 3
    assert [tick.get_text() for tick in axes.get_xticklabels()] == [
        "pd",
        "servo",
        "a law with a very lo…",
    ]
    np.testing.assert_array_equal(axes.get_xticks(), [0.0, 1.0, 2.0])
    limits(axes, x=(-0.5, 2.5))


def test_names_beyond_eight_still_have_their_own_places():
    names = tuple(f"law{k}" for k in range(9))
    half = marks(cloud(np.arange(9.0), np.arange(9.0) + 1.0, names=names))[-1]
    np.testing.assert_array_equal(half.where, [np.arange(9.0), np.arange(9.0) + 1.0])


@pytest.mark.parametrize(
    ("x", "log", "scale"),
    [([1.0, 100.0], True, "log"), ([1.0, 100.0], False, "linear"), ([0.0, 1.0], True, "linear")],
)
def test_factors_over_decades_and_metrics_over_decades_have_log_scales(x, log, scale):
    axes = cloud(x, [1.0, 1000.0], log=log)
    assert labels(axes)[2:] == (scale, "log")
    half = marks(axes)[-1]
    np.testing.assert_allclose(half.where, [x, [1.0, 1000.0]])
    assert set(ticks(axes.yaxis).values()) >= {"1", "10", "100"}
    if scale == "log":
        limits(axes, x=(10.0**-0.06, 10.0**2.06))
        assert ticks(axes.xaxis) == {1.0: "1", 10.0: "10", 100.0: "100"}


def test_a_single_value_of_a_factor_has_room_and_a_metric_without_a_unit_no_brackets():
    axes = cloud([3.0, 3.0], [1.0, 2.0], unit="")
    limits(axes, x=(2.97, 3.03))
    assert axes.get_ylabel() == "rms_phi"


def test_of_many_samples_the_extremes_are_always_dots():
    merit = np.random.default_rng(1).permutation(np.arange(1.0, 2001.0))
    dots = marks(cloud(np.arange(2000.0), merit))[1]
    drawn = np.sort(dots.where[1])
    assert len(drawn) == len(set(drawn)) == sample_figures.MAX_DOTS
    np.testing.assert_array_equal(drawn[:25], np.arange(1.0, 26.0))
    np.testing.assert_array_equal(drawn[-25:], np.arange(1976.0, 2001.0))
    np.testing.assert_array_equal(merit[dots.where[0].astype(int)], dots.where[1])
    assert np.ptp(drawn[25:-25]) > 1500.0  # the others by chance, from all over
    all_of_them = marks(cloud(np.arange(500.0), np.arange(500.0)))[1]
    np.testing.assert_array_equal(all_of_them.where[0], np.arange(500.0))


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1.0, 50.0, {1.0: "1", 2.0: "2", 5.0: "5", 10.0: "10", 20.0: "20", 50.0: "50"}),
        (1e-6, 1e-4, {1e-6: "10⁻⁶", 1e-5: "10⁻⁵", 1e-4: "10⁻⁴"}),
        (2e-6, 5e-6, {2e-6: "2×10⁻⁶", 5e-6: "5×10⁻⁶"}),
        (1e2, 1e4, {1e2: "100", 1e3: "1000", 1e4: "10⁴"}),
        (1e-4, 1e-2, {1e-4: "10⁻⁴", 1e-3: "0.001", 1e-2: "0.01"}),
    ],
)
@pytest.mark.parametrize("side", ["x", "y"])
def test_powers_of_ten_are_ticks_and_where_it_is_short_what_lies_between(side, low, high, words):
    from matplotlib.figure import Figure

    axes = Figure().add_subplot()
    axes.set(**{f"{side}scale": "log", f"{side}lim": (low, high)})
    sample_figures.tick_decades(axes, side)
    found = ticks(axes.xaxis if side == "x" else axes.yaxis)
    np.testing.assert_allclose(list(found), list(words))
    assert [word.replace("1×", "") for word in found.values()] == list(words.values())
