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

from ukctrl.core.algebra.factorisation import dot, factor_rows
from ukctrl.core.algebra.nearest_input import least_singular, outside
from ukctrl.core.algebra.nearest_within import PROXIMAL, Active, least_cost
from ukctrl.core.algebra.products import times
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating

FELT = 1e-9
"""Rows feel a direction whose singular value is more than this part of the longest of them."""


class Lexicographic(NamedTuple):
    """Levels and limits of inputs ``u0 + S w``; the last of ``k`` levels is the least ``|w|``."""

    S: Matrix
    u0: Vector
    C: Matrix
    """Rows with bounds, shape ``(r, nu)``."""
    X: Matrix
    """Rows of all levels per ``w``, in units of their scales; of the last ``w`` itself."""
    missing: Vector
    """What they miss at ``u0``, shape ``(m + nu,)``."""
    sizes: NDArray[np.int64]
    """Of every level: one past its last row, how many unknowns it has, and how many of them its
    cost feels, each as much as any other; shape ``(k, 3)``."""
    ways: NDArray[np.float64]
    """``w`` per unknown, shape ``(k, nu, nu)``."""
    aims: NDArray[np.float64]
    """Unknowns per row that is missed, shape ``(k, nu, m + nu)``."""
    rows: NDArray[np.float64]
    """Rows with bounds per unknown, of unit length, shape ``(k, r, nu)``."""
    lengths: Matrix
    """What they were divided by, shape ``(k, r)``; zero: no unknown moves them."""
    active: Active
    """Which bind in every level, the first axis."""


@allocating
def lexicographic(
    H: Matrix,
    d: Vector,
    ends: NDArray[np.int64],
    scale: Vector,
    S: Matrix,
    u0: Vector,
    C: Matrix,
    rtol: float,
) -> Lexicographic:
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
    lex = _room(S, u0, C, m, k)
    X, moved = times(H, S), times(C, S)
    for i in range(m):
        lex.missing[i] = (d[i] - dot(H[i], u0)) / scale[i]
        for c in range(nu):
            X[i, c] /= scale[i]
            lex.X[i, c] = X[i, c]
    for c in range(nu):
        lex.X[m + c, c] = 1.0
    Z, first = np.eye(nu), 0
    for level in range(k):
        last = ends[level] if level < k - 1 else m + nu
        n = Z.shape[1]
        firm, T, P, left = n, np.eye(n), np.ascontiguousarray(Z.T), Z
        if level < k - 1 and n > 0 and last > first:
            longest = 0.0
            for i in range(first, last):
                longest = max(longest, np.sqrt(dot(X[i], X[i])))
            firm, T, P, left = directions(X[first:last] @ Z, longest, rtol)
            left = Z @ left
        lex.sizes[level, 0], lex.sizes[level, 1], lex.sizes[level, 2] = last, n, firm
        for j in range(firm):
            for i in range(first, last):
                lex.aims[level, j, i] = P[j, i - first]
        _put_level(lex, level, moved, Z, Z @ T)
        Z, first = left, last
    return lex


@allocating
def directions(Y: Matrix, longest: float, rtol: float) -> tuple[int, Matrix, Matrix, Matrix]:
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
    T, P, factor = np.zeros((n, n)), np.zeros((m, m)), factor_rows(Y, FELT)
    sure = factor.rank == m and least_singular(factor) > max(rtol, FELT) * longest
    left = outside(factor) if sure else T[:, :0].copy()
    if sure and left.shape[1] == n - m:
        for k in range(m - 1, -1, -1):  # T L = Q', column by column
            P[k, factor.order[k]] = 1.0
            for c in range(n):
                T[c, k] = factor.Q[k, c]
                for i in range(k + 1, m):
                    T[c, k] -= T[c, i] * factor.L[i, k]
                T[c, k] /= factor.L[k, k]
        for j in range(m, n):
            for c in range(n):
                T[c, j] = left[c, j - m] / small
        return m, T, P, left
    U, sigma, Qt = np.linalg.svd(Y, True)
    firm = rank = 0
    for i in range(len(sigma)):
        firm += int(sigma[i] > FELT * longest)
        rank += int(sigma[i] > rtol * longest)
    for j in range(n):
        for c in range(n):
            T[c, j] = Qt[j, c] / (sigma[j] if j < firm else small)
    return firm, T, U.T.copy(), np.ascontiguousarray(Qt[rank:].T)


