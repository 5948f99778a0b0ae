"""Rows with bounds in coordinates of the input, compiled.

Few rows ever bind: those are turned into the coordinates, the others are looked at as they are, all
at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import long_dot
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled

FEASIBLE = 1e-11
"""By how much bounds may be exceeded, of rows of unit length."""
ROUNDED = 4.0 * float(np.finfo(np.float64).eps)
"""And of the terms of a row, which are no more accurate."""
FELT = 1e-9
"""Rows feel coordinates that move them by more than this part of what any input does."""
UNKNOWN, UNFELT = 0.0, -1.0
"""Instead of a length: of a row that has not been turned yet, and of one that feels nothing."""


class Room(NamedTuple):
    """Rows with bounds, ``low <= C w <= high``, and coordinates, ``w = way x``."""

    n: int
    """How many coordinates there are."""
    firm: int
    """How many of them, the first, cost anything."""
    Ct: Matrix
    """The rows as columns, shape ``(nu, r)``."""
    sizes: Vector
    """Their lengths, shape ``(r,)``."""
    over: Vector
    """Receives by how much each is exceeded."""
    side: Vector
    """And where: 1 at the lower bound, -1 at the upper."""
    low: Vector
    high: Vector
    plain: Matrix
    """Orthonormal columns that span what the coordinates move, shape ``(nu, nu)``."""
    way: Matrix
    """Shape ``(nu, nu)``."""
    stretch: float
    """No coordinates go further in the input than so many times their length."""
    rows: Matrix
    """Rows per coordinate, of unit length, where they are known, shape ``(r, nu)``."""
    lengths: Vector
    """What they were divided by, shape ``(r,)``."""


@compiled
def turned(room: Room, row: int, way: Matrix) -> float:
    """Write a row per coordinate of some way, and return its length."""
    own, n = room.rows[row], room.n
    for j in range(n):
        own[j] = 0.0
    for c in range(len(way)):
        factor, part = room.Ct[c, row], way[c]
        if factor != 0.0:
            for j in range(n):
                own[j] += factor * part[j]
    return float(np.sqrt(squares(own, 0, n)))


@compiled
def squares(x: Vector, first: int, end: int) -> float:
    """Return the sum of the squares of some entries."""
    total = 0.0
    for j in range(first, end):
        total += x[j] * x[j]
    return total


@compiled
def turn(room: Room, row: int) -> bool:
    """Write a row per coordinate, where that is not known; return whether it feels any.

    Those that only rounding would move do not: the input that took the other directions obeys them,
    to rounding, and scaled to unit length that rounding would leave no room. Nor does a row feel
    coordinates that cost nothing and move it by rounding: they would go as far as it needs.
    """
    if room.lengths[row] == UNKNOWN:
        own, n, firm, least = room.rows[row], room.n, room.firm, FELT * room.sizes[row]
        felts, length, longest = True, turned(room, row, room.way), 0.0
        if not length > least * room.stretch:  # else plain coordinates move it by more than that
            felts = turned(room, row, room.plain) > least
            length = turned(room, row, room.way)
        for c in range(len(room.way) if firm < n else 0):
            longest += room.way[c, firm] * room.way[c, firm]
        if squares(own, firm, n) <= least * least * longest:
            for j in range(firm, n):
                own[j] = 0.0
            length = np.sqrt(squares(own, 0, firm))
        felts = felts and length > 0.0
        room.lengths[row] = length if felts else UNFELT
        for j in range(n):
            own[j] /= length if felts else 1.0
    return bool(room.lengths[row] != UNFELT)


@compiled
def look(room: Room, x: Vector, w: Vector) -> None:
    """Write by how much a point exceeds the bounds of all rows, of unit length, and of which side.

    Not above zero: both are obeyed but for rounding.
    """
    at, terms = room.over, room.side
    for c in range(len(w)):
        w[c] = long_dot(room.way[c, : room.n], x[: room.n])
    for i in range(len(at)):
        at[i] = terms[i] = 0.0
    for c in range(len(w)):
        factor, column = w[c], room.Ct[c]
        if factor != 0.0:
            for i in range(len(at)):
                at[i] += column[i] * factor
                terms[i] += abs(column[i] * factor)
    for i in range(len(at)):
        below, above = room.low[i] - at[i], at[i] - room.high[i]
        size = room.sizes[i] if room.sizes[i] > 0.0 else 1.0
        at[i] = (max(below, above) - ROUNDED * terms[i]) / size - FEASIBLE
        terms[i] = 1.0 if below > above else -1.0


@compiled
def most_exceeded(room: Room, strict: bool, grace: float) -> int:
    """Return the row whose bound is exceeded most, by more than ``grace``; -1: there is none.

    -2: it is one that no coordinate moves, which counts where ``strict`` says so.
    """
    while True:
        worst, found = grace, -1
        for i in range(len(room.over)):
            if room.over[i] > worst and (strict or room.lengths[i] != UNFELT):
                worst, found = room.over[i], i
        if found < 0 or turn(room, found):
            return found
        if strict:
            return -2
