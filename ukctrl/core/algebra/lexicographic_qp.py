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
    (m, nu), k = H.shape, len(ends) + 1
    lex = _blank(S, u0, C, m, k)
    _scaled(lex, H, d, scale, C)
    Z, first = np.eye(nu), 0
    for level in range(k):
        last = ends[level] if level < k - 1 else m + nu
        n = Z.shape[1]
        firm, T, P, null_space = n, np.eye(n), np.ascontiguousarray(Z.T), Z
        if level < k - 1 and n > 0 and last > first:
            X = lex.X[first:last]
            firm, T, P, null_space = level_directions(matmul(X, Z), largest_row_norm(X), rtol)
            null_space = matmul(Z, null_space)
        lex.sizes[level, 0], lex.sizes[level, 1], lex.sizes[level, 2] = last, n, firm
        if firm > 0:
            lex.n_unbounded[0] = level
        _store_level(lex, level, first, Z, matmul(Z, T), P)
        Z, first = null_space, last
    return lex


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


@allocating
def level_directions(Y: Matrix, longest: float, rtol: float) -> tuple[int, Matrix, Matrix, Matrix]:
    """Return how many directions rows feel, coordinates, an aim, and what no lower level feels.

    In coordinates, the columns of a square matrix, a least-squares misfit is a sum of squares of
    the first, beside their aim ``P missing``; the others are so small that proximal steps suit.

    Args:
        Y: Rows, shape ``(m, n)``.
        longest: Length of the longest of them before the levels above took what they feel.
        rtol: What is felt by less than this part of it, lower levels may move.
    """
    m, n = Y.shape
    small = longest * np.sqrt(PROXIMAL) if longest > 0.0 else 1.0
    T, P, clear = np.zeros((n, n)), np.eye(m), longest * max(rtol, MIN_SINGULAR)
    # square: the Frobenius norm of the inverse bounds the smallest singular value, without an SVD
    if m == n:
        T = inverse(Y)
        squares = 0.0
        for i in range(n):
            squares += row_norm_squared(T, i)
        if squares * clear * clear < 1.0:  # a bound of the smallest singular value
            return m, T, P, T[:, :0].copy()
    # wide: LQ instead, with a bound of the same kind
    elif m < n:
        factor = pivoted_lq(Y, SENSITIVITY_RTOL)
        L, Q, order = factor.L, factor.Q, factor.order
        if factor.rank == m and singular_value_lower_bound(factor) > clear:
            null_space = orthogonal_complement(Q)
            for k in range(m - 1, -1, -1):  # T L = Q', column by column
                for i in range(m):
                    P[k, i] = 1.0 if i == order[k] else 0.0
                for c in range(n):
                    T[c, k] = Q[k, c]
                    for i in range(k + 1, m):
                        T[c, k] -= T[c, i] * L[i, k]
                    T[c, k] /= L[k, k]
            for j in range(m, n):
                for c in range(n):
                    T[c, j] = null_space[c, j - m] / small
            return m, T, P, null_space
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
