"""Small linear algebra beside NumPy, at sizes on both sides of those where loops change."""

from __future__ import annotations

import numpy as np
import pytest

from ukctrl.core.algebra import active_set_qp, multipliers, nearest_input, sparse_products
from ukctrl.core.algebra import factorisation as lib
from ukctrl.core.algebra.block_diagonal import kept_owners
from ukctrl.core.algebra.factorisation import PivotedLQ
from ukctrl.mechanics.constraints.constraint import Rows
from ukctrl.simulation.record import sample_kernels
from ukctrl.simulation.record.sample_kernels import (
    AuthorityRecord,
    PlantState,
    ReactionRecord,
    RowDemand,
    StateRecord,
)
from ukctrl_papers.pseudoinverse import recursive

EXACT = {"rtol": 1e-9, "atol": 1e-10}  # well-conditioned matrices of up to fifty rows
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 15, 16, 17, 19, 47, 48, 49]
"""Eight terms go four rows at a time, sixteen in four parts, 48 along the rows of memory."""
sizes = pytest.mark.parametrize("n", SIZES)


def in_python(kernel):
    return getattr(kernel, "py_func", kernel)


def random(n, *shape, empty=0.0):
    rng = np.random.default_rng(n)
    X = rng.standard_normal(shape or (n, n))
    X[rng.random(X.shape) < empty] = 0.0
    return X


def positive(n):
    X = random(n)
    return X @ X.T / n + np.eye(n)


# Sums and products


@sizes
def test_products_with_vectors(n):
    X, x, y = random(n, n + 2, n), random(n, n), random(n + 1, n + 2)
    found = np.full(n + 2, 9.0)
    lib.matvec(X, x, found)
    np.testing.assert_allclose(found, X @ x, **EXACT)
    y[::3] = 0.0
    found = np.full(n, 9.0)
    lib.matvec_transposed(y, X, found)
    np.testing.assert_allclose(found, X.T @ y, **EXACT)
    square = random(n)
    lib.symmetric_matvec(square, x, found)
    np.testing.assert_allclose(found, (square + square.T) @ x, **EXACT)
    lib.add_scaled_into(x, -0.5, found.copy(), found)
    np.testing.assert_allclose(found, x - 0.5 * (square + square.T) @ x, **EXACT)
    assert lib.dot(x, found) == pytest.approx(x @ found, rel=1e-9, abs=1e-10)
    assert in_python(lib.long_dot)(x, x) == pytest.approx(x @ x, rel=1e-12)


@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 3, 2)])
def test_arrays_are_copied_whole(shape):
    X, found = random(1, *shape), np.zeros(shape)
    lib.copy_into(X, found)
    np.testing.assert_array_equal(found, X)


@pytest.mark.parametrize("count", [1, 3, 7, 8, 9])
@pytest.mark.parametrize("n", [1, 3, 4, 5, 7, 8, 11])
@pytest.mark.parametrize("empty", [0.0, 0.8])
def test_products_of_matrices(n, count, empty):
    A, G = random(n, 3, n, empty=empty), random(count, n, count)
    np.testing.assert_allclose(sparse_products.matmul(A, G), A @ G, **EXACT)
    S = np.zeros((count, count))
    sparse_products.gram_into(G, S)
    np.testing.assert_allclose(np.tril(S), np.tril(G.T @ G), **EXACT)
    rows = np.zeros((n, n))
    sparse_products.row_gram_into(G, rows)
    np.testing.assert_allclose(np.tril(rows), np.tril(G @ G.T), **EXACT)
    np.testing.assert_allclose(sparse_products.gram(A), A.T @ A, **EXACT)
    lengths = np.full(count, 9.0)
    sparse_products.column_norms(G, lengths)
    np.testing.assert_allclose(lengths, np.linalg.norm(G, axis=0), **EXACT)


@pytest.mark.parametrize("n", [7, 8, 9])
def test_a_diagonal_factor_scales_columns_and_one_entry_beside_it_is_told(n):
    A, D = random(n, 2, n), np.diag(np.arange(1.0, n + 1.0))
    np.testing.assert_allclose(sparse_products.matmul(A, D), A @ D, **EXACT)
    assert sparse_products.is_diagonal(D)
    assert not sparse_products.is_diagonal(D[:-1].copy())
    for i, k in ((n - 1, 0), (0, n - 1), (1, 0)):
        other = D.copy()
        other[i, k] = 0.5
        assert not sparse_products.is_diagonal(other)
        np.testing.assert_allclose(sparse_products.matmul(A, other), A @ other, **EXACT)


