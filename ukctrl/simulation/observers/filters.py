"""An estimate of the state, and what predicts and corrects it."""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.integrate.system import State
from ukctrl.simulation.observers.believed_motion import BelievedMotion
from ukctrl.simulation.observers.measurements import Measurement


class Estimate(NamedTuple):
    """What is believed of the state at a time."""

    t: float
    state: State
    P: Matrix
    """Covariance of the deviation in the chart, shape ``(n, n)``; without rows where the observer
    has none."""


class Corrected(NamedTuple):
    """An estimate after a reading."""

    estimate: Estimate
    innovation: Vector
    """By how much the reading was off, shape ``(m,)``."""
    S: Matrix
    """The covariance that was expected of that, shape ``(m, m)``; or without rows."""


class Filter(abc.ABC):
    """An observer in a run."""

    motion: BelievedMotion
    note: ClassVar[str] = ""
    """What a linear analysis must say of its gain."""

    @abc.abstractmethod
    def first(self, t: float, state: State) -> Estimate:
        """Return the estimate at the start, before any reading."""

    @abc.abstractmethod
    def predicted(self, before: Estimate, t: float, u: Vector) -> Estimate:
        """Return the estimate at a later time, the input held since then."""

    @abc.abstractmethod
    def corrected(self, predicted: Estimate, measurement: Measurement, y: Any) -> Corrected:
        """Return the estimate after a reading."""

    @abc.abstractmethod
    def gain_at(
        self, t: float, state: State, u: Vector, period: float, joints: Measurement
    ) -> Matrix:
        """Return the gain that it has, or would settle at, near a state: shape ``(n, m)``."""


NONE: Matrix = np.zeros((0, 0))
"""No covariance."""


def advanced(motion: BelievedMotion, before: Estimate, t: float, u: Vector) -> State:
    """Return the state that the believed robot has at a later time."""
    return motion.advanced(before.t, before.state.q, before.state.v, u, t)


def symmetric(P: Matrix) -> Matrix:
    """Return a matrix without what rounding has made of its symmetry."""
    even: Matrix = 0.5 * (P + P.T)
    return even


def normalised(error: Vector, P: Matrix) -> float:
    """Return ``e' P^-1 e`` an entry; NaN where the covariance is singular or there is none."""
    if not len(P):
        return float("nan")
    try:
        half = np.linalg.solve(np.linalg.cholesky(P), error)
    except np.linalg.LinAlgError:
        return float("nan")
    return float(half @ half) / len(error)
