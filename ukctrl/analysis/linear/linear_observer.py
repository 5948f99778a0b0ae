r"""An observer near a state: from what is measured, and the input that was held, to its estimate.

With the gain $K$ that it has, or would settle at here,

$$ \hat x_k = (I - K H)\,(F \hat x_{k-1} + \Gamma u_{k-1}) + K y_k, \qquad y = H_m\,\delta, $$

where $\delta$ are all measured deviations, and $F$, $\Gamma$ are of the believed robot; an observer
without a model has others in their place.
"""

from __future__ import annotations

import numpy as np

from ukctrl.analysis.linear.operating_point import OperatingPoint
from ukctrl.analysis.linear.sampling import Block, Measured, series
from ukctrl.core.arrays import Vector
from ukctrl.core.files.toml import blaming
from ukctrl.mechanics.integrate.system import State
from ukctrl.simulation.observers.estimator import Estimator
from ukctrl.simulation.observers.measurements import Moment


def estimated(
    sensors: Measured, estimator: Estimator, point: OperatingPoint, u: Vector, period: float
) -> Measured:
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
    steady, nu = estimator.steady, len(u)
    at = Moment(point.t, State(point.q, point.v, np.zeros(0)), u)
    linear = estimator.filter.motion.linear(point.t, point.q, point.v, u)
    with blaming("observer"):
        A, B, K = estimator.filter.near(at, period, steady)
    B = np.hstack([K @ steady.slopes(at, sensors.full), B])
    names = tuple(f"estimated {name}" for name in linear.states)
    observer = Block(A, B, A, B, names)
    return Measured(series(_beside(sensors.block, nu), observer), linear.full)


def _beside(block: Block, nu: int) -> Block:
    """Return a system with inputs beside its own that it hands on."""
    A, B, C, D, names = block
    here = np.block([[D, np.zeros((len(D), nu))], [np.zeros((nu, D.shape[1])), np.eye(nu)]])
    none = np.zeros((len(A), nu)), np.zeros((nu, len(A)))
    return Block(A, np.hstack([B, none[0]]), np.vstack([C, none[1]]), here, names)
