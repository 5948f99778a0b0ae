"""The unscented Kalman filter, with its points in the tangent space."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.fields import Positive, spec
from ukctrl.simulation.observers.estimates import StateEstimate, TimedState
from ukctrl.simulation.observers.extended_kalman import GaussianFilter
from ukctrl.simulation.observers.filters import (
    Filter,
    MeasurementUpdate,
    solve_covariance,
    symmetrise,
)
from ukctrl.simulation.observers.measurements import JointMeasurement, Measurement
from ukctrl.simulation.observers.motion_model import MotionModel
from ukctrl.simulation.observers.observer import StochasticObserver

GAUSSIAN_BETA = 2.0
"""The weight of the middle in covariances that is best for normal errors."""


@final
@spec
class Ukf(StochasticObserver):
    r"""Unscented Kalman filter: points around the estimate go through the believed robot.

    $$ \chi_0 = \hat x, \qquad
       \chi_{\pm i} = \hat x \oplus \big(\pm \alpha \sqrt{n}\, N (\sqrt{P})_i\big), \qquad
       w_{\pm i} = \frac{1}{2 n \alpha^2}. $$

    Points are steps in the tangent space put back onto the passive constraints; means and
    covariances are those of the deviations from the middle one. The noise of the model is added as
    for the extended filter.
    """

    kind: Literal["ukf"] = "ukf"
    late: ClassVar[bool] = True
    spread: Positive = 1.0
    r"""$\alpha$: how far out the points are, in root n standard deviations."""

    def attach(
        self, motion: MotionModel, joints: JointMeasurement, start: Vector, period: float
    ) -> Filter:
        self.require_noise(motion.robot, joints, start)
        return _UnscentedKalmanFilter(motion, start, self.process(motion.robot), self.spread)


class _UnscentedKalmanFilter(GaussianFilter):
    def __init__(
        self,
        motion: MotionModel,
        start: Vector,
        process: tuple[Vector, Vector],
        spread: float,
    ) -> None:
        super().__init__(motion, start, process)
        n, square = len(self._start), spread**2
        self._reach = spread * np.sqrt(n)
        self._mean = np.full(2 * n + 1, 0.5 / (n * square))
        # the scaled transform with kappa = 0: at a spread of 1 the middle counts for no mean
        self._mean[0] = 1.0 - 1.0 / square
        self._spread = self._mean.copy()
        self._spread[0] += 1.0 - square + GAUSSIAN_BETA

    def _points(self, at: TimedState, P: Matrix) -> tuple[Matrix, list[TimedState]]:
        """Return deviations, one a row, and the moments there; the middle one is first."""
        t, state, _ = at
        # not Cholesky: a start without error makes P semidefinite, and rounding a little less
        values, vectors = np.linalg.eigh(P)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        steps = self._reach * np.concatenate([root.T, -root.T])
        full = self.motion.tangent_basis(t, state)
        moved = [at._replace(state=self.motion.retract(t, state, full @ step)) for step in steps]
        return np.concatenate([np.zeros((1, len(P))), steps]), [at, *moved]

    def predicted(self, estimate: StateEstimate, t: float, u: Vector) -> StateEstimate:
        motion, began = self.motion, estimate.at.t
        _, points = self._points(estimate.at, estimate.P)
        ends = [motion.predict(began, moment.state, u, t) for moment in points]
        # deviations from the middle point, since the mean of quaternions is no quaternion
        moves = np.array([motion.deviation(ends[0], end) for end in ends])
        mean = self._mean @ moves
        moves = moves - mean
        P = symmetrise((moves.T * self._spread) @ moves + self.transition(estimate, t, u).Q)
        middle = motion.retract(t, ends[0], motion.tangent_basis(t, ends[0]) @ mean)
        return StateEstimate(TimedState(t, middle, u), P)

    def corrected(
        self, predicted: StateEstimate, measurement: Measurement, y: Any
    ) -> MeasurementUpdate:
        at, P = predicted
        steps, points = self._points(at, P)
        off = np.array([measurement.innovation(moment, y) for moment in points])
        innovation: Vector = self._mean @ off
        # a reading is less off where more is predicted
        z = innovation - off
        S = symmetrise((z.T * self._spread) @ z + np.diag(measurement.std**2))
        K = solve_covariance(S, (z.T * self._spread) @ steps).T
        step = self.motion.tangent_basis(at.t, at.state) @ (K @ innovation)
        moved = at._replace(state=self.motion.retract(at.t, at.state, step))
        # points give no H, which the form of Joseph needs
        return MeasurementUpdate(StateEstimate(moved, symmetrise(P - K @ S @ K.T)), innovation, S)
