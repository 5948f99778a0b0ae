"""States of rest that keep the rows, with the path held where it is."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import NamedTuple, final

import numpy as np

from ukctrl.analysis.internal_dynamics.exact_tracking import ExactTracking
from ukctrl.analysis.linear.equilibria import angle_difference
from ukctrl.core.algebra.finite_differences import limited_step
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.consistent_state import consistent_configuration
from ukctrl.mechanics.linearise import ConstraintNullSpace

TANGENT_STARTS = 16
"""From how many states the search sets out along the free coordinates, the start among them."""
RANDOM_STARTS = 8
"""From how many more, anywhere near; they reach branches that no way along the rows leads to."""
TRIALS = 60
"""Steps, taken or not, before a search is given up."""
MAX_STEP = 0.5
"""Longest step of the search [rad or m]."""
REST_RTOL = 1e-9
"""An acceleration below this fraction of what it adds up from counts as none."""
ACCELERATION_SCALE = 1.0
"""A usual acceleration, for states at which every force vanishes [rad/s^2 or m/s^2]."""
INITIAL_DAMPING, MIN_DAMPING, MAX_DAMPING = 1e-3, 1e-12, 1e9
DIFFERENCE = 1e-6
"""Step of the one-sided differences that lead the search."""
STATE_TOLERANCE = 1e-5
"""States of rest nearer to each other than this are one [rad or m]."""
SEARCH_RADIUS = 1.0
"""How far searches set out along a coordinate that is no angle [m]."""


class InternalEquilibrium(NamedTuple):
    """A state of rest."""

    q: Vector
    u: Vector


@final
class InternalEquilibriumSearch:
    """Looks for states in which the motion that keeps the rows stands still.

    Which ones do may depend on the allocation, and on rows on velocities that let a robot stand
    in some places only. `ukctrl.analysis.linear.equilibria` asks where any input at all holds a
    robot.

    Args:
        tracking: The robot with its rows held, and the path stopped; its motors have grip on them.
    """

    def __init__(self, tracking: ExactTracking) -> None:
        self._held, self._robot = tracking, tracking.robot
        self._snapshot = tracking.robot.snapshot(tracking.robot.neutral)
        self._t = tracking.path_time or 0.0
        self._still = np.zeros(tracking.robot.nv)

    def find(self, q: Vector) -> list[InternalEquilibrium]:
        """Return the states of rest that are found, from the nearest to ``q`` to the farthest."""
        rests: list[InternalEquilibrium] = []
        for start in self._starts(q):
            equilibrium = self._solve(start)
            if equilibrium and not any(self._is_same(equilibrium.q, peer.q) for peer in rests):
                rests.append(equilibrium)
        return sorted(
            rests,
            key=lambda equilibrium: float(np.linalg.norm(self._robot.difference(q, equilibrium.q))),
        )

    def _is_same(self, q: Vector, q_ref: Vector) -> bool:
        return bool(max_abs(angle_difference(self._robot, q, q_ref)) <= STATE_TOLERANCE)

    def _starts(self, q: Vector) -> Iterator[Vector]:
        """Yield configurations that keep the rows: ``q``, then some spread evenly about it."""
        yield q
        try:
            N, chosen = self._tangent(q)
        except UkctrlError:
            return
        turns = np.array(self._robot.dof_units) == "rad/s"
        reach = np.where(turns, np.pi, SEARCH_RADIUS)
        # Other branches first, then along the rows; one coordinate has seven points.
        for k in range(1, RANDOM_STARTS + 1 if len(chosen) else 1):
            offset = reach * golden_ratio_point(k, self._robot.nv)
            with contextlib.suppress(UkctrlError):
                yield self._project(self._robot.integrate(q, offset))
        for k in range(1, len(chosen) and (8 if len(chosen) == 1 else TANGENT_STARTS)):
            offset = reach[chosen] * golden_ratio_point(k, len(chosen))
            with contextlib.suppress(UkctrlError):
                yield self._project(self._robot.integrate(q, N @ offset), chosen.tolist())

    def _tangent(self, q: Vector) -> tuple[Matrix, Indices]:
        """Return how all velocities follow from as many as the rows on positions leave."""
        tracking, dynamics = self._held, self._held.dynamics
        dynamics.move(self._t, q, self._still)
        rows = np.vstack([dynamics.passive.rows.A, tracking.servo.write(dynamics.snapshot).A])
        free = ConstraintNullSpace(dynamics.L, rows[tracking.positional], dynamics.rank.passive)
        return free.tangent(free.independent_velocities), free.independent_velocities

    def _project(self, q: Vector, locked: list[int] | None = None) -> Vector:
        return consistent_configuration(self._held.whole, self._snapshot, q, self._t, locked or [])

    def _solve(self, q: Vector) -> InternalEquilibrium | None:
        """Return a state of rest by damped Gauss-Newton from a configuration; None if not found."""
        damping, slopes = INITIAL_DAMPING, None
        try:
            f, size = self._residual(q)
        except (UkctrlError, ArithmeticError):
            return None
        for _ in range(TRIALS):
            if max_abs(f) <= REST_RTOL * max(size, ACCELERATION_SCALE):
                return InternalEquilibrium(q, self._held.input(self._t, q, self._still))
            if damping > MAX_DAMPING:
                break
            try:
                N, J = slopes or self._slopes(q, f)
                slopes = N, J
                step = limited_step(_damped_step(J, f, damping), MAX_STEP)
                trial = self._project(self._robot.integrate(q, N @ step))
                residual, its_size = self._residual(trial)
            except (UkctrlError, ArithmeticError, np.linalg.LinAlgError):
                damping *= 10.0
                continue
            if residual @ residual < f @ f:
                q, f, size, slopes = trial, residual, its_size, None
                damping = max(0.1 * damping, MIN_DAMPING)
            else:
                damping *= 10.0
        return None

    def _residual(self, q: Vector) -> tuple[Vector, float]:
        """Return what keeps a state from being one of rest, and what accelerations add up from."""
        tracking, dynamics = self._held, self._held.dynamics
        u = tracking.input(self._t, q, self._still)
        size = max_abs(dynamics.a_free) + max_abs(dynamics.G * u)
        rows, passive = tracking.servo.rows, dynamics.passive
        slip = rows.beta[~tracking.servo.holonomic]  # rows on velocities may ask for some at rest
        slide = passive.rows.beta[~passive.holonomic]
        return np.concatenate([dynamics.acceleration(u), slip, slide]), size

    def _slopes(self, q: Vector, f: Vector) -> tuple[Matrix, Matrix]:
        """Return the directions that the rows leave, and how the unrest changes along them."""
        N, chosen = self._tangent(q)

        def at(x: Vector) -> Vector:
            return self._residual(self._robot.integrate(q, N @ x))[0]

        return N, forward_difference(at, f, len(chosen))


def forward_difference(values: Callable[[Vector], Vector], at_zero: Vector, size: int) -> Matrix:
    """Return a derivative at zero that is good enough to lead a search, shape ``(k, size)``."""
    J = np.empty((len(at_zero), size))
    for i in range(size):
        step = np.zeros(size)
        step[i] = DIFFERENCE
        J[:, i] = (values(step) - at_zero) / DIFFERENCE
    return J


def golden_ratio_point(k: int, size: int) -> Vector:
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


def _damped_step(J: Matrix, f: Vector, damping: float) -> Vector:
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    gain = sigma / (sigma**2 + damping * max(max_abs(sigma) ** 2, 1e-300) * 1e-3)
    gain[sigma <= 1e-9 * max_abs(sigma)] = 0.0
    step: Vector = -(gain * (f @ U)) @ Vt
    return step
