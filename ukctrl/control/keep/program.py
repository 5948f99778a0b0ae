"""What gives way where no input keeps everything, and which rows contradict each other.

Rows to keep are ``C u >= least``. They give way level by level, by the least squares of what they
miss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.allocation.within_limits import Box, nearest, stacked
from ukctrl.core.algebra.factorisation import dot
from ukctrl.core.algebra.lexicographic import lexicographic, solve_lexicographic
from ukctrl.core.algebra.room import FELT
from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

ROOM = 1e-9
"""How much more than needed a row gives way, of its size, so that rounding leaves an input."""


class Yielding(NamedTuple):
    """In which order rows give way where no input obeys all of them."""

    order: Indices
    """Their numbers, level by level, the level that gives way last first, shape ``(k,)``."""
    ends: NDArray[np.int64]
    """One past the last of every level."""
    firm: Flags
    """Which must not, shape ``(k,)``."""


@compiled
def terms(x: Vector, y: Vector) -> float:
    """Return the sum of the terms of ``x' y``, each without its sign."""
    even, odd, n = 0.0, 0.0, len(x)
    for i in range(0, n - 1, 2):
        even += abs(x[i] * y[i])
        odd += abs(x[i + 1] * y[i + 1])
    return even + odd + (abs(x[n - 1] * y[n - 1]) if n % 2 else 0.0)


@allocating
def given_way(
    low: Vector,
    high: Vector,
    C: Matrix,
    least: Vector,
    yielding: Yielding,
    reduced: Vector,
    missed: Vector,
) -> Vector:
    """Write bounds ``C u >= reduced`` that some input obeys, and how much less they are; return it.

    What a row misses is one more unknown, which a lexicographic program makes least.

    Args:
        low: Lowest inputs.
        high: Highest inputs, such that there are some.
        C: Rows to keep, shape ``(k, nu)``.
        least: Their bounds, shape ``(k,)``.
        yielding: In which order they give way.
        reduced: Receives the bounds.
        missed: Receives zeros where they are the same but for rounding.
    """
    k, nu = C.shape
    n = nu + k
    every, miss, bounds = np.eye(n), np.zeros((k, n)), np.full((2, n), np.inf)
    for c in range(nu):
        bounds[0, c], bounds[1, c] = low[c], high[c]
    for i in range(k):
        bounds[0, nu + i], miss[i, nu + yielding.order[i]] = least[i], 1.0
        for c in range(nu):
            every[nu + i, c] = C[i, c]
    levels = miss, np.zeros(k), yielding.ends, np.ones(k), np.eye(n), np.zeros(n)
    x = np.zeros(n)
    solve_lexicographic(lexicographic(*levels, every, FELT), bounds[0], bounds[1], x)
    u = x[:nu]
    for c in range(nu):
        u[c] = min(max(u[c], low[c]), high[c])
    for i in range(k):
        at = dot(C[i], u)
        less = max(least[i] - at, 0.0)
        size = ROOM * (abs(least[i]) + terms(C[i], u) + 1.0)
        missed[i] = less if less > size else 0.0
        reduced[i] = min(least[i] - less - size, at)
    return u


def is_empty(box: Box) -> bool:
    """Return whether no input is in a box."""
    return nearest(box, np.zeros(box.C.shape[1])) is None


def above(C: Matrix, least: Vector) -> Box:
    """Return the box ``C u >= least``."""
    return Box(C, least, np.full(len(least), np.inf))


def conflicting_set(limits: Box, C: Matrix, least: Vector) -> tuple[Indices, Indices]:
    """Return bounds that no input obeys, but would if any one of them were not there.

    Returns:
        Numbers of the motors' limits among them, and of the rows to keep.
    """
    n = len(limits.C)
    box = stacked(limits, above(C, least))
    kept = np.ones(len(box.C), dtype=bool)
    for i in range(len(kept)):
        kept[i] = False
        if not is_empty(Box(box.C[kept], box.low[kept], box.high[kept])):
            kept[i] = True
    found = np.flatnonzero(kept)
    return found[found < n], found[found >= n] - n
