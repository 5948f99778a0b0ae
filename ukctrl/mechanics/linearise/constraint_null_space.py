"""What rows leave free, and which coordinates determine the others."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np

from ukctrl.core.algebra.row_space import mass_weighted_rows
from ukctrl.core.arrays import Indices, Matrix
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
        weighted, lengths = mass_weighted_rows(L, A, np.ones((1, len(A))))
        self._L = L.copy()
        # QR is several times faster, where a bound proves that the rows are independent
        back, free = _null_space_by_qr(weighted, rtol) or _null_space_by_svd(weighted, rtol)
        self._backwards, self._Y = back * lengths[0], _from_mass_weighted(self._L, free)

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
        return _from_mass_weighted(self._L, self._backwards @ D)

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


def _null_space_by_qr(W: Matrix, rtol: float) -> tuple[Matrix, Matrix] | None:
    """Return the pseudoinverse of rows and a basis of what they leave free, both by QR.

    None where it does not prove that all singular values count: the smallest is at least one over
    the norm of the triangle's inverse.
    """
    from scipy.linalg.lapack import dtrtri

    m, n = W.shape
    if not 0 < m < n:
        return None
    Q, R = np.linalg.qr(W.T, mode="complete")
    inverse, code = dtrtri(R[:m])
    # the inverse's norm bounds the smallest singular value: above rtol, so full rank
    if code or not np.linalg.norm(inverse) * rtol < 1.0:
        return None
    return Q[:, :m] @ inverse.T, Q[:, m:]


def _null_space_by_svd(W: Matrix, rtol: float) -> tuple[Matrix, Matrix]:
    """Return the same by singular values, of which those up to ``rtol`` count as zero."""
    U, sigma, Vt = np.linalg.svd(W)
    rank = int(np.count_nonzero(sigma > rtol))
    return (Vt[:rank].T / sigma[:rank]) @ U[:, :rank].T, Vt[rank:].T


def _from_mass_weighted(L: Matrix, X: Matrix) -> Matrix:
    """Return ``X`` of mass-weighted coordinates in the robot's own, ``L'^-1 X``."""
    from scipy.linalg.lapack import dtrtrs

    return np.asarray(dtrtrs(L, X, lower=1, trans=1)[0])


def independent_velocities(dynamics: Dynamics) -> Indices:
    """Return as many velocities as the passive rows leave free, that determine all others best."""
    rows, rtol = dynamics.passive.rows, dynamics.rank.passive
    return ConstraintNullSpace(dynamics.L, rows.A, rtol).independent_velocities
