"""Levels of priority and damping: strict, least, bounded, and the same as the recursion."""

import numpy as np
import pytest
from scipy.linalg import null_space
from seeds import seeded

from ukctrl.core.algebra.rank_policy import RANK
from ukctrl.core.algebra.task_hierarchy import (
    LevelReport,
    LevelTable,
    damping_error,
    hierarchical_input,
    metric_root_inverse,
)
from ukctrl_papers.motion import Hierarchy, Level

EXACT = {"rtol": 0.0, "atol": 1e-10}  # inputs and rows of order one to ten
NU = 7


rng = seeded(12)


def draw_metric(rng, nu=NU):
    axes = np.linalg.qr(rng.standard_normal((nu, nu)))[0]
    return (axes * rng.uniform(0.3, 3.0, nu)) @ axes.T


def draw_levels(rng, sizes, nu=NU):
    return [(rng.standard_normal((m, nu)), 3.0 * rng.standard_normal(m)) for m in sizes]


def solve(levels, R=None, u0=None, near=0.0, damping=1.0, scale=1.0):
    H, d = np.vstack([H for H, _ in levels]), np.concatenate([d for _, d in levels])
    nu, count = H.shape[1], len(levels)
    S = np.empty((nu, nu))
    assert metric_root_inverse(np.zeros((0, 0)) if R is None else R, S)
    u = np.zeros(nu) if u0 is None else u0.copy()
    sigma, bound = np.empty(count), np.empty(count)
    ends, scales = np.cumsum([len(d) for _, d in levels]), np.full(len(d), scale)
    table = LevelTable(ends, scales, np.full(count, near), damping, RANK.servo)
    hierarchical_input(H, d, table, S, u, LevelReport(sigma, bound))
    return u, sigma, bound


def misses(levels, u):
    return [H @ u - d for H, d in levels]


def textbook(levels, R, u0):
    """Return the strict least-squares input by projectors formed with SciPy."""
    root = np.linalg.cholesky(R)
    whiten = np.linalg.inv(root).T
    w, Z = np.zeros(len(u0)), np.eye(len(u0))
    for H, d in levels:
        X = H @ whiten @ Z
        if Z.shape[1]:
            w = w + Z @ np.linalg.lstsq(X, d - H @ (u0 + whiten @ w), rcond=1e-9)[0]
            Z = Z @ null_space(X, rcond=1e-9)
    return u0 + whiten @ w


def test_levels_that_do_not_conflict_give_what_the_recursion_of_a_motion_gives(rng):
    levels, R, u0 = draw_levels(rng, (2, 1, 3)), draw_metric(rng), rng.standard_normal(NU)
    system = Hierarchy.module(R, R @ u0)
    for k, (H, d) in enumerate(levels):
        system = system.enforce(Level(f"level {k}", H, d))
    np.testing.assert_allclose(solve(levels, R, u0)[0], system.a, **EXACT)


def test_levels_that_do_not_conflict_give_the_least_norm_whatever_their_order(rng):
    levels = draw_levels(rng, (2, 1, 3))
    H, d = np.vstack([H for H, _ in levels]), np.concatenate([d for _, d in levels])
    least = np.linalg.pinv(H) @ d
    np.testing.assert_allclose(solve(levels)[0], least, **EXACT)
    np.testing.assert_allclose(solve(levels[::-1])[0], least, **EXACT)


@pytest.mark.parametrize("sizes", [(3, 6), (2, 3, 4), (1, 2, 3, 4), (2, 2, 2, 2, 2, 2)])
def test_lower_levels_that_conflict_disturb_no_higher_one_at_any_depth(rng, sizes):
    levels = draw_levels(rng, sizes)
    levels = [(H, (1e3 if k else 1.0) * d) for k, (H, d) in enumerate(levels)]
    levels[1][0][-1] = levels[0][0][0]  # and a row that says the opposite of a higher one
    whole = misses(levels, solve(levels)[0])
    np.testing.assert_allclose(whole[0], 0.0, **EXACT)
    for depth in range(1, len(levels)):
        alone = misses(levels[:depth], solve(levels[:depth])[0])
        for upper, still in zip(alone, whole, strict=False):
            np.testing.assert_allclose(np.linalg.norm(still), np.linalg.norm(upper), atol=1e-9)
            np.testing.assert_allclose(still, upper, rtol=0.0, atol=1e-9)


