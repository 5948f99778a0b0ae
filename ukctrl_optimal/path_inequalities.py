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
from ukctrl_optimal.independent_coordinates import (
    ChartPoint,
    FullState,
    IndependentCoordinates,
)

DIFFERENCE_STEP = 3e-5
"""Step of central differences of what moves with the velocity [rad or m, or s]."""
TEST_TIMES = (0.0, 0.37, 1.71)
"""Times at which it is looked whether a quantity changes with the time [s]."""
TIME_TOLERANCE = 1e-9
"""Quantities that change less with it do not [unit/s]."""
FEASIBILITY_TOLERANCE = 1e-9
"""A quantity above minus this [unit] is kept."""


class InequalityTable(NamedTuple):
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


def empty_inequalities(freedoms: IndependentCoordinates) -> InequalityTable:
    """Return no quantities."""
    none, indices = np.zeros(0), np.zeros(0, dtype=np.intp)
    return InequalityTable(Stack((), freedoms.robot), (), (), indices, none, none, none, indices)


class TrajectoryPoint(NamedTuple):
    """A place on a motion."""

    t: float
    """[s]."""
    y: Vector
    """Coordinates, shape ``(n,)``."""
    rate: Vector
    a: Vector


@final
class PathInequalities:
    """Quantities to keep, of a robot in its coordinates.

    Attributes:
        table: The quantities.
        degree: As there.
        names: As there.
        units: As there.
        is_time_varying: Whether each changes with the time alone, shape ``(k,)``.
    """

    def __init__(self, freedoms: IndependentCoordinates, table: InequalityTable) -> None:
        self._freedoms, self.table = freedoms, table
        self.degree, self.names, self.units = table.degree, table.names, table.units
        self._snapshot = freedoms.robot.snapshot(freedoms.start.q)
        self._of_a = np.flatnonzero(table.degree == 0)
        self._of_rates = np.flatnonzero(table.degree == 1)
        self._fast, n = np.flatnonzero(table.degree < 2), freedoms.n
        # quantities of accelerations change with the rates too
        self._moved = [*range(2 * n if self._of_a.size else n), 3 * n]
        self.is_time_varying = self._time_dependence()

    def __len__(self) -> int:
        return len(self.names)

    def _time_dependence(self) -> Flags:
        start, still = self._freedoms.start, np.zeros(self._freedoms.n)
        timed: Flags = np.zeros(len(self), dtype=bool)
        for t in TEST_TIMES if len(self) else ():
            try:
                by = self.gradients(start, TrajectoryPoint(t, start.y, still, still))[0]
            except (UkctrlError, ArithmeticError):  # it has no value at that time
                timed[:] = True
                break
            timed |= np.abs(by[:, -1]) > TIME_TOLERANCE
        return timed

    def slack(self, near: ChartPoint, at: TrajectoryPoint) -> tuple[Vector, ChartPoint]:
        """Return what is left above the margins near a place, shape ``(k,)``, and where that is.

        Raises:
            StartError: The passive rows cannot be kept there.
        """
        posed = self._write(near, at)
        return self._left(posed), posed.place

    def slack_with_rates(
        self, near: ChartPoint, at: TrajectoryPoint
    ) -> tuple[Vector, Vector, ChartPoint]:
        """Return the same with how fast it changes, zero of what goes by the acceleration."""
        table, posed = self.table, self._write(near, at)
        rows, row = table.stack.rows, table.row
        rate = table.sign * np.where(
            table.degree == 2, rows.beta[row], (rows.A @ posed.a - rows.b)[row]
        )
        rate[self._of_a] = 0.0
        return self._left(posed), rate, posed.place

    def gradients(self, near: ChartPoint, at: TrajectoryPoint) -> tuple[Matrix, ChartPoint]:
        """Return how it changes with coordinates, rates, accelerations and time, of shape
        ``(k, 3 n + 1)``, and where that is.
        """
        n, table = self._freedoms.n, self.table
        by: Matrix = np.zeros((len(self), 3 * n + 1))
        posed = self._write(near, at)
        rows, chart_point = table.stack.rows, posed.place
        N, row = chart_point.tangent, table.row
        A = table.sign[:, None] * (rows.A[row] @ N)
        for degree in (2, 1, 0):
            indices = np.flatnonzero(table.degree == degree)
            by[indices, (2 - degree) * n : (3 - degree) * n] = A[indices]
        # beta is the whole rate: less what the coordinates do, the time's part is left
        by[:, -1] = table.sign * rows.beta[row] - A @ at.rate
        if self._fast.size:
            by[np.ix_(self._fast, self._moved)] = self._differences(chart_point, at)
            # exact, where differences would only round
            by[self._of_rates, n : 2 * n] = A[self._of_rates]
        return by, chart_point

    def _differences(self, near: ChartPoint, at: TrajectoryPoint) -> Matrix:
        n, columns = self._freedoms.n, []
        point = np.concatenate([at.y, at.rate, at.a, [at.t]])
        for i in self._moved:
            sides = []
            for step in (DIFFERENCE_STEP, -DIFFERENCE_STEP):
                probe = point.copy()
                probe[i] += step
                y, rate, a = probe[:n], probe[n : 2 * n], probe[2 * n : -1]
                sides.append(self.slack(near, TrajectoryPoint(float(probe[-1]), y, rate, a))[0])
            columns.append((sides[0] - sides[1])[self._fast] / (2.0 * DIFFERENCE_STEP))
        return np.column_stack(columns)

    def _write(self, near: ChartPoint, at: TrajectoryPoint) -> FullState:
        posed = self._freedoms.full_state(at.t, near, at.y, at.rate, at.a)
        self._snapshot.move(posed.place.q, posed.v, at.t)
        self.table.stack.write(self._snapshot)
        return posed

    def _left(self, posed: FullState) -> Vector:
        table, rows = self.table, self.table.stack.rows
        level = rows.phi[table.row]
        level[self._of_rates] = rows.beta[table.row[self._of_rates]]
        if self._of_a.size:
            level[self._of_a] = (rows.A @ posed.a - rows.b)[table.row[self._of_a]]
        slack: Vector = table.sign * level + table.shift - table.margin
        return slack
