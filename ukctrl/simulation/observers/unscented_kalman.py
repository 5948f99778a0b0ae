"""The unscented Kalman filter, with its points in the tangent space."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Literal, final

import numpy as np

from ukctrl.core.algebra.decompositions import svd
from ukctrl.core.algebra.factorisation import copy_into, matvec, matvec_transposed
from ukctrl.core.algebra.sparse_products import matmul, matmul_transposed
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.fields import Positive, spec
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep, run
from ukctrl.robot.manifold_kernels import difference
from ukctrl.simulation.observers.estimates import EstimateArrays
from ukctrl.simulation.observers.extended_kalman import GaussianFilter
from ukctrl.simulation.observers.filters import (
    Filter,
    UpdateArrays,
    gain_of,
    not_positive,
    symmetrise_sum,
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
        self._reach = float(spread * np.sqrt(n))
        self._mean = np.full(2 * n + 1, 0.5 / (n * square))
        # the scaled transform with kappa = 0: at a spread of 1 the middle counts for no mean
        self._mean[0] = 1.0 - 1.0 / square
        self._spread = self._mean.copy()
        self._spread[0] += 1.0 - square + GAUSSIAN_BETA

    def _point_steps(
        self, x: EstimateArrays, point: EstimateArrays, then: Iterable[KernelStep], value: Vector
    ) -> tuple[tuple[Matrix, Matrix], Iterator[KernelStep]]:
        """Return where the points' deviations and their values are, and what writes them.

        Args:
            x: The estimate, which is the first of them.
            point: Arrays of each in its turn.
            then: What writes the value of the point that is there then.
            value: Where.
        """
        n, full, turned = len(x.P), *self.motion.tangent_steps(x)
        deviations, values = np.zeros((2 * n + 1, n)), np.zeros((2 * n + 1, len(value)))
        step, moves = np.zeros(len(full)), np.zeros(1)
        moved = KernelSequence(self.motion.retraction_steps(point, step)).when_equal(moves, 1)
        inside = KernelSequence((moved, *then))
        args = moves, full, deviations, step, x[:5], point[:5], value, values

        def steps() -> Iterator[KernelStep]:
            yield from turned
            yield BoundKernel(spread_points, x.P, self._reach, deviations)
            yield BoundKernel(visit_points, inside.lines, *args, inside=inside)

        return (deviations, values), steps()

    def prediction_steps(self, x: EstimateArrays, clock: Vector, u: Vector) -> Iterator[KernelStep]:
        motion, moved, mean = self.motion, *np.zeros((2, len(x.P)))
        point, middle = EstimateArrays.of(x.read()), EstimateArrays.of(x.read())
        transition, steps = self.transition_steps(x, clock, u)
        yield from steps
        blocks, scratch = motion.robot.structure.manifold_table, np.zeros(len(x.v))
        chart = motion.chart.positions, motion.chart.velocities
        # deviations from the middle point, since the mean of quaternions is no quaternion
        then = (
            *motion.prediction_steps(point, clock, u),
            BoundKernel(deviate, blocks, *chart, scratch, middle[1:4], point[1:4], moved),
        )
        yield from _copied(x, middle)
        yield from motion.prediction_steps(middle, clock, u)
        (_, moves), steps = self._point_steps(x, point, then, moved)
        yield from steps
        yield BoundKernel(
            spread_of_points, self._mean, self._spread, moves, transition.Q, mean, x.P
        )
        yield from _copied(middle, x)
        full, turned = motion.tangent_steps(x)
        step = np.zeros(len(full))
        yield from turned
        yield BoundKernel(matvec, full, mean, step)
        yield from motion.retraction_steps(x, step)

    def correction_steps(
        self, x: EstimateArrays, measurement: Measurement, y: Any, update: UpdateArrays
    ) -> Iterator[KernelStep]:
        point, off = EstimateArrays.of(x.read()), np.zeros(len(measurement.std))
        then = measurement.innovation_steps(point, y, off)
        (deviations, values), steps = self._point_steps(x, point, then, off)
        full, turned = self.motion.tangent_steps(x)
        deviation, step = np.zeros(len(x.P)), np.zeros(len(full))
        yield from steps
        weights = self._mean, self._spread, np.diag(measurement.std**2)
        args = *weights, deviations, values, x.P, *update, deviation
        yield BoundKernel(correct_by_points, *args, fault=lambda _: not_positive(x.clock))
        yield from turned
        yield BoundKernel(matvec, full, deviation, step)
        yield from self.motion.retraction_steps(x, step)


def _copied(x: EstimateArrays, target: EstimateArrays) -> Iterator[KernelStep]:
    return (BoundKernel(copy_into, *pair) for pair in zip(x[:5], target[:5], strict=True))


@allocating
def spread_points(P: Matrix, reach: float, deviations: Matrix) -> None:
    """Write the deviations of points: none, then along each axis of a covariance, either way."""
    n = len(P)
    # not Cholesky: a start without error makes P semidefinite, and rounding a little less
    axes = svd(P)
    for k in range(n):
        length = reach * np.sqrt(axes.sigma[n - 1 - k])
        for c in range(n):
            entry = length * axes.Vt[n - 1 - k, c]
            deviations[1 + k, c], deviations[1 + n + k, c] = entry, -entry


@compiled
def visit_points(
    lines: Indices,
    moves: Vector,
    full: Matrix,
    deviations: Matrix,
    step: Vector,
    x: tuple[Vector, Vector, Vector, Vector, Vector],
    point: tuple[Vector, Vector, Vector, Vector, Vector],
    value: Vector,
    values: Matrix,
) -> int:
    """Run a table at each point; the first one does not move. Returns what `run` does."""
    for k in range(len(deviations)):
        copy_into(x[0], point[0])
        copy_into(x[1], point[1])
        copy_into(x[2], point[2])
        copy_into(x[3], point[3])
        copy_into(x[4], point[4])
        moves[0] = 1.0 if k > 0 else 0.0
        matvec(full, deviations[k], step)
        code = run(lines)
        if code < 0:
            return code
        copy_into(value, values[k])
    return 0


@compiled
def deviate(
    blocks: Indices,
    positions: Indices,
    velocities: Indices,
    dq: Vector,
    state: tuple[Vector, Vector, Vector],
    target: tuple[Vector, Vector, Vector],
    out: Vector,
) -> None:
    """Write all deviations of a state from another one; ``dq`` is scratch, shape ``(nv,)``."""
    difference(blocks, state[0], target[0], dq)
    i, j = len(positions), len(velocities)
    for k in range(i):
        out[k] = dq[positions[k]]
    for k in range(j):
        out[i + k] = target[1][velocities[k]] - state[1][velocities[k]]
    for k in range(len(state[2])):
        out[i + j + k] = target[2][k] - state[2][k]


@compiled
def centre_points(weights: Vector, values: Matrix, mean: Vector) -> None:
    """Write the mean of points, and take it off them."""
    matvec_transposed(weights, values, mean)
    for k in range(len(values)):
        for c in range(len(mean)):
            values[k, c] -= mean[c]


@allocating
def covariance_of_points(weights: Vector, first: Matrix, second: Matrix) -> Matrix:
    """Return ``first' diag(weights) second``."""
    total = np.zeros((first.shape[1], second.shape[1]))
    for k in range(len(weights)):
        for i in range(len(total)):
            factor = weights[k] * first[k, i]
            for c in range(total.shape[1]):
                total[i, c] += factor * second[k, c]
    return total


