"""The extended Kalman filter on the constrained manifold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal, final

import numpy as np

from ukctrl.core.algebra.factorisation import matvec
from ukctrl.core.algebra.sparse_products import matmul, matmul_transposed
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating
from ukctrl.core.fields import spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.simulation.observers.estimates import EstimateArrays, StateEstimate, TimedState
from ukctrl.simulation.observers.filters import (
    Filter,
    UpdateArrays,
    gain_of,
    not_positive,
    symmetrise_sum,
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

    def transition_steps(
        self, x: EstimateArrays, clock: Vector, u: Vector
    ) -> tuple[Transition, Iterator[KernelStep]]:
        """Return where is what becomes of deviations until a time, and what writes it."""
        return self.motion.transition_steps(x, clock, u, self._process)


class _ExtendedKalmanFilter(GaussianFilter):
    def prediction_steps(self, x: EstimateArrays, clock: Vector, u: Vector) -> Iterator[KernelStep]:
        transition, steps = self.transition_steps(x, clock, u)
        yield from steps
        yield BoundKernel(propagate_covariance, *transition, x.P)
        yield from self.motion.prediction_steps(x, clock, u)

    def correction_steps(
        self, x: EstimateArrays, measurement: Measurement, y: Any, update: UpdateArrays
    ) -> Iterator[KernelStep]:
        full, turned = self.motion.tangent_steps(x)
        (rows, n), m = full.shape, len(measurement.std)
        H, deviation, step = np.zeros((m, n)), np.zeros(n), np.zeros(rows)
        yield from turned
        yield from measurement.slope_steps(x, full, H)
        yield from measurement.innovation_steps(x, y, update.innovation)
        args = H, measurement.std, x.P, *update, deviation
        yield BoundKernel(correct_covariance, *args, fault=lambda _: not_positive(x.clock))
        yield BoundKernel(matvec, full, deviation, step)
        yield from self.motion.retraction_steps(x, step)


@allocating
def propagate_covariance(F: Matrix, Q: Matrix, P: Matrix) -> None:
    """Overwrite a covariance with ``F P F' + Q``."""
    symmetrise_sum(matmul_transposed(matmul(F, P), F), Q, P)


@allocating
def correct_covariance(
    H: Matrix,
    std: Vector,
    P: Matrix,
    innovation: Vector,
    S: Matrix,
    deviation: Vector,
) -> bool:
    """Overwrite a covariance with that after a reading, and write ``S`` and ``K`` times what it is
    off; return whether the reading's covariance is positive definite.
    """
    (m, n) = H.shape
    HP, R = matmul(H, P), np.zeros((m, m))
    for k in range(m):
        R[k, k] = std[k] * std[k]
    symmetrise_sum(matmul_transposed(HP, H), R, S)
    K = gain_of(S, HP)
    if len(K) < n:
        return False
    matvec(K, innovation, deviation)
    error_map = matmul(K, H)
    for i in range(n):
        for k in range(n):
            error_map[i, k] = (1.0 if i == k else 0.0) - error_map[i, k]
    # Joseph's form: positive semidefinite with any rounding of the gain, tick after tick
    after = matmul_transposed(matmul(error_map, P), error_map)
    symmetrise_sum(after, matmul_transposed(matmul(K, R), K), P)
    return True
