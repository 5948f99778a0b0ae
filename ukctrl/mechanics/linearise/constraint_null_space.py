"""What rows leave free, and which coordinates determine the others."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.algebra.decompositions import inverse, orthogonal_complement
from ukctrl.core.algebra.factorisation import copy_into, matvec_transposed, solve_upper_columns
from ukctrl.core.algebra.row_space import mass_weighted_unit_columns, row_space
from ukctrl.core.arrays import Indices, Matrix
from ukctrl.core.compiled import allocating, deferred
from ukctrl.core.tie_breaking import tie_breaking_weights
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise.directional_differences import (
    DifferenceTables,
    directional_differences,
)

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

    def constrained_acceleration(self, F: Matrix, D: Matrix) -> Matrix:
        """Return the accelerations ``x`` under forces ``F`` and reactions, with ``A x = D``."""
        answer: Matrix = self._Y @ self.project_forces(F) + self.least_norm_solution(D)
        return answer


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
    for i in range(k):
        copy_into(free[chosen[i]], basis[i])
    turned = inverse(basis)
    for r in range(n):
        matvec_transposed(free[r], turned, N[r])
    for i in range(k):
        for c in range(k):
            N[chosen[i], c] = 1.0 if c == i else 0.0


class DeviationMap(NamedTuple):
    """What `write_deviation_map` writes, of ``m`` rows, ``i`` positions and ``j`` velocities."""

    full: Matrix
    """All deviations ``(dq, dv)`` from those that are chosen, shape ``(2 n, i + j)``."""
    least: Matrix
    """Least solutions of the rows, shape ``(n, m)``."""
    free: Matrix
    """What they leave free, shape ``(n, j)``."""
    moved: Matrix
    """Deviations of positions alone, shape ``(2 n, i)``."""
    slopes: Matrix
    """How the rows' errors of velocity change along them, shape ``(m, i)``."""

    @staticmethod
    def zeros(n: int, m: int, i: int, j: int) -> DeviationMap:
        """Return one to write into."""
        shapes = (2 * n, i + j), (n, m), (n, j), (2 * n, i), (m, i)
        return DeviationMap(*map(np.zeros, shapes))


OTHER_FREEDOMS = -10
"""What `write_deviation_map` returns where rows leave another number of freedoms than expected."""


@allocating
def write_deviation_map(
    slip: DifferenceTables,
    L: Matrix,
    A: Matrix,
    position_rows: Indices,
    rtol: float,
    chosen: tuple[Indices, Indices],
    out: DeviationMap,
) -> int:
    """Write how all deviations follow from chosen ones, see `ukctrl.mechanics.linearise`.

    Args:
        slip: Differences of the rows' errors of velocity.
        L: Cholesky factor of the mass matrix, shape ``(n, n)``.
        A: Passive rows, shape ``(m, n)``.
        position_rows: Those that hold positions.
        rtol: As of `ConstraintNullSpace`.
        chosen: Positions and velocities that stand for all.
        out: Receives it.

    Returns:
        0, `OTHER_FREEDOMS`, or what the differences met.
    """
    (i, j), full, n = chosen, out.full, len(L)
    least, free = constraint_directions(L, A, rtol)
    of_positions = free
    if len(position_rows) < len(A):
        rows = np.empty((len(position_rows), n))
        for k in range(len(position_rows)):
            copy_into(A[position_rows[k]], rows[k])
        _, of_positions = constraint_directions(L, rows, rtol)
    if free.shape[1] != len(j) or of_positions.shape[1] != len(i):
        return OTHER_FREEDOMS
    copy_into(least, out.least)
    copy_into(free, out.free)
    N_q, N_v = np.empty((n, len(i))), np.empty((n, len(j)))
    write_tangent(of_positions, i, N_q)
    write_tangent(free, j, N_v)
    for r in range(n):
        for c in range(len(i)):
            full[r, c], full[n + r, c] = N_q[r, c], 0.0
            out.moved[r, c], out.moved[n + r, c] = N_q[r, c], 0.0
        for c in range(len(j)):
            full[r, len(i) + c], full[n + r, len(i) + c] = 0.0, N_v[r, c]
    if len(A) == 0:
        return 0
    # off the tangent in position, velocity must bend to stay within the rows
    code = directional_differences(slip, out.moved, out.slopes)
    if code < 0:
        return code
    bend = np.empty((n, len(i)))
    for r in range(n):
        matvec_transposed(least[r], out.slopes, bend[r])
    for r in range(n):
        for c in range(len(i)):
            full[n + r, c] = -bend[r, c]
            for k in range(len(j)):
                full[n + r, c] += N_v[r, k] * bend[j[k], c]
    return 0


def independent_velocities(dynamics: Dynamics) -> Indices:
    """Return as many velocities as the passive rows leave free, that determine all others best."""
    rows, rtol = dynamics.passive.rows, dynamics.rank.passive
    return ConstraintNullSpace(dynamics.L, rows.A, rtol).independent_velocities
