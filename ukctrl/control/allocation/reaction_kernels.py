r"""Inputs that hold reactions of passive rows and leave servo rows alone, compiled.

They are sure of almost every mechanism, and say where they are not: then
`ukctrl.control.allocation.internal_force` decides with care.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import (
    RowFactor,
    dot,
    factor_rows,
    multiplied,
    solve_lower,
    solve_lower_columns,
    unit_rows,
)
from ukctrl.core.algebra.grip import Lengths, drop_lost, lengths
from ukctrl.core.algebra.least_input import Demand, quick_input
from ukctrl.core.algebra.nearest_input import least_singular, outside
from ukctrl.core.algebra.products import column_lengths, times, weighted_columns, write_times
from ukctrl.core.algebra.row_space import mass_weighted
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating
from ukctrl.mechanics.dynamics import Dynamics

DEPENDS = 1e-9
"""Less than this is left of a unit row beside the others that it surely depends on."""
APART = 1e-10
"""A row whose part in another one is no larger has none but rounding."""


class Moving(NamedTuple):
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


def moving_of(dynamics: Dynamics) -> Moving:
    """Return the answer of a robot, in arrays that it overwrites."""
    s, d = dynamics.snapshot, dynamics
    return Moving(d.L, s.B, d.G, d.a_free, s.f, d.nonideal, s.nle, d.directions, d.ranks)


@allocating
def write_reactions(
    moving: Moving, rtol: float, lam_free: Vector, Lam: Matrix, shared: Vector
) -> None:
    r"""Write the multipliers of all rows as an affine function of the input; see `ReactionAnswer`.

    With $M = L L^\top$ and $Z = A_p L^{-\top}$ the reaction obeys
    $Z^\top \lambda = L^\top a - L^{-1} (f - \mathrm{nle} + B u)$; of several solutions, where
    rows are redundant, this is the one of least norm.
    """
    L, B, G, a_free, f, nonideal, nle, A_p, ranks = moving
    (m, n), nu, rank = A_p.shape, B.shape[1], ranks[0]
    if m == 0 or n == 0:
        return
    Z, lengths = weighted_columns(L, A_p).T.copy(), np.ones(m)
    unit_rows(Z, np.zeros(m), lengths)
    U, sigma, Vt = np.linalg.svd(Z, True)
    inverse, could, motors = np.zeros((m, n)), np.empty(m), np.empty(nu)
    for i in range(m):
        length, lam_free[i] = lengths[i] if lengths[i] > 0.0 else 1.0, 0.0
        shared[i] = np.sqrt(dot(U[i, rank:], U[i, rank:]))
        for k in range(rank):
            for c in range(n):
                inverse[i, c] += U[i, k] / sigma[k] * Vt[k, c] / length
        could[i] = np.sqrt(dot(inverse[i], inverse[i]))
    push, moved, force = B.copy(), np.zeros((n, nu)), np.empty(n)
    solve_lower_columns(L, push)
    column_lengths(push, motors)
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
    write_times(inverse, moved, Lam)
    multiplied(inverse, force, lam_free)
    drop_lost(Lam, Lengths(could, motors), rtol)


@allocating
def squeezed(
    moving: Moving, at: Indices, value: Vector, A: Matrix, R: Matrix, rtol: float, u: Vector
) -> bool:
    """Add to an input the least that gives reactions their values; see `BoundInternalForce`.

    Returns whether that is sure; else the input is as it was.
    """
    wanted, nu = len(at), len(u)
    lam_free, Lam = np.empty(wanted), np.zeros((wanted, nu))
    H = times(A, moving.G)
    drop_lost(H, lengths(moving.L, A, moving.B), rtol)
    free = left_free(H, rtol)
    if free.shape[1] == 0 or not held_reactions(moving, at, rtol, lam_free, Lam):
        return False
    k = free.shape[1]
    gap, miss, share = np.empty(wanted), np.empty(wanted), np.zeros(k)
    for i in range(wanted):
        gap[i] = value[i] - lam_free[i] - dot(Lam[i], u)
    metric = np.zeros((0, 0))
    if R.shape[0] > 0:
        metric = np.zeros((k, k))
        for i in range(k):
            for j in range(k):
                for r in range(nu):
                    for c in range(nu):
                        metric[i, j] += free[r, i] * R[r, c] * free[c, j]
    each = np.empty(k)
    column_lengths(free, each)
    demand = Demand(Lam, gap, np.zeros(nu), free, np.eye(nu), each, metric, np.zeros(k), rtol)
    if quick_input(demand, share, miss) != wanted:
        return False
    for c in range(nu):
        for j in range(k):
            u[c] += free[c, j] * share[j]
    return True


@allocating
def held_reactions(moving: Moving, at: Indices, rtol: float, lam_free: Vector, Lam: Matrix) -> bool:
    """Write the multipliers of some rows as an affine function of the input.

    Returns whether they are surely determined: no other row shares them.
    """
    L, B, G, a_free, f, nonideal, nle, A_p, ranks = moving
    n, nu = B.shape
    W, inverse = mass_weighted(L, A_p, np.ones((1, len(A_p))))
    factor = factor_rows(W, DEPENDS)
    if factor.rank != ranks[0]:
        return False
    push, force, could = B.copy(), np.empty(n), np.empty(len(at))
    solve_lower_columns(L, push)
    for c in range(n):
        force[c] = f[c] + nonideal[c] - nle[c]
    solve_lower(L, force)
    for i in range(len(at)):
        place = sole_place(factor, at[i])
        if place < 0:
            return False
        row = np.zeros(n)
        pulled_back(factor, place, inverse[0, at[i]], row)
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
    column_lengths(push, motors)
    drop_lost(Lam, Lengths(could, motors), rtol)
    return True


@allocating
def sole_place(factor: RowFactor, row: int) -> int:
    """Return the place of a row among the independent ones; -1 if others share what it does."""
    L, _, order, rank = factor
    place = -1
    for k in range(rank):
        if order[k] == row:
            place = k
    part = np.empty(rank)
    for d in range(rank, len(order)):
        for j in range(rank - 1, -1, -1):
            part[j] = L[d, j]
            for k in range(j + 1, rank):
                part[j] -= part[k] * L[k, j]
            part[j] /= L[j, j]
        if place >= 0 and not abs(part[place]) <= APART:
            return -1
    return place


@allocating
def pulled_back(factor: RowFactor, place: int, scale: float, row: Vector) -> None:
    """Write what a force in mass-weighted coordinates is multiplied by for one row's reaction."""
    L, Q, _, rank = factor
    part = np.zeros(rank)
    for k in range(place, rank):  # part L = the unit row of this place, from the diagonal on
        total = 1.0 if k == place else 0.0
        for j in range(place, k):
            total -= L[k, j] * part[j]
        part[k] = total / L[k, k]
    for k in range(place, rank):
        for c in range(len(row)):
            row[c] += scale * part[k] * Q[k, c]


@allocating
def left_free(H: Matrix, rtol: float) -> Matrix:
    """Return orthonormal columns of all that independent rows do not feel, shape ``(nu, k)``.

    None where their independence is not sure.
    """
    m, nu = H.shape
    rows = H.copy()
    unit_rows(rows, np.zeros(m), np.zeros(m))
    factor = factor_rows(rows, rtol)
    if factor.rank < m or not least_singular(factor) > rtol * np.sqrt(m):
        return np.zeros((nu, 0))
    return outside(factor.Q)
