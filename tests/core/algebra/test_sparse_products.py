"""What robots with many freedoms or rows use gives what dense formulas give."""

import numpy as np
import pytest

from ukctrl.core.algebra import dynamics_kernels, input_authority, least_norm_input, stabilisation
from ukctrl.core.algebra.factorisation import MIN_BLOCKED, cholesky
from ukctrl.core.algebra.gram_factor import MIN_GRAM_ROWS, gram_factor_buffers
from ukctrl.core.algebra.sparse_products import gram, matmul, nonzero_ranges

CLOSE = {"rtol": 1e-8, "atol": 1e-8}
SIZE = 60
WEAK = {"weak": 1e-7, "weak, alike": 1e-12}
"""How far apart two rows are whose only common motor has a hundred-thousandth of its grip."""


def answers(M, nle, B):
    n, nu = B.shape
    L, a_free, G, motors = np.zeros((n, n)), np.zeros(n), np.zeros((n, nu)), np.zeros(nu)
    pushed = dynamics_kernels.EquationOfMotion(M, nle, np.ones(n), B)
    code = dynamics_kernels.unconstrained_acceleration(
        pushed, dynamics_kernels.AccelerationMap(L, a_free, G, motors)
    )
    return code, L, a_free, G, motors


def mass(rng, bodies, size=SIZE):
    """Return the mass matrix of one body that has all freedoms, or of many with a few each."""
    S = rng.standard_normal((size, size))
    M = S @ S.T + size * np.eye(size)
    if bodies == "one":
        return M
    apart = 1 if bodies == "particles" else 3
    return np.where(np.equal.outer(np.arange(size) // apart, np.arange(size) // apart), M, 0.0)


BODIES = ("one", "three freedoms each", "particles")


@pytest.mark.slow(only=["51-particles"])
@pytest.mark.parametrize("bodies", BODIES)
@pytest.mark.parametrize(
    "size", [MIN_BLOCKED - 1, MIN_BLOCKED, MIN_BLOCKED + 1, MIN_BLOCKED + 2, MIN_BLOCKED + 3]
)
def test_the_factor_is_lapacks_on_both_sides_of_the_size_where_loops_change(bodies, size):
    M = mass(np.random.default_rng(size), bodies, size)
    L = np.full((size, size), np.nan)
    assert cholesky(M, L) == 0
    np.testing.assert_allclose(L, np.linalg.cholesky(M), rtol=1e-12, atol=1e-12)
    assert np.array_equal(L, np.tril(L))


@pytest.mark.parametrize("bodies", BODIES)
@pytest.mark.parametrize("motors", ["some", "all", "few"])
def test_the_answer_without_passive_rows_solves_the_equation_of_motion(bodies, motors):
    rng = np.random.default_rng(0)
    M, nle = mass(rng, bodies), rng.standard_normal(SIZE)
    B = {"some": rng.standard_normal((SIZE, 20)), "all": np.eye(SIZE), "few": np.eye(SIZE, 2)}
    code, L, a_free, G, lengths = answers(M, nle, B[motors])
    assert code == 0
    np.testing.assert_allclose(L @ L.T, M, **CLOSE)
    np.testing.assert_allclose(a_free, np.linalg.solve(M, 1.0 - nle), **CLOSE)
    np.testing.assert_allclose(G, np.linalg.solve(M, B[motors]), **CLOSE)
    squares = np.einsum("ik,ik->k", B[motors], np.linalg.solve(M, B[motors]))
    np.testing.assert_allclose(lengths, np.sqrt(squares), **CLOSE)


def test_a_mass_matrix_that_is_not_positive_definite_is_found():
    M = np.eye(SIZE)
    M[3, 3] = -1.0
    given = M, np.zeros(SIZE), np.eye(SIZE)
    assert answers(*given)[0] == -4
    M[3, 3], M[3, 4], M[4, 3] = 1.0, 2.0, 2.0
    assert answers(*given)[0] == -5


def test_products_of_matrices_that_are_almost_empty():
    rng = np.random.default_rng(4)
    A = np.where(rng.random((7, 9)) < 0.3, rng.standard_normal((7, 9)), 0.0)
    A[2], A[:, 5] = 0.0, 0.0
    G = rng.standard_normal((9, 4))
    np.testing.assert_allclose(matmul(A, G), A @ G, rtol=1e-14, atol=1e-14)
    scales = rng.standard_normal(9)
    np.testing.assert_array_equal(matmul(A, np.diag(scales)), A * scales)
    np.testing.assert_allclose(gram(A), A.T @ A, rtol=1e-14, atol=1e-14)
    for row, (begin, end) in zip(A, nonzero_ranges(A), strict=True):
        filled = np.flatnonzero(row)
        assert (begin, end) == ((filled[0], filled[-1] + 1) if filled.size else (0, 0))


def inputs(A, b, G, R, u0):
    u, miss = np.empty(G.shape[1]), np.empty(len(b))
    a_free = np.linspace(-1.0, 1.0, A.shape[1])
    L = np.eye(A.shape[1])
    motors = np.linalg.norm(G, axis=0)
    demand = least_norm_input.ServoProblem(A, b, a_free, G, L, motors, R, u0, 1e-9)
    return least_norm_input.servo_input(demand, u, miss), u, miss


@pytest.mark.parametrize("metric", [False, True])
@pytest.mark.parametrize("rows", ["dense", "identity", "dependent", "without grip", *WEAK])
def test_the_servo_input_is_the_least_that_meets_the_rows(rows, metric):
    rng = np.random.default_rng(1)
    m = MIN_BLOCKED + 2
    A = np.eye(m, SIZE) if rows == "identity" else rng.standard_normal((m, SIZE))
    b = rng.standard_normal(m)
    G = np.diag(rng.uniform(0.5, 2.0, SIZE))
    if rows == "dependent":
        A[-1], b[-1] = A[0], b[0]
    if rows == "without grip":
        A[:, -1], A[-1] = 0.0, 0.0
        A[-1, -1], G[-1, -1] = 1.0, 0.0
    if rows in WEAK:
        A[:, -1], A[-1], G[-1, -1] = 0.0, 0.0, 1e-5
        A[-1, -1] = A[0, -1] = 1.0
        A[0, :-1] *= WEAK[rows]
    S = rng.standard_normal((SIZE, SIZE))
    R = S @ S.T + SIZE * np.eye(SIZE) if metric else np.zeros((0, 0))
    given = A, b, G, R, rng.standard_normal(SIZE)
    rank, u, miss = inputs(*given)
    lost = rows in ("dependent", "without grip", "weak, alike")
    assert rank == m - lost
    H, asked = A @ G, b - A @ np.linspace(-1.0, 1.0, SIZE)
    held, u0 = H[: m - lost], given[-1]
    back = np.linalg.inv(np.linalg.cholesky(R)).T if metric else np.eye(SIZE)
    step = back @ np.linalg.pinv(held @ back, rcond=1e-14) @ (asked[: m - lost] - held @ u0)
    np.testing.assert_allclose(u, u0 + step, rtol=1e-8, atol=1e-8 * (1.0 + np.abs(step).max()))
    np.testing.assert_allclose(miss, H @ u - asked, rtol=1e-6, atol=1e-6)


def test_a_metric_that_is_not_positive_definite_is_refused():
    given = np.eye(SIZE), np.zeros(SIZE), np.eye(SIZE), -np.eye(SIZE), np.zeros(SIZE)
    assert inputs(*given)[0] == -1


def constrained(M, nle, B, A_p, b_p):
    n, nu = B.shape
    L, a_free, G = np.zeros((n, n)), np.zeros(n), np.zeros((n, nu))
    a_0, margins = np.zeros(n), np.zeros(2)
    pushed = dynamics_kernels.EquationOfMotion(M, nle, np.ones(n), B)
    passive = dynamics_kernels.PassiveRows(A_p, b_p, 1e-4, a_0, margins)
    answer, nowhere = (
        dynamics_kernels.AccelerationMap(L, a_free, G, np.zeros(nu)),
        (np.zeros((0, n)), np.zeros(0), gram_factor_buffers(n, len(A_p))),
    )
    rank = dynamics_kernels.constrained_acceleration(pushed, passive, answer, *nowhere)
    return rank, a_free, G, a_0, margins


def least(M, A_p, force, b):
    """Return the acceleration under rows by Udwadia and Kalaba's formula, with a square root."""
    values, vectors = np.linalg.eigh(M)
    inverse_root = vectors / np.sqrt(values) @ vectors.T
    free = np.linalg.solve(M, force)
    right = b - A_p @ free
    return free + inverse_root @ np.linalg.pinv(A_p @ inverse_root, rcond=1e-9) @ right


@pytest.mark.parametrize("rows", ["independent", "redundant", "one at a time", "none", "zero"])
@pytest.mark.parametrize("bodies", BODIES)
def test_the_answer_under_passive_rows_is_that_of_udwadia_and_kalaba(bodies, rows):
    rng = np.random.default_rng(2)
    M, nle = mass(rng, bodies), rng.standard_normal(SIZE)
    A_p = rng.standard_normal((0 if rows == "none" else 40, SIZE))
    if rows == "one at a time":  # each takes hold of a few neighbours
        A_p = np.where(np.abs(np.subtract.outer(np.arange(40), np.arange(SIZE))) < 3, A_p, 0.0)
    b_p = rng.standard_normal((2, len(A_p)))
    if rows == "redundant":
        A_p[-1], b_p[:, -1] = A_p[0] + A_p[1], b_p[:, 0] + b_p[:, 1]
    elif rows == "zero":
        A_p[-1], b_p[:, -1] = 0.0, 0.0
    B = rng.standard_normal((SIZE, 3))
    B[:, 0] = A_p.T @ rng.standard_normal(len(A_p))  # the rows take up all that it does
    rank, a_free, G, a_0, _ = constrained(M, nle, B, A_p, b_p)
    assert rank == len(A_p) - (rows in ("redundant", "zero"))
    np.testing.assert_allclose(a_free, least(M, A_p, 1.0 - nle, b_p.sum(axis=0)), **CLOSE)
    np.testing.assert_allclose(a_0, least(M, A_p, 1.0 - nle, b_p[0]), **CLOSE)
    np.testing.assert_allclose(G, least(M, A_p, B, np.zeros((len(A_p), 1))), **CLOSE)
    np.testing.assert_array_equal(np.abs(G).max(axis=0) > 0.0, [False, True, True])


def test_rows_that_are_almost_dependent_are_left_to_singular_values():
    rng = np.random.default_rng(2)
    A_p = rng.standard_normal((40, SIZE))
    A_p[-1] = A_p[0] + 3e-4 * rng.standard_normal(SIZE)
    given = np.eye(SIZE), np.zeros(SIZE), rng.standard_normal((SIZE, 3))
    rank, a_free, _, _, margins = constrained(*given, A_p, rng.standard_normal((2, 40)))
    unit = A_p / np.linalg.norm(A_p, axis=1)[:, None]
    smallest = np.linalg.svd(unit, compute_uv=False)[-1]
    assert rank == 40
    np.testing.assert_allclose(margins, [smallest, 0.0], rtol=1e-6)
    assert np.abs(a_free).max() < 1e3  # that direction counts in part


def test_the_smallest_singular_value_is_that_of_the_unit_rows():
    rng = np.random.default_rng(3)
    A_p = rng.standard_normal((40, SIZE))
    A_p[-1] = A_p[0] + 0.1 * rng.standard_normal(SIZE)
    given = np.eye(SIZE), np.zeros(SIZE), np.zeros((SIZE, 0)), A_p, np.zeros((2, 40))
    unit = A_p / np.linalg.norm(A_p, axis=1)[:, None]
    smallest = np.linalg.svd(unit, compute_uv=False)[-1]
    np.testing.assert_allclose(constrained(*given)[-1], [smallest, 0.0], rtol=0.01)


@pytest.mark.parametrize("count", [MIN_GRAM_ROWS - 1, MIN_GRAM_ROWS])
def test_the_least_change_is_the_same_on_both_sides_of_many_rows(count):
    rng = np.random.default_rng(5)
    M, A, d = mass(rng, "one"), rng.standard_normal((count, SIZE)), rng.standard_normal(count)
    x: np.ndarray = np.zeros(SIZE)
    assert (
        stabilisation.least_mass_weighted_change(M, A, d, 1e-7, np.zeros((SIZE, SIZE)), x) == count
    )
    np.testing.assert_allclose(x, least(M, A, np.zeros(SIZE), d), **CLOSE)


@pytest.mark.parametrize("weak", [False, True])
def test_many_rows_are_firm_where_the_shares_of_what_motors_do_say_so(weak):
    rng = np.random.default_rng(6)
    L, A = np.linalg.cholesky(mass(rng, "three freedoms each")), np.eye(SIZE - 3, SIZE)
    B = np.eye(SIZE)
    G = np.linalg.solve(L.T, np.linalg.solve(L, B))
    if weak:
        G[4] *= 1e-5
    lengths = np.linalg.norm(np.linalg.solve(L, B), axis=0)
    shares = A @ G / lengths / np.linalg.norm(np.linalg.solve(L, A.T), axis=0)[:, None]
    grips = np.zeros(len(A))
    assert input_authority.surely_full_rank(L, A, G, lengths, grips) == (0 if weak else len(A))
    np.testing.assert_allclose(grips, np.linalg.norm(shares, axis=1), rtol=1e-12)
