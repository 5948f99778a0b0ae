"""What rows leave free, and which coordinates determine the others."""

from __future__ import annotations

from functools import cached_property
from typing import final

import numpy as np

from ukctrl.core.algebra.row_space import mass_weighted
from ukctrl.core.arrays import Indices, Matrix
from ukctrl.core.extremes import favouring_first
from ukctrl.mechanics.dynamics import Dynamics


@final
class FreeDirections:
    """What rows ``A x = d`` leave free, in mass-weighted coordinates; redundant rows are normal.

    Args:
        L: Cholesky factor of the mass matrix, shape ``(n, n)``.
        A: The rows, shape ``(m, n)``.
        rtol: A singular value of the rows, of unit length, that is smaller counts as zero.
    """

    def __init__(self, L: Matrix, A: Matrix, rtol: float) -> None:
        from scipy.linalg import solve_triangular

        weighted, lengths = mass_weighted(L, A, np.ones((1, len(A))))
        U, sigma, Vt = np.linalg.svd(weighted)
        rank = int(np.count_nonzero(sigma > rtol))
        self._L = L.copy()
        self._backwards = (Vt[:rank].T / sigma[:rank]) @ (U[:, :rank].T * lengths[0])
        self._Y = solve_triangular(L, Vt[rank:].T, lower=True, trans="T")

    @cached_property
    def chosen(self) -> Indices:
        """Velocities that determine all others, as independently as possible."""
        from scipy.linalg import qr

        size = np.linalg.norm(self._L, axis=1)  # the root of the mass matrix's diagonal
        size *= favouring_first(len(size))
        _, _, order = qr((self._Y * size[:, None]).T, mode="economic", pivoting=True)
        return np.asarray(np.sort(order[: self._Y.shape[1]]), dtype=np.intp)

    def tangent(self, chosen: Indices) -> Matrix:
        """Return all velocities from the chosen ones, where the rows ask for zero."""
        N: Matrix = np.linalg.solve(self._Y[chosen].T, self._Y.T).T
        N[chosen] = np.eye(len(chosen))
        return N

    def least(self, D: Matrix) -> Matrix:
        """Return the ``x`` of least ``x' M x`` with ``A x = d``, for every column of ``D``."""
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self._L, self._backwards @ D, lower=True, trans="T"))

    def pushed(self, F: Matrix) -> Matrix:
        """Return what forces do along the free directions, past the reactions."""
        free: Matrix = self._Y.T @ F
        return free

    def answer(self, F: Matrix, D: Matrix) -> Matrix:
        """Return the accelerations ``x`` under forces ``F`` and reactions, with ``A x = D``."""
        answer: Matrix = self._Y @ self.pushed(F) + self.least(D)
        return answer


def free_velocities(dynamics: Dynamics) -> Indices:
    """Return as many velocities as the passive rows leave free, that determine all others best."""
    rows, rtol = dynamics.passive.rows, dynamics.rank.passive
    return FreeDirections(dynamics.L, rows.A, rtol).chosen