def test_where_rows_begin_and_end():
    X = np.array([[0, 0, 0, 0], [0, 1, 0, 2], [3, 0, 0, 0], [0, 0, 4, 0]], dtype=np.float64)
    np.testing.assert_array_equal(
        sparse_products.nonzero_ranges(X), [[0, 0], [1, 4], [0, 1], [2, 3]]
    )


# Factors


@sizes
def test_factors_of_positive_definite_matrices(n):
    M, x, X = positive(n), random(n, n), random(n, n, 3)
    L = np.full((n, n), 9.0)
    assert lib.cholesky(M, L) == 0
    np.testing.assert_allclose(L, np.linalg.cholesky(M), **EXACT)
    for solve, factor in ((lib.solve_lower, L), (lib.solve_upper, L.T)):
        found = x.copy()
        solve(L, found)
        np.testing.assert_allclose(found, np.linalg.solve(factor, x), **EXACT)
    for solve, factor in ((lib.solve_lower_columns, L), (lib.solve_upper_columns, L.T)):
        for empty in (0.0, 0.7):
            found = X * (random(n + 1, n, 3) > empty - 1.0)
            expected = np.linalg.solve(factor, found)
            solve(L, found)
            np.testing.assert_allclose(found, expected, **EXACT)
    K, found = np.full((n, n), 9.0), x.copy()
    assert lib.ldl_factor(M, K) == 0
    lib.ldl_solve(K, found)
    np.testing.assert_allclose(found, np.linalg.solve(M, x), **EXACT)
    columns = sparse_products.mass_weighted_columns(L, random(n, 2, n))
    np.testing.assert_allclose(columns, np.linalg.solve(L, random(n, 2, n).T), **EXACT)


@pytest.mark.parametrize("n", [1, 4, 9, 13, 48])
def test_a_pivot_that_is_not_positive_is_numbered_from_one(n):
    for k in {0, n // 2, n - 1}:
        M = positive(n)
        M[k, k] = -1.0
        assert lib.cholesky(M, np.zeros((n, n))) == k + 1
        assert lib.ldl_factor(M, np.zeros((n, n))) == k + 1


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 5), (3, 3), (3, 7), (7, 3), (9, 20)])
@pytest.mark.parametrize("again", [False, True])
def test_rows_are_factored_the_longest_first(m, n, again):
    H = random(m + n, m, n)
    if again and m > 1:
        H[-1] = H[0]
    found = lib.pivoted_lq(H, 1e-9)
    r = int(np.linalg.matrix_rank(H))
    assert found.rank == r
    L, Q = found.L[:, :r], found.Q[:r]
    np.testing.assert_allclose((L @ Q)[:r], H[found.order[:r]], **EXACT)
    np.testing.assert_allclose(L @ Q, H[found.order], **EXACT)
    np.testing.assert_allclose(Q @ Q.T, np.eye(r), **EXACT)
    np.testing.assert_array_equal(np.triu(L[:r], 1), 0.0)
    assert (np.diff(np.diag(L)) <= 1e-12).all()  # what is left falls
    assert found.order[0] == np.linalg.norm(H, axis=1).argmax()
    d = H @ random(n, n)
    x = lib.least_norm_solution(found, d)
    np.testing.assert_allclose(x, np.linalg.pinv(H[found.order[:r]]) @ d[found.order[:r]], **EXACT)


def test_rows_of_another_size_are_of_unit_length_with_their_right_sides():
    H, d, lengths = (
        np.array([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [0.0, -2.0, 0.0]]),
        np.ones(3),
        np.zeros(3),
    )
    lib.normalise_rows(H, d, lengths)
    np.testing.assert_allclose(H, [[0.6, 0.0, 0.8], [0.0, 0.0, 0.0], [0.0, -1.0, 0.0]], **EXACT)
    np.testing.assert_allclose(d, [0.2, 1.0, 0.5], **EXACT)
    np.testing.assert_allclose(lengths, [5.0, 0.0, 2.0], **EXACT)


def test_the_least_solution_of_rows_of_any_length_and_the_first_of_equal_rows():
    H = random(3, 4, 6) * [[1e-6], [1.0], [1e6], [1.0]]
    H[3] = -H[1]
    b, x = H @ random(5, 6), np.zeros(6)
    assert lib.solve_least_norm(H, b, 1e-9, x) == 3
    size = np.linalg.norm(H[:3], axis=1)
    expected = np.linalg.pinv(H[:3] / size[:, None]) @ (b[:3] / size)
    np.testing.assert_allclose(x, expected, **EXACT)
    order = np.zeros(4, dtype=np.int64)
    assert lib.independent_rows(H, 1e-9, order) == 3
    assert sorted(order[:3].tolist()) == [0, 1, 2]
    assert lib.independent_rows(H[::-1].copy(), 1e-9, order) == 3
    assert sorted(order[:3].tolist()) == [0, 1, 3]


