"""Sobol indices by polynomial chaos against closed forms, from 16 to 1,024 samples.

`python -P tests/studies/sweep_analysis/test_polynomial_chaos.py` prints the table of all cases.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import norm, qmc

from ukctrl.core.arrays import Array
from ukctrl.studies.sweep.distributions import IntegerRange, Levels, Log, Normal, Uniform
from ukctrl.studies.sweep_analysis.polynomial_chaos import chaos_indices
from ukctrl.studies.sweep_analysis.study_arrays import Axis


class Case(NamedTuple):
    """A function on the unit cube whose indices are known in closed form."""

    function: Callable[[Array], Array]
    first: Array
    total: Array
    smooth: bool


def ishigami(unit):
    x1, x2, x3 = (2.0 * np.pi * (unit - 0.5)).T
    return np.sin(x1) + 7.0 * np.sin(x2) ** 2 + 0.1 * x3**4 * np.sin(x1)


G = np.array([0.0, 1.0, 4.5, 9.0])


def sobol_g(unit):
    return np.prod((np.abs(4.0 * unit - 2.0) + G) / (1.0 + G), axis=1)


def case(function, first, total=None, *, smooth=True):
    first = np.array(first)
    return Case(function, first, first if total is None else np.array(total), smooth)


PARTS = 1.0 / (3.0 * (1.0 + G) ** 2)
WHOLE = np.prod(1.0 + PARTS) - 1.0
STEP = np.array([0.24, 0.25 / 12.0])
CASES = {
    "Ishigami": case(ishigami, [0.31390519, 0.44241114, 0.0], [0.55758886, 0.44241114, 0.24368366]),
    "Sobol g": case(
        sobol_g, PARTS / WHOLE, PARTS * (1.0 + WHOLE) / (1.0 + PARTS) / WHOLE, smooth=False
    ),
    "linear": case(lambda x: x @ [1.0, 2.0, 3.0, 0.0], np.array([1.0, 4.0, 9.0, 0.0]) / 14.0),
    "product": case(lambda x: (x[:, 0] - 0.5) * (x[:, 1] - 0.5), [0.0, 0.0], [1.0, 1.0]),
    "jump": case(lambda x: (x[:, 0] > 0.6) + 0.5 * x[:, 1], STEP / STEP.sum(), smooth=False),
    "corner": case(
        lambda x: 1.0 * (x > 0.5).all(axis=1), [1 / 3, 1 / 3], [2 / 3, 2 / 3], smooth=False
    ),
    "one, exp": case(lambda x: np.exp(3.0 * x[:, 0]), [1.0]),
    "one, jump": case(lambda x: 1.0 * (x[:, 0] > 0.37), [1.0], smooth=False),
    "one, wave": case(lambda x: np.sin(25.0 * x[:, 0]), [1.0]),
}
SIZES = 16, 32, 64, 128, 256, 512, 1024
ROUNDING = 1e-9


class Row(NamedTuple):
    """How a case came out over seeds."""

    error: float
    """Mean distance from the truth."""
    unexplained: float
    """Mean leave-one-out error."""
    covered: int
    """Intervals that have the truth inside."""
    intervals: int
    told: float
    """Part of the seeds by which half of the variance is explained."""


def indices(unit, y, *, intervals=True):
    axes = [Axis(f"x{i}", x, spread=Uniform(0.0, 1.0)) for i, x in enumerate(unit.T)]
    return chaos_indices(axes, np.atleast_2d(y), intervals=intervals)


def tried(one, n, seeds, noise=0.0):
    errors, unexplained, covered, d = [], [], [], len(one.first)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        unit = qmc.Sobol(d, seed=seed).random(n) if seed % 2 else rng.random((n, d))
        found = indices(unit, one.function(unit) + noise * rng.standard_normal(n))
        shares = np.concatenate([found.first[0], found.total[0]])
        truth = np.concatenate([one.first, one.total])
        errors.append(np.abs(shares[:, 0] - truth))
        covered += (
            (shares[:, 1] <= truth + ROUNDING) & (truth <= shares[:, 2] + ROUNDING)
        ).tolist()
        unexplained.append(found.unexplained[0])
        assert (shares[:, 1] <= shares[:, 0]).all()
        assert (shares[:, 0] <= shares[:, 2]).all()
        assert (shares <= 1.0).all()
    told = float(np.mean(np.array(unexplained) <= 0.5))
    return Row(
        float(np.mean(errors)), float(np.mean(unexplained)), sum(covered), len(covered), told
    )


@pytest.mark.parametrize("n", [16, 64, 256])
@pytest.mark.parametrize("name", CASES)
def test_intervals_cover_the_truth_at_least_as_often_as_they_say(name, n):
    row = tried(CASES[name], n, 16)
    slack = 3.0 * np.sqrt(0.05 * 0.95 / row.intervals)
    assert row.covered / row.intervals > 0.95 - slack
    # what is not explained bounds how far shares are off, on average
    assert row.error < row.unexplained + 0.01


@pytest.mark.slow
@pytest.mark.parametrize("n", [512, 1024])
@pytest.mark.parametrize("name", CASES)
def test_many_samples_tell_the_shares(name, n):
    row = tried(CASES[name], n, 4)
    assert row.error < (1e-4 if CASES[name].smooth else 0.06)
    assert row.covered / row.intervals > 0.9


def test_what_is_smooth_is_told_by_few_samples():
    for name in ("linear", "product", "one, exp"):
        assert tried(CASES[name], 32, 8).error < 1e-6
    assert tried(CASES["Ishigami"], 128, 8).error < 0.03


def test_what_no_polynomial_explains_is_not_told():
    assert tried(CASES["one, wave"], 16, 8).told == 0.0
    rng = np.random.default_rng(0)
    unexplained = [
        indices(rng.random((64, 3)), rng.standard_normal(64)).unexplained[0] for _ in range(20)
    ]
    assert min(unexplained) > 0.8


@pytest.mark.parametrize("n", [32, 128])
def test_noise_is_nobodys_share(n):
    """Half of the variance is chance: the shares of a linear function are half of what they are."""
    weights = np.array([1.0, 2.0, 3.0, 0.0])
    half = case(lambda x: x @ weights, 0.5 * weights**2 / 14.0)
    row = tried(half, n, 40, noise=np.sqrt(14.0 / 12.0))
    assert row.covered / row.intervals > 0.95 - 3.0 * np.sqrt(0.05 * 0.95 / row.intervals)
    assert row.unexplained == pytest.approx(0.5, abs=0.1)


def test_factors_of_all_distributions_have_their_own_polynomials():
    """y = z + log10 k + m + 3 [name b], of a normal, a decade's, a whole-number and a named one."""
    u = qmc.Sobol(4, seed=1).random(256)
    spreads = Normal(2.0, 0.5), Log(0.1, 100.0), IntegerRange(1, 20), Levels(("a", "b", "c"))
    columns = [
        [spread.quantile(p) for p in column.tolist()]
        for spread, column in zip(spreads, u.T, strict=True)
    ]
    axes = [
        Axis.of(path, column, log=path == "k", spread=spread)
        for path, column, spread in zip("zkmn", columns, spreads, strict=True)
    ]
    y = sum((np.array(columns[0]), np.log10(columns[1]), np.array(columns[2]) / 5.0))
    y = y + 3.0 * (np.array(columns[3]) == "b")
    parts = np.array([0.25, 9.0 / 12.0, 399.0 / 12.0 / 25.0, 9.0 * 2.0 / 9.0])
    found = chaos_indices(axes, y[None], intervals=True)
    np.testing.assert_allclose(found.first[0, :, 0], parts / parts.sum(), rtol=0.0, atol=2e-3)
    np.testing.assert_allclose(found.total[0, :, 0], found.first[0, :, 0], rtol=0.0, atol=1e-6)


