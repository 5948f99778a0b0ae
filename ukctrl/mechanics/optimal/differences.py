"""Second derivatives as differences of first ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ukctrl.core.arrays import Matrix, Vector

BESIDE = 1e-6
"""Step of the differences [rad or m, or their rates]."""


def bent(slope: Callable[[Vector], Vector], own: Vector, moved: Sequence[int]) -> Matrix:
    """Return the Hessian of a function that is affine in the unknowns that are not moved.

    Args:
        slope: Its gradient, shape ``(size,)`` from ``(size,)``.
        own: Where.
        moved: Unknowns in which it is not affine.
    """
    size, here = len(own), slope(own)
    bend: Matrix = np.zeros((size, size))
    for i in moved:
        there = own.copy()
        there[i] += BESIDE
        bend[i] = (slope(there) - here) / (there[i] - own[i])
    own_moved = np.array(moved, dtype=np.intp)
    rest = np.setdiff1d(np.arange(size), own_moved)
    bend[np.ix_(rest, own_moved)] = bend[np.ix_(own_moved, rest)].T
    return 0.5 * (bend + bend.T)