def test_a_row_of_rounding_is_none_whatever_its_direction():
    H = np.array([[0.3, 0.0, 0.1], [2e-16, -5e-17, 1e-16], [0.0, 2.0, 0.0], [1e-10, 0.0, 0.0]])
    d, x = np.array([0.3, 1e-17, 2.0, 1e-10]), np.zeros(3)
    assert lib.solve_least_norm(H, d, 1e-9, x) == 3
    np.testing.assert_allclose(x, [1.0, 1.0, 0.0], rtol=0.0, atol=1e-9)
    lengths = np.array([1e6, 0.99e-6, 1.01e-6, 0.0])
    lib.zero_rounding_lengths(lengths)
    np.testing.assert_array_equal(lengths, [1e6, 0.0, 1.01e-6, 0.0])


# The nearest input


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_a_lower_bound_of_the_smallest_singular_value_is_near_it(n):
    L = np.linalg.cholesky(positive(n))
    factor = PivotedLQ(L, np.zeros((n, n)), np.arange(n), n)
    least, bound = np.linalg.svd(L)[1][-1], nearest_input.singular_value_lower_bound(factor)
    # 1/|L^-1|_F: between it and the root of n less.
    assert least / np.sqrt(n) <= bound * (1 + 1e-12)
    assert bound <= least * (1 + 1e-12)
    assert nearest_input.singular_value_lower_bound(factor._replace(rank=0)) == 1.0


@pytest.mark.parametrize(
    ("X", "units", "rank"),
    [
        (np.eye(4)[:, :2], [1.0, 1.0], 2),
        (np.eye(4)[:, :2], [1.0, 0.0], 1),  # a motor that does nothing to the free robot
        (np.eye(4)[:, :2] * [1.0, 1e-12], [1.0, 1.0], 1),
        (np.eye(4)[:, :2] * [1.0, 1e-12], [1.0, 1e-12], 2),  # in its own unit it does
        (np.ones((4, 2)), [2.0, 2.0], 1),
        (np.eye(4)[:, :2] * [1.0, 3e-9], [1.0, 1.0], 2),
        (np.zeros((4, 2)), [1.0, 1.0], -1),
        (np.eye(4)[:, :3] * [1.0, 0.7e-9, 0.9e-9], [1.0] * 3, -1),  # which together exceed it
    ],
)  # fmt: skip
def test_a_rank_is_sure_or_left_to_others(X, units, rank):
    assert nearest_input.certain_rank(np.ascontiguousarray(X), np.array(units), 1e-9) == rank


@pytest.mark.parametrize(
    ("n", "nu", "rank"), [(4, 2, 2), (3, 5, 3), (5, 4, 2), (4, 4, 4), (3, 1, 1)]
)
def test_the_least_input_that_comes_nearest(n, nu, rank):
    X = random(n + nu, n, rank) @ random(nu, rank, nu)
    y, found = random(n, n), np.full(nu, 9.0)
    assert nearest_input.least_squares_solution(X, rank, y, found)
    np.testing.assert_allclose(found, np.linalg.pinv(X, rcond=1e-9) @ y, rtol=1e-7, atol=1e-8)
    if rank > 1:
        assert not nearest_input.least_squares_solution(X, rank - 1, y, found)
    weak = np.zeros((n, max(nu, 2)))
    weak[0, 0], weak[1, 1] = 1.0, 1e-6  # digits would be lost
    assert not nearest_input.least_squares_solution(weak, 2, y, np.zeros(max(nu, 2)))


# The multipliers of rows that share a load


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_multipliers_are_the_least_and_rows_that_share_them_are_told(rank):
    L, A = np.linalg.cholesky(positive(5)), random(8, 3, 5)
    if rank < 3:
        A[2] = 2.0 * A[1]
    if rank < 2:
        A[1], A[2] = 0.0, 0.0
    force = A.T @ np.array([1.0, 2.0, -0.5])
    expected = np.linalg.pinv(A.T) @ force
    np.testing.assert_allclose(multipliers.multipliers(L, A, force, rank), expected, **EXACT)
    found, nonideal = np.full(3, 9.0), random(5, 5)
    ranks = np.array([rank, rank])
    assert multipliers.fast_multipliers(L, A, force + nonideal, nonideal, ranks, found)
    np.testing.assert_allclose(found, expected, **EXACT)
    shared = multipliers.undetermined_multipliers(L, A, rank)
    assert shared.tolist() == {3: [False] * 3, 2: [False, True, True], 1: [False, True, True]}[rank]


