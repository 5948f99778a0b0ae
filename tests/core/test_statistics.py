"""Intervals cover as often as they say, and tests err no more often than they may."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from ukctrl.core.statistics import (
    CONFIDENCE,
    holm,
    paired_difference,
    quantile,
    quantile_interval,
    spread,
    wilson,
)

STUDIES = 4000
SAMPLED = {"rtol": 0.0, "atol": 4.0 * math.sqrt(0.05 * 0.95 / STUDIES)}
"""A share of 5 % counted over that many studies, to four standard deviations: 1.4 %."""
SAME = {"rtol": 1e-12, "atol": 0.0}


@pytest.fixture(name="rng")
def _rng():
    return np.random.default_rng(7)


@pytest.mark.parametrize("n", [2, 5, 20])
def test_the_interval_of_a_mean_covers_it_in_95_of_100_studies(rng, n):
    found = [spread(row) for row in rng.normal(3.0, 0.7, (STUDIES, n))]
    covered = np.mean([s.low <= 3.0 <= s.high for s in found])
    np.testing.assert_allclose(covered, CONFIDENCE, **SAMPLED)


@pytest.mark.parametrize("n", [3, 10])
def test_where_there_is_no_difference_the_paired_test_claims_one_in_5_of_100_studies(rng, n):
    common = rng.normal(0.0, 5.0, (STUDIES, n))  # what the draw of noise does to both
    ours, theirs = common + rng.normal(size=(2, STUDIES, n))
    claims = [paired_difference(x, y).p < 0.05 for x, y in zip(ours, theirs, strict=True)]
    np.testing.assert_allclose(np.mean(claims), 0.05, **SAMPLED)


def test_the_interval_of_a_difference_covers_it_whatever_both_have_in_common(rng):
    common = rng.exponential(9.0, (STUDIES, 6))
    found = [paired_difference(c + rng.normal(0.4, 1.0, 6), c) for c in common]
    covered = np.mean([d.low <= 0.4 <= d.high for d in found])
    np.testing.assert_allclose(covered, CONFIDENCE, **SAMPLED)


@pytest.mark.parametrize("n", [2, 7, 50])
def test_the_paired_test_is_the_one_of_scipy(rng, n):
    x, y = rng.normal(size=(2, n))
    ours, theirs = paired_difference(x, y), scipy.stats.ttest_rel(x, y)
    interval = theirs.confidence_interval(CONFIDENCE)
    np.testing.assert_allclose(ours.p, theirs.pvalue, **SAME)
    np.testing.assert_allclose((ours.low, ours.high), interval, **SAME)
    assert ours.repeats == n


def test_pairs_see_what_two_separate_samples_do_not(rng):
    common = rng.normal(0.0, 10.0, 12)
    x, y = common + 1.0 + 0.1 * rng.normal(size=12), common
    assert paired_difference(x, y).p < 1e-6
    assert scipy.stats.ttest_ind(x, y).pvalue > 0.5


def test_a_mean_has_its_median_and_its_worst_beside_it():
    found = spread(np.array([1.0, 2.0, 9.0, np.nan]))
    assert (found.repeats, found.mean, found.median, found.worst) == (3, 4.0, 2.0, 9.0)


def test_one_value_has_no_interval_and_none_has_nothing():
    one = spread(np.array([2.0]))
    assert (one.mean, one.worst) == (2.0, 2.0)
    assert math.isnan(one.low)
    assert math.isnan(paired_difference(np.array([1.0]), np.array([2.0])).p)
    assert math.isnan(spread(np.array([])).mean)
    assert paired_difference(np.array([np.nan]), np.array([1.0])).repeats == 0


def test_the_same_difference_every_time_is_certain_and_none_is_no_difference():
    x = np.array([1.0, 2.0, 3.0])
    assert paired_difference(x + 0.1, x).p == 0.0
    assert paired_difference(x, x).p == 1.0


def test_holm_multiplies_by_what_is_left_and_never_falls():
    # The worked example of Holm 1979 in its usual form: 0.01, 0.04, 0.03, 0.005 of four tests.
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02], **SAME)
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert math.isnan(holm([float("nan"), 0.02])[0])
    assert holm([float("nan"), 0.02])[1] == 0.02


@pytest.mark.slow
def test_with_holm_a_study_of_five_equals_makes_any_false_claim_in_5_of_100(rng):
    count = 0
    for x in rng.normal(size=(800, 5, 8)):
        pairs = [paired_difference(x[i], x[j]).p for i in range(5) for j in range(i)]
        count += min(holm(pairs)) < 0.05
    assert count / 800 < 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / 800)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.9])
def test_wilsons_interval_covers_a_share_about_as_often_as_it_says(rng, share):
    counts = rng.binomial(60, share, STUDIES)
    by_count = {k: wilson(k, 60) for k in np.unique(counts).tolist()}
    covered = np.mean([by_count[k].low <= share <= by_count[k].high for k in counts.tolist()])
    assert covered > 0.92  # it is not exact: its coverage swings about 95 % with the share


def test_wilsons_interval_is_scipys_and_stays_between_0_and_1():
    for k, n in ((3, 10), (0, 7), (7, 7), (499, 1000)):
        theirs = scipy.stats.binomtest(k, n).proportion_ci(method="wilson")
        ours = wilson(k, n)
        np.testing.assert_allclose(ours[1:], [theirs.low, theirs.high], rtol=1e-12, atol=1e-16)
    assert math.isnan(wilson(0, 0).value)


@pytest.mark.parametrize("level", [0.01, 0.25, 0.5, 0.75, 0.95, 0.999])
def test_the_ranks_of_an_interval_are_quantiles_of_the_binomial_distribution(level):
    for n in (1, 2, 7, 60, 199, 1000, 100_003):
        ordered = np.arange(1.0, n + 1.0)
        low, high = (
            int(scipy.stats.binom.ppf(p, n, level)) for p in (0.025, 0.5 * (1.0 + CONFIDENCE))
        )
        ends = low if low > 0 else np.nan, high + 1 if high < n else np.nan
        np.testing.assert_array_equal(quantile_interval(ordered, level), ends)


@pytest.mark.parametrize("level", [0.05, 0.5, 0.95])
def test_an_interval_of_order_statistics_covers_the_quantile_of_any_distribution(rng, level):
    truth = float(scipy.stats.expon.ppf(level))
    found = [quantile_interval(np.sort(x), level) for x in rng.exponential(size=(STUDIES, 80))]
    # A missing end bounds nothing, and so excludes nothing.
    covered = np.mean([not (truth < low or truth > high) for low, high in found])
    assert covered > 0.95 - SAMPLED["atol"]


def test_a_quantile_next_to_a_failure_is_one():
    ordered = np.array([1.0, 2.0, 3.0, np.inf])
    assert quantile(ordered, 2.0 / 3.0) == 3.0
    assert quantile(ordered, 0.7) == np.inf
    assert quantile(ordered, 0.5) == 2.5
    assert math.isnan(quantile(np.array([]), 0.5))
