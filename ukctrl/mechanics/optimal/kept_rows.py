r"""What a motion keeps at or above zero, $h(q, v, t) \ge 0$, with its slopes.

A quantity is made of a row of a constraint, $h = s \phi + c$, so the row's own matrix is its
slope: $\partial h/\partial y = s A N$ with the tangent $N$ from coordinates to velocities. Of one
that is made of $\beta$ or of $A a - b$ that is its slope in rates or accelerations, and the rest is
found by differences.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.optimal.freedoms import Freedoms, Place, Posed

BESIDE = 3e-5
"""Step of central differences of what moves with the velocity [rad or m, or s]."""
TRIED = (0.0, 0.37, 1.71)
"""Times at which it is looked whether a quantity changes with the time [s]."""
UNCHANGED = 1e-9
"""Quantities that change less with it do not [unit/s]."""
INSIDE = 1e-9
"""A quantity above minus this [unit] is kept."""


class Quantities(NamedTuple):
    """Quantities ``h = sign row + shift`` that stay above a margin; arrays of shape ``(k,)``."""

    stack: Stack
    """Constraints that write the rows."""
    names: tuple[str, ...]
    units: tuple[str, ...]
    row: Indices
    """Row of the stack that each is made of."""
    sign: Vector
    shift: Vector
    """[unit]."""
    margin: Vector
    """[unit]."""
    degree: Indices
    """Whether it is made of ``phi`` (2), ``beta`` (1) or ``A a - b`` (0)."""


def nothing(freedoms: Freedoms) -> Quantities:
    """Return no quantities."""
    none, places = np.zeros(0), np.zeros(0, dtype=np.intp)
    return Quantities(Stack((), freedoms.robot), (), (), places, none, none, none, places)


class Moving(NamedTuple):
    """A place on a motion."""

    t: float
    """[s]."""
    y: Vector
    """Coordinates, shape ``(n,)``."""
    rate: Vector
    a: Vector


@final
class KeptRows:
    """Quantities to keep, of a robot in its coordinates.

    Attributes:
        kept: The quantities.
        degree: As there.
        names: As there.
        units: As there.
        timed: Whether each changes with the time alone, shape ``(k,)``.
    """

    def __init__(self, freedoms: Freedoms, kept: Quantities) -> None:
        self._freedoms, self.kept = freedoms, kept
        self.degree, self.names, self.units = kept.degree, kept.names, kept.units
        self._snapshot = freedoms.robot.snapshot(freedoms.start.q)
        self._of_a = np.flatnonzero(kept.degree == 0)
        self._of_rates = np.flatnonzero(kept.degree == 1)
        self._fast, n = np.flatnonzero(kept.degree < 2), freedoms.n
        self._moved = [*range(2 * n if self._of_a.size else n), 3 * n]
        self.timed = self._goes_by_time()

    def __len__(self) -> int:
        return len(self.names)

    def _goes_by_time(self) -> Flags:
        start, still = self._freedoms.start, np.zeros(self._freedoms.n)
        timed: Flags = np.zeros(len(self), dtype=bool)
        for t in TRIED if len(self) else ():
            try:
                by = self.slopes(start, Moving(t, start.y, still, still))[0]
            except (UkctrlError, ArithmeticError):  # it has no value at that time
                timed[:] = True
                break
            timed |= np.abs(by[:, -1]) > UNCHANGED
        return timed

    def left(self, near: Place, at: Moving) -> tuple[Vector, Place]:
        """Return what is left above the margins near a place, shape ``(k,)``, and where that is.

        Raises:
            StartError: The passive rows cannot be kept there.
        """
        posed = self._write(near, at)
        return self._left(posed), posed.place

    def left_with_rates(self, near: Place, at: Moving) -> tuple[Vector, Vector, Place]:
        """Return the same with how fast it changes, zero of what goes by the acceleration."""
        kept, posed = self.kept, self._write(near, at)
        rows, row = kept.stack.rows, kept.row
        rate = kept.sign * np.where(
            kept.degree == 2, rows.beta[row], (rows.A @ posed.a - rows.b)[row]
        )
        rate[self._of_a] = 0.0
        return self._left(posed), rate, posed.place

    def slopes(self, near: Place, at: Moving) -> tuple[Matrix, Place]:
        """Return how it changes with coordinates, rates, accelerations and time, of shape
        ``(k, 3 n + 1)``, and where that is.
        """
        n, kept = self._freedoms.n, self.kept
        by: Matrix = np.zeros((len(self), 3 * n + 1))
        posed = self._write(near, at)
        rows, place = kept.stack.rows, posed.place
        N, row = place.tangent, kept.row
        A = kept.sign[:, None] * (rows.A[row] @ N)
        for degree in (2, 1, 0):
            own = np.flatnonzero(kept.degree == degree)
            by[own, (2 - degree) * n : (3 - degree) * n] = A[own]
        by[:, -1] = kept.sign * rows.beta[row] - A @ at.rate
        if self._fast.size:
            by[np.ix_(self._fast, self._moved)] = self._differences(place, at)
            by[self._of_rates, n : 2 * n] = A[self._of_rates]
        return by, place

    def _differences(self, near: Place, at: Moving) -> Matrix:
        n, columns = self._freedoms.n, []
        here = np.concatenate([at.y, at.rate, at.a, [at.t]])
        for i in self._moved:
            sides = []
            for step in (BESIDE, -BESIDE):
                there = here.copy()
                there[i] += step
                y, rate, a = there[:n], there[n : 2 * n], there[2 * n : -1]
                sides.append(self.left(near, Moving(float(there[-1]), y, rate, a))[0])
            columns.append((sides[0] - sides[1])[self._fast] / (2.0 * BESIDE))
        return np.column_stack(columns)

    def _write(self, near: Place, at: Moving) -> Posed:
        posed = self._freedoms.posed(at.t, near, at.y, at.rate, at.a)
        self._snapshot.move(posed.place.q, posed.v, at.t)
        self.kept.stack.write(self._snapshot)
        return posed

    def _left(self, posed: Posed) -> Vector:
        kept, rows = self.kept, self.kept.stack.rows
        level = rows.phi[kept.row]
        level[self._of_rates] = rows.beta[kept.row[self._of_rates]]
        if self._of_a.size:
            level[self._of_a] = (rows.A @ posed.a - rows.b)[kept.row[self._of_a]]
        left: Vector = kept.sign * level + kept.shift - kept.margin
        return left
