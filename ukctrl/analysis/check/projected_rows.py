"""Servo rows along what the passive rows leave free, in mass-weighted velocities."""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.row_space import mass_weighted_rows
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.dynamics import Dynamics

ZERO_ROW_RTOL = 1e-9
"""A row shorter than this fraction of what it would be without projection is none."""


def project_rows(dynamics: Dynamics, A: Matrix) -> tuple[Matrix, Vector, Vector]:
    """Return rows in mass-weighted velocities along what the passive rows leave free, what their
    lengths would be without these, and the margins of the passive rows' rank.
    """
    from scipy.linalg import solve_triangular

    whole = solve_triangular(dynamics.L, A.T, lower=True, check_finite=False).T
    lengths, margins = np.linalg.norm(whole, axis=1), np.zeros(2)
    if len(dynamics.passive):
        basis, margins = _passive_basis(dynamics)
        whole = whole - (whole @ basis.T) @ basis
    return whole, lengths, margins


def _passive_basis(dynamics: Dynamics) -> tuple[Matrix, Vector]:
    """Return an orthonormal basis of what passive rows hold, as rows, and their margins.

    The smallest singular value that counts, and the largest that does not.
    """
    rows, rank = dynamics.passive.rows.A, dynamics.passive_rank
    weighted, _ = mass_weighted_rows(dynamics.L, rows, np.zeros((1, len(rows))))
    _, sigma, Vt = np.linalg.svd(weighted, full_matrices=False)
    return Vt[:rank], rank_gap(sigma, rank)


def rank_gap(sigma: Matrix, rank: int) -> Matrix:
    """Return the last singular value that counts and the first that does not, shape ``(..., 2)``;
    zero where there is none.
    """
    none = np.zeros((*sigma.shape[:-1], 1))
    return np.concatenate([none, sigma, none], axis=-1)[..., rank : rank + 2]
