r"""The motion on the states that keep the rows: as the path asks for it, and a little beside it.

Along a periodic path, with $P$ its period and $\Phi$ the map of the internal coordinates from one
moment to that a period later, a periodic motion begins where $\Phi(x) = x$. What a period makes of
a small push is $\partial\Phi/\partial x$; its eigenvalues are the Floquet multipliers. The motion
comes back if all are inside the unit circle, and leaves if one is outside; frozen poles say
neither.
"""

from __future__ import annotations

import dataclasses as dc
import math
from typing import Literal, final

import numpy as np

from ukctrl.analysis.internal_dynamics.exact_tracking import ExactTracking, InternalCoordinates
from ukctrl.analysis.internal_dynamics.local_dynamics import Poles
from ukctrl.core.algebra.finite_differences import jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.tie_breaking import first_largest, max_abs

PERTURBATION = 1e-4
"""How far the start is moved beside the motion, in every internal coordinate [rad, m, per s]."""
SAMPLES = 201
"""Times at which the motion is kept."""
RTOL, ATOL = 1e-8, 1e-10
MAX_EVALUATIONS = 20_000
"""A motion that takes more than this is broken off."""
ESCAPE_BOUND = 1e4
"""A speed or a deviation beyond this is one that has run away [rad or m, per s]."""
LINEAR_RANGE = 1e-2
"""Deviations are judged while they are smaller than this [rad or m]."""

Fate = Literal["settles", "stays", "drifts", "runs_away", "ended"]
"""What becomes of the deviation: shrinks, keeps its size, grows as time does, grows faster; or
the motion ended early."""


@final
@dc.dataclass(frozen=True, kw_only=True, eq=False)
class InternalMotion:
    """The motion while the rows hold, from the start on, with the path as given."""

    times: Vector
    """Shape ``(k,)`` [s]."""
    q: Matrix
    """Configurations, shape ``(k, nq)``."""
    v: Matrix
    """Velocities, shape ``(k, nv)``."""
    coordinates: tuple[str, ...]
    """The internal coordinates on positions."""
    units: tuple[str, ...]
    moved: Matrix
    """How far each has moved since the start, shape ``(k, n)``."""
    pushed: Matrix
    """The same of the motion that begins a little beside, shape ``(k, n)``."""
    deviation: Vector
    """Distance of the two over all coordinates, as a multiple of the first, shape ``(k,)``."""
    fate: Fate
    """What becomes of the deviation."""
    rate: float
    """How fast it grows, over the second half: the slope of its logarithm [1/s]."""
    ended: str
    """Why the motion ended early; empty where it did not."""

    @property
    def factor(self) -> float:
        """By how much the deviation has grown at the end."""
        return float(self.deviation[-1]) if len(self.deviation) else math.nan

    def largest_displacement(self) -> tuple[str, float, str]:
        """Return the coordinate that moves farthest from where it started, how far, its unit."""
        if not self.moved.size:
            return "", 0.0, ""
        reach = np.abs(self.moved).max(axis=0)
        k = first_largest(reach)
        return self.coordinates[k], float(reach[k]), self.units[k]


def internal_motion(
    tracking: ExactTracking, q: Vector, v: Vector, x: InternalCoordinates, duration: float
) -> InternalMotion:
    """Return the motion from a state that keeps the rows, and one that begins a little beside.

    Args:
        tracking: The robot with its rows held.
        q: Configuration, shape ``(nq,)``.
        v: Velocity, shape ``(nv,)``.
        x: Coordinates of the states that keep the rows, about this one.
        duration: For how long [s].
    """
    robot, n, t0 = tracking.robot, tracking.robot.nv, tracking.scenario.start.t
    step = PERTURBATION * x.full.sum(axis=1)
    ended = ""
    times = np.linspace(t0, t0 + duration, SAMPLES)
    nominal, reason = integrate(tracking, q, v, times)
    ended = reason
    neighbour = np.zeros((0, n + robot.nq))
    if x.size:
        try:
            near = tracking.project(robot.integrate(q, step[:n]), v + step[n:], t0)
            neighbour, reason = integrate(tracking, near.q, near.v, times)
            ended = ended or reason
        except UkctrlError as error:
            ended = ended or str(error)
    count = min(len(nominal), len(neighbour)) if x.size else len(nominal)
    times, nominal, neighbour = times[:count], nominal[:count], neighbour[:count]
    names = tuple(robot.dofs[i] for i in x.positions)
    units = tuple(robot.dof_units[i].removesuffix("/s") for i in x.positions)
    travelled = _displacements(tracking, nominal)
    away = np.zeros((count, n))
    for k in range(len(neighbour)):
        away[k] = robot.difference(nominal[k, : robot.nq], neighbour[k, : robot.nq])
    size = np.linalg.norm(away, axis=1)
    if len(neighbour) and not len(x.positions):
        size = np.linalg.norm(neighbour[:, robot.nq :] - nominal[:, robot.nq :], axis=1)
    deviation = size / size[0] if count and size[0] > 0.0 else np.zeros(count)
    fate, rate = classify_growth(times, deviation, size) if x.size and count > 8 else ("stays", 0.0)
    return InternalMotion(
        times=times,
        q=nominal[:, : robot.nq],
        v=nominal[:, robot.nq :],
        coordinates=names,
        units=units,
        moved=travelled[:, x.positions],
        pushed=(travelled + away)[:, x.positions],
        deviation=deviation,
        fate="ended" if ended and count <= 8 else fate,
        rate=rate,
        ended=ended,
    )