def test_rows_of_lengths_a_thousand_times_apart_that_share_a_load_need_care():
    L = np.eye(3)
    for factor, sure in ((0.9e3, True), (1.1e3, False)):
        A = np.array([[1.0, 0.0, 0.0], [factor, 0.0, 0.0]])
        found = np.zeros(2)
        given = np.array([1.0, 0.0, 0.0]), np.zeros(3), np.array([1, 1])
        assert multipliers.fast_multipliers(L, A, *given, found) == sure
        np.testing.assert_allclose(found, A[:, 0] / (A[:, 0] @ A[:, 0]), rtol=1e-6)


def test_rows_in_mass_weighted_coordinates_are_of_unit_length():
    M, A = positive(4), random(4, 2, 4)
    L = np.linalg.cholesky(M)
    W, lengths = multipliers.mass_weighted_unit_rows(L, A)
    np.testing.assert_allclose(lengths**2, np.diag(A @ np.linalg.solve(M, A.T)), **EXACT)
    np.testing.assert_allclose(W * lengths[:, None], A @ np.linalg.inv(L).T, **EXACT)


# Recursive pseudoinverses


@pytest.mark.parametrize(
    ("m", "n", "rank"), [(1, 1, 1), (3, 5, 3), (5, 3, 3), (4, 4, 2), (3, 3, 0)]
)
def test_grevilles_recursion_gives_the_pseudoinverse_and_bounds_its_errors(m, n, rank):
    A = random(m + n, m, rank) @ random(n, rank, n) if rank else np.zeros((m, n))
    left, noise = np.zeros(m), np.zeros(m)
    X, found = recursive._greville(A, 1e-9, left, noise)
    assert found == rank
    np.testing.assert_allclose(X, np.linalg.pinv(A, rcond=1e-9), rtol=1e-8, atol=1e-9)
    for i in range(m):  # what each row adds to those before it
        before = np.linalg.pinv(A[:i], rcond=1e-9) @ A[:i] if i else np.zeros((n, n))
        added = np.linalg.norm(A[i] - A[i] @ before)
        assert left[i] == pytest.approx(added, abs=1e-9)
    size = np.linalg.norm(A, axis=1)
    assert (noise >= 1e-16 * size).all()
    assert (noise <= 1e-11 * size.max(initial=1e-300) + 1e-300).all()


# Rows that are active


@pytest.mark.parametrize("start", [0, 1])
def test_four_parts_at_a_time_are_those_one_by_one(start):
    Q = np.linalg.qr(random(7))[0]
    Q[6] = random(9, 7)
    L, row = np.zeros((7, 7)), Q[6].copy()
    active_set_qp.orthogonalise_against_four(L, Q, start, 6)
    along = Q[start : start + 4] @ row
    np.testing.assert_allclose(L[6], np.r_[np.zeros(start), along, np.zeros(3 - start)], **EXACT)
    np.testing.assert_allclose(Q[6], row - along @ Q[start : start + 4], **EXACT)


# What is kept of a sample


def plain(n, nu, m, *, whole):
    sizes = [1, n, n, n, nu, m, m, nu, 1, 1, 1, m * nu * whole, m]
    return StateRecord(*(np.full(size, 9.0) for size in sizes))


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(("asks", "asked_at"), [(1.0, 0.5), (0.0, 0.5), (1.0, 0.4)])
def test_plain_quantities_of_a_sample(whole, asks, asked_at):
    n, nu, m = 4, 3, 2
    M, B, A, G = positive(n), random(1, n, nu), random(2, m, n), random(3, n, nu)
    q, v, a, a_free = random(4, 4, n)
    u, b, beta, phi, demand = random(5, nu), *random(6, 4, m)
    ties, now = np.tile(np.array([0, n, 0, nu]), (n, 1)), plain(n, nu, m, whole=whole)
    sample_kernels.record_state(
        PlantState(np.array([0.5]), q, v, a, u), ties, kept_owners(0), M, B, Rows(A, b, beta, phi),
        a_free, G, RowDemand(demand, np.array([asks]), np.array([asked_at])),
        np.array([7.0]), now,
    )  # fmt: skip
    kinetic = 0.5 * v @ M @ v
    own = demand if asks and asked_at == 0.5 else b
    expected = StateRecord(
        0.5, q, v, a, u, phi, beta, v @ B, kinetic, kinetic + 7.0, 9.0,
        (A @ G).ravel() if whole else np.zeros(0), own - A @ a_free,
    )  # fmt: skip
    for found, value in zip(now, expected, strict=True):
        np.testing.assert_allclose(found, value, **EXACT)


