"""The figures that a study's page is made of, each against its closed form."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm, spearmanr
from studies import columns_of, rows

from ukctrl.core.errors import InputError, UnknownName
from ukctrl.core.statistics import wilson
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.sweep import Factor, SamplingPlan, Study
from ukctrl.studies.sweep.study import StudyDescription
from ukctrl.studies.sweep_analysis import SweepAnalysis, sensitivity
from ukctrl.studies.sweep_analysis.factor_maps import factor_map
from ukctrl.studies.sweep_analysis.failure_factors import failure_factors
from ukctrl.studies.sweep_analysis.metric_summary import (
    PERCENTILE_LEVELS,
    dependent_groups,
    effective_sample_size,
    estimate_share,
    failure_reasons,
    status_counts,
    summarise_metric,
)
from ukctrl.studies.sweep_analysis.sensitivity import (
    choose_method,
    rank_correlation,
    scaled_ranks,
    sensitivities,
)
from ukctrl.studies.sweep_analysis.study_arrays import Axis, StudyArrays, bin_factor, level_labels

NAN, INF = math.nan, math.inf
EXACT = {"rtol": 1e-12, "atol": 1e-14}


@pytest.mark.parametrize(
    ("values", "names", "numbers"),
    [
        ([3, 1.5, 2], (), [3.0, 1.5, 2.0]),
        ([True, False, True], ("True", "False"), [0.0, 1.0, 0.0]),
        (["b", "a", "b"], ("b", "a"), [0.0, 1.0, 0.0]),
        ([1.0, "x", 1.0], ("1.0", "x"), [0.0, 1.0, 0.0]),
        ([1.0, INF, 2.0], ("1.0", "inf", "2.0"), [0.0, 1.0, 2.0]),
        ([1.0, NAN, 2.0], ("1.0", "nan", "2.0"), [0.0, 1.0, 2.0]),
    ],
)
def test_whatever_is_no_number_becomes_a_name(values, names, numbers):
    axis = Axis.of("k", values, log=True)
    assert (axis.path, axis.names) == ("k", names)
    np.testing.assert_array_equal(axis.values, numbers)
    assert axis.log is not bool(names)
    assert axis.discrete
    np.testing.assert_array_equal(axis.levels[axis.places()], numbers)


def test_a_factor_with_few_values_is_looked_at_value_by_value():
    assert Axis("k", np.arange(8.0)).discrete
    assert not Axis("k", np.arange(9.0)).discrete
    assert Axis("k", np.arange(9.0), tuple("abcdefghi")).discrete
    assert Axis("k", np.array([1.0, 2.0])).varies
    assert not Axis("k", np.array([2.0, 2.0])).varies


def test_ranges_are_cut_half_way_between_samples_and_keep_every_sample():
    bins = bin_factor(Axis("k", np.arange(12.0)[::-1]), 4)
    np.testing.assert_array_equal(bins.edges, [0.0, 2.5, 5.5, 8.5, 11.0])
    np.testing.assert_array_equal(bins.bin_index, np.arange(12)[::-1] // 3)
    assert bins.labels == ("0 to 2.5", "2.5 to 5.5", "5.5 to 8.5", "8.5 to 11")
    assert (bins.by_value, bins.size) == (False, 4)
    few = bin_factor(Axis("k", np.arange(12.0)), 12)
    assert few.by_value
    np.testing.assert_array_equal(few.edges, np.arange(12.0))
    # Ties: of the cuts 4, 5, 5 and 5.5 no sample lies between 4 and 5.
    tied = np.array([0.0, 1.0, 2.0, 3.0, *[5.0] * 12, 6.0, 7.0, 8.0, 9.0])
    cut = bin_factor(Axis("k", tied), 5)
    np.testing.assert_array_equal(np.bincount(cut.bin_index), [4, 12, 4])
    np.testing.assert_array_equal(cut.edges, [0.0, 5.0, 5.5, 9.0])


def test_labels_have_the_digits_in_which_values_differ():
    assert level_labels(Axis("k", np.arange(3.0)), np.array([1.0, 1.0001, 2.0])) == (
        "1", "1.0001", "2",
    )  # fmt: skip
    assert level_labels(Axis("k", np.arange(2.0), ("x", "y")), np.array([1.0, 0.0])) == ("y", "x")
    alike = level_labels(Axis("k", np.arange(2.0)), np.array([1.0, 1.0 + 1e-12]))
    assert alike == ("1", "1")  # nobody reads more


def table_of(count, **columns):
    fixed = {"sample": np.arange(count)[::-1], "seed": 7, "status": "completed", "message": None,
             "reached": 1.0}  # fmt: skip
    return columns_of(fixed | columns)


def test_a_table_is_read_in_the_order_of_its_samples():
    runs = StudyArrays.of(
        table_of(3, k=[30.0, 20.0, 10.0], c=5.0, rms_phi=[3.0, 2.0, 1.0], seed=[3, 2, 1],
                 status=["completed", "diverged", "completed"], message=[None, "left", ""],
                 reached=[0.3, 0.2, 0.1]),
        ["k", "c"], "random", log=["k"], repeats=2,
    )  # fmt: skip
    assert len(runs) == 3
    np.testing.assert_array_equal(runs.number, [0, 1, 2])
    np.testing.assert_array_equal(runs.point, [0, 0, 1])
    np.testing.assert_array_equal(runs.axis("k").values, [10.0, 20.0, 30.0])
    assert [axis.log for axis in runs.axes] == [True, False]
    assert [axis.path for axis in runs.varied] == ["k"]
    assert (runs.seed, runs.message) == ((1, 2, 3), ("", "left", ""))
    np.testing.assert_array_equal(runs.reached, [0.1, 0.2, 0.3])
    np.testing.assert_array_equal(runs.metric("rms_phi"), [1.0, NAN, 3.0])
    np.testing.assert_array_equal(runs.merit("rms_phi"), [1.0, INF, 3.0])
    assert set(runs.metrics) == {"rms_phi"}
    with pytest.raises(UnknownName, match="no metric named 'rms_ph'"):
        runs.metric("rms_ph")
    with pytest.raises(UnknownName, match="no factor named 'kk'; did you mean 'k'"):
        runs.axis("kk")
    with pytest.raises(UnknownName, match="no design named 'gird'"):
        StudyArrays.of(table_of(1), [], "gird")
    with pytest.raises(InputError, match="the table of a study must have a column 'q'"):
        StudyArrays.of(table_of(1), ["q"], "random")


def test_what_samples_that_share_values_are_worth():
    """Families of equal samples are worth their number, mixed ones as many as they are."""
    chosen = np.array([True, True, False, False, True, True, False, False])
    assert effective_sample_size(chosen, None) == 8.0
    assert effective_sample_size(chosen, np.arange(8) // 2) == 4.0  # never less than the families
    assert (
        effective_sample_size(chosen, np.arange(8) % 2) == 2.0
    )  # each family has half: no variance between
    assert effective_sample_size(chosen, np.array([5, 5, 9, 9, 5, 5, 9, 9])) == 2.0
    mixed = np.array([True] * 4 + [True, False, False, False] * 2)
    family = np.repeat([3, 1, 2], 4)
    # p = 1/2; sums 2, -1, -1; variance 3/2 6/144 = 1/16, worth (1/4)/(1/16).
    assert effective_sample_size(mixed, family) == pytest.approx(4.0)
    assert effective_sample_size(np.ones(12, dtype=bool), family) == 3.0
    even = np.array([True, True, True, False, True, False])
    assert effective_sample_size(even, np.arange(6) // 2) == 6.0  # nor more than the samples


def test_a_share_has_the_interval_of_what_its_samples_are_worth():
    chosen = np.array([True] * 4 + [True, False, False, False] * 2)
    assert estimate_share(chosen) == wilson(6, 12)
    family = np.repeat([3, 1, 2], 4)
    np.testing.assert_allclose(estimate_share(chosen, family, 0.99), wilson(2.0, 4.0, 0.99))
    assert all(map(math.isnan, estimate_share(np.zeros(0, dtype=bool))))


def test_which_samples_share_values(saltelli, runs_of):
    design = saltelli(8, 2)
    runs = runs_of(design, design[:, 0], "saltelli")
    np.testing.assert_array_equal(dependent_groups(runs), np.arange(32) % 8)
    part = runs_of(design[:27], design[:27, 0], "saltelli")
    np.testing.assert_array_equal(dependent_groups(part), np.arange(27) % 7)
    assert dependent_groups(runs_of(design, design[:, 0], "random")) is None
    twice = runs_of(design, design[:, 0], "random", repeats=2)
    np.testing.assert_array_equal(dependent_groups(twice), np.arange(32) // 2)


def test_a_metric_that_no_sample_has_and_one_that_one_has(table_of):
    table = table_of({"k": [1.0, 2.0]}, {"a": [NAN, NAN], "b": [NAN, 4.0]})
    runs = StudyArrays.of(table, ["k"], "random")
    nothing, single = summarise_metric(runs, "a"), summarise_metric(runs, "b")
    assert (nothing.known, nothing.failed, nothing.without, nothing.worst_sample) == (0, 0, 2, -1)
    values = [nothing.mean, nothing.deviation, nothing.best, nothing.worst]
    assert all(map(math.isnan, values))
    assert [one.level for one in nothing.percentiles] == list(PERCENTILE_LEVELS)
    assert all(math.isnan(one.value.value) for one in nothing.percentiles)
    assert (single.known, single.without, single.worst_sample) == (1, 1, 1)
    assert (single.mean, single.best, single.worst) == (4.0, 4.0, 4.0)
    assert math.isnan(single.deviation)


def test_percentiles_have_intervals_where_samples_were_drawn(table_of):
    values = np.arange(200.0)
    table = table_of({"k": values}, {"y": values})
    drawn = summarise_metric(StudyArrays.of(table, ["k"], "random"), "y").percentile(0.5)
    assert 80.0 < drawn.low < 99.5 < drawn.high < 119.0
    chosen = summarise_metric(StudyArrays.of(table, ["k"], "grid"), "y").percentile(0.5)
    assert math.isnan(chosen.low)
    assert math.isnan(chosen.high)
    one = summarise_metric(StudyArrays.of(rows(table, slice(1)), ["k"], "random"), "y").percentile(
        0.5
    )
    assert (one.value, math.isnan(one.low)) == (0.0, True)


def test_reasons_and_statuses_stand_with_the_commonest_first(table_of):
    status = ["diverged", "completed", "infeasible", "infeasible", "completed", "completed"]
    message = ["left at 1.5 s", "", "rows at 2e-3", "rows at 7", "", ""]
    table = table_of({"k": np.arange(6.0)}, {"y": np.ones(6)}, status=status, message=message)
    runs = StudyArrays.of(table, ["k"], "random")
    assert failure_reasons(runs) == (
        ("infeasible", "rows at 2e-3", 2, 2), ("diverged", "left at 1.5 s", 1, 0),
    )  # fmt: skip
    assert list(status_counts(runs).items()) == [
        ("completed", 3),
        ("infeasible", 2),
        ("diverged", 1),
    ]


def test_ranks_lie_between_0_and_1_and_ties_share_theirs():
    np.testing.assert_allclose(
        scaled_ranks(np.array([3.0, 1.0, INF, INF])), [0.375, 0.125, 0.75, 0.75]
    )


def test_rank_correlation_is_that_of_scipy_with_the_interval_of_bonett_and_wright():
    rng = np.random.default_rng(3)
    x, y = rng.random(12), rng.random(12)
    found = rank_correlation(Axis("k", x), y)
    rho = spearmanr(x, y).statistic
    half = norm.ppf(0.975) * math.sqrt((1.0 + 0.5 * rho**2) / 9.0)
    expected = [rho, math.tanh(math.atanh(rho) - half), math.tanh(math.atanh(rho) + half)]
    np.testing.assert_allclose(found, expected, **EXACT)
    assert rank_correlation(Axis("k", x[:5]), y[:5]).value == pytest.approx(
        spearmanr(x[:5], y[:5]).statistic
    )
    for axis, values in (
        (Axis("k", x[:4]), y[:4]), (Axis("k", np.ones(12)), y), (Axis("k", x), np.ones(12)),
        (Axis("k", x, tuple(map(str, x))), y),
    ):  # fmt: skip
        assert all(map(math.isnan, rank_correlation(axis, values)))
    assert rank_correlation(Axis("k", x), x).value == pytest.approx(1.0)


def test_which_way_the_samples_allow(saltelli, runs_of):
    for count, method in ((64, "saltelli"), (32, "polynomial"), (4, "polynomial")):
        design = saltelli(count, 2)
        assert choose_method(runs_of(design, design[:, 0], "saltelli")) == method
    small = saltelli(2, 2)
    assert choose_method(runs_of(small, small[:, 0], "saltelli")) is None  # two rows tell nothing
    assert choose_method(runs_of(np.ones((30, 1)), np.ones(30), "random")) is None
    line = np.arange(20.0)[:, None]
    assert choose_method(runs_of(line, line[:, 0], "random")) == "polynomial"
    assert choose_method(runs_of(line[:15], line[:15, 0], "random")) is None
    square = np.array([(a, b) for a in range(3) for b in range(2)], dtype=float)
    assert choose_method(runs_of(square, square[:, 0], "grid")) == "grid"
    assert choose_method(runs_of(square[:5], square[:5, 0], "grid")) is None
    long = np.array([(a, b) for a in range(7) for b in range(3)], dtype=float)
    assert choose_method(runs_of(long[:20], long[:20, 0], "grid")) == "polynomial"


def test_a_bootstrap_of_many_samples_draws_fewer_and_always_the_same():
    assert sensitivity._bootstrap_indices(100, True).shape == (200, 100)
    assert sensitivity._bootstrap_indices(20_000, True).shape == (100, 20_000)
    assert sensitivity._bootstrap_indices(100_000, True).shape == (40, 100_000)
    assert sensitivity._bootstrap_indices(100, False).shape == (0, 100)
    np.testing.assert_array_equal(
        sensitivity._bootstrap_indices(9, True), sensitivity._bootstrap_indices(9, True)
    )
    drawn = sensitivity._bootstrap_indices(50, True)
    assert (drawn.min(), drawn.max()) == (0, 49)


def test_half_widths_are_those_of_a_normal_distribution():
    resampled = np.random.default_rng(0).normal(size=(200, 3))
    expected = norm.ppf(0.975) * resampled.std(axis=0, ddof=1)
    np.testing.assert_allclose(sensitivity._interval_half_width(resampled), expected, **EXACT)


@pytest.mark.parametrize("design", ["random", "grid", "saltelli"])
def test_shares_are_the_same_in_every_unit(saltelli, runs_of, design):
    """In billions of a unit and in billionths of it: powers of two round nothing."""
    x = saltelli(64, 2)
    if design == "grid":
        x = np.array([(a, b) for a in range(8) for b in range(8)]) / 8
    y = x[:, 0] + 0.5 * x[:, 1] ** 2
    outputs = {unit: unit * y for unit in (1.0, 2.0**-30, 2.0**30)}
    found = sensitivities(runs_of(x, y, design), outputs, "value")
    assert found[1.0].first["x1"].value > found[1.0].first["x2"].value > 0.0
    for unit in outputs:
        for path in ("x1", "x2"):
            np.testing.assert_allclose(found[unit].first[path], found[1.0].first[path], **EXACT)


def test_shares_of_a_grid_are_exact_and_of_several_quantities_at_once(runs_of):
    x = np.array([(a, b) for a in range(3) for b in range(4)], dtype=float)
    outputs = {"both": x[:, 0] * x[:, 1], "first": x[:, 0], "same": np.ones(12)}
    runs = runs_of(x, outputs["both"], "grid")
    found = sensitivities(runs, outputs, "rank")
    assert found["first"].first["x1"].value == pytest.approx(1.0)
    assert found["first"].total["x2"].value == pytest.approx(0.0)
    assert {v.value for v in (*found["same"].first.values(), *found["same"].total.values())} == {0}
    # y = a b of independent a, b: Var(a) E(b)^2 alone, and Var(a) E(b^2) with b.
    var_a, mean_b, square_b = 2.0 / 3.0, 1.5, 3.5
    total = np.var(outputs["both"])
    assert found["both"].first["x1"].value == pytest.approx(var_a * mean_b**2 / total)
    assert found["both"].total["x1"].value == pytest.approx(var_a * square_b / total)
    at = found["both"].first["x1"]
    assert at.low == at.value == at.high
    assert [one.metric for one in found.values()] == ["both", "first", "same"]


def test_one_factor_of_a_saltelli_design_alone(saltelli, runs_of):
    design = saltelli(64, 1)
    y = design[:, 0]
    found = sensitivities(runs_of(design, y, "saltelli"), {"y": y}, "value", intervals=False)["y"]
    assert found.first["x1"].value == pytest.approx(1.0, abs=0.05)
    assert math.isnan(found.first["x1"].low)


def test_nan_shares_come_last():
    at = sensitivity.Estimate
    total = {"a": at(NAN, 0, 0), "b": at(0.0, 0, 0), "c": at(0.5, 0, 0)}
    one = sensitivity.Sensitivity("y", "value", "polynomial", {}, total, 9)
    assert one.ordered() == ["c", "b", "a"]


def test_the_last_cell_of_a_map_may_be_empty_or_have_no_success():
    x = Axis("x", np.array([0.0, 0.0, 1.0]))
    y = Axis("y", np.array([0.0, 1.0, 0.0]), ("p", "q"))
    found = factor_map(x, y, np.array([1.0, 2.0, INF]), np.array([True, True, False]), grid=True)
    np.testing.assert_array_equal(found.samples, [[1, 1], [1, 0]])
    np.testing.assert_array_equal(found.share, [[1.0, 0.0], [1.0, NAN]])
    np.testing.assert_array_equal(found.middle, [[1.0, INF], [2.0, NAN]])
    assert (found.x.categorical, found.y.categorical) == (False, True)
    assert (found.x.by_value, found.x.log, found.y.labels) == (True, False, ("p", "q"))


@pytest.mark.parametrize(("n", "cells"), [(31, 2), (72, 3), (127, 3), (128, 4), (10_000, 16)])
def test_a_cell_of_ranges_holds_eight_samples_on_average(n, cells):
    x = Axis("x", np.arange(n, dtype=float), log=True)
    found = factor_map(x, x, np.arange(n, dtype=float), np.ones(n, dtype=bool), grid=False)
    assert found.samples.shape == (cells, cells)
    assert (found.x.by_value, found.x.log) == (False, True)
    assert len(found.x.labels) == cells


def test_a_factor_is_cut_into_ranges_of_ten_samples_and_at_most_eight():
    for n, ranges in ((19, 2), (30, 3), (79, 7), (90, 8), (200, 8)):
        good = np.arange(n) < n // 2
        (found,) = failure_factors((Axis("k", np.arange(float(n))),), good)
        assert len(found.rates) == ranges
        assert sum(rate.samples for rate in found.rates) == n
        assert sum(rate.succeeded for rate in found.rates) == n // 2


def test_the_cut_that_separates_best_lies_between_samples():
    good = np.array([True, True, False, True, False, False, False, False])
    (found,) = failure_factors((Axis("k", np.arange(8.0)),), good)
    # Below the cut: all three good ones, of five bad ones one.
    assert found.split.threshold == 3.5
    assert (found.split.below.label, found.split.above.label) == ("below", "above")
    assert (found.split.below.succeeded, found.split.below.samples) == (3, 4)
    assert (found.split.above.succeeded, found.split.above.samples) == (0, 4)
    assert found.split.below.share == wilson(3, 4)
    (two,) = failure_factors((Axis("k", np.arange(8.0) // 4),), good)
    assert two.split is None  # two values are told apart by their rates
    (negative,) = failure_factors((Axis("k", np.arange(8.0) - 4.0, log=True),), good)
    assert negative.split.threshold == -0.5


@pytest.mark.parametrize(("count", "clear"), [(9, True), (6, False)])
def test_ranges_differ_beyond_doubt_where_their_intervals_do_not_meet(count, clear):
    """At a confidence that allows for the ranges of all factors that were looked at."""
    good = np.repeat([True, False], count)
    one, other = np.repeat([0.0, 1.0], count), np.tile([0.0, 1.0], count)
    found = failure_factors((Axis("b", other), Axis("a", one)), good)
    strict = 1.0 - 0.05 / 4.0
    assert (wilson(count, count, strict).low > wilson(0, count, strict).high) is clear
    assert [each.path for each in found] == ["a", "b"]
    assert [each.clear for each in found] == [clear, False]
    assert found[0].score == pytest.approx(1.0)
    assert found[1].score == 0.0


def test_the_score_of_a_factor_is_the_share_without_chance():
    good = np.array([True] * 6 + [False] * 2 + [True] * 3 + [False] * 9)
    axis = Axis("k", np.repeat([0.0, 1.0], [8, 12]))
    (found,) = failure_factors((axis,), good)
    between = (8 * (0.75 - 0.45) ** 2 + 12 * (0.25 - 0.45) ** 2) / (20 * 0.45 * 0.55)
    assert found.score == pytest.approx(1.0 - (1.0 - between) * 19 / 18)


SCENARIO = Scenario.load(
    "two-mass-spring",
    {"timing": {"duration": 0.4, "sample": 0.02}, "controller": {"use": "servo-baumgarte"}},
)
ALPHA, BETA = "controller.feedback.alpha", "controller.feedback.beta"


def insight_of(metrics, *, status=None, factors=(f"{ALPHA}=1:9", f"{BETA}=0.1:0.2"), **given):
    n = len(next(iter(metrics.values())))
    plan = SamplingPlan.of([Factor.parse(each) for each in factors], design="random", n=n, seed=1)
    values = [plan.values(k) for k in range(n)]
    ended = {} if status is None else {"status": status}
    columns = {path: [each[path] for each in values] for path in values[0]}
    table = table_of(n, **{"sample": np.arange(n), **columns, **metrics, **ended})
    return SweepAnalysis.of(
        Study(about=StudyDescription.of(SCENARIO, plan), columns=table), **given
    )


def test_success_is_to_complete_within_every_requirement():
    metrics = {"rms_phi": [1.0, 2.0, 1.0, 1.0, NAN], "peak_u": [4.0, 1.0, 5.0, 1.0, 1.0]}
    found = insight_of(
        metrics, status=["completed"] * 3 + ["diverged", "completed"],
        require={"rms_phi": 1.0, "peak_u": 4.0},
    )  # fmt: skip
    np.testing.assert_array_equal(found.good, [True, False, False, False, False])
    assert found.completed == wilson(4, 5)
    assert found.succeeded == wilson(1, 5)
    np.testing.assert_array_equal(found.values, [1.0, 2.0, 1.0, NAN, NAN])
    np.testing.assert_array_equal(found.merit, [1.0, 2.0, 1.0, INF, INF])
    assert found.worst == (1, 0, 2)
    assert found.failed == (3,)


def test_a_cost_is_a_weighted_sum_and_none_where_a_part_is_missing():
    metrics = {"rms_phi": [1.0, 2.0, NAN], "peak_u": [4.0, NAN, 5.0]}
    found = insight_of(metrics, cost="rms_phi + 0.5*peak_u")
    np.testing.assert_array_equal(found.values, [3.0, NAN, NAN])
    assert found.unit == ""
    assert insight_of(metrics, cost="peak_u").unit == "N"
    assert insight_of(metrics).unit_of("mine") == ""
    with pytest.raises(UnknownName, match=r"no metric \(in the cost\) named 'effort'"):
        insight_of(metrics, cost="effort")
    lost = insight_of({"peak_u": [NAN, NAN]}, status="diverged", cost="effort")
    assert np.isnan(lost.values).all()  # where nothing completed no metric has a column


def test_the_usual_cost_is_the_first_that_some_sample_has():
    assert insight_of({"rms_phi": [NAN, 1.0], "rms_beta": [1.0, 1.0]}).cost.text == "rms_phi"
    assert insight_of({"rms_phi": [NAN, NAN], "rms_beta": [1.0, 1.0]}).cost.text == "rms_beta"
    assert insight_of({"rms_phi": [NAN, NAN], "work": [1.0, 1.0]}).cost.text == "work"
    assert insight_of({"work": [NAN, NAN]}, status="diverged").cost.text == "rms_phi"


def test_lists_of_samples_are_short_and_ties_stand_by_their_numbers():
    found = insight_of({"rms_phi": [1.0] * 8 + [2.0] * 8 + [9.0] * 12},
                       status=["completed"] * 16 + ["diverged"] * 12)  # fmt: skip
    assert found.worst == (*range(8, 16), 0, 1)
    assert found.failed == tuple(range(16, 26))


def test_what_matters_most_comes_first_by_shares_or_by_correlation():
    n = 64
    plan = SamplingPlan.of([Factor.parse(f"{ALPHA}=1:9"), Factor.parse(f"{BETA}=0.1:0.2")],
                   design="random", n=n, seed=1)  # fmt: skip
    beta = [plan.values(k)[BETA] for k in range(n)]
    for count in (n, 8):  # of eight no shares are told, but how they go together
        found = insight_of({"rms_phi": beta[:count]})
        assert bool(found.sensitivities) is (count == n)
        assert [axis.path for axis in found.strongest] == [BETA, ALPHA]
    all_there = insight_of({"rms_phi": beta})
    assert list(all_there.sensitivities) == ["value", "rank"]
    failing = insight_of({"rms_phi": beta}, status=["diverged"] * 9 + ["completed"] * (n - 9))
    assert list(failing.sensitivities) == ["rank", "success"]
    for good in (1, n - 1):  # one that ends otherwise than all others tells something
        status = ["completed"] * good + ["diverged"] * (n - good)
        assert "success" in insight_of({"rms_phi": beta}, status=status).sensitivities
    (shown,) = all_there.maps
    assert (shown.x.path, shown.y.path) == (ALPHA, BETA)  # in the order of the study's factors
    chosen = insight_of({"rms_phi": beta}, maps=[(BETA, ALPHA)])
    assert [(one.x.path, one.y.path) for one in chosen.maps] == [(BETA, ALPHA)]


def test_only_metrics_that_differ_or_fail_depend_on_something():
    n = 32
    metrics = {"rms_phi": np.arange(n), "work": np.ones(n), "peak_u": np.full(n, NAN)}
    assert list(insight_of(metrics).dependence) == ["rms_phi"]
    assert [one.metric for one in insight_of(metrics).summaries] == ["rms_phi", "work"]
    failing = insight_of(metrics, status=["diverged"] * 9 + ["completed"] * (n - 9))
    assert list(failing.dependence) == ["rms_phi", "work"]


def test_a_map_is_of_two_factors_that_vary():
    given = {"factors": (f"{ALPHA}=1:9", f"{BETA}=0.1")}
    with pytest.raises(InputError, match=f"a map needs factors that vary; '{BETA}' has one value"):
        insight_of({"rms_phi": [1.0, 2.0]}, maps=[(ALPHA, BETA)], **given)
    assert insight_of({"rms_phi": [1.0, 2.0]}, **given).maps == ()