def _displacements(tracking: ExactTracking, states: Matrix) -> Matrix:
    """Return how far every velocity's coordinate has moved since the first state, turns counted."""
    robot = tracking.robot
    moved = np.zeros((len(states), robot.nv))
    for k in range(1, len(states)):
        q, last = states[k, : robot.nq], states[k - 1, : robot.nq]
        moved[k] = moved[k - 1] + robot.difference(last, q)
    return moved


def integrate(tracking: ExactTracking, q: Vector, v: Vector, times: Vector) -> tuple[Matrix, str]:
    """Return the states ``(q, v)`` at times while the rows hold, and why there are no more."""
    from scipy.integrate import DOP853

    robot = tracking.robot

    def rate(t: float, state: Vector) -> Vector:
        q, v = state[: robot.nq], state[robot.nq :]
        if not robot.is_euclidean:
            q = robot.normalize(q)
        a = tracking.acceleration(t, q, v)
        return np.concatenate([v if robot.is_euclidean else robot.coordinate_rate(q, v), a])

    start = np.concatenate([q, v])
    states = [start]
    try:
        step = DOP853(
            rate,
            float(times[0]),
            start,
            float(times[-1]),
            rtol=RTOL,
            atol=ATOL,
            max_step=float(times[-1] - times[0]) / 20.0,
        )
        while len(states) < len(times):
            complaint = step.step()
            if step.status == "failed":
                return np.array(states), f"its integration fails at t = {step.t:.4g} s: {complaint}"
            between = step.dense_output()
            while len(states) < len(times) and times[len(states)] <= step.t:
                state = between(times[len(states)])
                if not robot.is_euclidean:
                    state[: robot.nq] = robot.normalize(state[: robot.nq])
                states.append(state)
            if max_abs(step.y[robot.nq :]) > ESCAPE_BOUND:
                return np.array(states), f"it has run away at t = {step.t:.4g} s"
            if step.nfev > MAX_EVALUATIONS:
                return np.array(states), f"it was broken off at t = {step.t:.4g} s, for its cost"
    except (UkctrlError, ArithmeticError, np.linalg.LinAlgError) as error:
        return np.array(states), f"after t = {times[len(states) - 1]:.4g} s: {error}"
    return np.array(states), ""


