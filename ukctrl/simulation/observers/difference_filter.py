"""Speeds from the differences of two ticks, through a low-pass: no model, and no covariance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal, final

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.fields import Hertz, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.simulation.effects.sensor_kernels import differentiate
from ukctrl.simulation.observers.estimates import EstimateArrays, StateEstimate, TimedState
from ukctrl.simulation.observers.filters import (
    NO_COVARIANCE,
    Filter,
    LinearObserver,
    UpdateArrays,
)
from ukctrl.simulation.observers.measurements import JointMeasurement, Measurement
from ukctrl.simulation.observers.motion_model import MotionModel
from ukctrl.simulation.observers.observer import Observer, require_all_positions


@final
@spec
class Differences(Observer):
    r"""Positions as they are measured, and speeds by their differences through a low-pass.

    $$ \hat q_k = q_m, \qquad \hat v_k = \hat v_{k-1} + (1 - e^{-2\pi f_c T})
       \Big(\frac{q_m \ominus \hat q_{k-1}}{T} - \hat v_{k-1}\Big), $$

    which is what the effect ``differentiation`` does. It knows no model.
    """

    kind: Literal["differences"] = "differences"
    cutoff: Hertz | None = None
    """Corner frequency $f_c$ of the low-pass [Hz]; absent: none."""

    def attach(
        self, motion: MotionModel, joints: JointMeasurement, start: Vector, period: float
    ) -> Filter:
        require_all_positions("differences", motion.robot, joints)
        return _Differences(motion, math.inf if self.cutoff is None else math.tau * self.cutoff)


class _Differences(Filter):
    def __init__(self, motion: MotionModel, rate: float) -> None:
        self.motion, self._rate = motion, rate

    def first(self, at: TimedState) -> StateEstimate:
        # the memory is the time of the last reading: NaN, since there was none
        never = at.state._replace(memory=np.full(1, np.nan))
        return StateEstimate(at._replace(state=never), NO_COVARIANCE)

    def prediction_steps(self, x: EstimateArrays, clock: Vector, u: Vector) -> Iterable[KernelStep]:
        return BoundKernel(copy_into, clock, x.clock), BoundKernel(copy_into, u, x.u)

    def correction_steps(
        self, x: EstimateArrays, measurement: Measurement, y: Any, update: UpdateArrays
    ) -> Iterator[KernelStep]:
        yield from measurement.innovation_steps(x, y, update.innovation)
        blocks, (q, v) = self.motion.robot.structure.manifold_table, y
        args = blocks, self._rate, x.clock, q, x.v, x.memory, x.q, x.v
        yield BoundKernel(differentiate, *args, np.zeros(len(v)))

    def gain_at(self, at: TimedState, period: float, joints: Measurement) -> Matrix:
        return self.near(at, period, joints).K

    def near(self, at: TimedState, period: float, joints: Measurement) -> LinearObserver:
        chart, share = self.motion.chart, -math.expm1(-self._rate * period)
        i, j, n, nv = chart.positions, chart.velocities, len(chart.A), self.motion.robot.nv
        full = self.motion.tangent_basis(at.t, at.state._replace(memory=np.zeros(0)))
        K = np.vstack([np.eye(nv)[i], share / period * np.eye(nv)[j]])
        A: Matrix = np.zeros((n, n))
        A[len(i) :] = -share / period * full[j]
        A[len(i) :, len(i) :] += (1.0 - share) * np.eye(len(j))
        return LinearObserver(A, np.zeros((n, self.motion.robot.nu)), K)
