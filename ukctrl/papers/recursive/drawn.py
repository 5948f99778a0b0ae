"""A general system to try the paper's equations on: full matrices, levels, redundant rows."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.papers.recursive.filter import weighted

COORDINATES = 12
SIZES = (3, 4, 2)
"""Rows of each level."""


class Drawn(NamedTuple):
    """Mass, force, and the rows of each level with their right-hand sides."""

    M: Matrix
    Q: Vector
    A: tuple[Matrix, ...]
    b: tuple[Vector, ...]

    def mass_weighted(self) -> tuple[Matrix, tuple[Matrix, ...], Vector]:
        """Return $M^{-1/2}$, the rows of each level in mass-weighted coordinates, and $a_0$."""
        root, _, a_0 = weighted(self.M, self.Q, self.A[0])
        return root, tuple(A @ root for A in self.A), a_0


@functools.cache
def system(redundant: bool = False) -> Drawn:
    """Return a system drawn once and for all.

    Args:
        redundant: Let the last row of level 2 follow from level 1, and level 3 from both.
    """
    rng = np.random.default_rng(2017)
    root = rng.standard_normal((COORDINATES, COORDINATES))
    M = root @ root.T + COORDINATES * np.eye(COORDINATES)
    A = [rng.standard_normal((m, COORDINATES)) for m in SIZES]
    if redundant:
        A[1][-1] = rng.standard_normal(SIZES[0]) @ A[0]
        A[2] = rng.standard_normal((SIZES[2], SIZES[0] + SIZES[1])) @ np.vstack(A[:2])
    a = rng.standard_normal(COORDINATES)
    return Drawn(M, rng.standard_normal(COORDINATES), tuple(A), tuple(rows @ a for rows in A))
