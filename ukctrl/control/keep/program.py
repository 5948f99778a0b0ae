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

from ukctrl.control.allocation.within_limits import (
    FELT,
    Box,
    least_squares,
    nearest,
    stacked,
    within,
)
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
    reduced, missed = least.copy(), np.zeros(len(least))
    if not is_empty(stacked(limits, above(C, least))):
        return reduced, missed
    room, u = limits, np.zeros(C.shape[1])
    Z = np.eye(len(u))
    for rows in levels:
        count, free = len(rows), Z.shape[1]
        slack = np.hstack([np.zeros((count, free)), np.eye(count)])
        left = within(room, np.eye(len(u)), Z, u)
        wide = left._replace(C=np.hstack([left.C, np.zeros((len(left.C), count))]))
        asked = above(np.hstack([C[rows] @ Z, np.eye(count)]), least[rows] - C[rows] @ u)
        x = least_squares(slack, np.zeros(count), stacked(wide, asked))
        y = nearest(left, np.zeros(free)) if x is None else x[:free]  # None by rounding
        u = u if y is None else u + Z @ y
        less = np.maximum(least[rows] - C[rows] @ u, 0.0)
        size = ROOM * (np.abs(least[rows]) + np.abs(C[rows]) @ np.abs(u) + 1.0)
        missed[rows] = np.where(less > size, less, 0.0)
        reduced[rows] = least[rows] - less - size
        room = stacked(room, above(C[rows], reduced[rows]))
        Z = unfelt(C[rows[less > size]] @ Z, Z)  # what gave way stays where it is
    # A degenerate program may be solved to 1e-8 only: the input that it gave is left in any case.
    u = u if (found := nearest(limits, -u)) is None else found
    return np.minimum(reduced, C @ u), missed


def unfelt(rows: Matrix, Z: Matrix) -> Matrix:
    """Return the directions among the columns of ``Z`` that no row feels, rows being of those."""
    if not rows.size:
        return Z
    _, sigma, Qt = np.linalg.svd(rows)
    left: Matrix = Z @ Qt[int(np.sum(sigma > FELT * sigma[0])) :].T
    return left


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
