"""Shares of variance against closed forms, by each of the three ways."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import qmc, spearmanr

from ukctrl.studies.sweep.distributions import Uniform
from ukctrl.studies.sweep_analysis.sensitivity import (
    choose_method,
    rank_correlation,
    scaled_ranks,
    sensitivities,
)
from ukctrl.studies.sweep_analysis.study_arrays import Axis

ISHIGAMI_FIRST = np.array([0.31390519, 0.44241114, 0.0])
ISHIGAMI_TOTAL = np.array([0.55758886, 0.44241114, 0.24368366])
SAMPLED = {"rtol": 0.0, "atol": 0.02}
"""Of 4096 rows of Sobol points."""
EXACT = {"rtol": 0.0, "atol": 1e-12}


def ishigami(unit):
    """Return the function, with factors from -pi to pi, of points in the unit cube."""
    x1, x2, x3 = (2.0 * np.pi * (unit - 0.5)).T
    return np.sin(x1) + 7.0 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1)


def linear(unit, weights):
    return unit @ np.array(weights)


def shares(runs, of="value", y=None):
    values = runs.metric("rms_phi") if y is None else y
    return sensitivities(runs, {"rms_phi": values}, of)["rms_phi"]


def middles(estimates):
    return [estimate.value for estimate in estimates.values()]


def covers(estimates, truth):
    return [e.low <= t <= e.high for e, t in zip(estimates.values(), truth, strict=True)]


def test_a_saltelli_design_gives_the_closed_form_of_ishigami(saltelli, runs_of):
    unit = saltelli(4096, 3)
    found = shares(runs_of(unit, ishigami(unit), "saltelli"))
    assert found.method == "saltelli"
    np.testing.assert_allclose(middles(found.first), ISHIGAMI_FIRST, **SAMPLED)
    np.testing.assert_allclose(middles(found.total), ISHIGAMI_TOTAL, **SAMPLED)
    assert all(covers(found.first, ISHIGAMI_FIRST))
    assert all(covers(found.total, ISHIGAMI_TOTAL))
    assert found.ordered() == ["x1", "x2", "x3"]


@pytest.mark.parametrize("weights", [[1.0, 2.0, 3.0, 0.0], [5.0]], ids=["four", "one"])
def test_a_linear_model_has_the_squares_of_its_weights(saltelli, runs_of, weights):
    unit = saltelli(2048, len(weights))
    found = shares(runs_of(unit, linear(unit, weights), "saltelli"))
    truth = np.square(weights) / np.sum(np.square(weights))
    np.testing.assert_allclose(middles(found.first), truth, **SAMPLED)
    np.testing.assert_allclose(middles(found.total), truth, **SAMPLED)


def test_a_full_grid_gives_the_shares_of_its_own_points_exactly(runs_of):
    level = (np.arange(8) + 0.5) / 8
    unit = np.stack(np.meshgrid(level, level[:5], level[:3], indexing="ij"), -1).reshape(-1, 3)
    x1, x2, x3 = unit.T
    y = x1 + 4.0 * x2 * x3
    found = shares(runs_of(unit, y, "grid"))
    assert found.method == "grid"
    # Of a sum of x1 and a product: Var(x2 x3) = E[x2^2] E[x3^2] - (E[x2] E[x3])^2, and so on.
    v1 = np.var(level)
    m2, m3, v2, v3 = level[:5].mean(), level[:3].mean(), np.var(level[:5]), np.var(level[:3])
    both = 16.0 * v2 * v3
    parts = np.array([v1, 16.0 * m3**2 * v2, 16.0 * m2**2 * v3])
    variance = parts.sum() + both
    np.testing.assert_allclose(middles(found.first), parts / variance, **EXACT)
    total = (parts + np.array([0.0, both, both])) / variance
    np.testing.assert_allclose(middles(found.total), total, **EXACT)


def test_random_samples_give_both_orders_by_a_polynomial(runs_of):
    unit = np.random.default_rng(3).random((400, 3))
    found = shares(runs_of(unit, ishigami(unit), "random", spread=Uniform(0.0, 1.0)))
    assert found.method == "polynomial"
    np.testing.assert_allclose(middles(found.first), ISHIGAMI_FIRST, **SAMPLED)
    np.testing.assert_allclose(middles(found.total), ISHIGAMI_TOTAL, **SAMPLED)
    assert found.unexplained < 1e-3
    assert found.tells


@pytest.mark.slow
@pytest.mark.parametrize("rows", [16, 64, 256])
def test_intervals_of_a_saltelli_design_cover_the_truth_as_often_as_they_say(
    saltelli, runs_of, rows
):
    truth, covered = np.array([1.0, 4.0, 9.0]) / 14.0, 0
    for seed in range(60):
        unit = saltelli(rows, 3, seed)
        y = linear(unit, [1.0, 2.0, 3.0])
        found = shares(runs_of(unit, y, "saltelli", spread=Uniform(0.0, 1.0)))
        assert found.method == ("saltelli" if rows >= 64 else "polynomial")
        for kind in (found.first, found.total):
            covered += sum(
                e.low - 1e-9 <= t <= e.high + 1e-9
                for e, t in zip(kind.values(), truth, strict=True)
            )
    assert covered / 360 > 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / 360)


def test_failed_samples_rank_last_and_all_are_used(saltelli, runs_of):
    unit = saltelli(1024, 3)
    y = linear(unit, [3.0, 1.0, 0.0])
    failed = unit[:, 1] > 0.8
    runs = runs_of(unit, np.where(failed, np.nan, y), "saltelli", failed=failed)
    merit = runs.merit("rms_phi")
    assert np.isinf(merit[failed]).all()
    found = shares(runs, "rank", scaled_ranks(merit))
    # The same numbers by another route: SciPy's callable interface on the same function.
    from scipy.stats import sobol_indices, uniform

    def ranked(x):
        value = linear(x.T, [3.0, 1.0, 0.0])
        value[x[1] > 0.8] = np.inf
        everything = np.sort(merit)
        low = np.searchsorted(everything, value, "left")
        high = np.searchsorted(everything, value, "right")
        return 0.5 * (low + high) / len(everything)

    direct = sobol_indices(func=ranked, n=4096, dists=[uniform()] * 3, rng=1)
    np.testing.assert_allclose(middles(found.total), direct.total_order, rtol=0.0, atol=0.03)
    success = shares(runs, "success", (~failed).astype(float))
    assert success.ordered()[0] == "x2"
    np.testing.assert_allclose(success.total["x2"].value, 1.0, rtol=0.0, atol=0.05)
    np.testing.assert_allclose(success.total["x1"].value, 0.0, **EXACT)


def test_a_design_with_gaps_is_no_more_than_some_samples(saltelli, runs_of):
    unit = saltelli(64, 2)
    assert choose_method(runs_of(unit, unit[:, 0], "saltelli")) == "saltelli"
    assert choose_method(runs_of(unit[:-1], unit[:-1, 0], "saltelli")) == "polynomial"
    level = np.linspace(0.0, 1.0, 6)
    grid = np.stack(np.meshgrid(level, level, indexing="ij"), -1).reshape(-1, 2)
    assert choose_method(runs_of(grid, grid[:, 0], "grid")) == "grid"
    assert choose_method(runs_of(grid[:-1], grid[:-1, 0], "grid")) == "polynomial"
    assert choose_method(runs_of(grid[:8], grid[:8, 0], "random")) is None


def test_repeats_count_by_their_mean(saltelli, runs_of):
    unit = saltelli(1024, 2)
    y = linear(unit, [2.0, 1.0])
    noise = np.random.default_rng(0).normal(0.0, 1.0, len(y))
    twice = np.repeat(unit, 2, axis=0)
    pair = np.stack([y + noise, y - noise], axis=1).ravel()
    found = shares(runs_of(twice, pair, "saltelli", repeats=2))
    alone = shares(runs_of(unit, y, "saltelli"))
    np.testing.assert_allclose(middles(found.first), middles(alone.first), **EXACT)
    np.testing.assert_allclose(middles(found.total), middles(alone.total), **EXACT)


def test_a_constant_metric_depends_on_nothing(saltelli, runs_of):
    unit = saltelli(64, 2)
    for design in ("saltelli", "random"):
        found = shares(runs_of(unit, np.ones(len(unit)), design))
        np.testing.assert_array_equal(middles(found.first), 0.0)


def test_rank_correlation_is_spearmans_and_covers_the_truth():
    rng = np.random.default_rng(2)
    x = rng.random(50)
    y = x + rng.normal(0.0, 0.5, 50)
    found = rank_correlation(Axis("x", x), y)
    np.testing.assert_allclose(found.value, spearmanr(x, y).statistic, **EXACT)
    truth = 6.0 / np.pi * np.arcsin(0.5 * 0.6)  # of a bivariate normal with correlation 0.6
    count = 0
    for _ in range(400):
        pair = rng.multivariate_normal([0.0, 0.0], [[1.0, 0.6], [0.6, 1.0]], 40)
        estimate = rank_correlation(Axis("x", pair[:, 0]), pair[:, 1])
        count += estimate.low <= truth <= estimate.high
    assert count / 400 > 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / 400)
    names = Axis("card", np.array([0.0, 1.0]).repeat(5), ("a", "b"))
    assert np.isnan(rank_correlation(names, np.arange(10.0)).value)


def test_given_data_and_saltelli_agree_on_what_is_additive(saltelli, runs_of):
    weights = [1.0, 2.0, 3.0]
    unit = saltelli(1024, 3)
    sobol = shares(runs_of(unit, linear(unit, weights), "saltelli"))
    points = qmc.Sobol(3, seed=1).random(4096)
    given = shares(runs_of(points, linear(points, weights), "sobol"))
    np.testing.assert_allclose(middles(given.first), middles(sobol.first), rtol=0.0, atol=0.03)