@allocating
def spread_of_points(
    weights: Vector, spread: Vector, values: Matrix, Q: Matrix, mean: Vector, P: Matrix
) -> None:
    """Write the mean of points, and their covariance with ``Q`` added."""
    centre_points(weights, values, mean)
    symmetrise_sum(covariance_of_points(spread, values, values), Q, P)


@allocating
def correct_by_points(
    weights: Vector,
    spread: Vector,
    R: Matrix,
    deviations: Matrix,
    values: Matrix,
    P: Matrix,
    innovation: Vector,
    S: Matrix,
    deviation: Vector,
) -> bool:
    """Overwrite a covariance with that after a reading, by what points are off.

    Writes by how much all are, its covariance and the deviation that corrects it; returns whether
    that covariance is positive definite.
    """
    centre_points(weights, values, innovation)
    symmetrise_sum(covariance_of_points(spread, values, values), R, S)
    # a reading is less off where more is predicted
    shared = covariance_of_points(spread, values, deviations)
    K, n = gain_of(S, shared), len(P)
    if len(K) < n:
        return False
    matvec(K, innovation, deviation)
    # points give no H, which the form of Joseph needs
    for i in range(n):
        deviation[i] = -deviation[i]
    after = matmul_transposed(matmul(K, S), K)
    for i in range(n):
        for k in range(n):
            after[i, k] = -after[i, k]
    symmetrise_sum(P.copy(), after, P)
    return True