@allocating
def _room(S: Matrix, u0: Vector, C: Matrix, m: int, k: int) -> Lexicographic:
    """Return a program with nothing in it."""
    nu, r = len(u0), len(C)
    counts, numbers, sign = np.zeros((k, 1)), np.zeros((k, nu + 1)), np.zeros((2, k, nu + 1))
    square, Q = np.zeros((k, nu + 1, nu + 1)), np.zeros((k, nu + 1, nu))
    active = Active(counts.astype(np.int64), numbers.astype(np.int64), sign[0], sign[1], square, Q)
    X, missing, sizes = np.zeros((m + nu, nu)), np.zeros(m + nu), np.zeros((k, 3), dtype=np.int64)
    ways, aims = np.zeros((k, nu, nu)), np.zeros((k, nu, m + nu))
    rows, lengths = np.zeros((k, r, nu)), np.zeros((k, r))
    return Lexicographic(S, u0, C, X, missing, sizes, ways, aims, rows, lengths, active)


@allocating
def _put_level(lex: Lexicographic, level: int, moved: Matrix, Z: Matrix, way: Matrix) -> None:
    """Write how the unknowns of a level move ``w``, and the rows with bounds that they move.

    Those that only rounding would move are left out: the ``w`` that took the other directions obeys
    them, to rounding, and scaled to unit length that rounding would leave no room.
    """
    n, felt, rows = Z.shape[1], times(moved, Z), times(moved, way)
    for c in range(len(Z)):
        for j in range(n):
            lex.ways[level, c, j] = way[c, j]
    for i in range(len(moved)):
        length = np.sqrt(dot(rows[i], rows[i]))
        if length > 0.0 and dot(felt[i], felt[i]) > FELT * FELT * dot(moved[i], moved[i]):
            lex.lengths[level, i] = length
            for j in range(n):
                lex.rows[level, i, j] = rows[i, j] / length


@allocating
def solve_lexicographic(lex: Lexicographic, low: Vector, high: Vector, u: Vector) -> bool:
    """Write the input within bounds ``low <= C u <= high`` that serves the levels in their order.

    Returns whether every level found one, but for rounding; where one did not, it is left out.
    """
    nu, r = len(u), len(low)
    w, room, found = np.zeros(nu), np.empty((2, r)), True
    target, x, work, first = np.empty(nu), np.empty(nu), np.empty((4, nu + 1)), 0
    for level in range(len(lex.sizes)):
        last, n, firm = lex.sizes[level, 0], lex.sizes[level, 1], lex.sizes[level, 2]
        if firm > 0:
            for c in range(nu):
                u[c] = lex.u0[c] + dot(lex.S[c], w)
            for i in range(r):
                length, at = lex.lengths[level, i], dot(lex.C[i], u)
                room[0, i] = (low[i] - at) / length if length > 0.0 else -np.inf
                room[1, i] = (high[i] - at) / length if length > 0.0 else np.inf
            for j in range(n):
                target[j] = 0.0
            for i in range(first, last):
                left = lex.missing[i] - dot(lex.X[i], w)
                for j in range(firm):
                    target[j] += lex.aims[level, j, i] * left
            own = Active(
                lex.active.total[level],
                lex.active.row[level],
                lex.active.sign[level],
                lex.active.multiplier[level],
                lex.active.L[level],
                lex.active.Q[level],
            )
            if least_cost(lex.rows[level], room[0], room[1], target, n, firm, own, work, x):
                for c in range(nu):
                    for j in range(n):
                        w[c] += lex.ways[level, c, j] * x[j]
            else:
                found = False
                own.total[0] = 0
        first = last
    for c in range(nu):
        u[c] = lex.u0[c] + dot(lex.S[c], w)
    return found