def test_what_motors_can_do_about_rows_of_which_no_two_share_an_input():
    ties = np.array([[0, 2, 0, 2], [0, 2, 0, 2], [2, 3, 2, 3]])
    G = np.array([[3.0, 0.0, 0.0], [0.0, 4.0, 0.0], [0.0, 0.0, 2.0]])
    A = np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    asked, now = np.array([1.0, 3.0, 4.0]), AuthorityRecord(*np.full((3, 1), 9.0))
    unknown, ask = kept_owners(0), sample_kernels.record_orthogonal_authority
    assert ask(ties, unknown, A, G, asked, np.ones(3), 1e-9, now)
    assert (now.rank[0], now.sigma_min[0], now.reach[0]) == (2.0, 2.0, 4.0)
    lost = np.array([1.0, 1e-9, 1.0])  # a row without grip
    assert ask(ties, unknown, A, G, asked, lost, 1e-9, now)
    assert (now.rank[0], now.sigma_min[0], now.reach[0]) == (1.0, 5.0, 5.0)
    assert ask(ties, unknown, A, G, asked, np.zeros(3), 1e-9, now)
    assert (now.rank[0], now.sigma_min[0]) == (0.0, 0.0)
    assert now.reach[0] == pytest.approx(np.sqrt(26.0))
    shared = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert not ask(ties, unknown, shared, G, asked, np.ones(3), 1e-9, now)


def test_reactions_of_a_sample():
    A, force, nonideal = random(1, 2, 4), *random(2, 2, 4)
    reaction, beta, phi = random(3, 3, 2)
    now = ReactionRecord(*(np.full(k, 9.0) for k in (2, 2)), force, *np.full((3, 1), 9.0), reaction,
                    *np.full((2, 1), 9.0))  # fmt: skip
    rows = A, np.zeros(2), beta, phi
    given = nonideal, np.array([2, 1]), np.array([0.25, 1e-9])
    sample_kernels.record_reactions(rows, *given, now)
    np.testing.assert_array_equal(now.phi, phi)
    np.testing.assert_array_equal(now.beta, beta)
    assert (now.rank[0], now.sigma_min[0], now.sigma_dropped[0]) == (2.0, 0.25, 1e-9)
    assert now.power[0] == pytest.approx(reaction @ beta, rel=1e-12)
    rest = np.linalg.norm(force - nonideal - A.T @ reaction)
    assert now.residual[0] == pytest.approx(rest, rel=1e-12)


def test_places_and_rows_of_samples():
    R, place = np.linalg.qr(random(3))[0], np.zeros(3)
    sample_kernels.record_position(R, np.arange(3.0), np.array([0.5, -1.0, 2.0]), place)
    np.testing.assert_allclose(place, np.arange(3.0) + R @ [0.5, -1.0, 2.0], **EXACT)
    reference = np.full(3, 9.0)
    sample_kernels.record_frame(
        np.ones(3), np.array([5.0, 6.0]), np.array([2, 0]), place, reference
    )
    np.testing.assert_array_equal(place, 1.0)
    np.testing.assert_array_equal(reference, [6.0, 9.0, 5.0])
    block, counts = np.zeros((2, 3)), np.array([5, 4])
    assert sample_kernels.has_samples(counts)
    assert not sample_kernels.has_samples(np.array([0, 0]))
    assert sample_kernels.append_sample(np.arange(3.0), counts, block)
    np.testing.assert_array_equal(block, [[0.0, 0.0, 0.0], [0.0, 1.0, 2.0]])
    sample_kernels.increment(counts)
    assert counts[0] == 6
    assert not sample_kernels.append_sample(np.arange(3.0), counts, block)


@pytest.mark.parametrize(
    ("part", "kept"),
    [([3.0, 4.0], True), ([3.0, -4.1], False), ([np.nan, 5.0], True), ([np.nan] * 2, True),
     ([np.inf, 0.0], False)],
)  # fmt: skip
def test_an_error_within_a_limit_leaves_out_what_is_no_number(part, kept):
    assert sample_kernels.is_within_norm(np.array(part), 5.0) == kept
