"""What rows leave free, and which coordinates determine the others."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np

from ukctrl.core.algebra.decompositions import inverse, orthogonal_complement
from ukctrl.core.algebra.factorisation import (
    gather_rows,
    matvec_transposed,
    solve_upper_columns,
)
from ukctrl.core.algebra.row_space import mass_weighted_unit_columns, row_space
from ukctrl.core.arrays import Indices, Matrix
from ukctrl.core.compiled import allocating, deferred
from ukctrl.core.tie_breaking import tie_breaking_weights
from ukctrl.mechanics.dynamics import Dynamics

PRIORITY_WEIGHT = 1e6
"""Weight of velocities that are chosen before others: large beside what is between these, and small
beside what rounding leaves of one that depends on those chosen before."""


@final
class ConstraintNullSpace:
    """What rows ``A x = d`` leave free, in mass-weighted coordinates; redundant rows are normal.

    Args:
        L: Cholesky factor of the mass matrix, shape ``(n, n)``.
        A: The rows, shape ``(m, n)``.
        rtol: A singular value of the rows, of unit length, that is smaller counts as zero.
    """

    def __init__(self, L: Matrix, A: Matrix, rtol: float) -> None:
        self._L = L.copy()
        self._least, self._Y = constraint_directions(L, np.ascontiguousarray(A), float(rtol))

    @cached_property
    def independent_velocities(self) -> Indices:
        """Velocities that determine all others, as independently as possible."""
        return self.independent_velocities_with(np.zeros(0, dtype=np.intp))

    def independent_velocities_with(self, first: Indices) -> Indices:
        """Return the same, with some taken first that are independent of each other."""
        from scipy.linalg import qr

        size = np.linalg.norm(self._L, axis=1)  # the root of the mass matrix's diagonal
        size *= tie_breaking_weights(len(size))
        size[first] *= PRIORITY_WEIGHT
        _, _, order = qr((self._Y * size[:, None]).T, mode="economic", pivoting=True)
        return np.asarray(np.sort(order[: self._Y.shape[1]]), dtype=np.intp)

    def tangent(self, chosen: Indices) -> Matrix:
        """Return all velocities from the chosen ones, where the rows ask for zero."""
        N: Matrix = np.asarray(np.linalg.solve(self._Y[chosen].T, self._Y.T)).T
        N[chosen] = np.eye(len(chosen))
        return N

    def least_norm_solution(self, D: Matrix) -> Matrix:
        """Return the ``x`` of least ``x' M x`` with ``A x = d``, for every column of ``D``."""
        least: Matrix = self._least @ D
        return least

    def project_forces(self, F: Matrix) -> Matrix:
        """Return what forces do along the free directions, past the reactions."""
        free: Matrix = self._Y.T @ F
        return free

    def acceleration_projector(self) -> Matrix:
        """Return what accelerations of the free robot become under the reactions, ``(n, n)``."""
        through: Matrix = self._Y @ self.project_forces(self._L) @ self._L.T
        return through


@deferred
def constraint_directions(L: Matrix, A: Matrix, rtol: float) -> tuple[Matrix, Matrix]:
    """Return the least solutions of rows, shape ``(n, m)``, and what they leave free, ``(n, k)``.

    The first for each row of a right-hand side, of least ``x' M x``; the second as columns that
    are orthonormal as ``M`` measures them. Arguments are those of `ConstraintNullSpace`.
    """
    m, n = A.shape
    columns, right = mass_weighted_unit_columns(L, A, np.eye(m))
    space = row_space(columns.T.copy(), right, rtol)
    least = np.zeros((n, m))
    for k in range(space.rank):
        for c in range(n):
            # near the border row_space blends; here a direction counts wholly or not at all
            along = space.Q[k, c] / space.weight[k]
            for i in range(m):
                least[c, i] += along * space.y[i, k]
    free = orthogonal_complement(space.Q)
    solve_upper_columns(L, least)
    solve_upper_columns(L, free)
    return least, free


@allocating
def write_tangent(free: Matrix, chosen: Indices, N: Matrix) -> None:
    """Write all velocities from chosen ones, see `ConstraintNullSpace.tangent`."""
    n, k = free.shape
    basis = np.empty((k, k))
    gather_rows(free, chosen, basis)
    turned = inverse(basis)
    for r in range(n):
        matvec_transposed(free[r], turned, N[r])
    for i in range(k):
        for c in range(k):
            N[chosen[i], c] = 1.0 if c == i else 0.0


def independent_velocities(dynamics: Dynamics) -> Indices:
    """Return as many velocities as the passive rows leave free, that determine all others best."""
    rows, rtol = dynamics.passive.rows, dynamics.rank.passive
    return ConstraintNullSpace(dynamics.L, rows.A, rtol).independent_velocities
