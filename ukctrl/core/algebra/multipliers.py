"""What passive rows transmit: their multipliers, and which of them are determined at all."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.column_space import column_space
from ukctrl.core.algebra.decompositions import svd
from ukctrl.core.algebra.factorisation import (
    cholesky,
    copy_into,
    dot,
    matvec,
    pivoted_lq,
    row_norm_squared,
    solve_lower,
    solve_upper,
)
from ukctrl.core.algebra.row_space import mass_weighted_rows
from ukctrl.core.algebra.sparse_products import row_gram_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating

MAX_NORM_RATIO = 1e3
"""Rows whose lengths differ by more than this factor are told apart with care."""
NULL_COMPONENT_TOL = 1e-6
"""A row shares its load when its part in a combination of rows that does nothing exceeds this."""


def multipliers(L: Matrix, A: Matrix, force: Vector, rank: int) -> Vector:
    r"""Return the multipliers of least norm with $A^\top \lambda = F$, shape ``(m,)``.

    $F$ may have a part outside the rows; it is left out. The norm is Euclidean over the rows as
    numbers in SI units.

    Args:
        L: Cholesky factor of the mass matrix, shape ``(n, n)``.
        A: Passive rows, shape ``(m, n)``.
        force: Generalised force that the rows transmit, shape ``(n,)``.
        rank: How many directions the rows constrain.
    """
    W, length = mass_weighted_unit_rows(L, A)
    pushed = np.array(force)
    solve_lower(L, pushed)
    m = len(A)
    if rank == m:  # the rows of ``W`` are independent
        scaled = np.linalg.solve(W @ W.T, W @ pushed)
        return np.asarray(scaled / length, dtype=np.float64)
    return column_space(W.T * length, length, rank=rank).solve(pushed)


@allocating
def fast_multipliers(
    L: Matrix, A: Matrix, force: Vector, nonideal: Vector, ranks: Indices, lam: Vector
) -> bool:
    """Write `multipliers` of ``force - nonideal``; return whether they are right for sure.

    They are not where rows of very different lengths share their load: what is least then hangs on
    digits that only `ukctrl.core.algebra.column_space` keeps.
    """
    (m, n), rank = A.shape, ranks[0]
    W, inverse = mass_weighted_rows(L, A, np.ones((1, m)))
    pushed = np.empty(n)
    for c in range(n):
        pushed[c] = force[c] - nonideal[c]
    solve_lower(L, pushed)
    # independent rows: normal equations, a fraction of the SVD
    S, root = np.empty((m, m)), np.empty((m, m))
    row_gram_into(W, S)
    if rank == m and cholesky(S, root) == 0:
        matvec(W, pushed, lam)
        solve_lower(root, lam)
        solve_upper(root, lam)
        for i in range(m):
            lam[i] *= inverse[0, i]
        return True
    shortest, longest = np.inf, 0.0
    for i in range(m):
        shortest, longest = min(shortest, inverse[0, i]), max(longest, inverse[0, i])
    U, sigma, Vt = svd(W.T.copy())
    idle, min_norm = np.empty((m - rank, m)), np.zeros(m)
    for i in range(m):
        for k in range(rank):
            along = 0.0
            for c in range(n):
                along += U[c, k] * pushed[c]
            min_norm[i] += Vt[k, i] * along / sigma[k] * inverse[0, i]
        for k in range(rank, m):
            idle[k - rank, i] = Vt[k, i] * inverse[0, i]
    # what does nothing is taken off: the rest is the least
    idle = pivoted_lq(idle, 0.0).Q
    copy_into(min_norm, lam)
    for k in range(m - rank):
        along = dot(idle[k], lam)
        for i in range(m):
            lam[i] -= along * idle[k, i]
    for i in range(m):
        if row_norm_squared(W, i) == 0.0:
            lam[i] = 0.0
    # the least norm of rows of very unlike lengths hangs on digits that this route does not keep
    return longest <= MAX_NORM_RATIO * shortest


def undetermined_multipliers(L: Matrix, A: Matrix, rank: int) -> NDArray[np.bool_]:
    """Return which rows share their load with others in a way that no motion tells.

    Their multipliers are not determined; only what they transmit together is.
    """
    W, _ = mass_weighted_unit_rows(L, A)
    U, _, _ = np.linalg.svd(W)
    shared: NDArray[np.bool_] = np.abs(U[:, rank:]).max(axis=1, initial=0.0) > NULL_COMPONENT_TOL
    return shared


def mass_weighted_unit_rows(L: Matrix, A: Matrix) -> tuple[Matrix, Vector]:
    """Return the rows in mass-weighted coordinates, of unit length, and what they were divided by.

    A row of zeros stays one.
    """
    lengths = np.ones((1, len(A)))
    W, scaled = mass_weighted_rows(L, np.ascontiguousarray(A), lengths)
    return W, 1.0 / scaled[0]
