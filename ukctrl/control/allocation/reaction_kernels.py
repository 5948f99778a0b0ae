r"""Inputs that hold reactions of passive rows and leave servo rows alone, compiled.

They are sure of almost every mechanism, and say where they are not: then
`ukctrl.control.allocation.internal_force` decides with care.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.decompositions import orthogonal_complement, svd
from ukctrl.core.algebra.factorisation import (
    PivotedLQ,
    dot,
    matvec,
    normalise_rows,
    pivoted_lq,
    solve_lower,
    solve_lower_columns,
)
from ukctrl.core.algebra.input_authority import (
    AuthorityScales,
    authority_scales,
    zero_uncontrolled_rows,
)
from ukctrl.core.algebra.least_norm_input import ServoProblem, fast_input
from ukctrl.core.algebra.nearest_input import singular_value_lower_bound
from ukctrl.core.algebra.row_space import mass_weighted_rows
from ukctrl.core.algebra.sparse_products import (
    column_norms,
    matmul,
    matmul_into,
)
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating
from ukctrl.mechanics.dynamics import Dynamics

DEPENDENT_ROW_TOLERANCE = 1e-9
"""Less than this is left of a unit row beside the others that it surely depends on."""
SHARED_ROW_TOLERANCE = 1e-10
"""A row whose part in another one is no larger has none but rounding."""


class ReactionDynamics(NamedTuple):
    """A robot's answer to its input, ``M a = f + nonideal - nle + B u`` and reactions."""

    L: Matrix
    B: Matrix
    G: Matrix
    a_free: Vector
    f: Vector
    nonideal: Vector
    nle: Vector
    A_p: Matrix
    """Passive rows, shape ``(m, nv)``."""
    ranks: Indices
    """Their rank, in the first entry."""


def reaction_dynamics(dynamics: Dynamics) -> ReactionDynamics:
    """Return the answer of a robot, in arrays that it overwrites."""
    s, d = dynamics.snapshot, dynamics
    return ReactionDynamics(d.L, s.B, d.G, d.a_free, s.f, d.nonideal, s.nle, d.directions, d.ranks)


@allocating
def write_reactions(
    moving: ReactionDynamics, rtol: float, lam_free: Vector, Lam: Matrix, shared: Vector
) -> None:
    r"""Write the multipliers of all rows as an affine function of the input; see `ReactionMap`.

    With $M = L L^\top$ and $Z = A_p L^{-\top}$ the reaction obeys
    $Z^\top \lambda = L^\top a - L^{-1} (f - \mathrm{nle} + B u)$; of several solutions, where
    rows are redundant, this is the one of least norm.
    """
    L, B, G, a_free, f, nonideal, nle, A_p, ranks = moving
    (m, n), nu, rank = A_p.shape, B.shape[1], ranks[0]
    # an SVD of nothing is an error
    if m == 0 or n == 0:
        return
    Z, scale = mass_weighted_rows(L, A_p, np.ones((1, m)))
    U, sigma, Vt = svd(Z)
    inverse, could, motors = np.zeros((m, n)), np.empty(m), np.empty(nu)
    for i in range(m):
        lam_free[i] = 0.0
        # the row's part in combinations of rows that do nothing
        shared[i] = np.sqrt(dot(U[i, rank:], U[i, rank:]))
        for k in range(rank):
            for c in range(n):
                inverse[i, c] += U[i, k] / sigma[k] * Vt[k, c] * scale[0, i]
        could[i] = np.sqrt(dot(inverse[i], inverse[i]))
    push, moved, force = B.copy(), np.zeros((n, nu)), np.empty(n)
    solve_lower_columns(L, push)
    column_norms(push, motors)
    for c in range(n):
        force[c] = f[c] + nonideal[c] - nle[c]
    solve_lower(L, force)
    for c in range(n):
        force[c] = -force[c]
        for d in range(c, n):
            force[c] += L[d, c] * a_free[d]
            for k in range(nu):
                moved[c, k] += L[d, c] * G[d, k]
        for k in range(nu):
            moved[c, k] -= push[c, k]
    matmul_into(inverse, moved, Lam)
    matvec(inverse, force, lam_free)
    # a reaction that motors cannot change leaves rounding, which would be inverted
    zero_uncontrolled_rows(Lam, AuthorityScales(could, motors), rtol)


