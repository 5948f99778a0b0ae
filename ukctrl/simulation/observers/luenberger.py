"""The Luenberger observer: gains by where its error shall have its poles."""

from __future__ import annotations

from typing import Annotated, Literal, final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.fields import Positive, Quantity, spec
from ukctrl.simulation.observers.filters import NO_COVARIANCE, Filter
from ukctrl.simulation.observers.kalman import ConstantGainFilter, SteadyGain
from ukctrl.simulation.observers.measurements import JointMeasurement
from ukctrl.simulation.observers.motion_model import MotionModel
from ukctrl.simulation.observers.observer import Observer, require_all_positions

Bandwidth = Annotated[float, Quantity("rad/s", minimum=0.0, open_minimum=True)]


@final
@spec
class Luenberger(Observer):
    r"""Luenberger observer: an error of every joint that decays like $s^2 + 2\zeta\omega s +
    \omega^2$.

    With $z_{1,2} = e^{s_{1,2} T}$ of its roots, the estimate is corrected by

    $$ \hat q = \hat q^- \oplus (1 - z_1 z_2)\,(q_m \ominus \hat q^-), \qquad
       \hat v = \hat v^- + \frac{1 + z_1 z_2 - z_1 - z_2}{T}\,(q_m \ominus \hat q^-), $$

    which gives these poles exactly where what accelerates a joint does not change with its state.
    """

    kind: Literal["luenberger"] = "luenberger"
    bandwidth: Bandwidth
    r"""$\omega$ [rad/s]."""
    damping: Positive = 1.0
    r"""$\zeta$."""

    def attach(
        self, motion: MotionModel, joints: JointMeasurement, start: Vector, period: float
    ) -> Filter:
        require_all_positions("luenberger", motion.robot, joints)
        # complex below a damping of 1: sum and product of the pair are real all the same
        root = self.bandwidth * np.emath.sqrt(self.damping**2 - 1.0)
        poles = np.exp(period * (-self.bandwidth * self.damping + root * np.array([1.0, -1.0])))
        product, total = float(np.prod(poles).real), float(np.sum(poles).real)
        n, chart = motion.robot.nv, motion.chart
        identity: Matrix = np.eye(n)
        K = np.concatenate(
            [
                (1.0 - product) * identity[chart.positions],
                (1.0 + product - total) / period * identity[chart.velocities],
            ]
        )
        return ConstantGainFilter(motion, SteadyGain(K, NO_COVARIANCE, NO_COVARIANCE))
