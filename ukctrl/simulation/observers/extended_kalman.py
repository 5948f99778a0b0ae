"""The extended Kalman filter on the constrained manifold."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.fields import spec
from ukctrl.simulation.observers.estimates import StateEstimate, TimedState
from ukctrl.simulation.observers.filters import (
    Filter,
    MeasurementUpdate,
    solve_covariance,
    symmetrise,
)
from ukctrl.simulation.observers.kalman import local_gain
from ukctrl.simulation.observers.measurements import JointMeasurement, Measurement
from ukctrl.simulation.observers.motion_model import MotionModel, Transition
from ukctrl.simulation.observers.observer import StochasticObserver


@final
@spec
class Ekf(StochasticObserver):
    r"""Extended Kalman filter: prediction by the believed robot, covariance by its linear system.

    $$ P^- = F P F^\top + Q, \quad K = P^- H^\top (H P^- H^\top + R)^{-1}, \quad
       \hat x = \hat x^- \oplus N K\,(y \ominus h(\hat x^-)), $$

    with $P = (I - K H) P^- (I - K H)^\top + K R K^\top$. The correction is a step in the tangent
    space, ``N`` from the chart to all freedoms, and then onto the passive constraints.
    """

    kind: Literal["ekf"] = "ekf"
    late: ClassVar[bool] = True

    def attach(
        self, motion: MotionModel, joints: JointMeasurement, start: Vector, period: float
    ) -> Filter:
        self.require_noise(motion.robot, joints, start)
        return _ExtendedKalmanFilter(motion, start, self.process(motion.robot))


class GaussianFilter(Filter):
    """A filter that carries a covariance along."""

    note = "the observer is looked at with the gain that it would settle at here."

    def __init__(self, motion: MotionModel, start: Vector, process: tuple[Vector, Vector]) -> None:
        self.motion, self._process = motion, process
        pushes = np.concatenate(process)
        if motion.measures_acceleration:
            # noise of model and reading hang together where a push is felt: a state is known to
            # both
            motion.process_noise_indices = np.flatnonzero(pushes)
        self._start = np.concatenate([start, pushes[motion.process_noise_indices]])

    def first(self, at: TimedState) -> StateEstimate:
        return StateEstimate(at, np.diag(self._start**2))

    def gain_at(self, at: TimedState, period: float, joints: Measurement) -> Matrix:
        return local_gain(self.motion, at, period, self._process, joints).K

    def transition(self, estimate: StateEstimate, t: float, u: Vector) -> Transition:
        """Return what becomes of deviations until a later time."""
        began, state, _ = estimate.at
        return self.motion.transition(began, state, u, t - began, self._process)


class _ExtendedKalmanFilter(GaussianFilter):
    def predicted(self, estimate: StateEstimate, t: float, u: Vector) -> StateEstimate:
        F, Q = self.transition(estimate, t, u)
        return StateEstimate(
            TimedState(t, self.motion.predict(*estimate.at[:2], u, t), u),
            symmetrise(F @ estimate.P @ F.T + Q),
        )

    def corrected(
        self, predicted: StateEstimate, measurement: Measurement, y: Any
    ) -> MeasurementUpdate:
        at, P = predicted
        full = self.motion.tangent_basis(at.t, at.state)
        R: Matrix = np.diag(measurement.std**2)
        H = measurement.slopes(at, full)
        S = symmetrise(H @ P @ H.T + R)
        K = solve_covariance(S, H @ P).T
        innovation = measurement.innovation(at, y)
        error_map = np.eye(len(P)) - K @ H
        # Joseph's form: positive semidefinite with any rounding of the gain, tick after tick
        P = symmetrise(error_map @ P @ error_map.T + K @ R @ K.T)
        moved = self.motion.retract(at.t, at.state, full @ (K @ innovation))
        return MeasurementUpdate(StateEstimate(at._replace(state=moved), P), innovation, S)
