"""What an identified robot says of motions that it was not fitted to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Robot
from ukctrl_identification.measured_motion import Motion
from ukctrl_identification.passive_motion import driven

WINDOWS = (0.1, 0.2, 0.5, 1.0)
"""How long the robot is left to the logged efforts [s]."""
STARTS = 12
"""Instants from which it is."""
RUNAWAY = 1e3
"""Speeds from which on a robot left to itself is lost [rad/s or m/s]."""
MAX_STEP = 2e-3
"""Steps of the integration (RK4) are no longer [s]."""


class Residual(NamedTuple):
    """What equations leave of the measured efforts, joint by joint, shape ``(k,)`` each."""

    rms: Vector
    """[N m or N]."""
    worst: Vector
    """The largest [N m or N]."""
    correlation: Vector
    """Of one filtered sample and the next: near 0 where only noise is left."""
    slow: Vector
    """Share of the residual's power below the motion's frequency."""


def residual_of(e: Matrix, rate: float, frequency: float) -> Residual:
    """Return what residuals, shape ``(n, k)``, say.

    Args:
        e: Measured minus predicted efforts, filtered.
        rate: Their samples in a second [Hz].
        frequency: Below which the motion lies [Hz].
    """
    from scipy import signal

    columns = [one[np.isfinite(one)] for one in e.T]
    lagged, slow = list[float](), list[float]()
    for one in columns:
        centred = one - one.mean()
        lagged.append((centred[1:] @ centred[:-1]) / max(centred @ centred, np.finfo(float).tiny))
        f, density = signal.periodogram(one, rate, detrend=False)
        slow.append(density[f <= frequency].sum() / max(density.sum(), 1e-300))
    return Residual(
        np.array([np.sqrt((one**2).mean()) for one in columns]),
        np.array([np.abs(one).max() for one in columns]),
        np.array(lagged),
        np.array(slow),
    )


def open_loop_errors(robot: Robot, motions: Sequence[Motion], offset: Vector) -> Matrix:
    """Return how far a robot is from logs when it is left to the logged efforts.

    Args:
        robot: The robot.
        motions: The logs, evenly spaced.
        offset: What sensors of effort show at rest beside the truth, shape ``(nv,)``.

    Returns:
        Root mean square over starts of the error of each velocity's coordinate at the end of each
        of `WINDOWS`, shape ``(4, nv)`` [rad or m]; infinite where it is lost, NaN where no
        stretch is as long, or an effort was not measured.
    """
    nothing = np.full((len(WINDOWS), robot.nv), np.nan)
    if not motions:
        return nothing
    motion = max(motions, key=lambda one: len(one.time))
    effort = motion.effort[:, driven(robot)]
    if robot.nu != effort.shape[1] or not np.isfinite(effort).all() or len(motion.time) < 2:
        return nothing
    dynamics = Dynamics(robot)
    inputs = np.linalg.pinv(robot.actuation.constant)
    period = float(motion.time[1] - motion.time[0])
    every = max(1, int(MAX_STEP / period / 2.0))
    step = 2.0 * every * period
    lengths = [round(window / step) for window in WINDOWS]
    u = (np.nan_to_num(motion.effort) - offset) @ inputs.T
    longest = 2 * every * lengths[-1]
    if len(u) <= longest or min(lengths) < 1:
        return nothing
    errors = list[Matrix]()
    for first in np.linspace(0, len(u) - 1 - longest, STARTS).astype(int):
        q, v, ends = motion.q[first].copy(), motion.v[first].copy(), list[Vector]()
        for k in range(lengths[-1]):
            at = first + 2 * every * k
            q, v = _rk4(dynamics, q, v, u[at], u[at + every], u[at + 2 * every], step)
            if not np.abs(v).max() < RUNAWAY:
                ends += [np.full(robot.nv, np.inf)] * (len(lengths) - len(ends))
                break
            if k + 1 in lengths:
                ends.append(robot.difference(motion.q[at + 2 * every], q))
        errors.append(np.array(ends))
    return np.asarray(np.sqrt((np.array(errors) ** 2).mean(axis=0)))


def _rk4(
    dynamics: Dynamics, q: Vector, v: Vector, first: Vector, middle: Vector, last: Vector, h: float
) -> tuple[Vector, Vector]:
    """Return the state after a step under an input at its begin, middle and end."""
    integrate = dynamics.robot.integrate

    def acceleration(q: Vector, v: Vector, u: Vector) -> Vector:
        dynamics.move(0.0, q, v)
        return dynamics.a_free + dynamics.G @ u

    a1 = acceleration(q, v, first)
    v2 = v + 0.5 * h * a1
    a2 = acceleration(integrate(q, 0.5 * h * v), v2, middle)
    v3 = v + 0.5 * h * a2
    a3 = acceleration(integrate(q, 0.5 * h * v2), v3, middle)
    v4 = v + h * a3
    a4 = acceleration(integrate(q, h * v3), v4, last)
    q = integrate(q, h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4))
    return q, v + h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