def classify_growth(
    times: Vector, deviation: Vector, size: Vector | None = None
) -> tuple[Fate, float]:
    """Tell what becomes of a deviation, from its largest values in the quarters of its time.

    What grows as time does is twice as large at the end as in the middle.

    Args:
        times: Shape ``(k,)`` [s].
        deviation: Shape ``(k,)``.
        size: The same in units of coordinates, where only deviations count that are small, for
            which the motion beside is as good as linear; absent: all count.
    """
    size = np.zeros(len(times)) if size is None else size
    small = len(size) if size.max() <= LINEAR_RANGE else max(8, int(np.argmax(size > LINEAR_RANGE)))
    t, d = times[:small], np.maximum(deviation[:small], 1e-12)
    quarter = max(2, len(d) // 4)
    peaks = [float(d[k * quarter : (k + 1) * quarter + 1].max()) for k in range(4)]
    ends = (min(k * quarter, len(t) - 1) for k in (2, 4))  # where growth has its largest
    span = -float(np.subtract(*t[list(ends)]))
    rate = math.log(peaks[3] / peaks[1]) / span if span > 0.0 else 0.0
    grown, late = peaks[3] / peaks[1], peaks[3] / peaks[2]
    # What leaves the linear range within half the time grows faster than time.
    if size.max() > LINEAR_RANGE and small < len(size) // 2:
        return "runs_away", rate
    # Over half the time: exponential growth, linear growth, decay, or none of these.
    if grown > 3.0:
        return "runs_away", rate
    if grown > 1.5 and late > 1.15:
        return "drifts", rate
    if grown < 0.7:
        return "settles", rate
    return "stays", rate


PATH_SAMPLES = 512
"""At how many times the path is looked at for its period."""
OVERLAP_FRACTION = 0.25
"""So much of the run must be left to compare with, a period later."""
PERIOD_RTOL = 1e-7
"""What a path is off after a period, as a fraction of its travel."""
NEWTON_STEPS = 12
"""Newton steps to a periodic motion."""
ORBIT_TOLERANCE = 1e-7
"""How far its end may be from its beginning [rad, m, per s]."""
STEP = 1e-3
"""Of the differences of the map."""


@final
@dc.dataclass(frozen=True, kw_only=True, eq=False)
class PeriodicOrbit:
    """A periodic internal motion."""

    period: float
    """Of the path [s]."""
    q: Vector
    """Where it is at the start of the run, shape ``(nq,)``."""
    v: Vector
    """Its velocity there, shape ``(nv,)``."""
    coordinates: tuple[str, ...]
    """The internal coordinates that the map is of."""
    monodromy: Matrix
    """What a period makes of a small push, shape ``(k, k)``."""
    multipliers: Poles
    """Its eigenvalues, the largest first."""

    @property
    def exponents(self) -> Poles:
        """The rates of growth over a period, up to whole turns [rad/s]."""
        return np.asarray(np.log(self.multipliers) / self.period, dtype=np.complex128)


def path_period(tracking: ExactTracking, q: Vector) -> float | None:
    """Return the period of the path [s]; None where it repeats nothing within the run.

    It is the smallest lag after which the rows ask for the same again, at a configuration that
    stays, and at least a quarter of the run is left to see it.
    """
    from scipy.optimize import least_squares

    t0, duration = tracking.scenario.start.t, tracking.scenario.timing.duration
    times = np.linspace(t0, t0 + duration, PATH_SAMPLES)
    table = tracking.row_demands(q, times)
    travel = np.ptp(table, axis=0)
    table, moving = table[:, travel > 0.0], travel > 0.0
    if not moving.any():
        return None
    lags = np.arange(1, int((1.0 - OVERLAP_FRACTION) * PATH_SAMPLES))
    off = np.array([max_abs((table[k:] - table[:-k]) / travel[moving]) for k in lags])
    dips = [k for k in range(1, len(off) - 1) if off[k] <= off[k - 1] and off[k] <= off[k + 1]]
    few = times[: max(8, int(OVERLAP_FRACTION * PATH_SAMPLES)) : 4]
    demands, gap = tracking.row_demands(q, few)[:, moving], float(times[1] - times[0])

    def missed(lag: Vector) -> Vector:
        residual: Vector = (
            (tracking.row_demands(q, few + lag[0])[:, moving] - demands) / travel[moving]
        ).ravel()
        return residual

    for k in dips:
        # A dip this shallow is no period.
        if off[k] > 0.1:
            continue
        lag = gap * float(lags[k])
        best = least_squares(missed, [lag], bounds=(lag - gap, lag + gap), xtol=1e-14, ftol=1e-14)
        if max_abs(best.fun) < PERIOD_RTOL:
            return float(best.x[0])
    return None


def periodic_orbit(
    tracking: ExactTracking, q: Vector, v: Vector, period: float
) -> PeriodicOrbit | None:
    """Return a periodic motion that keeps the rows, near a state, by Newton's method on the map.

    None where none is found. A direction in which nothing decides, such as the place of a cart that
    is free, is left as it is.

    Args:
        tracking: The robot with its rows held.
        q: Configuration at the start of the run, shape ``(nq,)``.
        v: Velocity there, shape ``(nv,)``.
        period: Of the path [s].
    """
    robot, n, t0 = tracking.robot, tracking.robot.nv, tracking.scenario.start.t

    def later(x: Vector) -> Vector:
        near = tracking.project(robot.integrate(q, step(x)[:n]), v + step(x)[n:], t0)
        states, ended = integrate(tracking, near.q, near.v, np.array([t0, t0 + period]))
        if len(states) < 2:
            raise OrbitNotClosed(ended)
        dq, dv = robot.difference(q, states[1, : robot.nq]), states[1, robot.nq :] - v
        return np.concatenate([dq[coordinates.positions], dv[coordinates.velocities]])

    def step(x: Vector) -> Vector:
        moved: Vector = coordinates.full @ x
        return moved

    try:
        for _ in range(NEWTON_STEPS):
            coordinates = tracking.coordinates(t0, q, v)
            off = later(np.zeros(coordinates.size))
            turned = jacobian(later, coordinates.size, STEP)
            if max_abs(off) < ORBIT_TOLERANCE:
                multipliers = np.linalg.eigvals(turned).astype(np.complex128)
                order = np.argsort(-np.abs(multipliers), kind="stable")
                return PeriodicOrbit(
                    period=period,
                    q=q,
                    v=v,
                    coordinates=coordinates.names(robot),
                    monodromy=turned,
                    multipliers=multipliers[order],
                )
            # The cutoff leaves free places where they are.
            x: Vector = np.asarray(
                np.linalg.lstsq(np.eye(coordinates.size) - turned, off, rcond=1e-6)[0]
            )
            near = tracking.project(robot.integrate(q, step(x)[:n]), v + step(x)[n:], t0)
            q, v = near.q, near.v
    except (UkctrlError, ArithmeticError, np.linalg.LinAlgError):
        return None
    return None


class OrbitNotClosed(UkctrlError, RuntimeError):
    """The motion ends before a period is over."""