def test_every_level_comes_as_close_as_the_higher_ones_let_it(rng):
    levels, R, u0 = draw_levels(rng, (2, 4, 3)), draw_metric(rng), rng.standard_normal(NU)
    levels[1][0][3] = levels[0][0].sum(axis=0)
    np.testing.assert_allclose(solve(levels, R, u0)[0], textbook(levels, R, u0), **EXACT)


def test_a_damped_lower_level_disturbs_no_higher_one(rng):
    upper, lower = draw_levels(rng, (4, 5))
    lower[0][:] = rng.standard_normal((5, 4)) @ upper[0] + 1e-3 * lower[0]  # nearly dependent
    hard, _, _ = solve([upper, lower])
    soft, _, bound = solve([upper, lower], near=0.05)
    np.testing.assert_allclose(upper[0] @ soft - upper[1], 0.0, **EXACT)
    assert np.linalg.norm(soft) < 0.2 * np.linalg.norm(hard)
    assert np.linalg.norm(lower[0] @ soft - lower[1]) <= bound[1] * (1.0 + 1e-9)


@pytest.mark.parametrize("damping", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("sigma", [1e-12, 1e-4, 0.01, 0.03, 0.09, 0.2])
def test_damping_misses_no_more_than_its_bound(rng, sigma, damping):
    P, Q = (np.linalg.qr(rng.standard_normal((n, n)))[0] for n in (4, NU))
    H = P @ np.diag([2.0, 1.0, 0.5, sigma]) @ Q[:4]
    d = rng.standard_normal(4)
    u, found, bound = solve([(H, d)], near=0.1, damping=damping)
    fade = damping * 0.1 * max(0.0, 1.0 - (sigma / 0.1) ** 2)
    stated = fade**2 / (sigma**2 + fade**2) * np.linalg.norm(d)
    assert np.linalg.norm(H @ u - d) <= stated + 1e-9
    if sigma > 1e-9:  # less than the rank policy keeps is no grip at all
        np.testing.assert_allclose(bound, stated, rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(found, sigma, rtol=1e-6)
    gains = [(1.0 - damping_error(s, 0.1, damping)) / s for s in np.linspace(1e-4, 2.0, 5_000)]
    assert np.linalg.norm(u) <= max(gains) * np.linalg.norm(d) * (1.0 + 1e-6)


def test_far_from_singularities_damping_changes_nothing(rng):
    ((H, d),) = draw_levels(rng, (4,))
    smallest = np.linalg.svd(H, compute_uv=False)[-1]
    u, _, bound = solve([(H, d)], near=0.99 * smallest)
    np.testing.assert_allclose(u, np.linalg.pinv(H) @ d, **EXACT)
    np.testing.assert_array_equal(bound, 0.0)


def test_damping_fades_in_without_a_step():
    shares = [damping_error(s, 0.1, 1.0) for s in (0.1 - 1e-7, 0.1, 0.1 + 1e-7)]
    np.testing.assert_allclose(shares, 0.0, atol=1e-11)
    values = np.array([damping_error(s, 0.1, 1.0) for s in np.linspace(0.0, 0.2, 500)])
    assert (np.diff(values) <= 0.0).all()
    assert values[0] == 1.0


def test_units_of_rows_do_not_matter_once_they_are_scaled(rng):
    ((H, d),) = draw_levels(rng, (4,))
    H[3] = H[:3].sum(axis=0) + 0.01 * H[3]
    u, _, _ = solve([(H, d)], near=0.1)
    other, _, _ = solve([(1e3 * H, 1e3 * d)], near=0.1, scale=1e3)
    np.testing.assert_allclose(other, u, **EXACT)
