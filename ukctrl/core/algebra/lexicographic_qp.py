"""Levels of rows within limits, one after the other, compiled: a lexicographic program.

Level by level, the rows come as close as the limits and the levels before let them. What a level
reaches is then kept exactly, by letting later levels move only in what it does not feel; within
that, the limits leave later levels less, but never nothing. What is left goes to the nearest input.
Neither directions nor factors depend on bounds, so programs that differ in bounds alone share them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.active_set_qp import PROXIMAL, ActiveRows, proximal_nearest_point
from ukctrl.core.algebra.bounded_rows import NOT_TRANSFORMED, SENSITIVITY_RTOL, BoundedRows
from ukctrl.core.algebra.decompositions import inverse, orthogonal_complement, svd
from ukctrl.core.algebra.factorisation import (
    dot,
    long_dot,
    matvec_transposed,
    pivoted_lq,
    row_norm_squared,
)
from ukctrl.core.algebra.nearest_input import singular_value_lower_bound
from ukctrl.core.algebra.sparse_products import column_norms, matmul, matmul_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

MIN_SINGULAR = 1e-5
"""Rows whose singular values are all above this part of the longest need no decomposition."""


class LexicographicQP(NamedTuple):
    """Levels and limits of inputs ``u0 + S w``; the last of ``k`` levels is the least ``|w|``."""

    S: Matrix
    u0: Vector
    X: Matrix
    """Rows of all levels per ``w``, in units of their scales; of the last ``w`` itself."""
    residual: Vector
    """What they miss at ``u0``, shape ``(m + nu,)``."""
    sizes: NDArray[np.int64]
    """Of every level: one past its last row, how many unknowns it has, and how many of them its
    cost feels, each as much as any other; shape ``(k, 3)``."""
    pseudoinverses: NDArray[np.float64]
    """Unknowns per row that is missed, shape ``(k, nu, m + nu)``."""
    n_unbounded: NDArray[np.int64]
    """So many levels at least come as near as they would without bounds, shape ``(1,)``."""
    row_values: Vector
    """Of rows with bounds, at ``u0``."""
    bounded_rows: BoundedRows
    """Rows with bounds; what is of one level has the levels as first axis."""
    norm_bounds: Vector
    """Of the ways, shape ``(k,)``."""
    active: ActiveRows
    """Which bind in every level, the first axis."""
    work: Matrix
    """Scratch, numbers all, shape ``(8, nu + 1)``."""


@allocating
def factor_lexicographic(
    H: Matrix,
    d: Vector,
    ends: NDArray[np.int64],
    scale: Vector,
    S: Matrix,
    u0: Vector,
    C: Matrix,
    rtol: float,
) -> LexicographicQP:
    """Return a program, ready for any bounds.

    Args:
        H: Rows, highest priority first, shape ``(m, nu)``.
        d: Demand on them, shape ``(m,)``.
        ends: One past the last row of every level.
        scale: What each row is divided by before misses are added, shape ``(m,)``.
        S: Freedoms, ``S S' = R^-1``, shape ``(nu, nu)``.
        u0: The input that is best where the levels leave a choice, shape ``(nu,)``.
        C: Rows with bounds, shape ``(r, nu)``.
        rtol: A singular value below this fraction of a level's longest row is none.
    """
    lex = _blank(S, u0, C, len(H), len(ends) + 1)
    _scaled(lex, H, d, scale, C)
    if not _factor_jointly(lex, ends, rtol):
        _factor_by_levels(lex, ends, rtol)
    return lex


@allocating
def _factor_jointly(lex: LexicographicQP, ends: NDArray[np.int64], rtol: float) -> bool:
    """Factor the rows of all levels at once; return whether they are so far from dependent.

    What they miss then are coordinates: those of a level, and those of later ones, which it does
    not feel.
    """
    nu, k = len(lex.u0), len(ends)
    m = ends[k - 1] if k > 1 else 0
    if not 0 < m <= nu:  # of one level it would be no less work
        return False
    X = lex.X[:m]
    is_clear, T, null_space = independent_rows_inverse(X, smallest_clear(X, rtol))
    if not is_clear:
        return False
    later, none, identity = np.empty((nu, nu)), np.full((nu, nu), np.nan), np.eye(m)
    longest, first = largest_row_norm(X), 0
    for level in range(k):
        last = ends[level]
        for c in range(nu):
            for j in range(first, last):
                later[c, j - first] = T[c, j]
            for j in range(last, m):
                later[c, j - first] = T[c, j] / np.sqrt(PROXIMAL)
            for j in range(m, nu):
                later[c, j - first] = null_space[c, j - m] / (longest * np.sqrt(PROXIMAL))
        if last > first:
            lex.n_unbounded[0] = level
        lex.sizes[level] = last, nu - first, last - first
        _store_level(lex, level, first, none[:, : nu - first], later[:, : nu - first], identity)
        first = last
    lex.sizes[k] = m + nu, nu - m, nu - m
    if nu > m:
        lex.n_unbounded[0] = k
    _store_level(lex, k, m, null_space, null_space, null_space.T.copy())
    return True


@allocating
def _factor_by_levels(lex: LexicographicQP, ends: NDArray[np.int64], rtol: float) -> None:
    """Factor level after level, each in what those before do not feel."""
    nu, k = len(lex.u0), len(ends) + 1
    Z, first = np.eye(nu), 0
    for level in range(k):
        last = ends[level] if level < k - 1 else len(lex.X)
        n = Z.shape[1]
        firm, T, P, null_space = n, np.eye(n), np.ascontiguousarray(Z.T), Z
        if level < k - 1 and n > 0 and last > first:
            X = lex.X[first:last]
            firm, T, P, null_space = level_directions(matmul(X, Z), X, rtol)
            null_space = matmul(Z, null_space)
        lex.sizes[level] = last, n, firm
        if firm > 0:
            lex.n_unbounded[0] = level
        _store_level(lex, level, first, Z, matmul(Z, T), P)
        Z, first = null_space, last


@compiled
def _scaled(lex: LexicographicQP, H: Matrix, d: Vector, scale: Vector, C: Matrix) -> None:
    """Write what is of rows alone."""
    (m, nu), u0, X = H.shape, lex.u0, lex.X
    for i in range(len(C)):
        lex.row_values[i] = long_dot(C[i], u0)
    column_norms(lex.bounded_rows.Ct, lex.bounded_rows.sizes)
    matmul_into(H, lex.S, X[:m])
    for i in range(m):
        lex.residual[i] = (d[i] - dot(H[i], u0)) / scale[i]
        for c in range(nu):
            X[i, c] /= scale[i]
    for c in range(nu):
        X[m + c, c] = 1.0


@compiled
def largest_row_norm(X: Matrix) -> float:
    """Return the length of the longest row."""
    max_square = 0.0
    for i in range(len(X)):
        max_square = max(max_square, row_norm_squared(X, i))
    return float(np.sqrt(max_square))


@compiled
def _store_level(
    lex: LexicographicQP, level: int, first: int, Z: Matrix, basis: Matrix, P: Matrix
) -> None:
    """Write what is of a level."""
    for j in range(lex.sizes[level, 2]):
        for i in range(first, lex.sizes[level, 0]):
            lex.pseudoinverses[level, j, i] = P[j, i - first]
    squares = 0.0
    for c in range(len(Z)):
        squares += row_norm_squared(basis, c)
        for j in range(Z.shape[1]):
            lex.bounded_rows.orthonormal_basis[level, c, j], lex.bounded_rows.basis[level, c, j] = (
                Z[c, j],
                basis[c, j],
            )
    lex.norm_bounds[level] = np.sqrt(squares)


@allocating
def _blank(S: Matrix, u0: Vector, C: Matrix, m: int, k: int) -> LexicographicQP:
    """Return a program without levels."""
    nu, r = len(u0), len(C)
    total, row = np.zeros((k, 1), dtype=np.int64), np.empty((k, nu + 1), dtype=np.int64)
    sign, square = np.empty((2, k, nu + 1)), np.empty((k, nu + 1, nu + 1))
    Q = np.empty((k, nu + 1, nu))
    active = ActiveRows(total, row, sign[0], sign[1], square, Q)
    bases, rows = np.empty((2, k, nu, nu)), np.empty((k, r, nu))
    Ct, of, lengths = matmul(C, S).T.copy(), np.empty((5, r)), np.full((k, r), NOT_TRANSFORMED)
    bounds = BoundedRows(
        0, 0, Ct, of[0], of[1], of[2], of[3], of[4], bases[0], bases[1], 0.0, rows, lengths
    )
    X, missing, sizes = np.zeros((m + nu, nu)), np.zeros(m + nu), np.zeros((k, 3), dtype=np.int64)
    aims, exact = np.empty((k, nu, m + nu)), np.zeros(1, dtype=np.int64)
    # Zeros, for sums go over all of a row of Q: what memory held there may be no number.
    work, far = np.zeros((8, nu + 1)), np.zeros(k)
    return LexicographicQP(
        S, u0, X, missing, sizes, aims, exact, np.empty(r), bounds, far, active, work
    )


@compiled
def smallest_clear(X: Matrix, rtol: float) -> float:
    """Return what singular values must exceed so that rows need no decomposition."""
    return float(largest_row_norm(X) * max(rtol, MIN_SINGULAR))


@allocating
def independent_rows_inverse(Y: Matrix, clear: float) -> tuple[bool, Matrix, Matrix]:
    """Return whether singular values of rows are above some number, and then their inverse and null
    space.

    The inverse ``T``, shape ``(n, m)``, is the one with ``Y T = 1`` that moves nothing else. The
    Frobenius norm of an inverse bounds the smallest singular value, without a decomposition.
    """
    (m, n), squares = Y.shape, 0.0
    T = np.empty((n, m))
    if m == n:
        T = inverse(Y)
        for i in range(n):
            squares += row_norm_squared(T, i)
        return squares * clear * clear < 1.0, T, T[:, :0].copy()
    if m > n:
        return False, T, T
    factor = pivoted_lq(Y, SENSITIVITY_RTOL)
    L, Q, order = factor.L, factor.Q, factor.order
    if factor.rank < m or not singular_value_lower_bound(factor) > clear:
        return False, T, T
    null_space = orthogonal_complement(Q)
    for k in range(m - 1, -1, -1):  # T L = Q', column by column
        for i in range(k + 1, m):
            for c in range(n):
                Q[k, c] -= L[i, k] * Q[i, c]
        for c in range(n):
            Q[k, c] /= L[k, k]
            T[c, order[k]] = Q[k, c]
    return True, T, null_space


@allocating
def level_directions(Y: Matrix, X: Matrix, rtol: float) -> tuple[int, Matrix, Matrix, Matrix]:
    """Return how many directions rows feel, coordinates, an aim, and what no lower level feels.

    In coordinates, the columns of a square matrix, a least-squares misfit is a sum of squares of
    the first, beside their aim ``P missing``; the others are so small that proximal steps suit.

    Args:
        Y: Rows, shape ``(m, n)``.
        X: The same before the levels above took what they feel.
        rtol: What is felt by less than this part of the longest of them, lower levels may move.
    """
    (m, n), longest = Y.shape, largest_row_norm(X)
    small, T = longest * np.sqrt(PROXIMAL) if longest > 0.0 else 1.0, np.empty((n, n))
    is_clear, columns, null_space = independent_rows_inverse(Y, smallest_clear(X, rtol))
    if is_clear:
        for c in range(n):
            for j in range(n):
                T[c, j] = columns[c, j] if j < m else null_space[c, j - m] / small
        return m, T, np.eye(m), null_space
    U, sigma, Qt = svd(Y)
    firm = rank = 0
    for i in range(len(sigma)):
        firm += int(sigma[i] > SENSITIVITY_RTOL * longest)
        rank += int(sigma[i] > rtol * longest)
    for j in range(n):
        for c in range(n):
            T[c, j] = Qt[j, c] / (sigma[j] if j < firm else small)
    return firm, T, U.T.copy(), np.ascontiguousarray(Qt[rank:].T)


@compiled
def solve_lexicographic(lex: LexicographicQP, low: Vector, high: Vector, u: Vector) -> bool:
    """Write the input within bounds ``low <= C u <= high`` that serves the levels in their order.

    Returns whether there is one. Where rounding leaves a level none, it is left out.

    The first levels are taken to come as near as without bounds: their directions are not solved
    for then. Where that leaves the next level nothing, one fewer is.
    """
    w, feasible = lex.work[7, : len(u)], False
    while not feasible:
        for c in range(len(w)):
            w[c] = 0.0
        # optimistic, and remembered for the next tick: levels that bounds did not bind last time
        # seldom do (decision 0147)
        feasible = _solve_from(lex, lex.n_unbounded[0], low, high, w)
        if lex.n_unbounded[0] == 0:
            break
        lex.n_unbounded[0] -= 0 if feasible else 1
    for c in range(len(u)):
        u[c] = lex.u0[c] + dot(lex.S[c], w)
    return feasible


@compiled
def _solve_from(lex: LexicographicQP, exact: int, low: Vector, high: Vector, w: Vector) -> bool:
    """Write the answer of all levels, the first few of which heed no bounds.

    Returns whether there is one.
    """
    nu, bounds, feasible, first, strict = len(w), lex.bounded_rows, True, 0, True
    target, x, work = lex.work[5, :nu], lex.work[6, :nu], lex.work
    for level in range(len(lex.sizes)):
        last, n, firm = lex.sizes[level, 0], lex.sizes[level, 1], lex.sizes[level, 2]
        for j in range(n):
            target[j] = 0.0
        for i in range(first, last if firm > 0 else first):
            residual = lex.residual[i] - long_dot(lex.X[i], w)
            if residual != 0.0:
                for j in range(firm):
                    target[j] += lex.pseudoinverses[level, j, i] * residual
        first = last
        if firm == 0:
            continue
        if level < exact:
            _move(bounds.basis[level], target, firm, w)
            continue
        matvec_transposed(w, bounds.Ct, bounds.violation)
        for i in range(len(low)):
            at = lex.row_values[i] + bounds.violation[i]
            bounds.low[i], bounds.high[i] = low[i] - at, high[i] - at
        level_bounds = BoundedRows(
            n,
            firm,
            bounds.Ct,
            bounds.sizes,
            bounds.violation,
            bounds.side,
            bounds.low,
            bounds.high,
            bounds.orthonormal_basis[level],
            bounds.basis[level],
            lex.norm_bounds[level],
            bounds.rows[level],
            bounds.lengths[level],
        )
        active = ActiveRows(
            lex.active.total[level],
            lex.active.row[level],
            lex.active.sign[level],
            lex.active.multiplier[level],
            lex.active.L[level],
            lex.active.Q[level],
        )
        if proximal_nearest_point(level_bounds, target, strict, active, work, x):
            _move(bounds.basis[level], x, n, w)
        else:
            # a level that rounding leaves nothing is skipped; only the first one's failure is the
            # program's
            active.total[0] = 0
            feasible = feasible and not strict
            if not feasible and exact > 0:
                break
        strict = False
    return feasible


@compiled
def _move(basis: Matrix, x: Vector, n: int, w: Vector) -> None:
    """Add ``basis x``."""
    for c in range(len(w)):
        w[c] += long_dot(basis[c, :n], x[:n])
