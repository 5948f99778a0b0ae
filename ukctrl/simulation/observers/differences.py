"""Speeds from the differences of two ticks, through a low-pass: no model, and no covariance."""

from __future__ import annotations

import math
from typing import Any, Literal, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.fields import Hertz, spec
from ukctrl.simulation.effects.sensor_kernels import differentiated
from ukctrl.simulation.observers.believed_motion import BelievedMotion
from ukctrl.simulation.observers.filters import NONE, Corrected, Estimate, Filter, Near
from ukctrl.simulation.observers.measurements import Joints, Measurement, Moment
from ukctrl.simulation.observers.observer import Observer, needs_positions_alone


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
        self, motion: BelievedMotion, joints: Joints, start: Vector, period: float
    ) -> Filter:
        needs_positions_alone("differences", motion.robot, joints)
        return _Differences(motion, math.inf if self.cutoff is None else math.tau * self.cutoff)


class _Differences(Filter):
    def __init__(self, motion: BelievedMotion, rate: float) -> None:
        self.motion, self._rate = motion, rate

    def first(self, at: Moment) -> Estimate:
        never = at.state._replace(memory=np.full(1, np.nan))  # when the last reading was
        return Estimate(at._replace(state=never), NONE)

    def predicted(self, before: Estimate, t: float, u: Vector) -> Estimate:
        return before._replace(at=Moment(t, before.at.state, u))

    def corrected(self, predicted: Estimate, measurement: Measurement, y: Any) -> Corrected:
        at, since = predicted.at, predicted.at.state.memory.copy()
        old, filtered, v = (part.copy() for part in (at.state.q, at.state.v, at.state.v))
        blocks, q = self.motion.robot.structure.configurations, y[0].copy()
        clock = np.full(1, at.t)
        differentiated(blocks, self._rate, clock, q, filtered, since, old, filtered, v)
        moved = at._replace(state=type(at.state)(q, v, since))
        innovation = measurement.innovation(at, y)
        return Corrected(Estimate(moved, NONE), innovation, NONE)

    def gain_at(self, at: Moment, period: float, joints: Measurement) -> Matrix:
        return self.near(at, period, joints).K

    def near(self, at: Moment, period: float, joints: Measurement) -> Near:
        chart, share = self.motion.chart, -math.expm1(-self._rate * period)
        i, j, n, nv = chart.positions, chart.velocities, len(chart.A), self.motion.robot.nv
        full = self.motion.full(at.t, at.state._replace(memory=np.zeros(0)))
        K = np.vstack([np.eye(nv)[i], share / period * np.eye(nv)[j]])
        A: Matrix = np.zeros((n, n))
        A[len(i) :] = -share / period * full[j]
        A[len(i) :, len(i) :] += (1.0 - share) * np.eye(len(j))
        return Near(A, np.zeros((n, self.motion.robot.nu)), K)
