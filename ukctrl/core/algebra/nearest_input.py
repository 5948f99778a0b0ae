"""The least inputs that come nearest to what is asked for, compiled, where that is sure.

`ukctrl.core.algebra.span` decides with care, whatever the units: here a rank counts as sure that
is the same however the columns are scaled within reason, of factors that lose no digits.
"""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.factorisation import (
    RowFactor,
    cholesky,
    dot,
    factor_rows,
    long_dot,
    solve_lower,
    solve_lower_columns,
)
from ukctrl.core.algebra.products import column_lengths
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

SURE = 1e-5
"""Independent rows are surely so from this singular value on, beside the longest of them."""
REPEATED = 1e-11
"""Less than this is left of rows that surely depend on others, beside the longest one."""
FORCE, PUSH, ACCELERATION = range(3)
"""What inputs come near to: a generalised force, what that does to the robot, an acceleration."""


@allocating
def nearest_input(
    kind: int, M: Matrix, B: Matrix, G: Matrix, rest: Vector, wanted: Vector, lost: float, u: Vector
) -> bool:
    """Write the least input nearest to a force or an acceleration; return whether that is sure.

    Args:
        kind: `FORCE`: ``B u`` shall be near it. `PUSH`: ``G u`` near its acceleration, as the mass
            matrix measures it. `ACCELERATION`: ``rest + G u`` near it.
        M: Mass matrix, shape ``(n, n)``.
        B: Actuation, shape ``(n, nu)``.
        G: Acceleration per unit input, shape ``(n, nu)``.
        rest: Acceleration at zero input, shape ``(n,)``.
        wanted: The force or acceleration, shape ``(n,)``.
        lost: Directions of motors count that are longer than this, of what they do to the robot
            were it free.
        u: Receives the input.
    """
    n, nu = B.shape
    L, pushes, y = np.empty((n, n)), B.copy(), wanted.copy()
    if cholesky(M, L) > 0:
        return False
    solve_lower_columns(L, pushes)
    reached, motors = pushes, np.zeros(nu)
    column_lengths(pushes, motors)
    if kind != FORCE:
        reached = np.zeros((n, nu))
        for c in range(n):
            for d in range(c, n):
                for k in range(nu):
                    reached[c, k] += L[d, c] * G[d, k]
    rank = sure_rank(reached, motors, lost)
    if kind == PUSH:
        solve_lower(L, y)
        return rank >= 0 and nearest(reached, rank, y, u)
    if kind == ACCELERATION:
        for c in range(n):
            y[c] -= rest[c]
        return rank >= 0 and nearest(G, rank, y, u)
    return rank >= 0 and nearest(B, rank, y, u)


@allocating
def sure_rank(X: Matrix, units: Vector, lost: float) -> int:
    """Return how many singular values of columns in their units exceed a bound; -1 if unsure."""
    n, count = X.shape
    rows = np.zeros((count, n))
    for k in range(count):
        if units[k] > 0.0:
            for c in range(n):
                rows[k, c] = X[c, k] / units[k]
    factor = factor_rows(rows, max(lost, REPEATED))
    if factor.rank == 0:
        return -1
    left = 0.0
    for k in range(factor.rank, count):
        left += dot(factor.Q[k], factor.Q[k])
    sure = least_singular(factor) > lost and np.sqrt(left) <= lost
    return factor.rank if sure else -1


@allocating
def nearest(X: Matrix, rank: int, y: Vector, x: Vector) -> bool:
    """Write the least ``x`` whose ``X x`` is nearest to ``y``; return whether that is accurate."""
    n = X.shape[0]
    rows = factor_rows(X, REPEATED)
    if rows.rank != rank or not least_singular(rows) > SURE * rows.L[0, 0]:
        return False
    columns = np.zeros((rank, n))  # X = columns' Q
    for i in range(n):
        for k in range(rank):
            columns[k, rows.order[i]] = rows.L[i, k]
    turned = factor_rows(columns, REPEATED)
    if turned.rank != rank:
        return False
    z = np.empty(rank)
    for k in range(rank - 1, -1, -1):
        z[k] = dot(turned.Q[k], y)
        for i in range(k + 1, rank):
            z[k] -= turned.L[i, k] * z[i]
        z[k] /= turned.L[k, k]
    for c in range(len(x)):
        x[c] = 0.0
    for k in range(rank):
        for c in range(len(x)):
            x[c] += z[k] * rows.Q[turned.order[k], c]
    return True


