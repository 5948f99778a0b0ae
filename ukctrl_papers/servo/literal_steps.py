"""The paper's steps 1) to 5) word by word: what comes of them, on an open and a closed chain."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl_papers.servo import arms

INTEGRATOR_TOLERANCE = 1e-10
"""Tolerances of these runs."""
READ_OFF_TIME = 0.8
"""When the errors are read off [s]."""
BREAKDOWN_RATE = 50.0
"""Links that spin this fast have broken down [rad/s]."""


class LiteralMotion(NamedTuple):
    """A motion under the literal input."""

    time: Vector
    theta: Vector
    """Link angles, shape (n, 5) [rad]."""
    end: float
    """When the integrator gave up, or the end of the period [s]."""


def acceleration(t: float, theta: Vector, rate: Vector, closed: bool) -> Vector:
    """Return the acceleration under (71) word by word.

    Args:
        t: Time [s].
        theta: Link angles, shape (5,).
        rate: Their rates.
        closed: Whether the chain is really closed, so that its reaction answers the motors; else
            the reaction that was computed with motors at rest is applied as a force.
    """
    M, Q = arms.mass(theta), -arms.coriolis(theta, rate) @ rate - arms.gravity(theta)
    A_c, b_c = arms.closure_rows(theta, rate)
    load = arms.B @ arms.torques("literal", t, theta, rate)
    answered = Q + load if closed else Q
    lam = np.linalg.solve(A_c @ np.linalg.solve(M, A_c.T), b_c - A_c @ np.linalg.solve(M, answered))
    return np.asarray(np.linalg.solve(M, Q + load + A_c.T @ lam))


@functools.cache
def literal_run(closed: bool) -> LiteralMotion:
    """Integrate from the start of the known motion until the period or the integrator ends."""
    from scipy.integrate import DOP853

    def rates(t: float, x: Vector) -> Vector:
        return np.concatenate((x[5:], acceleration(t, x[:5], x[5:], closed)))

    solver = DOP853(
        rates,
        0.0,
        np.concatenate(arms.known_motion(0.0)[:2]),
        arms.PERIOD,
        rtol=INTEGRATOR_TOLERANCE,
        atol=INTEGRATOR_TOLERANCE,
        max_step=0.02,
    )
    times, states = [0.0], [solver.y.copy()]
    with np.errstate(all="ignore"):
        while solver.status == "running" and np.abs(solver.y[5:]).max() < BREAKDOWN_RATE:
            solver.step()
            times.append(solver.t)
            states.append(solver.y.copy())
    return LiteralMotion(np.array(times), np.array(states)[:, :5], float(times[-1]))


def angles_at(ran: LiteralMotion, t: float) -> Vector:
    """Return the link angles of a run at a time, shape (5,)."""
    from scipy.interpolate import CubicSpline

    spline = CubicSpline(ran.time, ran.theta)
    return np.asarray(spline(t))


def reaction_contraction(t: float) -> float:
    r"""Return how much of an error of the reaction is left when (71) is fed its last one.

    With the reaction of the step before, $u_{k+1} = (A M^{-1} B)^+ (b - A M^{-1}(Q + Q_c(u_k)))$;
    the spectral radius of this affine map in u.
    """
    theta, rate, _ = arms.known_motion(t)
    M, A = arms.mass(theta), arms.servo_rows(t, theta, rate)[0]
    A_c = arms.closure_rows(theta, rate)[0]
    MB, MA = np.linalg.solve(M, arms.B), np.linalg.solve(M, A_c.T)
    answer = -MA @ np.linalg.solve(A_c @ MA, A_c @ MB)
    step = -np.linalg.pinv(A @ MB) @ A @ answer
    return float(np.abs(np.linalg.eigvals(step)).max())
