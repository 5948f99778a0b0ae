"""The Kalman filter in its steady state: one gain for the whole run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, final

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into, matvec
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.integrate.ode_system import IntegratorState
from ukctrl.simulation.observers.estimates import EstimateArrays, StateEstimate, TimedState
from ukctrl.simulation.observers.filters import Filter, UpdateArrays
from ukctrl.simulation.observers.measurements import JointMeasurement, Measurement
from ukctrl.simulation.observers.motion_model import MotionModel, Transition
from ukctrl.simulation.observers.observer import StochasticObserver


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
    # formed once, so that no rounding adds up and Joseph's form is not needed
    return SteadyGain(K, P - K @ S @ K.T, S)


def local_gain(
    motion: MotionModel,
    at: TimedState,
    period: float,
    process: tuple[Vector, Vector],
    joints: Measurement,
) -> SteadyGain:
    """Return the steady gain of the linear system at a moment, without what sensors hide."""
    n, (t, state, u) = len(motion.chart.A), at
    H = joints.slopes(at, motion.tangent_basis(t, state))[:, :n]
    F, Q = motion.transition(t, state, u, period, process)
    return steady_gain(Transition(F[:n, :n], Q[:n, :n]), H, joints.std)


@final
@spec
class Kalman(StochasticObserver):
    r"""Kalman filter with the gain that it settles at, of the robot at rest where the run starts.

    $K = P^- H^\top (H P^- H^\top + R)^{-1}$ with $P^-$ of the discrete Riccati equation; the
    prediction is that of the believed robot all the same, not of its linear system.
    """

    kind: Literal["kalman"] = "kalman"

    def attach(
        self, motion: MotionModel, joints: JointMeasurement, start: Vector, period: float
    ) -> Filter:
        robot, chart = motion.robot, motion.chart
        process = self.process(robot)
        self.require_noise(robot, joints, np.concatenate(process))
        equilibrium = IntegratorState(chart.q, np.zeros(robot.nv), np.zeros(0))
        u = motion.resting_input(0.0, equilibrium.q, equilibrium.v)
        gain = local_gain(motion, TimedState(0.0, equilibrium, u), period, process, joints)
        return ConstantGainFilter(motion, gain)


class ConstantGainFilter(Filter):
    """A prediction by the believed robot, corrected by a gain that does not change."""

    def __init__(self, motion: MotionModel, gain: SteadyGain) -> None:
        self.motion, self.gain = motion, SteadyGain(*map(np.ascontiguousarray, gain))

    def first(self, at: TimedState) -> StateEstimate:
        return StateEstimate(at, self.gain.P)

    def prediction_steps(self, x: EstimateArrays, clock: Vector, u: Vector) -> Iterable[KernelStep]:
        return self.motion.prediction_steps(x, clock, u)

    def correction_steps(
        self, x: EstimateArrays, measurement: Measurement, y: Any, update: UpdateArrays
    ) -> Iterator[KernelStep]:
        full, turned = self.motion.tangent_steps(x)
        deviation, step = np.zeros(full.shape[1]), np.zeros(len(full))
        yield from measurement.innovation_steps(x, y, update.innovation)
        yield from turned
        yield BoundKernel(matvec, self.gain.K, update.innovation, deviation)
        yield BoundKernel(matvec, full, deviation, step)
        yield from self.motion.retraction_steps(x, step)
        yield BoundKernel(copy_into, self.gain.S, update.S)

    def gain_at(self, at: TimedState, period: float, joints: Measurement) -> Matrix:
        return self.gain.K
