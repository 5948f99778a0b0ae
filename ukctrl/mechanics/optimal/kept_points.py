"""Where a motion is looked at for what it keeps: rows of its program, and a denser look between."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl.mechanics.optimal.differences import bent
from ukctrl.mechanics.optimal.freedoms import Freedoms, Place
from ukctrl.mechanics.optimal.gauss import Gauss, inside_rows
from ukctrl.mechanics.optimal.kept_rows import INSIDE, KeptRows, Moving
from ukctrl.mechanics.optimal.unknowns import Wanted

DENSER = 10
"""The grid of a motion is so many times as dense as the points of its program are at first."""
ABOVE = 2e-9
"""So far above zero a motion is kept at the points, since the solver misses as much [unit]."""

IDLE = 1e-6
"""A row that pushes less, beside the one that pushes most, bends nothing."""

MORE = 1.5
"""From so many times as far away is looked at what is crossed between points of the grid."""


class Where(NamedTuple):
    """Where it is looked at what is kept."""

    chosen: Flags
    """At which points of the grid, shape ``(steps, parts)``."""
    above: Matrix
    """How far above zero it is to be at those of a step, shape ``(steps, k)``."""


class Crossing(NamedTuple):
    """Where a motion is furthest beyond something that it is to keep."""

    name: str
    beyond: float
    """By how much [unit]."""
    unit: str
    t: float
    """When [s]."""

    def __str__(self) -> str:
        return (
            f"'{self.name}' by {self.beyond:.2g} {self.unit}".rstrip() + f" at t = {self.t:.4g} s"
        )


class Left(NamedTuple):
    """What a motion leaves of what it keeps, all along."""

    h: Matrix
    """On the grid, shape ``(steps, parts, k)``."""
    between: Matrix
    """The least of the cubics between points of the grid, shape ``(steps, parts - 1, k)``."""
    times: Matrix
    """When the points are, shape ``(steps, parts)`` [s]."""


@final
class KeptPoints:
    """The points of a motion at which rows of its program are what it keeps: some of a dense grid.

    Args:
        rows: What is kept.
        freedoms: The robot in its coordinates.
        scheme: The scheme of the motion.
        steps: Its number of steps.
        h: Length of one, in times of the program [s].
        wanted: What the motion is to do.
        closer: Where it is looked at, and how far above zero; absent: at every tenth of the grid.

    Attributes:
        where: As given, or as it is at first.
        count: Number of points.
        times: When they are, in times of the program from the start on.
        seen: Coordinates, rates and accelerations there from those of the motion, sparse.
    """

    def __init__(
        self,
        rows: KeptRows,
        freedoms: Freedoms,
        scheme: Gauss,
        steps: int,
        h: float,
        wanted: Wanted,
        closer: Where | None = None,
    ) -> None:
        self.rows, self._freedoms, self._begin = rows, freedoms, wanted.t
        parts = np.linspace(0.0, 1.0, DENSER * (len(scheme.nodes) + 1) + 1)
        shape = steps, len(parts)
        # Where steps meet only accelerations jump: what does not go by them is looked at once.
        begins = np.broadcast_to(parts == 0.0, shape)
        if closer is None:
            chosen = np.broadcast_to(np.arange(shape[1]) % DENSER == 0, shape) & bool(len(rows))
            chosen = chosen & (~begins | bool((rows.degree == 0).any()))
            closer = Where(chosen, np.full((steps, len(rows)), ABOVE))
        self.where, chosen = closer, closer.chosen
        self._grid: Vector = h * (np.arange(steps)[:, None] + parts)
        self._onto_grid = inside_rows(scheme, parts, steps, freedoms.n, h)
        self.times = self._grid[chosen]
        self.count = len(self.times)
        own = np.repeat(chosen.ravel(), freedoms.n)
        self.seen = self._onto_grid[np.flatnonzero(np.tile(own, 3))]
        given = begins.copy()
        given[-1, -1] = np.isfinite(wanted.goal).all()
        later = np.zeros(shape, dtype=bool)
        later[-1, -1] = wanted.fastest
        awaited = later[chosen][:, None] & rows.timed
        self._free = given[chosen][:, None] & (rows.degree > 0) & ~awaited
        self._near: list[Place] = []

    @property
    def shape(self) -> tuple[int, int]:
        """Of what is left at the points."""
        return self.count, len(self.rows)

    def forget(self) -> None:
        """Follow the joints that are no coordinates from the start again."""
        self._near = []

    def bounds(self) -> tuple[Vector, Vector]:
        """Return between what the rows must be."""
        above = self.where.above[np.nonzero(self.where.chosen)[0]]
        low = np.where(self._free, -np.inf, above).ravel()
        return low, np.full(low.shape, np.inf)

    def values(self, seen: Matrix, sigma: float) -> Vector:
        """Return the rows; ``seen`` is of shape ``(3, points, n)``, in times of the program."""
        found, near = [], self._freedoms.start
        for k, at in enumerate(self._moving(seen, sigma, self.times)):
            left, near = self.rows.left(self._near[k] if self._near else near, at)
            found.append(left)
        return np.array(found).ravel()

    def slopes(self, seen: Matrix, sigma: float) -> Matrix:
        """Return how they change at each point with coordinates, rates, accelerations and the
        length of the motion, shape ``(points, k, 3 n + 1)``.
        """
        found, places, near = [], [], self._freedoms.start
        for k, at in enumerate(self._moving(seen, sigma, self.times)):
            by, near = self.rows.slopes(self._near[k] if self._near else near, at)
            found.append(self._scaled(by, at, sigma))
            places.append(near)
        self._near = places
        return np.array(found).reshape(*self.shape, 3 * self._freedoms.n + 1)

    def bend(self, seen: Matrix, sigma: float, forces: Matrix, *, lasting: bool) -> Matrix:
        """Return the Hessians of the rows, weighed by ``forces``; shape ``(points, size, size)``.

        Args:
            seen: Shape ``(3, points, n)``.
            sigma: Length of the motion.
            forces: Shape ``(points, k)``.
            lasting: Whether that length is looked for.
        """
        n = self._freedoms.n
        moved = [*range(2 * n), *([3 * n] if lasting else [])]
        push = np.abs(forces)
        forces = np.where(push > IDLE * push.max(initial=0.0), forces, 0.0)

        def of(k: int) -> Matrix:
            if not forces[k].any():
                return np.zeros((3 * n + 1, 3 * n + 1))

            def slope(own: Vector) -> Vector:
                stretched = float(own[-1])
                parts = own[:-1].reshape(3, 1, n)
                [at] = self._moving(parts, stretched, self.times[k : k + 1])
                by = self.rows.slopes(self._near[k], at)[0]
                return np.asarray(forces[k] @ self._scaled(by, at, stretched))

            return bent(slope, np.append(seen[:, k].ravel(), sigma), moved)

        return np.array([of(k) for k in range(self.count)]).reshape(-1, 3 * n + 1, 3 * n + 1)

    def _moving(self, seen: Matrix, sigma: float, times: Vector) -> list[Moving]:
        y, w, a = seen
        return [
            Moving(self._begin + sigma * t, y[k], w[k] / sigma, a[k] / sigma**2)
            for k, t in enumerate(times.tolist())
        ]

    def _scaled(self, by: Matrix, at: Moving, sigma: float) -> Matrix:
        """Return slopes in unknowns of the program, from those in the motion's own time."""
        n, scaled = self._freedoms.n, by.copy()
        of_rate, of_a = by[:, n : 2 * n], by[:, 2 * n : 3 * n]
        scaled[:, n : 2 * n] = of_rate / sigma
        scaled[:, 2 * n : 3 * n] = of_a / sigma**2
        scaled[:, -1] *= (at.t - self._begin) / sigma
        scaled[:, -1] -= (of_rate @ at.rate + 2.0 * of_a @ at.a) / sigma
        return scaled

    def on_grid(self, motion: Vector, sigma: float) -> Left:
        """Return what is left on the grid.

        Args:
            motion: Coordinates and rates where steps meet, then accelerations at the points.
            sigma: Length of the motion.
        """
        seen = (self._onto_grid @ motion).reshape(3, -1, self._freedoms.n)
        found, rates, near = [], [], self._freedoms.start
        for at in self._moving(seen, sigma, self._grid.ravel()) if len(self.rows) else ():
            left, rate, near = self.rows.left_with_rates(near, at)
            found.append(left)
            rates.append(rate)
        shape = *self._grid.shape, len(self.rows)
        h, rate = (np.array(one).reshape(shape) for one in (found, rates))
        spacing = sigma * float(self._grid[0, 1] - self._grid[0, 0])
        between = _least_between(h, spacing * rate, self.rows.degree == 0)
        return Left(h, between, self._begin + sigma * self._grid)

    def crossed(self, h: Matrix, times: Matrix, but: float = INSIDE) -> tuple[Crossing, ...]:
        """Return what is crossed, and where the most; the worst first.

        Args:
            h: What is left, shape ``(steps, k', k)``.
            times: When that is, shape ``(steps, k')`` [s].
            but: Crossings that are less are none [unit].
        """
        names, units, flat = self.rows.names, self.rows.units, h.reshape(-1, max(len(self.rows), 1))
        worst = flat.argmin(axis=0).tolist() if len(self.rows) else ()
        found = (
            Crossing(names[i], -float(flat[at, i]), units[i], float(times.ravel()[at]))
            for i, at in enumerate(worst)
            if not flat[at, i] >= -but
        )
        return tuple(sorted(found, key=lambda each: -each.beyond))

    def closer(self, left: Left) -> Where | None:
        """Return where to look as well, since something is crossed there: at more of the grid, and
        from further away where that is only between its points. None where nothing is.
        """
        crossed = ~(left.h >= -INSIDE)
        padded = np.pad(left.h, ((0, 0), (1, 1), (0, 0)), constant_values=np.inf)
        least = (left.h <= padded[:, :-2]) & (left.h <= padded[:, 2:])
        wide = np.pad((least & crossed).any(axis=2), ((0, 0), (1, 1)))
        more: Flags = wide[:, :-2] | wide[:, 1:-1] | wide[:, 2:]  # with both neighbours
        more[:, 0] &= self.where.chosen[:, 0]
        beyond = np.maximum(-left.between, 0.0)
        beyond *= ~crossed.any(axis=1, keepdims=True)
        worst = (beyond > INSIDE) & (beyond == beyond.max(axis=1, keepdims=True))
        more[:, :-1] |= worst.any(axis=2)
        more[:, 1:] |= worst.any(axis=2)
        if not more.any():
            return None
        above = self.where.above + MORE * np.where(worst, beyond, 0.0).max(axis=1)
        return Where(self.where.chosen | more, above)


BETWEEN = np.linspace(0.0, 1.0, 11)[:, None, None, None]


def _least_between(h: Matrix, rise: Matrix, straight: Flags) -> Matrix:
    """Return the least values between points, of cubics by values and rates.

    Args:
        h: Values, shape ``(steps, parts, k)``.
        rise: Rates times the spacing.
        straight: Of which there are no rates, so that lines are taken.
    """
    x, begin, end = BETWEEN, h[:, :-1], h[:, 1:]
    line = begin + x * (end - begin)
    bow = (1.0 - x) * (rise[:, :-1] + begin - end) - x * (rise[:, 1:] + begin - end)
    least: Matrix = np.where(straight, line, line + x * (1.0 - x) * bow).min(axis=0)
    return least