@allocating
def least_singular(factor: RowFactor) -> float:
    """Return a lower bound of the smallest singular value of the independent rows."""
    L, _, _, rank = factor
    total, column = 0.0, np.empty(rank)
    for c in range(rank):
        for i in range(c, rank):
            entry = 1.0 if i == c else 0.0
            for k in range(c, i):
                entry -= L[i, k] * column[k]
            column[i] = entry / L[i, i]
            total += column[i] * column[i]
    return float(1.0 / np.sqrt(total)) if total > 0.0 else 1.0


@allocating
def outside(Q: Matrix) -> Matrix:
    """Return orthonormal columns of all that orthonormal rows do not span, shape ``(n, n - m)``.

    By Householder's reflections, which take the rows to the first axes, and the other axes back.
    """
    m, n = Q.shape
    free = np.zeros((n - m, n))
    _reflected(Q.copy(), free, np.empty(m))
    return free.T.copy()


@compiled
def _reflected(V: Matrix, free: Matrix, size: Vector) -> None:
    """Write as rows what `outside` returns, with orthonormal rows ``V``, which are overwritten."""
    m = len(V)
    for k in range(m):
        V[k, k] += np.copysign(np.sqrt(dot(V[k, k:], V[k, k:])), V[k, k])
        size[k] = dot(V[k, k:], V[k, k:])
        for i in range(k + 1, m):
            reflect(V[k, k:], size[k], V[i, k:])
    for j in range(len(free)):
        free[j, m + j] = 1.0
        for k in range(m - 1, -1, -1):
            reflect(V[k, k:], size[k], free[j, k:])


@compiled
def reflect(v: Vector, size: float, x: Vector) -> None:
    """Overwrite ``x`` with its mirror image, across ``v`` of the squared length ``size``."""
    along = 2.0 * long_dot(v, x) / size
    for c in range(len(x)):
        x[c] -= along * v[c]


@allocating
def inverse(X: Matrix) -> Matrix:
    """Return the inverse of a square matrix; of a singular one entries that are no numbers.

    Gauss-Jordan elimination in place, the largest entry of a column first.
    """
    n, Y, Z, order = len(X), X.copy(), np.empty(X.shape), np.arange(len(X))
    _eliminate(Y, order, np.empty(n))
    for k in range(n):
        for i in range(n):
            Z[i, order[k]] = Y[i, k]
    return Z


@compiled
def _eliminate(Y: Matrix, order: Indices, factors: Vector) -> None:
    """Overwrite a matrix with the inverse but for the order of its columns, which is written."""
    n = len(Y)
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(Y[i, k]) > abs(Y[pivot, k]):
                pivot = i
        order[k], order[pivot] = order[pivot], order[k]
        for c in range(n):
            Y[k, c], Y[pivot, c] = Y[pivot, c], Y[k, c]
        scale, Y[k, k], row = 1.0 / Y[k, k], 1.0, Y[k]
        for c in range(n):
            row[c] *= scale
        for i in range(n):
            factors[i], Y[i, k] = (Y[i, k], 0.0) if i != k else (0.0, Y[i, k])
        for i in range(0, n - 3, 4):  # four rows at a time
            f, g, h, e = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
            p, q, r, s = Y[i], Y[i + 1], Y[i + 2], Y[i + 3]
            for c in range(n):
                p[c], q[c] = p[c] - f * row[c], q[c] - g * row[c]
                r[c], s[c] = r[c] - h * row[c], s[c] - e * row[c]
        for i in range(n - n % 4, n):
            p, f = Y[i], factors[i]
            for c in range(n):
                p[c] -= f * row[c]
