r"""Periodic internal motion along a periodic path, and whether it comes back after a push.

With $P$ the period of the path and $\Phi$ the map of the internal coordinates from one moment to
that a period later, a periodic motion begins where $\Phi(x) = x$. What a period makes of a small
push is $\partial\Phi/\partial x$; its eigenvalues are the Floquet multipliers. The motion comes
back if all are inside the unit circle, and leaves if one is outside; frozen poles say neither.
"""

from __future__ import annotations

import dataclasses as dc
from typing import final

import numpy as np

from ukctrl.analysis.internal_dynamics.exact_tracking import ExactTracking
from ukctrl.analysis.internal_dynamics.internal_motion import integrate
from ukctrl.analysis.internal_dynamics.modes import Poles
from ukctrl.core.algebra.finite_differences import jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.tie_breaking import max_abs

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
