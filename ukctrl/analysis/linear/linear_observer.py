r"""An observer near a state: from what is measured, and the input that was held, to its estimate.

With the gain $K$ that it has, or would settle at here,

$$ \hat x_k = (I - K H)\,(F \hat x_{k-1} + \Gamma u_{k-1}) + K y_k, \qquad y = H_m\,\delta, $$

where $\delta$ are all measured deviations, and $F$, $\Gamma$ are of the believed robot; an observer
without a model has others in their place.
"""

from __future__ import annotations

import numpy as np

from ukctrl.analysis.linear.operating_point import OperatingPoint
from ukctrl.analysis.linear.sampled_systems import LinearSensors, LinearSystem, series
from ukctrl.core.arrays import Vector
from ukctrl.core.files.toml import error_context
from ukctrl.mechanics.integrate.ode_system import IntegratorState
from ukctrl.simulation.observers.estimator import Estimator
from ukctrl.simulation.observers.measurements import TimedState


def with_observer(
    sensors: LinearSensors, estimator: Estimator, point: OperatingPoint, u: Vector, period: float
) -> LinearSensors:
    """Return the way to the estimate; the inputs that were held come behind the plant's states.

    Args:
        sensors: The way from the plant's states to what is measured.
        estimator: The observer.
        point: Where it is looked at, as it is measured.
        u: The input there.
        period: Between ticks [s].

    Raises:
        InputError: The observer has no steady gain there.
    """
    steady, nu = estimator.linear_measurement, len(u)
    at = TimedState(point.t, IntegratorState(point.q, point.v, np.zeros(0)), u)
    linear = estimator.filter.motion.linear(point.t, point.q, point.v, u)
    with error_context("observer"):
        A, B, K = estimator.filter.near(at, period, steady)
    B = np.hstack([K @ steady.slopes(at, sensors.full), B])
    names = tuple(f"estimated {name}" for name in linear.states)
    observer = LinearSystem(A, B, A, B, names)
    return LinearSensors(series(_pass_through(sensors.block, nu), observer), linear.full)


def _pass_through(block: LinearSystem, nu: int) -> LinearSystem:
    """Return a system with inputs beside its own that it hands on."""
    A, B, C, D, names = block
    feedthrough = np.block([[D, np.zeros((len(D), nu))], [np.zeros((nu, D.shape[1])), np.eye(nu)]])
    none = np.zeros((len(A), nu)), np.zeros((nu, len(A)))
    return LinearSystem(A, np.hstack([B, none[0]]), np.vstack([C, none[1]]), feedthrough, names)
