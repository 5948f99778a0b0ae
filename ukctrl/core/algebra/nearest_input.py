"""The least inputs that come nearest to what is asked for, compiled, where that is sure.

`ukctrl.core.algebra.column_space` decides with care, whatever the units: here a rank counts as sure
that is the same however the columns are scaled within reason, of factors that lose no digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import (
    PivotedLQ,
    cholesky,
    dot,
    pivoted_lq,
    solve_lower,
    solve_lower_columns,
)
from ukctrl.core.algebra.sparse_products import column_norms
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating

CERTAIN_RTOL = 1e-5
"""Independent rows are surely so from this singular value on, beside the longest of them."""
DEPENDENT_RTOL = 1e-11
"""Less than this is left of rows that surely depend on others, beside the longest one."""
FORCE, FORCE_EFFECT, ACCELERATION = range(3)
"""What inputs come near to: a generalised force, what that does to the robot, an acceleration."""


class InputMap(NamedTuple):
    """What inputs do to a robot: ``M a + nle = f + B u`` gives ``a = a_free + G u``."""

    M: Matrix
    """Shape ``(n, n)``."""
    B: Matrix
    """Shape ``(n, nu)``."""
    G: Matrix
    """Shape ``(n, nu)``."""
    a_free: Vector


@allocating
def nearest_input(kind: int, robot: InputMap, target: Vector, lost: float, u: Vector) -> bool:
    """Write the least input nearest to a force or an acceleration; return whether that is sure.

    Args:
        kind: `FORCE`: ``B u`` shall be near it. `FORCE_EFFECT`: ``G u`` near its acceleration, as
        the mass
            matrix measures it. `ACCELERATION`: ``a_free + G u`` near it.
        robot: What its inputs do.
        target: The force or acceleration, shape ``(n,)``.
        lost: Directions of motors count that are longer than this, of what they do to the robot
            were it free.
        u: Receives the input.
    """
    M, B, G, a_free = robot
    n, nu = B.shape
    L, pushes, y = np.empty((n, n)), B.copy(), target.copy()
    if cholesky(M, L) > 0:
        return False
    solve_lower_columns(L, pushes)
    reached, motors = pushes, np.zeros(nu)
    column_norms(pushes, motors)
    if kind != FORCE:
        reached = np.zeros((n, nu))
        for c in range(n):
            for d in range(c, n):
                for k in range(nu):
                    reached[c, k] += L[d, c] * G[d, k]
    rank = certain_rank(reached, motors, lost)
    if kind == FORCE_EFFECT:
        solve_lower(L, y)
        return rank >= 0 and least_squares_solution(reached, rank, y, u)
    if kind == ACCELERATION:
        for c in range(n):
            y[c] -= a_free[c]
        return rank >= 0 and least_squares_solution(G, rank, y, u)
    return rank >= 0 and least_squares_solution(B, rank, y, u)


@allocating
def certain_rank(X: Matrix, units: Vector, lost: float) -> int:
    """Return how many singular values of columns in their units exceed a bound; -1 if unsure."""
    n, count = X.shape
    rows = np.zeros((count, n))
    for k in range(count):
        if units[k] > 0.0:
            for c in range(n):
                rows[k, c] = X[c, k] / units[k]
    factor = pivoted_lq(rows, max(lost, DEPENDENT_RTOL))
    # inputs that do nothing: which of them are rounding is for `column_space` to say
    if factor.rank == 0:
        return -1
    residual = 0.0
    for k in range(factor.rank, count):
        residual += dot(factor.Q[k], factor.Q[k])
    # certain from both sides: what counts is above the threshold, what is left is below
    sure = singular_value_lower_bound(factor) > lost and np.sqrt(residual) <= lost
    return factor.rank if sure else -1


@allocating
def least_squares_solution(X: Matrix, rank: int, y: Vector, x: Vector) -> bool:
    """Write the least ``x`` whose ``X x`` is nearest to ``y``; return whether that is accurate."""
    n = X.shape[0]
    rows = pivoted_lq(X, DEPENDENT_RTOL)
    if rows.rank != rank or not singular_value_lower_bound(rows) > CERTAIN_RTOL * rows.L[0, 0]:
        return False
    columns = np.zeros((rank, n))  # X = columns' Q
    for i in range(n):
        for k in range(rank):
            columns[k, rows.order[i]] = rows.L[i, k]
    turned = pivoted_lq(columns, DEPENDENT_RTOL)
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
def singular_value_lower_bound(factor: PivotedLQ) -> float:
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