@allocating
def add_internal_force(
    moving: ReactionDynamics,
    at: Indices,
    value: Vector,
    A: Matrix,
    R: Matrix,
    rtol: float,
    u: Vector,
) -> bool:
    """Add to an input the least that gives reactions their values; see `BoundInternalForce`.

    Returns whether that is sure; else the input is as it was.
    """
    count, nu = len(at), len(u)
    lam_free, Lam = np.empty(count), np.zeros((count, nu))
    H = matmul(A, moving.G)
    zero_uncontrolled_rows(H, authority_scales(moving.L, A, moving.B), rtol)
    free = row_null_space(H, rtol)
    # not certain, or nothing is free: the careful route of `BoundInternalForce`
    if free.shape[1] == 0 or not determined_reactions(moving, at, rtol, lam_free, Lam):
        return False
    k = free.shape[1]
    gap, miss, share = np.empty(count), np.empty(count), np.zeros(k)
    for i in range(count):
        gap[i] = value[i] - lam_free[i] - dot(Lam[i], u)
    metric = np.zeros((0, 0))
    if R.shape[0] > 0:
        metric = np.zeros((k, k))
        for i in range(k):
            for j in range(k):
                for r in range(nu):
                    for c in range(nu):
                        metric[i, j] += free[r, i] * R[r, c] * free[c, j]
    norms = np.empty(k)
    column_norms(free, norms)
    demand = ServoProblem(
        Lam, gap, np.zeros(nu), free, np.eye(nu), norms, metric, np.zeros(k), rtol
    )
    if fast_input(demand, share, miss) != count:
        return False
    for c in range(nu):
        for j in range(k):
            u[c] += free[c, j] * share[j]
    return True


@allocating
def determined_reactions(
    moving: ReactionDynamics, at: Indices, rtol: float, lam_free: Vector, Lam: Matrix
) -> bool:
    """Write the multipliers of some rows as an affine function of the input.

    Returns whether they are surely determined: no other row shares them.
    """
    L, B, G, a_free, f, nonideal, nle, A_p, ranks = moving
    n, nu = B.shape
    W, inverse = mass_weighted_rows(L, A_p, np.ones((1, len(A_p))))
    factor = pivoted_lq(W, DEPENDENT_ROW_TOLERANCE)
    # two thresholds disagree: the exact route decides
    if factor.rank != ranks[0]:
        return False
    push, force, could = B.copy(), np.empty(n), np.empty(len(at))
    solve_lower_columns(L, push)
    for c in range(n):
        force[c] = f[c] + nonideal[c] - nle[c]
    solve_lower(L, force)
    for i in range(len(at)):
        index = unshared_row_index(factor, at[i])
        if index < 0:
            return False
        row = np.zeros(n)
        reaction_row(factor, index, inverse[0, at[i]], row)
        could[i], lam_free[i] = np.sqrt(dot(row, row)), 0.0
        for c in range(n):
            answer = -force[c]
            for d in range(c, n):
                answer += L[d, c] * a_free[d]
            lam_free[i] += row[c] * answer
            for k in range(nu):
                answer = -push[c, k]
                for d in range(c, n):
                    answer += L[d, c] * G[d, k]
                Lam[i, k] += row[c] * answer
    motors = np.empty(nu)
    column_norms(push, motors)
    zero_uncontrolled_rows(Lam, AuthorityScales(could, motors), rtol)
    return True


@allocating
def unshared_row_index(factor: PivotedLQ, row: int) -> int:
    """Return the place of a row among the independent ones; -1 if others share what it does."""
    L, _, order, rank = factor
    index = -1
    for k in range(rank):
        if order[k] == row:
            index = k
    weights = np.empty(rank)
    for d in range(rank, len(order)):
        for j in range(rank - 1, -1, -1):
            weights[j] = L[d, j]
            for k in range(j + 1, rank):
                weights[j] -= weights[k] * L[k, j]
            weights[j] /= L[j, j]
        # a dependent row leans on this one: its reaction is shared
        if index >= 0 and not abs(weights[index]) <= SHARED_ROW_TOLERANCE:
            return -1
    return index


@allocating
def reaction_row(factor: PivotedLQ, index: int, scale: float, row: Vector) -> None:
    """Write what a force in mass-weighted coordinates is multiplied by for one row's reaction."""
    L, Q, _, rank = factor
    weights = np.zeros(rank)
    for k in range(index, rank):  # weights L = the unit row of this place, from the diagonal on
        total = 1.0 if k == index else 0.0
        for j in range(index, k):
            total -= L[k, j] * weights[j]
        weights[k] = total / L[k, k]
    for k in range(index, rank):
        for c in range(len(row)):
            row[c] += scale * weights[k] * Q[k, c]


@allocating
def row_null_space(H: Matrix, rtol: float) -> Matrix:
    """Return orthonormal columns of all that independent rows do not feel, shape ``(nu, k)``.

    None where their independence is not sure.
    """
    m, nu = H.shape
    rows = H.copy()
    normalise_rows(rows, np.zeros(m), np.zeros(m))
    factor = pivoted_lq(rows, rtol)
    # certain only with a margin: unit rows together are at most sqrt(m) long
    if factor.rank < m or not singular_value_lower_bound(factor) > rtol * np.sqrt(m):
        return np.zeros((nu, 0))
    return orthogonal_complement(factor.Q)
