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

from ukctrl.core.algebra.factorisation import (
    dot,
    factor_rows,
    long_dot,
    multiplied_across,
    squared,
)
from ukctrl.core.algebra.nearest_input import inverse, least_singular, outside
from ukctrl.core.algebra.nearest_within import PROXIMAL, Active, least_cost
from ukctrl.core.algebra.products import column_lengths, times, write_times
from ukctrl.core.algebra.room import FELT, UNKNOWN, Room
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

CLEAR = 1e-5
"""Rows whose singular values are all above this part of the longest need no decomposition."""


class Lexicographic(NamedTuple):
    """Levels and limits of inputs ``u0 + S w``; the last of ``k`` levels is the least ``|w|``."""

    S: Matrix
    u0: Vector
    X: Matrix
    """Rows of all levels per ``w``, in units of their scales; of the last ``w`` itself."""
    missing: Vector
    """What they miss at ``u0``, shape ``(m + nu,)``."""
    sizes: NDArray[np.int64]
    """Of every level: one past its last row, how many unknowns it has, and how many of them its
    cost feels, each as much as any other; shape ``(k, 3)``."""
    aims: NDArray[np.float64]
    """Unknowns per row that is missed, shape ``(k, nu, m + nu)``."""
    exact: NDArray[np.int64]
    """So many levels at least come as near as they would without bounds, shape ``(1,)``."""
    at: Vector
    """Of rows with bounds, at ``u0``."""
    room: Room
    """Rows with bounds; what is of one level has the levels as first axis."""
    stretch: Vector
    """Of the ways, shape ``(k,)``."""
    active: Active
    """Which bind in every level, the first axis."""
    work: Matrix
    """Scratch, numbers all, shape ``(8, nu + 1)``."""


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
    lex = _blank(S, u0, C, m, k)
    _scaled(lex, H, d, scale, C)
    Z, first = np.eye(nu), 0
    for level in range(k):
        last = ends[level] if level < k - 1 else m + nu
        n = Z.shape[1]
        firm, T, P, left = n, np.eye(n), np.ascontiguousarray(Z.T), Z
        if level < k - 1 and n > 0 and last > first:
            X = lex.X[first:last]
            firm, T, P, left = directions(times(X, Z), longest_of(X), rtol)
            left = times(Z, left)
        lex.sizes[level, 0], lex.sizes[level, 1], lex.sizes[level, 2] = last, n, firm
        if firm > 0:
            lex.exact[0] = level
        _keep(lex, level, first, Z, times(Z, T), P)
        Z, first = left, last
    return lex


@compiled
def _scaled(lex: Lexicographic, H: Matrix, d: Vector, scale: Vector, C: Matrix) -> None:
    """Write what is of rows alone."""
    (m, nu), u0, X = H.shape, lex.u0, lex.X
    for i in range(len(C)):
        lex.at[i] = long_dot(C[i], u0)
    column_lengths(lex.room.Ct, lex.room.sizes)
    write_times(H, lex.S, X[:m])
    for i in range(m):
        lex.missing[i] = (d[i] - dot(H[i], u0)) / scale[i]
        for c in range(nu):
            X[i, c] /= scale[i]
    for c in range(nu):
        X[m + c, c] = 1.0


@compiled
def longest_of(X: Matrix) -> float:
    """Return the length of the longest row."""
    most = 0.0
    for i in range(len(X)):
        most = max(most, squared(X, i))
    return float(np.sqrt(most))


@compiled
def _keep(lex: Lexicographic, level: int, first: int, Z: Matrix, way: Matrix, P: Matrix) -> None:
    """Write what is of a level."""
    for j in range(lex.sizes[level, 2]):
        for i in range(first, lex.sizes[level, 0]):
            lex.aims[level, j, i] = P[j, i - first]
    squares = 0.0
    for c in range(len(Z)):
        squares += squared(way, c)
        for j in range(Z.shape[1]):
            lex.room.plain[level, c, j], lex.room.way[level, c, j] = Z[c, j], way[c, j]
    lex.stretch[level] = np.sqrt(squares)


