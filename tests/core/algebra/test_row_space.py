"""What rows span near a loss of rank: the pseudoinverse away from it, smooth across it."""

import numpy as np
import pytest
from seeds import seeded

from ukctrl.core.algebra import dynamics_kernels, stabilisation
from ukctrl.core.algebra.gram_factor import gram_factor_buffers
from ukctrl.core.algebra.row_space import (
    BLEND_FACTOR,
    mass_weighted_rows,
    row_space,
    singular_value_weight,
)

EXACT = {"rtol": 0.0, "atol": 1e-10}
RTOL = 1e-4


rng = seeded(10)


def unit(A):
    return np.ascontiguousarray(A / np.linalg.norm(A, axis=1)[:, None])


def solved(H, d, rtol=RTOL):
    space = row_space(np.ascontiguousarray(H), np.array([d]), rtol)
    return space.Q.T @ space.y[0], space


def weak(rng, sigma, m=5, n=7):
    """Unit rows whose smallest singular value is near ``sigma``, with what spans them."""
    A = rng.standard_normal((m, n))
    A[-1] = A[:-1].T @ rng.standard_normal(m - 1)
    A = unit(A)
    outside = np.linalg.svd(A)[2][-1]
    A[-1] += sigma * outside * 2.0
    return unit(A)


@pytest.mark.parametrize(("m", "rank"), [(4, 4), (6, 4), (9, 3)])
def test_the_solution_is_the_pseudoinverse_whether_rows_are_redundant_or_not(rng, m, rank):
    H = unit(rng.standard_normal((m, rank)) @ rng.standard_normal((rank, 6)))
    d = rng.standard_normal(m)  # inconsistent where rows are redundant: least squares
    x, space = solved(H, d)
    np.testing.assert_allclose(x, np.linalg.pinv(H, rcond=1e-8) @ d, **EXACT)
    np.testing.assert_allclose(space.Q @ space.Q.T, np.eye(rank), **EXACT)
    sigma = np.linalg.svd(H, compute_uv=False)
    assert space.rank == rank
    assert 1.0 - 1e-9 <= space.smallest_kept / sigma[rank - 1] <= 1.2  # an iteration, from above


@pytest.mark.parametrize("sigma", [1e-9, 1e-6, 5e-6])
def test_the_largest_value_that_does_not_count_is_told(rng, sigma):
    H = weak(rng, sigma)
    true = np.linalg.svd(H, compute_uv=False)
    _, space = solved(H, rng.standard_normal(5))
    assert (space.rank, len(true)) == (4, 5)
    assert true[4] <= space.largest_dropped <= 3.0 * true[4]


def test_a_direction_counts_by_a_weight_between_the_thresholds(rng):
    for sigma in (0.3 * RTOL, 2.0 * RTOL, 5.0 * RTOL, 30.0 * RTOL):
        H = weak(rng, sigma)
        U, true, Vt = np.linalg.svd(H, full_matrices=False)
        d = rng.standard_normal(5)
        x, _ = solved(H, d)
        weight = np.array([singular_value_weight(s, RTOL) for s in true])
        expected = Vt.T @ (weight / true * (U.T @ d))
        np.testing.assert_allclose(x, expected, rtol=1e-6, atol=1e-8)


def test_the_weight_rises_smoothly_from_none_to_all():
    sigma = np.linspace(0.5 * RTOL, 1.2 * BLEND_FACTOR * RTOL, 2001)
    weight = np.array([singular_value_weight(s, RTOL) for s in sigma])
    assert weight[sigma <= RTOL].max() == 0.0
    assert weight[sigma >= BLEND_FACTOR * RTOL].min() == 1.0
    slope = np.gradient(weight, sigma / RTOL)
    assert slope.min() > -1e-9
    assert np.abs(np.gradient(slope, sigma / RTOL)).max() < 0.2  # no jump of the slope either


def test_the_order_of_drifted_redundant_rows_does_not_show(rng):
    """Rows that have drifted apart by delta change the answer by delta, not by which are picked."""
    exact = rng.standard_normal((6, 4)) @ rng.standard_normal((4, 7))
    for delta in (1e-6, 1e-8):
        H = unit(exact + delta * rng.standard_normal((6, 7)))
        b = H @ rng.standard_normal(7)
        first, _ = solved(H, b)
        order = rng.permutation(6)
        second, _ = solved(H[order], b[order])
        np.testing.assert_allclose(first, second, rtol=0.0, atol=1e3 * delta**2 + 1e-13)


def test_rows_that_are_only_rounding_hold_nothing(rng):
    A = rng.standard_normal((3, 5))
    A[1] *= 1e-16
    W, _ = mass_weighted_rows(np.eye(5), A, np.zeros((1, 3)))
    assert not W[1].any()
    assert row_space(W, np.zeros((1, 3)), RTOL).rank == 2


def test_the_least_change_is_least_in_the_mass_metric(rng):
    root = rng.standard_normal((6, 6))
    M, A = root @ root.T + np.eye(6), rng.standard_normal((3, 6))
    A[2] = A[0] + A[1]
    d = A @ rng.standard_normal(6)
    x = np.empty(6)
    assert stabilisation.least_mass_weighted_change(M, A, d, RTOL, np.empty((6, 6)), x) == 2
    np.testing.assert_allclose(A @ x, d, **EXACT)
    idle = np.linalg.svd(A)[2][2:].T
    np.testing.assert_allclose(idle.T @ M @ x, 0.0, **EXACT)


def test_the_answer_splits_into_what_is_asked_for_and_what_stabilises(rng):
    root = rng.standard_normal((6, 6))
    M, A = root @ root.T + np.eye(6), rng.standard_normal((2, 6))
    right, Q = rng.standard_normal((2, 2)), rng.standard_normal(6)
    L, a, a_0 = np.empty((6, 6)), np.empty(6), np.empty(6)
    G, margins = np.empty((6, 1)), np.empty(2)
    B = rng.standard_normal((6, 1))
    rank = dynamics_kernels.constrained_acceleration(
        dynamics_kernels.EquationOfMotion(M, np.zeros(6), Q, B),
        dynamics_kernels.PassiveRows(A, right, RTOL, a_0, margins),
        dynamics_kernels.AccelerationMap(L, a, G, np.empty(1)),
        *(np.empty((0, 6)), np.empty(0), gram_factor_buffers(6, 2)),
    )
    assert rank == 2
    np.testing.assert_allclose(A @ a, right.sum(axis=0), **EXACT)
    np.testing.assert_allclose(A @ a_0, right[0], **EXACT)
    np.testing.assert_allclose(A @ G, 0.0, **EXACT)
