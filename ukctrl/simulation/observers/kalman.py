"""The Kalman filter in its steady state: one gain for the whole run."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import spec
from ukctrl.mechanics.integrate.system import State
from ukctrl.simulation.observers.believed_motion import BelievedMotion, Transition
from ukctrl.simulation.observers.filters import Corrected, Estimate, Filter, advanced
from ukctrl.simulation.observers.measurements import Joints, Measurement, Moment
from ukctrl.simulation.observers.observer import Stochastic


class SteadyGain(NamedTuple):
    """The gain of a filter that has settled, and the covariances that it settles at."""

    K: Matrix
    """Shape ``(n, m)``."""
    P: Matrix
    """After a reading, shape ``(n, n)``; without rows where there is no such thing."""
    S: Matrix
    """Of the innovation, shape ``(m, m)``."""


def steady_gain(transition: Transition, H: Matrix, std: Vector) -> SteadyGain:
    r"""Return the gain of the discrete Riccati equation for $P^-$.

    Raises:
        InputError: There is none: a mode that does not decay is neither measured nor moved.
    """
    from scipy.linalg import solve_discrete_are

    F, Q = transition
    R = np.diag(std**2)
    try:
        P = solve_discrete_are(F.T, H.T, Q, R)
    except (np.linalg.LinAlgError, ValueError):
        raise InputError(
            "there must be a steady gain; none exists here, because a part of the state that does "
            "not decay cannot be told from what is measured, or nothing disturbs it. Measure "
            "more, or give acceleration_std for every joint."
        ) from None
    S: Matrix = H @ P @ H.T + R
    K: Matrix = np.linalg.solve(S, H @ P).T
    return SteadyGain(K, P - K @ S @ K.T, S)


def gain_near(
    motion: BelievedMotion,
    at: Moment,
    period: float,
    process: tuple[Vector, Vector],
    joints: Measurement,
) -> SteadyGain:
    """Return the steady gain of the linear system at a moment, without what sensors hide."""
    n, (t, state, u) = len(motion.chart.A), at
    H = joints.slopes(at, motion.full(t, state))[:, :n]
    F, Q = motion.transition(t, state, u, period, process)
    return steady_gain(Transition(F[:n, :n], Q[:n, :n]), H, joints.std)


@final
@spec
class Kalman(Stochastic):
    r"""Kalman filter with the gain that it settles at, of the robot at rest where the run starts.

    $K = P^- H^\top (H P^- H^\top + R)^{-1}$ with $P^-$ of the discrete Riccati equation; the
    prediction is that of the believed robot all the same, not of its linear system.
    """

    kind: Literal["kalman"] = "kalman"

    def attach(
        self, motion: BelievedMotion, joints: Joints, start: Vector, period: float
    ) -> Filter:
        robot, chart = motion.robot, motion.chart
        process = self.process(robot)
        self.weighs(robot, joints, np.concatenate(process))
        rest = State(chart.q, np.zeros(robot.nv), np.zeros(0))
        u = motion.resting_input(0.0, rest.q, rest.v)
        gain = gain_near(motion, Moment(0.0, rest, u), period, process, joints)
        return ConstantGain(motion, gain)


class ConstantGain(Filter):
    """A prediction by the believed robot, corrected by a gain that does not change."""

    def __init__(self, motion: BelievedMotion, gain: SteadyGain) -> None:
        self.motion, self.gain = motion, gain

    def first(self, at: Moment) -> Estimate:
        return Estimate(at, self.gain.P)

    def predicted(self, before: Estimate, t: float, u: Vector) -> Estimate:
        return Estimate(advanced(self.motion, before, t, u), self.gain.P)

    def corrected(self, predicted: Estimate, measurement: Measurement, y: Any) -> Corrected:
        at, P = predicted
        innovation = measurement.innovation(at, y)
        step = self.motion.full(at.t, at.state) @ (self.gain.K @ innovation)
        moved = at._replace(state=self.motion.moved(at.t, at.state, step))
        return Corrected(Estimate(moved, P), innovation, self.gain.S)

    def gain_at(self, at: Moment, period: float, joints: Measurement) -> Matrix:
        return self.gain.K
