"""The extended Kalman filter on the constrained manifold."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.fields import spec
from ukctrl.simulation.observers.believed_motion import BelievedMotion, Transition
from ukctrl.simulation.observers.filters import (
    Corrected,
    Estimate,
    Filter,
    advanced,
    solved,
    symmetric,
)
from ukctrl.simulation.observers.kalman import gain_near
from ukctrl.simulation.observers.measurements import Joints, Measurement, Moment
from ukctrl.simulation.observers.observer import Stochastic


@final
@spec
class Ekf(Stochastic):
    r"""Extended Kalman filter: prediction by the believed robot, covariance by its linear system.

    $$ P^- = F P F^\top + Q, \quad K = P^- H^\top (H P^- H^\top + R)^{-1}, \quad
       \hat x = \hat x^- \oplus N K\,(y \ominus h(\hat x^-)), $$

    with $P = (I - K H) P^- (I - K H)^\top + K R K^\top$. The correction is a step in the tangent
    space, ``N`` from the chart to all freedoms, and then onto the passive constraints.
    """

    kind: Literal["ekf"] = "ekf"
    late: ClassVar[bool] = True

    def attach(
        self, motion: BelievedMotion, joints: Joints, start: Vector, period: float
    ) -> Filter:
        self.weighs(motion.robot, joints, start)
        return _ExtendedKalmanFilter(motion, start, self.process(motion.robot))


class Gaussian(Filter):
    """A filter that carries a covariance along."""

    note = "the observer is looked at with the gain that it would settle at here."

    def __init__(
        self, motion: BelievedMotion, start: Vector, process: tuple[Vector, Vector]
    ) -> None:
        self.motion, self._process = motion, process
        pushes = np.concatenate(process)
        if motion.feels:
            motion.pushes = np.flatnonzero(pushes)
        self._start = np.concatenate([start, pushes[motion.pushes]])

    def first(self, at: Moment) -> Estimate:
        return Estimate(at, np.diag(self._start**2))

    def gain_at(self, at: Moment, period: float, joints: Measurement) -> Matrix:
        return gain_near(self.motion, at, period, self._process, joints).K

    def transition(self, before: Estimate, t: float, u: Vector) -> Transition:
        """Return what becomes of deviations until a later time."""
        began, state, _ = before.at
        return self.motion.transition(began, state, u, t - began, self._process)


class _ExtendedKalmanFilter(Gaussian):
    def predicted(self, before: Estimate, t: float, u: Vector) -> Estimate:
        F, Q = self.transition(before, t, u)
        return Estimate(advanced(self.motion, before, t, u), symmetric(F @ before.P @ F.T + Q))

    def corrected(self, predicted: Estimate, measurement: Measurement, y: Any) -> Corrected:
        at, P = predicted
        full = self.motion.full(at.t, at.state)
        R: Matrix = np.diag(measurement.std**2)
        H = measurement.slopes(at, full)
        S = symmetric(H @ P @ H.T + R)
        K = solved(S, H @ P).T
        innovation = measurement.innovation(at, y)
        left = np.eye(len(P)) - K @ H
        P = symmetric(left @ P @ left.T + K @ R @ K.T)
        moved = self.motion.moved(at.t, at.state, full @ (K @ innovation))
        return Corrected(Estimate(at._replace(state=moved), P), innovation, S)
