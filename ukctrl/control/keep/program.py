r"""The input that keeps what is to be kept, and is otherwise as near to the law's as can be.

With $a = a_\mathrm{free} + G u$ every row to keep is $C u \ge l$. Of all inputs within the motors'
limits that obey them, those are taken that leave the servo rows what the law gave them, block
after block, and of those the nearest to the law's in the metric of the allocation: one
lexicographic program. Where no input obeys all rows, they give way first, level by level, by the
least squares.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.allocation.within_limits import Box, nearest, stacked
from ukctrl.core.algebra.lexicographic import FELT, lexicographic, solve_lexicographic
from ukctrl.core.arrays import Matrix, Vector

ROOM = 1e-9
"""How much more than needed a row gives way, of its size, so that rounding leaves an input."""
Indices = NDArray[np.intp]


def is_empty(box: Box) -> bool:
    """Return whether no input is in a box."""
    return nearest(box, np.zeros(box.C.shape[1])) is None


def given_way(
    limits: Box, C: Matrix, least: Vector, levels: Sequence[Indices]
) -> tuple[Vector, Vector]:
    """Return bounds ``C u >= least`` that some input obeys, and how much less they are.

    Args:
        limits: Of the motors, which some input obeys.
        C: Rows to keep, shape ``(k, nu)``.
        least: Their bounds, shape ``(k,)``.
        levels: Their numbers, the level that gives way last first.
    """
    (k, nu), order = C.shape, np.concatenate(levels)
    slack = np.eye(nu + k)[nu + order]
    box = stacked(Box(np.eye(nu, nu + k), limits.low, limits.high), above(np.hstack([C, np.eye(k)]), least))
    ends = np.cumsum([len(level) for level in levels])
    lex = lexicographic(slack, np.zeros(k), ends, np.ones(k), np.eye(nu + k), np.zeros(nu + k), box.C, FELT)
    x = np.zeros(nu + k)
    ok = solve_lexicographic(lex, box.low, box.high, x)
    if not ok: print('not ok')
    u = np.clip(x[:nu], limits.low, limits.high)
    less = np.maximum(least - C @ u, 0.0)
    size = ROOM * (np.abs(least) + np.abs(C) @ np.abs(u) + 1.0)
    missed = np.where(less > size, less, 0.0)
    return np.minimum(least - less - size, C @ u), missed


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
