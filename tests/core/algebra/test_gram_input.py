"""Rows that are clear of each other, by their Gram matrix, beside dense formulas and other ways."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import seeded

from ukctrl.core.algebra import dynamics_kernels, gram_input, least_norm_input
from ukctrl.core.algebra.dynamics_kernels import AccelerationMap, EquationOfMotion, PassiveRows
from ukctrl.core.algebra.factorisation import ldl_factor, ldl_solve
from ukctrl.core.algebra.gram_acceleration import gram_acceleration, gram_buffers
from ukctrl.core.algebra.gram_factor import gram_factor_buffers

N, NU = 7, 9
RTOL = 1e-9
EXACT = {"rtol": 0.0, "atol": 1e-11}  # well-conditioned matrices of some ten rows
NEAR = (0.0, 1.0, 1e-2, 1e-3)
"""How far the last row is from the one before it, of their length; 0: anywhere."""


rng = seeded(5)


def positive(rng, n):
    X = rng.standard_normal((n, n))
    return X @ X.T + np.eye(n)


def rows(rng, m, near, n=N):
    A = rng.standard_normal((m, n)) * 10.0 ** rng.uniform(-2.0, 2.0, (m, 1))
    if near:
        A[-1] = A[-2] + near * np.linalg.norm(A[-2]) * rng.standard_normal(n)
    return A


def asked(rng, m, near, weighed):
    """Return what `least_input` is given, and room for it."""
    A, M, B = rows(rng, m, near), positive(rng, N), rng.standard_normal((N, NU))
    G, L = np.linalg.solve(M, B), np.linalg.cholesky(M)
    motors = np.linalg.norm(np.linalg.solve(L, B), axis=0)
    R = positive(rng, NU) if weighed else np.zeros((0, 0))
    given = A, rng.standard_normal(m), rng.standard_normal(N), G, L, motors, R
    room = gram_input.input_buffers(m, N, NU, weighed)
    demand = least_norm_input.ServoProblem(*given, rng.standard_normal(NU), RTOL)
    return room, (demand, np.zeros(NU), np.zeros(m))


def least(A, b, a_free, G, R, u0):
    """Return the least input of rows by a pseudoinverse of fifteen digits."""
    H, root = A @ G, np.linalg.cholesky(R) if R.size else np.eye(NU)
    step = np.linalg.pinv(np.linalg.solve(root, H.T).T, rcond=1e-14) @ (b - A @ a_free - H @ u0)
    return u0 + np.linalg.solve(root.T, step)


@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("weighed", [False, True], ids=["effort", "metric"])
@pytest.mark.parametrize("m", [1, 2, 6])
def test_the_least_input_is_that_of_the_pseudoinverse(rng, m, weighed, near):
    if m == 1 and near:
        pytest.skip("one row is near no other")
    room, given = asked(rng, m, near, weighed)
    assert least_norm_input.least_input(room, *given) == m
    (A, b, a_free, G, _, _, R, u0, _), u, miss = given
    wanted = least(A, b, a_free, G, R, u0)
    size = np.linalg.norm(wanted)
    loss = 1.0 / near if near else 1.0
    np.testing.assert_allclose(u, wanted, rtol=0.0, atol=1e-11 * loss * size)
    scale = np.linalg.norm(A @ G, axis=1) * size
    assert (np.abs(A @ (a_free + G @ u) - b) <= 1e-12 * scale).all()
    np.testing.assert_allclose(miss, A @ (a_free + G @ u) - b, rtol=0.0, atol=1e-12 * scale.max())


@pytest.mark.parametrize("near", [1e-6, 1e-13])
def test_rows_that_come_near_each_other_are_left_to_the_careful_way(rng, near):
    room, given = asked(rng, 3, near, False)
    demand, _, miss = given
    room.H[:], room.per_row[gram_input.DEMAND] = demand.A @ demand.G, demand.b
    room.per_row[gram_input.MASS_WEIGHTED_NORM] = np.linalg.norm(
        np.linalg.solve(demand.L, demand.A.T), axis=0
    )
    assert not gram_input.gram_input(room, demand.motors, RTOL, miss)
    rank = 3 if near > RTOL else 2
    found = least_norm_input.least_input(room, *given)
    # which of two rows that are equal but for rounding stands for both is rounding, too
    assert found == rank or (found == least_norm_input.UNDECIDED and rank == 2)
    assert least_norm_input.servo_input(*given) == rank


@pytest.mark.parametrize("m", [1, 2, 5, 12])
@pytest.mark.parametrize("near", [1.0, 1e-2, 1e-4])
def test_no_eigenvalue_of_unit_rows_is_below_the_bound(rng, m, near):
    X = rng.standard_normal((m, 20))
    X[-1] = X[0] + near * rng.standard_normal(20)
    X /= np.linalg.norm(X, axis=1)[:, None]
    sizes = 10.0 ** rng.uniform(-3.0, 3.0, m)
    S = (X @ X.T) * np.outer(sizes, sizes)
    K = np.zeros((m, m))
    assert ldl_factor(S, K) == 0
    bound = gram_input.eigenvalue_lower_bound(K, S.diagonal().copy(), np.zeros(m))
    smallest = np.linalg.eigvalsh(X @ X.T)[0]
    assert 0.0 < bound <= smallest * (1.0 + 1e-9) + 1e-14
    if bound <= gram_input.MIN_GRAM_EIGENVALUE:  # by the trace of the inverse
        assert smallest <= m * bound * (1.0 + 1e-6)


def test_inputs_stretch_no_more_than_the_bound(rng):
    motors = rng.uniform(0.1, 10.0, NU)
    for L in (np.zeros((0, 0)), np.linalg.cholesky(positive(rng, NU))):
        exact = least_norm_input.input_scale(motors, L, np.zeros(NU))
        inverse = np.linalg.inv(L) if L.size else np.eye(NU)
        assert exact == pytest.approx(np.linalg.norm(inverse * motors), rel=1e-12)
        assert gram_input.input_scale_bound(motors, L, np.zeros(NU)) >= exact


def test_a_factor_without_roots_solves(rng):
    M, K, x = positive(rng, N), np.zeros((N, N)), rng.standard_normal(N)
    wanted = np.linalg.solve(M, x)
    assert ldl_factor(M, K) == 0
    ldl_solve(K, x)
    np.testing.assert_allclose(x, wanted, **EXACT)
    M[3] = M[:, 3] = 0.0
    assert ldl_factor(M, K) == 4


@pytest.mark.parametrize("n", [1, 4, 60])
def test_a_plant_accelerates_as_its_equation_says(rng, n):
    M, nle, f = positive(rng, n), rng.standard_normal(n), rng.standard_normal(n)
    a, room = np.zeros(n), np.zeros((n, n))
    assert dynamics_kernels.forward_dynamics(M, nle, f, room, a) == 0
    np.testing.assert_allclose(M @ a, f - nle, rtol=0.0, atol=1e-10)
    M[n // 2] = M[:, n // 2] = 0.0
    assert dynamics_kernels.forward_dynamics(M, nle, f, room, a) == -1 - n // 2


@pytest.mark.slow(only=["0-1"])
@pytest.mark.parametrize("power", [1, 2])
def test_the_metric_of_a_robot_without_passive_rows_is_the_one_of_all(rng, power):
    M, B = positive(rng, N), rng.standard_normal((N, 4))
    G, L = np.linalg.solve(M, B), np.linalg.cholesky(M)
    ours, wanted = np.zeros((4, 4)), np.zeros((4, 4))
    dynamics_kernels.unconstrained_metric(B, G, power, ours)
    dynamics_kernels.input_metric(L, B, G, power, False, False, wanted)
    np.testing.assert_allclose(ours, wanted, **EXACT)
    np.testing.assert_array_equal(ours, ours.T)


@pytest.mark.parametrize("near", NEAR)
@pytest.mark.parametrize("nu", [0, 3])
def test_the_answer_under_passive_rows_is_that_of_orthonormal_ones(rng, near, nu):
    m, M, B = 3, positive(rng, N), rng.standard_normal((N, nu))
    A, b_p = rows(rng, m, near), rng.standard_normal((2, m))
    B[:, :1] = A[:1].T[:, :nu]  # a motor that presses against the rows alone
    pushed = EquationOfMotion(M, rng.standard_normal(N), rng.standard_normal(N), B)
    found, none = [], (np.zeros((0, N)), np.zeros(0), gram_factor_buffers(N, m))
    for solve in (
        lambda *all: gram_acceleration(gram_buffers(N, m, nu), *all),
        lambda *all: dynamics_kernels.constrained_acceleration(*all, *none),
    ):
        answer = AccelerationMap(np.zeros((N, N)), np.zeros(N), np.zeros((N, nu)), np.zeros(nu))
        passive = PassiveRows(A, b_p, RTOL, np.zeros(N), np.zeros(2))
        assert solve(pushed, passive, answer) == m
        found.append((*answer, passive.a_0, passive.rank_gap))
    ours, others = found
    loss = 1.0 / near if near else 1.0
    for one, other in zip(ours[:5], others[:5], strict=True):
        size = 1.0 + np.abs(other).max(initial=0.0)
        np.testing.assert_allclose(one, other, rtol=0.0, atol=1e-12 * loss * size)
    unit = np.linalg.solve(ours[0], A.T)
    sigma = np.linalg.svd(unit / np.linalg.norm(unit, axis=0), compute_uv=False)[-1]
    assert sigma * (1.0 - 1e-9) <= ours[5][0] <= 1.5 * sigma  # an estimate from above
    assert sigma * (1.0 - 1e-9) <= others[5][0]
    assert ours[5][1] == others[5][1] == 0.0
    assert not nu or not ours[2][:, 0].any()


def test_passive_rows_that_repeat_each_other_are_left_to_orthonormal_ones(rng):
    M, A, b_p = positive(rng, N), rows(rng, 3, 0.0), rng.standard_normal((2, 3))
    none, a = np.zeros((N, 0)), np.zeros(N)
    answer = AccelerationMap(np.zeros((N, N)), a, none, np.zeros(0))
    rest = PassiveRows(A, b_p, RTOL, np.zeros(N), np.zeros(2)), answer
    for last in (A[0], A[0] + 1e-7 * A[1], np.zeros(N)):
        A[2] = last
        assert gram_acceleration(gram_buffers(N, 3, 0), EquationOfMotion(M, a, a, none), *rest) == 0
    assert gram_acceleration(gram_buffers(N, 3, 0), EquationOfMotion(-M, a, a, none), *rest) == -1
