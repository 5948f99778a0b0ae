"""Percentiles against NumPy, their intervals against the truth, failures as the worst."""

from __future__ import annotations

import dataclasses as dc
import math

import numpy as np
import pytest
from studies import rows

from ukctrl.core.errors import InputError, UnknownName
from ukctrl.studies.sweep_analysis.metric_summary import (
    PERCENTILE_LEVELS,
    failure_reasons,
    percentiles,
    status_counts,
    summarise_metric,
)
from ukctrl.studies.sweep_analysis.study_arrays import StudyArrays

ROUNDING = {"rtol": 1e-13, "atol": 0.0}


def one(column):
    return np.asarray(column)[:, None]


def test_percentiles_and_moments_are_those_of_numpy(runs_of):
    y = np.random.default_rng(1).lognormal(size=137)
    found = summarise_metric(runs_of(one(y), y, "random"), "rms_phi")
    got = [entry.value.value for entry in found.percentiles]
    np.testing.assert_allclose(got, np.quantile(y, PERCENTILE_LEVELS), **ROUNDING)
    moments = [y.mean(), y.std(ddof=1), y.min(), y.max()]
    got = [found.mean, found.deviation, found.best, found.worst]
    np.testing.assert_allclose(got, moments, **ROUNDING)
    assert y[found.worst_sample] == y.max()


def test_a_failed_sample_is_the_worst_of_all(runs_of):
    y = np.arange(100.0)
    failed = y >= 90.0
    found = summarise_metric(runs_of(one(y), y, "random", failed=failed), "rms_phi")
    assert (found.known, found.failed, found.without) == (90, 10, 0)
    assert found.percentile(0.5).value == 49.5  # as if the failed ones had any large value
    assert found.percentile(0.95).value == math.inf
    assert found.worst == 89.0
    assert found.mean == 44.5


def test_of_a_margin_the_least_is_the_worst_and_a_failed_sample_is_worse(runs_of):
    y = np.arange(100.0)
    runs = runs_of(one(y), y, "random", failed=y < 10.0)
    runs = dc.replace(runs, metrics={"worst_margin": y})
    found = summarise_metric(runs, "worst_margin")
    assert (found.best, found.worst, found.mean) == (99.0, 10.0, 54.5)
    assert found.worst_sample == 10
    assert found.percentile(0.5).value == 49.5
    assert found.percentile(0.95).value == -math.inf
    low, high = found.percentile(0.5)[1:]
    assert low < 49.5 < high
    np.testing.assert_array_equal(runs.merit("worst_margin")[8:12], [math.inf] * 2 + [-10.0, -11.0])


def test_a_completed_sample_without_the_metric_counts_as_worst(runs_of):
    y = np.where(np.arange(20) < 4, np.nan, 1.0)
    found = summarise_metric(runs_of(one(np.arange(20.0)), y, "random"), "rms_phi")
    assert (found.known, found.failed, found.without) == (16, 0, 4)
    assert found.percentile(0.95).value == math.inf


def test_few_samples_do_not_bound_a_high_percentile(runs_of):
    y = np.arange(30.0)
    found = summarise_metric(runs_of(one(y), y, "random"), "rms_phi")
    assert math.isnan(found.percentile(0.99).high)
    assert found.percentile(0.5).low < 14.5 < found.percentile(0.5).high


def test_points_of_a_grid_have_no_confidence(runs_of):
    y = np.arange(200.0)
    found = summarise_metric(runs_of(one(y), y, "grid"), "rms_phi")
    assert all(math.isnan(entry.value.low) for entry in found.percentiles)


@pytest.mark.slow
def test_intervals_of_a_saltelli_design_cover_although_its_rows_share_values(runs_of):
    # Random matrices, not Sobol points, so that the rows are as uneven as they may be.
    rng, covered, level = np.random.default_rng(4), 0, 0.75
    truth = math.sqrt(2.0 * level) if level < 0.5 else 2.0 - math.sqrt(2.0 * (1.0 - level))
    for _ in range(300):
        A, B = rng.random((2, 40, 2))
        mixed = [np.where(np.arange(2) == i, B, A) for i in range(2)]
        unit = np.concatenate([A, B, *mixed])
        y = unit.sum(axis=1)
        found = percentiles(y, runs_of(unit, y, "saltelli"))[PERCENTILE_LEVELS.index(level)].value
        covered += found.low <= truth <= found.high
    assert covered / 300 > 0.95 - 3.0 * math.sqrt(0.05 * 0.95 / 300)


def test_reasons_that_differ_in_numbers_are_one(table_of):
    message = ["", "at t = 1.5 s: too fast.", "at t = 0.25 s: too fast.", "stopped."]
    status = ["completed", "diverged", "diverged", "interrupted"]
    table = table_of({"x": np.arange(4.0)}, {"rms_phi": np.ones(4)}, status=status, message=message)
    found = failure_reasons(StudyArrays.of(table, ["x"], "random"))
    assert [(r.status, r.samples, r.sample) for r in found] == [
        ("diverged", 2, 1),
        ("interrupted", 1, 3),
    ]
    assert status_counts(StudyArrays.of(table, ["x"], "random"))["diverged"] == 2


def test_a_table_that_is_none_is_refused(table_of):
    table = table_of({"x": np.arange(2.0)}, {"rms_phi": np.ones(2)})
    with pytest.raises(UnknownName, match="did you mean 'sobol'"):
        StudyArrays.of(table, ["x"], "sobal")
    with pytest.raises(InputError, match="must have a column 'y'"):
        StudyArrays.of(table, ["y"], "grid")
    with pytest.raises(
        InputError, match="^a study must have at least one finished sample; it has none.$"
    ):
        StudyArrays.of(rows(table, slice(0)), ["x"], "grid")
    with pytest.raises(UnknownName, match="did you mean 'rms_phi'"):
        StudyArrays.of(table, ["x"], "grid").metric("rms_ph")