@allocating
def _blank(S: Matrix, u0: Vector, C: Matrix, m: int, k: int) -> Lexicographic:
    """Return a program without levels."""
    nu, r = len(u0), len(C)
    total, row = np.zeros((k, 1), dtype=np.int64), np.empty((k, nu + 1), dtype=np.int64)
    sign, square = np.empty((2, k, nu + 1)), np.empty((k, nu + 1, nu + 1))
    Q = np.empty((k, nu + 1, nu))
    active = Active(total, row, sign[0], sign[1], square, Q)
    ways, rows = np.empty((2, k, nu, nu)), np.empty((k, r, nu))
    Ct, of, lengths = times(C, S).T.copy(), np.empty((5, r)), np.full((k, r), UNKNOWN)
    room = Room(0, 0, Ct, of[0], of[1], of[2], of[3], of[4], ways[0], ways[1], 0.0, rows, lengths)
    X, missing, sizes = np.zeros((m + nu, nu)), np.zeros(m + nu), np.zeros((k, 3), dtype=np.int64)
    aims, exact = np.empty((k, nu, m + nu)), np.zeros(1, dtype=np.int64)
    # Zeros, for sums go over all of a row of Q: what memory held there may be no number.
    work, far = np.zeros((8, nu + 1)), np.zeros(k)
    return Lexicographic(
        S, u0, X, missing, sizes, aims, exact, np.empty(r), room, far, active, work
    )


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
    T, P, clear = np.zeros((n, n)), np.eye(m), longest * max(rtol, CLEAR)
    if m == n:
        T = inverse(Y)
        squares = 0.0
        for i in range(n):
            squares += squared(T, i)
        if squares * clear * clear < 1.0:  # a bound of the smallest singular value
            return m, T, P, T[:, :0].copy()
    elif m < n:
        factor = factor_rows(Y, FELT)
        L, Q, order = factor.L, factor.Q, factor.order
        if factor.rank == m and least_singular(factor) > clear:
            left = outside(Q)
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


@compiled
def solve_lexicographic(lex: Lexicographic, low: Vector, high: Vector, u: Vector) -> bool:
    """Write the input within bounds ``low <= C u <= high`` that serves the levels in their order.

    Returns whether there is one. Where rounding leaves a level none, it is left out.

    The first levels are taken to come as near as without bounds: their directions are not solved
    for then. Where that leaves the next level nothing, one fewer is.
    """
    w, found = lex.work[7, : len(u)], False
    while not found:
        for c in range(len(w)):
            w[c] = 0.0
        found = _solve_from(lex, lex.exact[0], low, high, w)
        if lex.exact[0] == 0:
            break
        lex.exact[0] -= 0 if found else 1
    for c in range(len(u)):
        u[c] = lex.u0[c] + dot(lex.S[c], w)
    return found


@compiled
def _solve_from(lex: Lexicographic, exact: int, low: Vector, high: Vector, w: Vector) -> bool:
    """Write the answer of all levels, the first few of which heed no bounds.

    Returns whether there is one.
    """
    nu, room, found, first, strict = len(w), lex.room, True, 0, True
    target, x, work = lex.work[5, :nu], lex.work[6, :nu], lex.work
    for level in range(len(lex.sizes)):
        last, n, firm = lex.sizes[level, 0], lex.sizes[level, 1], lex.sizes[level, 2]
        for j in range(n):
            target[j] = 0.0
        for i in range(first, last if firm > 0 else first):
            left = lex.missing[i] - long_dot(lex.X[i], w)
            if left != 0.0:
                for j in range(firm):
                    target[j] += lex.aims[level, j, i] * left
        first = last
        if firm == 0:
            continue
        if level < exact:
            _move(room.way[level], target, firm, w)
            continue
        multiplied_across(w, room.Ct, room.over)
        for i in range(len(low)):
            at = lex.at[i] + room.over[i]
            room.low[i], room.high[i] = low[i] - at, high[i] - at
        here = Room(
            n,
            firm,
            room.Ct,
            room.sizes,
            room.over,
            room.side,
            room.low,
            room.high,
            room.plain[level],
            room.way[level],
            lex.stretch[level],
            room.rows[level],
            room.lengths[level],
        )
        active = Active(
            lex.active.total[level],
            lex.active.row[level],
            lex.active.sign[level],
            lex.active.multiplier[level],
            lex.active.L[level],
            lex.active.Q[level],
        )
        if least_cost(here, target, strict, active, work, x):
            _move(room.way[level], x, n, w)
        else:
            active.total[0] = 0
            found = found and not strict
            if not found and exact > 0:
                break
        strict = False
    return found


@compiled
def _move(way: Matrix, x: Vector, n: int, w: Vector) -> None:
    """Add ``way x``."""
    for c in range(len(w)):
        w[c] += long_dot(way[c, :n], x[:n])
