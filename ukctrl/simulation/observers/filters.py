"""An estimate of the state, and what predicts and corrects it."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.linearise import zero_order_hold
from ukctrl.simulation.observers.measurements import Measurement, TimedState
from ukctrl.simulation.observers.motion_model import MotionModel


class StateEstimate(NamedTuple):
    """State estimate and its covariance."""

    at: TimedState
    P: Matrix
    """Covariance of all deviations, shape ``(n, n)``; without rows where the observer has none."""


class MeasurementUpdate(NamedTuple):
    """An estimate after a reading."""

    estimate: StateEstimate
    innovation: Vector
    """By how much the reading was off, shape ``(m,)``."""
    S: Matrix
    """The covariance that was expected of that, shape ``(m, m)``; or without rows."""


class LinearObserver(NamedTuple):
    """Linear observer near a state: ``x_k = A x_{k-1} + B u_{k-1} + K y_k`` of deviations."""

    A: Matrix
    B: Matrix
    K: Matrix


class Filter(abc.ABC):
    """Recursive filter of a run. All its memory is in its estimates, which it does not change."""

    motion: MotionModel
    note: ClassVar[str] = ""
    """What a linear analysis must say of its gain."""

    @abc.abstractmethod
    def first(self, at: TimedState) -> StateEstimate:
        """Return the estimate at the start, before any reading."""

    @abc.abstractmethod
    def predicted(self, estimate: StateEstimate, t: float, u: Vector) -> StateEstimate:
        """Return the estimate at a later time, the input held since then."""

    @abc.abstractmethod
    def corrected(
        self, predicted: StateEstimate, measurement: Measurement, y: Any
    ) -> MeasurementUpdate:
        """Return the estimate after a reading."""

    @abc.abstractmethod
    def gain_at(self, at: TimedState, period: float, joints: Measurement) -> Matrix:
        """Return the gain that it has, or would settle at, near a moment: shape ``(n, m)``."""

    def near(self, at: TimedState, period: float, joints: Measurement) -> LinearObserver:
        r"""Return it near a moment: $(I - K H) F$, $(I - K H) \Gamma$ and $K$.

        Raises:
            InputError: It has no steady gain there.
        """
        linear = self.motion.linear(at.t, at.state.q, at.state.v, at.u)
        F, Gamma = zero_order_hold(linear.A, linear.B, period)
        K = self.gain_at(at, period, joints)
        error_map = np.eye(len(F)) - K @ joints.slopes(at, linear.full)
        return LinearObserver(error_map @ F, error_map @ Gamma, K)


NO_COVARIANCE: Matrix = np.zeros((0, 0))
"""No covariance."""


def predict_state(motion: MotionModel, estimate: StateEstimate, t: float, u: Vector) -> TimedState:
    """Return the moment that the believed robot has at a later time."""
    return TimedState(t, motion.predict(estimate.at.t, estimate.at.state, u, t), u)


def symmetrise(P: Matrix) -> Matrix:
    """Return a matrix without what rounding has made of its symmetry."""
    even: Matrix = 0.5 * (P + P.T)
    return even


def solve_covariance(S: Matrix, B: Matrix) -> Matrix:
    """Return ``S^-1 B`` of a covariance.

    Raises:
        np.linalg.LinAlgError: It is not positive definite.
    """
    from scipy.linalg.lapack import dposv

    # a reading that is wholly out of range measures nothing
    if not len(S):
        return B.copy()
    _, X, code = dposv(S, B, lower=1)
    if code:
        raise np.linalg.LinAlgError("a covariance is not positive definite")
    return np.asarray(X)


def normalised_square(error: Vector, P: Matrix) -> float:
    """Return ``e' P^-1 e`` an entry; NaN where the covariance is singular or there is none."""
    if not len(P):
        return float("nan")
    try:
        return float(error @ solve_covariance(P, error)) / len(error)
    except np.linalg.LinAlgError:
        return float("nan")
