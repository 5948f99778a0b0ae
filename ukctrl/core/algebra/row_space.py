"""What constraint rows span, smoothly where they lose rank; compiled.

The rows are of unit length and mass-weighted, so that neither the units of the rows nor those of
the coordinates decide what counts as dependent.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.decompositions import svd
from ukctrl.core.algebra.factorisation import (
    NEGLIGIBLE_RTOL,
    PivotedLQ,
    dot,
    pivoted_lq,
    row_norm_squared,
    solve_lower,
    solve_upper,
    zero_rounding_lengths,
)
from ukctrl.core.algebra.sparse_products import (
    column_norms,
    mass_weighted_columns_into,
    transpose_into,
)
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, deferred

BLEND_FACTOR = 10.0
"""A direction counts fully from this multiple of the rank threshold on, and below it in part."""
CLEARANCE_FACTOR = 4.0
"""Gram-Schmidt decides the rank alone where singular values are this factor off the border."""
ITERATION_RTOL, STEPS = 1e-3, 50
"""An iteration ends where a step changes so small a share, or after so many."""


class RowSpace(NamedTuple):
    """The directions that rows constrain, and the smallest ``x`` along them with ``H x = d``."""

    Q: Matrix
    """Orthonormal rows, shape ``(k, n)``."""
    weight: Vector
    """How far each direction counts as constrained, shape ``(k,)``: 1 but near a singularity."""
    y: Matrix
    """The least-squares solution along each direction, weight included, for each right-hand
    side, shape ``(c, k)``."""
    rank: int
    """Directions that count, if only in part."""
    smallest_kept: float
    """Smallest singular value that counts; 0 without any."""
    largest_dropped: float
    """Largest singular value that does not count; 0 without any."""


@allocating
def row_space(H: Matrix, D: Matrix, rtol: float) -> RowSpace:
    r"""Return what rows of unit length constrain, smoothly where they lose rank.

    ``D`` holds right-hand sides of ``H x = d`` as its rows, shape ``(c, m)``.

    A singular value below ``rtol`` counts as zero and one above ``10 rtol`` fully. Between the
    two its direction counts by a weight that rises smoothly from 0 to 1. A mechanism that passes
    a singular position thus has a smooth acceleration; a sharp cut makes an integrator crawl
    along its edge. Redundant rows are met in the sense of least squares, and not by a choice
    among them that changes from one state to the next.

    Far from the border, Gram-Schmidt and inverse iteration suffice; near it, singular values
    decide, because pivots are reliable only to a factor of a few.
    """
    m, n = H.shape
    factor = pivoted_lq(H, rtol)
    rank = factor.rank
    dropped = 0.0
    for i in range(rank, m):
        dropped += row_norm_squared(factor.Q, i)
    dropped = np.sqrt(dropped)
    if rank == 0:
        none = np.zeros((D.shape[0], 0))
        return RowSpace(np.zeros((0, n)), np.zeros(0), none, 0, 0.0, dropped)
    T, y = _least_squares(factor, D)
    sigma_min = _smallest_singular_value(T)
    clear = (
        sigma_min >= CLEARANCE_FACTOR * BLEND_FACTOR * rtol and CLEARANCE_FACTOR * dropped <= rtol
    )
    # four times off both borders the smooth weight is 1 or 0 (decision 0020): no SVD
    if clear or not np.isfinite(sigma_min + dropped):
        return RowSpace(factor.Q[:rank].copy(), np.ones(rank), y, rank, sigma_min, dropped)
    U, sigma, Vt = svd(H)
    count = sigma.shape[0]
    weight, y = np.zeros(count), np.zeros((D.shape[0], count))
    rank, sigma_min, dropped = 0, 0.0, 0.0
    for k in range(count):
        weight[k] = singular_value_weight(sigma[k], rtol)
        if weight[k] <= 0.0:
            dropped = max(dropped, sigma[k])
            continue
        rank += 1
        sigma_min = sigma[k]
        for j in range(D.shape[0]):
            total = 0.0
            for i in range(m):
                total += U[i, k] * D[j, i]
            y[j, k] = weight[k] * total / sigma[k]
    directions = np.ascontiguousarray(Vt[:rank])
    return RowSpace(directions, weight[:rank], y[:, :rank].copy(), rank, sigma_min, dropped)


@compiled
def add_solution(space: RowSpace, x: Vector, j: int) -> None:
    """Add the solution for one right-hand side to ``x``."""
    for i in range(space.rank):
        for c in range(x.shape[0]):
            x[c] += space.y[j, i] * space.Q[i, c]


@compiled
def singular_value_weight(sigma: float, rtol: float) -> float:
    """Return the weight of a singular value: 0 to ``rtol``, 1 from ``10 rtol``, smooth between."""
    x = (sigma / rtol - 1.0) / (BLEND_FACTOR - 1.0)
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    return x * x * x * (10.0 - 15.0 * x + 6.0 * x * x)


@allocating
def _least_squares(factor: PivotedLQ, D: Matrix) -> tuple[Matrix, Matrix]:
    r"""Return a lower ``T`` with the singular values of ``L``, and least-squares ``L y = d``.

    Without redundant rows ``T`` is ``L`` itself, which may have columns without entries. Else
    ``L = P' T'`` with orthonormal rows in ``P``, by Gram-Schmidt with reorthogonalisation.

    Redundant rows that have drifted apart by some $\delta$ span slightly different directions,
    depending on which of them were picked. Leaning ``Q`` towards what is left of the others,
    $Q + T^{-\top} P E$, makes it the dominant row space to order $\delta^2$, whatever the pick.
    """
    L, Q, order, rank = factor
    m = L.shape[0]
    y = np.zeros((D.shape[0], rank))
    if m == rank:
        for j in range(D.shape[0]):
            for i in range(rank):
                y[j, i] = D[j, order[i]]
            solve_lower(L, y[j])
        return L, y
    T = np.zeros((rank, rank))
    P = L[:, :rank].T.copy()
    for k in range(rank):
        # the second time takes what rounding left of the first
        for _ in range(2):
            for j in range(k):
                along = 0.0
                for i in range(m):
                    along += P[j, i] * P[k, i]
                T[k, j] += along
                for i in range(m):
                    P[k, i] -= along * P[j, i]
        T[k, k] = np.sqrt(row_norm_squared(P, k))
        for i in range(m):
            P[k, i] /= T[k, k]
    for j in range(D.shape[0]):
        for k in range(rank):
            for i in range(m):
                y[j, k] += P[k, i] * D[j, order[i]]
        solve_upper(T, y[j])
    for i in range(rank, m):
        lean = P[:, i].copy()
        solve_upper(T, lean)
        for k in range(rank):
            for c in range(Q.shape[1]):
                Q[k, c] += lean[k] * Q[i, c]
    return T, y


@allocating
def _smallest_singular_value(T: Matrix) -> float:
    """Return an estimate of the smallest singular value of a lower triangle, from above.

    Inverse iteration until it stays: within 1.2 % for 999 of 1,000 random rows. The start is
    ``T^-1 e`` with signs ``e`` that let it grow (Cline, Moler, Stewart and Wilkinson 1979):
    whichever rows rounding has picked among equal ones, it leans on the direction looked for.
    """
    n = T.shape[0]
    x = np.empty(n)
    for i in range(n):
        total = 0.0
        for j in range(i):
            total += T[i, j] * x[j]
        x[i] = ((-1.0 if total > 0.0 else 1.0) - total) / T[i, i]
    solve_upper(T, x)
    value = 0.0
    for _ in range(STEPS):
        old_value, length = value, np.sqrt(dot(x, x))
        for i in range(n):
            x[i] /= length
        solve_lower(T, x)
        solve_upper(T, x)
        value = 1.0 / np.sqrt(np.sqrt(dot(x, x)))
        if not abs(value - old_value) > ITERATION_RTOL * value:  # nor where it is no number
            break
    return value


@compiled
def remove_constrained(space: RowSpace, x: Vector) -> None:
    """Overwrite ``x`` with its part outside the constrained directions, each by its weight."""
    for i in range(space.rank):
        along = space.weight[i] * dot(space.Q[i], x)
        for c in range(x.shape[0]):
            x[c] -= along * space.Q[i, c]


@allocating
def remove_constrained_columns(space: RowSpace, X: Matrix) -> None:
    """Do to every column of ``X`` what `remove_constrained` does, to the last bit."""
    n, count = X.shape
    dots = np.empty(count)
    for i in range(space.rank):
        for c in range(count):
            dots[c] = 0.0
        for r in range(n):
            entry = space.Q[i, r]
            for c in range(count):
                dots[c] += entry * X[r, c]
        for c in range(count):
            dots[c] *= space.weight[i]
        for r in range(n):
            entry = space.Q[i, r]
            for c in range(count):
                X[r, c] -= dots[c] * entry


@compiled
def zero_rounding_columns(lengths: Vector, X: Matrix) -> None:
    """Set the columns of ``X`` to zero of which only rounding is left, beside what they were."""
    for k in range(X.shape[1]):
        remainder, whole = 0.0, lengths[k] * lengths[k]
        for r in range(X.shape[0]):
            remainder += X[r, k] * X[r, k]
        if remainder <= NEGLIGIBLE_RTOL * NEGLIGIBLE_RTOL * whole:
            for r in range(X.shape[0]):
                X[r, k] = 0.0


@deferred
def mass_weighted_rows(L: Matrix, A: Matrix, D: Matrix) -> tuple[Matrix, Matrix]:
    """Return the rows ``A L^-T`` scaled to unit length, and right-hand sides with them.

    Rows of `zero_rounding_lengths` become zero.
    """
    columns, right = mass_weighted_unit_columns(L, A, D)
    rows = np.empty(A.shape)
    transpose_into(columns, rows)
    return rows, right


@allocating
def mass_weighted_unit_columns(L: Matrix, A: Matrix, D: Matrix) -> tuple[Matrix, Matrix]:
    """Return the rows of `mass_weighted_rows` as columns, and the right-hand sides."""
    columns, right = np.empty((A.shape[1], A.shape[0])), D.copy()
    mass_weighted_unit_columns_into(L, A, columns, right)
    return columns, right


@allocating
def mass_weighted_unit_columns_into(L: Matrix, A: Matrix, columns: Matrix, right: Matrix) -> None:
    """Write the columns, and scale the right-hand sides."""
    mass_weighted_columns_into(L, A, columns)
    n, m = columns.shape
    lengths = np.empty(m)
    column_norms(columns, lengths)
    zero_rounding_lengths(lengths)
    for i in range(m):
        for j in range(right.shape[0] if lengths[i] > 0.0 else 0):
            right[j, i] /= lengths[i]
    for c in range(n):
        for i in range(m):
            columns[c, i] = 0.0 if lengths[i] == 0.0 else columns[c, i] / lengths[i]
