"""Estimates: of a moment as Python has them, and as arrays that kernels overwrite."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.integrate.ode_system import IntegratorState


class TimedState(NamedTuple):
    """Time, state and held input: all that a reading depends on."""

    t: float
    state: IntegratorState
    """Configuration, velocity, and what else is estimated: biases, pushes."""
    u: Vector
    """The input that was held until then."""


class StateEstimate(NamedTuple):
    """State estimate and its covariance."""

    at: TimedState
    P: Matrix
    """Covariance of all deviations, shape ``(n, n)``; without rows where the observer has none."""


class EstimateArrays(NamedTuple):
    """Arrays of an estimate, which kernels overwrite by the next one; see `StateEstimate`."""

    clock: Vector
    """Time, shape ``(1,)`` [s]."""
    q: Vector
    v: Vector
    memory: Vector
    u: Vector
    P: Matrix

    @staticmethod
    def of(estimate: StateEstimate) -> EstimateArrays:
        """Return arrays that hold an estimate."""
        (t, state, u), P = estimate
        copies = (np.array(values, dtype=np.float64, order="C") for values in (*state, u, P))
        return EstimateArrays(np.full(1, t, dtype=np.float64), *copies)

    @staticmethod
    def at_moment(t: float, state: IntegratorState, u: Vector) -> EstimateArrays:
        """Return arrays that hold a state without a covariance."""
        return EstimateArrays.of(StateEstimate(TimedState(t, state, u), np.zeros((0, 0))))

    def write(self, estimate: StateEstimate) -> None:
        """Overwrite what they hold."""
        (t, state, u), P = estimate
        arrays: tuple[Any, ...] = t, *state, u, P
        for array, values in zip(self, arrays, strict=True):
            array[...] = values

    @property
    def at(self) -> TimedState:
        """A copy of the moment that they hold."""
        q, v, memory, u = (array.copy() for array in self[1:5])
        return TimedState(float(self.clock[0]), IntegratorState(q, v, memory), u)

    def read(self) -> StateEstimate:
        """Return a copy of what they hold."""
        return StateEstimate(self.at, self.P.copy())
