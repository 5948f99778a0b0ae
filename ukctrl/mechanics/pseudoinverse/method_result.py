"""What a method hands back, and the rounding that bounds what it can tell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector

EPS = float(np.finfo(np.float64).eps)


class Found(NamedTuple):
    """A pseudoinverse and where the rank was cut."""

    X: Matrix
    """The pseudoinverse, shape ``(n, m)``."""
    rank: int
    kept: float
    """What is left of the last direction that counts, relative to the first."""
    dropped: float
    """The same of the largest that does not; NaN where the method does not learn it."""
    iterations: int = 1
    """Passes over the matrix; more than one for an iteration only."""


def cut(sizes: Vector, rtol: float) -> tuple[int, float, float]:
    """Return the rank, the smallest size kept and the largest dropped, of falling sizes."""
    small = np.flatnonzero(sizes <= rtol * sizes[0])
    rank = int(small[0]) if small.size else len(sizes)
    kept = float(sizes[rank - 1] / sizes[0]) if rank else 0.0
    dropped = float(sizes[rank:].max() / sizes[0]) if 0 < rank < len(sizes) else 0.0
    return rank, kept, dropped
