"""States of rest that keep the rows, with the path held where it is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple, final

import numpy as np

from ukctrl.analysis.internal_dynamics.held_rows import Held
from ukctrl.analysis.linear.equilibria import within_a_turn
from ukctrl.core.algebra.differences import shortened
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.extremes import max_abs
from ukctrl.mechanics.linearise import FreeDirections
from ukctrl.mechanics.start import solve_positions

STARTS = 16
"""From how many states the search sets out along the free coordinates, the start among them."""
SCATTERED = 8
"""From how many more, anywhere near; they reach branches that no way along the rows leads to."""
TRIALS = 60
"""Steps, taken or not, before a search is given up."""
STRIDE = 0.5
"""Longest step of the search [rad or m]."""
AT_REST = 1e-9
"""An acceleration below this fraction of what it adds up from counts as none."""
USUAL = 1.0
"""A usual acceleration, for states at which every force vanishes [rad/s^2 or m/s^2]."""
LEAST_DAMPING, SMALLEST_DAMPING, MOST_DAMPING = 1e-3, 1e-12, 1e9
DIFFERENCE = 1e-6
"""Step of the one-sided differences that lead the search."""
SAME = 1e-5
"""States of rest nearer to each other than this are one [rad or m]."""
FAR = 1.0
"""How far searches set out along a coordinate that is no angle [m]."""


class Rest(NamedTuple):
    """A state of rest."""

    q: Vector
    u: Vector


@final
class Search:
    """Looks for states in which the motion that keeps the rows stands still.

    Which ones do may depend on the allocation, and on rows on velocities that let a robot stand
    in some places only. `ukctrl.analysis.linear.equilibria` asks where any input at all holds a
    robot.

    Args:
        held: The robot with its rows held, and the path stopped; its motors have grip on them.
    """

    def __init__(self, held: Held) -> None:
        self._held, self._robot = held, held.robot
        self._snapshot = held.robot.snapshot(held.robot.neutral)
        self._t = held.frozen or 0.0
        self._still = np.zeros(held.robot.nv)

    def all(self, q: Vector) -> list[Rest]:
        """Return the states of rest that are found, from the nearest to ``q`` to the farthest."""
        rests: list[Rest] = []
        for start in self._starts(q):
            rest = self._from(start)
            if rest and not any(self._same(rest.q, other.q) for other in rests):
                rests.append(rest)
        return sorted(
            rests, key=lambda rest: float(np.linalg.norm(self._robot.difference(q, rest.q)))
        )

    def _same(self, q: Vector, other: Vector) -> bool:
        return bool(max_abs(within_a_turn(self._robot, q, other)) <= SAME)

    def _starts(self, q: Vector) -> Iterator[Vector]:
        """Yield configurations that keep the rows: ``q``, then some spread evenly about it."""
        yield q
        try:
            N, chosen = self._tangent(q)
        except UkctrlError:
            return
        turns = np.array(self._robot.dof_units) == "rad/s"
        reach = np.where(turns, np.pi, FAR)
        for k in range(1, SCATTERED + 1 if len(chosen) else 1):
            way = reach * spread(k, self._robot.nv)
            with contextlib.suppress(UkctrlError):
                yield self._onto(self._robot.integrate(q, way))
        for k in range(1, len(chosen) and (8 if len(chosen) == 1 else STARTS)):
            way = reach[chosen] * spread(k, len(chosen))
            with contextlib.suppress(UkctrlError):
                yield self._onto(self._robot.integrate(q, N @ way), chosen.tolist())

    def _tangent(self, q: Vector) -> tuple[Matrix, Indices]:
        """Return how all velocities follow from as many as the rows on positions leave."""
        held, dynamics = self._held, self._held.dynamics
        dynamics.move(self._t, q, self._still)
        rows = np.vstack([dynamics.passive.rows.A, held.servo.write(dynamics.snapshot).A])
        free = FreeDirections(dynamics.L, rows[held.positional], dynamics.rank.passive)
        return free.tangent(free.chosen), free.chosen

    def _onto(self, q: Vector, held: list[int] | None = None) -> Vector:
        return solve_positions(self._held.whole, self._snapshot, q, self._t, held or [])

    def _from(self, q: Vector) -> Rest | None:
        """Return a state of rest by damped Gauss-Newton from a configuration; None if not found."""
        damping, slopes = LEAST_DAMPING, None
        try:
            f, size = self._unrest(q)
        except (UkctrlError, ArithmeticError):
            return None
        for _ in range(TRIALS):
            if max_abs(f) <= AT_REST * max(size, USUAL):
                return Rest(q, self._held.input(self._t, q, self._still))
            if damping > MOST_DAMPING:
                break
            try:
                N, J = slopes or self._slopes(q, f)
                slopes = N, J
                step = shortened(_damped(J, f, damping), STRIDE)
                trial = self._onto(self._robot.integrate(q, N @ step))
                found, its_size = self._unrest(trial)
            except (UkctrlError, ArithmeticError, np.linalg.LinAlgError):
                damping *= 10.0
                continue
            if found @ found < f @ f:
                q, f, size, slopes = trial, found, its_size, None
                damping = max(0.1 * damping, SMALLEST_DAMPING)
            else:
                damping *= 10.0
        return None

    def _unrest(self, q: Vector) -> tuple[Vector, float]:
        """Return what keeps a state from being one of rest, and what accelerations add up from."""
        held, dynamics = self._held, self._held.dynamics
        u = held.input(self._t, q, self._still)
        size = max_abs(dynamics.a_free) + max_abs(dynamics.G * u)
        rows, passive = held.servo.rows, dynamics.passive
        slip = rows.beta[~held.servo.holonomic]  # rows on velocities may ask for some at rest
        slide = passive.rows.beta[~passive.holonomic]
        return np.concatenate([dynamics.acceleration(u), slip, slide]), size

    def _slopes(self, q: Vector, f: Vector) -> tuple[Matrix, Matrix]:
        """Return the directions that the rows leave, and how the unrest changes along them."""
        N, chosen = self._tangent(q)

        def at(x: Vector) -> Vector:
            return self._unrest(self._robot.integrate(q, N @ x))[0]

        return N, one_sided(at, f, len(chosen))


def one_sided(values: Callable[[Vector], Vector], at_zero: Vector, size: int) -> Matrix:
    """Return a derivative at zero that is good enough to lead a search, shape ``(k, size)``."""
    J = np.empty((len(at_zero), size))
    for i in range(size):
        step = np.zeros(size)
        step[i] = DIFFERENCE
        J[:, i] = (values(step) - at_zero) / DIFFERENCE
    return J


def spread(k: int, size: int) -> Vector:
    """Return the k-th of points that fill ``(-1, 1)^size`` evenly, by the generalised golden ratio.

    The first ones of a single coordinate are 1/4 of the way round and opposite.
    """
    if size == 1:
        return np.array([(1.0 - 2.0**-9, 0.5, -0.5, 0.25, -0.25, 0.75, -0.75)[(k - 1) % 7]])
    ratio = 2.0
    for _ in range(30):
        ratio = (1.0 + ratio) ** (1.0 / (size + 1))
    point: Vector = 2.0 * np.mod(0.5 + k * ratio ** -np.arange(1.0, size + 1), 1.0) - 1.0
    return point


def _damped(J: Matrix, f: Vector, damping: float) -> Vector:
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    gain = sigma / (sigma**2 + damping * max(max_abs(sigma) ** 2, 1e-300) * 1e-3)
    gain[sigma <= 1e-9 * max_abs(sigma)] = 0.0
    step: Vector = -(gain * (f @ U)) @ Vt
    return step
