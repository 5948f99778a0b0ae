"""Second derivatives as differences of first ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ukctrl.core.arrays import Matrix, Vector

DIFFERENCE_STEP = 1e-6
"""Step of the differences [rad or m, or their rates]."""


def hessian_by_differences(
    slope: Callable[[Vector], Vector], point: Vector, moved: Sequence[int]
) -> Matrix:
    """Return the Hessian of a function that is affine in the unknowns that are not moved.

    Args:
        slope: Its gradient, shape ``(size,)`` from ``(size,)``.
        point: Where.
        moved: Unknowns in which it is not affine.
    """
    size, gradient = len(point), slope(point)
    bend: Matrix = np.zeros((size, size))
    for i in moved:
        probe = point.copy()
        probe[i] += DIFFERENCE_STEP
        bend[i] = (slope(probe) - gradient) / (probe[i] - point[i])
    own_moved = np.array(moved, dtype=np.intp)
    affine = np.setdiff1d(np.arange(size), own_moved)
    bend[np.ix_(affine, own_moved)] = bend[np.ix_(own_moved, affine)].T
    return 0.5 * (bend + bend.T)
