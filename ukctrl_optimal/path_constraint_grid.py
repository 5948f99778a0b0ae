"""Where a motion is looked at for what it keeps: rows of its program, and a denser look between."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl_optimal.decision_variables import MotionProblem
from ukctrl_optimal.gauss_legendre import GaussLegendre, evaluation_rows
from ukctrl_optimal.hessian_differences import hessian_by_differences
from ukctrl_optimal.independent_coordinates import ChartPoint, IndependentCoordinates
from ukctrl_optimal.path_inequalities import (
    FEASIBILITY_TOLERANCE,
    PathInequalities,
    TrajectoryPoint,
)

GRID_REFINEMENT = 10
"""The grid of a motion is so many times as dense as the points of its program are at first."""
SOLVER_MARGIN = 2e-9
"""So far above zero a motion is kept at the points, since the solver misses as much [unit]."""

MULTIPLIER_RTOL = 1e-6
"""A row that pushes less, beside the one that pushes most, bends nothing."""

MARGIN_FACTOR = 1.5
"""From so many times as far away is looked at what is crossed between points of the grid."""


class GridSelection(NamedTuple):
    """Where it is looked at what is kept."""

    flags: Flags
    """At which points of the grid, shape ``(steps, parts)``."""
    margin: Matrix
    """How far above zero it is to be at those of a step, shape ``(steps, k)``."""


class ConstraintViolation(NamedTuple):
    """Where a motion is furthest beyond something that it is to keep."""

    name: str
    excess: float
    """By how much [unit]."""
    unit: str
    t: float
    """When [s]."""

    def __str__(self) -> str:
        return (
            f"'{self.name}' by {self.excess:.2g} {self.unit}".rstrip() + f" at t = {self.t:.4g} s"
        )


class GridSlack(NamedTuple):
    """What a motion leaves of what it keeps, all along."""

    h: Matrix
    """On the grid, shape ``(steps, parts, k)``."""
    cubic_minima: Matrix
    """The least of the cubics between points of the grid, shape ``(steps, parts - 1, k)``."""
    times: Matrix
    """When the points are, shape ``(steps, parts)`` [s]."""


@final
class PathConstraintGrid:
    """The points of a motion at which rows of its program are what it keeps: some of a dense grid.

    Args:
        rows: What is kept.
        freedoms: The robot in its coordinates.
        scheme: The scheme of the motion.
        steps: Its number of steps.
        h: Length of one, in times of the program [s].
        problem: What the motion is to do.
        closer: Where it is looked at, and how far above zero; absent: at every tenth of the grid.

    Attributes:
        selection: As given, or as it is at first.
        count: Number of points.
        times: When they are, in times of the program from the start on.
        evaluation: Coordinates, rates and accelerations there from those of the motion, sparse.
    """

    def __init__(
        self,
        rows: PathInequalities,
        freedoms: IndependentCoordinates,
        scheme: GaussLegendre,
        steps: int,
        h: float,
        problem: MotionProblem,
        closer: GridSelection | None = None,
    ) -> None:
        self.rows, self._freedoms, self._begin = rows, freedoms, problem.t
        fractions = np.linspace(0.0, 1.0, GRID_REFINEMENT * (len(scheme.nodes) + 1) + 1)
        shape = steps, len(fractions)
        # Where steps meet only accelerations jump: what does not go by them is looked at once.
        begins = np.broadcast_to(fractions == 0.0, shape)
        if closer is None:
            chosen = np.broadcast_to(np.arange(shape[1]) % GRID_REFINEMENT == 0, shape) & bool(
                len(rows)
            )
            chosen = chosen & (~begins | bool((rows.degree == 0).any()))
            closer = GridSelection(chosen, np.full((steps, len(rows)), SOLVER_MARGIN))
        self.selection, chosen = closer, closer.flags
        self._grid: Vector = h * (np.arange(steps)[:, None] + fractions)
        self._onto_grid = evaluation_rows(scheme, fractions, steps, freedoms.n, h)
        self.times = self._grid[chosen]
        self.count = len(self.times)
        row_mask = np.repeat(chosen.ravel(), freedoms.n)
        self.evaluation = self._onto_grid[np.flatnonzero(np.tile(row_mask, 3))]
        boundary = begins.copy()
        boundary[-1, -1] = np.isfinite(problem.goal).all()
        later = np.zeros(shape, dtype=bool)
        later[-1, -1] = problem.minimises_time
        awaited = later[chosen][:, None] & rows.is_time_varying
        # looked at where the step before ends; start and goal are given
        self._free = boundary[chosen][:, None] & (rows.degree > 0) & ~awaited
        self._near: list[ChartPoint] = []

    @property
    def shape(self) -> tuple[int, int]:
        """Of what is left at the points."""
        return self.count, len(self.rows)

    def reset_continuation(self) -> None:
        """Follow the joints that are no coordinates from the start again."""
        self._near = []

    def bounds(self) -> tuple[Vector, Vector]:
        """Return between what the rows must be."""
        above = self.selection.margin[np.nonzero(self.selection.flags)[0]]
        low = np.where(self._free, -np.inf, above).ravel()
        return low, np.full(low.shape, np.inf)

    def values(self, states: Matrix, sigma: float) -> Vector:
        """Return the rows; ``states`` is of shape ``(3, points, n)``, in times of the program."""
        slacks, near = [], self._freedoms.start
        for k, at in enumerate(self._moving(states, sigma, self.times)):
            slack, near = self.rows.slack(self._near[k] if self._near else near, at)
            slacks.append(slack)
        return np.array(slacks).ravel()

    def gradients(self, states: Matrix, sigma: float) -> Matrix:
        """Return how they change at each point with coordinates, rates, accelerations and the
        length of the motion, shape ``(points, k, 3 n + 1)``.
        """
        gradients, chart_points, near = [], [], self._freedoms.start
        for k, at in enumerate(self._moving(states, sigma, self.times)):
            by, near = self.rows.gradients(self._near[k] if self._near else near, at)
            gradients.append(self._scaled(by, at, sigma))
            chart_points.append(near)
        # from here next time, so that loops stay on their branches
        self._near = chart_points
        return np.array(gradients).reshape(*self.shape, 3 * self._freedoms.n + 1)

    def hessians(self, states: Matrix, sigma: float, forces: Matrix, *, lasting: bool) -> Matrix:
        """Return the Hessians of the rows, weighed by ``forces``; shape ``(points, size, size)``.

        Args:
            states: Shape ``(3, points, n)``.
            sigma: Length of the motion.
            forces: Shape ``(points, k)``.
            lasting: Whether that length is looked for.
        """
        n = self._freedoms.n
        moved = [*range(2 * n), *([3 * n] if lasting else [])]
        push = np.abs(forces)
        # multipliers that small bend the Lagrangian by less than the solver's tolerance
        forces = np.where(push > MULTIPLIER_RTOL * push.max(initial=0.0), forces, 0.0)

        def of(k: int) -> Matrix:
            if not forces[k].any():
                return np.zeros((3 * n + 1, 3 * n + 1))

            def slope(point: Vector) -> Vector:
                stretched = float(point[-1])
                state = point[:-1].reshape(3, 1, n)
                [at] = self._moving(state, stretched, self.times[k : k + 1])
                by = self.rows.gradients(self._near[k], at)[0]
                return np.asarray(forces[k] @ self._scaled(by, at, stretched))

            return hessian_by_differences(slope, np.append(states[:, k].ravel(), sigma), moved)

        return np.array([of(k) for k in range(self.count)]).reshape(-1, 3 * n + 1, 3 * n + 1)

    def _moving(self, states: Matrix, sigma: float, times: Vector) -> list[TrajectoryPoint]:
        y, w, a = states
        return [
            TrajectoryPoint(self._begin + sigma * t, y[k], w[k] / sigma, a[k] / sigma**2)
            for k, t in enumerate(times.tolist())
        ]

    def _scaled(self, by: Matrix, at: TrajectoryPoint, sigma: float) -> Matrix:
        """Return slopes in unknowns of the program, from those in the motion's own time."""
        n, scaled = self._freedoms.n, by.copy()
        of_rate, of_a = by[:, n : 2 * n], by[:, 2 * n : 3 * n]
        scaled[:, n : 2 * n] = of_rate / sigma
        scaled[:, 2 * n : 3 * n] = of_a / sigma**2
        scaled[:, -1] *= (at.t - self._begin) / sigma
        # the same unknowns over a longer time are a slower motion
        scaled[:, -1] -= (of_rate @ at.rate + 2.0 * of_a @ at.a) / sigma
        return scaled

    def grid_slack(self, motion: Vector, sigma: float) -> GridSlack:
        """Return what is left on the grid.

        Args:
            motion: Coordinates and rates where steps meet, then accelerations at the points.
            sigma: Length of the motion.
        """
        states = (self._onto_grid @ motion).reshape(3, -1, self._freedoms.n)
        slacks, rates, near = [], [], self._freedoms.start
        for at in self._moving(states, sigma, self._grid.ravel()) if len(self.rows) else ():
            slack, rate, near = self.rows.slack_with_rates(near, at)
            slacks.append(slack)
            rates.append(rate)
        shape = *self._grid.shape, len(self.rows)
        h, rate = (np.array(one).reshape(shape) for one in (slacks, rates))
        spacing = sigma * float(self._grid[0, 1] - self._grid[0, 0])
        between = _cubic_minima(h, spacing * rate, self.rows.degree == 0)
        return GridSlack(h, between, self._begin + sigma * self._grid)

    def violations(
        self, h: Matrix, times: Matrix, but: float = FEASIBILITY_TOLERANCE
    ) -> tuple[ConstraintViolation, ...]:
        """Return what is crossed, and where the most; the worst first.

        Args:
            h: What is left, shape ``(steps, k', k)``.
            times: When that is, shape ``(steps, k')`` [s].
            but: Crossings that are less are none [unit].
        """
        names, units, flat = self.rows.names, self.rows.units, h.reshape(-1, max(len(self.rows), 1))
        worst = flat.argmin(axis=0).tolist() if len(self.rows) else ()
        violations = (
            ConstraintViolation(names[i], -float(flat[at, i]), units[i], float(times.ravel()[at]))
            for i, at in enumerate(worst)
            if not flat[at, i] >= -but
        )
        return tuple(sorted(violations, key=lambda each: -each.excess))

    def refinement(self, slack: GridSlack) -> GridSelection | None:
        """Return where to look as well, since something is crossed there: at more of the grid, and
        from further away where that is only between its points. None where nothing is.
        """
        crossed = ~(slack.h >= -FEASIBILITY_TOLERANCE)
        padded = np.pad(slack.h, ((0, 0), (1, 1), (0, 0)), constant_values=np.inf)
        # refined about minima alone: elsewhere the row is farther from its bound
        minima = (slack.h <= padded[:, :-2]) & (slack.h <= padded[:, 2:])
        wide = np.pad((minima & crossed).any(axis=2), ((0, 0), (1, 1)))
        more: Flags = wide[:, :-2] | wide[:, 1:-1] | wide[:, 2:]  # with both neighbours
        # a step's beginning is the end of the one before
        more[:, 0] &= self.selection.flags[:, 0]
        excess = np.maximum(-slack.cubic_minima, 0.0)
        excess *= ~crossed.any(axis=1, keepdims=True)
        worst = (excess > FEASIBILITY_TOLERANCE) & (excess == excess.max(axis=1, keepdims=True))
        more[:, :-1] |= worst.any(axis=2)
        more[:, 1:] |= worst.any(axis=2)
        if not more.any():
            return None
        # between points of the grid nobody looks: the row stays further off instead
        above = self.selection.margin + MARGIN_FACTOR * np.where(worst, excess, 0.0).max(axis=1)
        return GridSelection(self.selection.flags | more, above)


CUBIC_SAMPLES = np.linspace(0.0, 1.0, 11)[:, None, None, None]


def _cubic_minima(h: Matrix, rise: Matrix, straight: Flags) -> Matrix:
    """Return the least values between points, of cubics by values and rates.

    Args:
        h: Values, shape ``(steps, parts, k)``.
        rise: Rates times the spacing.
        straight: Of which there are no rates, so that lines are taken.
    """
    x, begin, end = CUBIC_SAMPLES, h[:, :-1], h[:, 1:]
    line = begin + x * (end - begin)
    # Hermite's cubic as its line, and what bends it
    bow = (1.0 - x) * (rise[:, :-1] + begin - end) - x * (rise[:, 1:] + begin - end)
    minima: Matrix = np.where(straight, line, line + x * (1.0 - x) * bow).min(axis=0)
    return minima