def test_means_over_a_distribution_are_those_of_its_closed_form():
    for spread, mean, square in (
        (Uniform(-1.0, 3.0), 1.0, 7.0 / 3.0),
        (Normal(2.0, 0.5), 2.0, 4.25),
        (Log(1.0, np.e), np.e - 1.0, 0.5 * (np.e**2 - 1.0)),
    ):
        nodes, weights = Axis("k", np.arange(20.0), spread=spread).quadrature()
        assert weights @ nodes == pytest.approx(mean, rel=1e-9)
        assert weights @ nodes**2 == pytest.approx(square, rel=1e-9)
    # its quantiles end at 6.2 standard deviations
    normal = Axis("k", np.arange(20.0), spread=Normal(0.0, 1.0)).quadrature()
    assert normal[1] @ normal[0] ** 8 == pytest.approx(norm.moment(8), rel=1e-5)


def test_many_outputs_are_as_each_alone_and_more_samples_than_are_used_are_drawn():
    unit = qmc.Sobol(3, seed=0).random(64)
    y = np.array([ishigami(unit), unit[:, 0], np.ones(64)])
    together = indices(unit, y, intervals=False)
    for k in range(3):
        alone = indices(unit, y[k], intervals=False)
        np.testing.assert_allclose(together.first[k], alone.first[0], rtol=0.0, atol=1e-12)
    np.testing.assert_array_equal(together.first[2, :, 0], 0.0)
    assert np.isnan(together.first[0, :, 1:]).all()
    many = qmc.Sobol(2, seed=0).random(8192)
    found = indices(many, many @ [1.0, 2.0])
    np.testing.assert_allclose(found.first[0, :, 0], [0.2, 0.8], rtol=0.0, atol=1e-9)


if __name__ == "__main__":
    print("case          n  mean error  unexplained  covered   told")
    for case_name, given in CASES.items():
        for size in SIZES:
            out = tried(given, size, 40 if size <= 256 else 10)
            print(
                f"{case_name:10s} {size:4d}      {out.error:.4f}       {out.unexplained:.4f}"
                f"  {out.covered:3d}/{out.intervals:3d} {100.0 * out.told:4.0f} %"
            )
