"""An estimate of the state, and what predicts and corrects it."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import (
    cholesky,
    copy_into,
    dot,
    solve_lower,
    solve_lower_columns,
    solve_upper_columns,
)
from ukctrl.core.algebra.sparse_products import transpose_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import InputError, NotFinite
from ukctrl.core.program import KernelSequence, KernelStep
from ukctrl.mechanics.linearise import zero_order_hold
from ukctrl.simulation.observers.estimates import EstimateArrays, StateEstimate, TimedState
from ukctrl.simulation.observers.measurements import Measurement
from ukctrl.simulation.observers.motion_model import MotionModel


class UpdateArrays(NamedTuple):
    """Arrays of what a reading tells; see `MeasurementUpdate`."""

    innovation: Vector
    S: Matrix

    @staticmethod
    def of(measurement: Measurement, P: Matrix) -> UpdateArrays:
        """Return arrays for a measurement, beside a covariance of the state."""
        m = len(measurement.std)
        return UpdateArrays(np.zeros(m), np.zeros((m, m) if len(P) else (0, 0)))


class MeasurementUpdate(NamedTuple):
    """An estimate after a reading."""

    estimate: StateEstimate
    innovation: Vector
    """By how much the reading was off, shape ``(m,)``."""
    S: Matrix
    """The covariance that was expected of that, shape ``(m, m)``; or without rows."""


class LinearObserver(NamedTuple):
    """Linear observer near a state: ``x_k = A x_{k-1} + B u_{k-1} + K y_k`` of deviations."""

    A: Matrix
    B: Matrix
    K: Matrix


class Filter(abc.ABC):
    """Recursive filter of a run. All its memory is in its estimates.

    It offers `predicted` and `corrected`, which do not change their arguments, or their steps.
    """

    motion: MotionModel
    note: ClassVar[str] = ""
    """What a linear analysis must say of its gain."""

    @abc.abstractmethod
    def first(self, at: TimedState) -> StateEstimate:
        """Return the estimate at the start, before any reading."""

    def predicted(self, estimate: StateEstimate, t: float, u: Vector) -> StateEstimate:
        """Return the estimate at a later time, the input held since then."""
        x, clock, held = EstimateArrays.of(estimate), np.full(1, t), u.copy()
        KernelSequence(self.prediction_steps(x, clock, held))()
        return x.read()

    def corrected(
        self, predicted: StateEstimate, measurement: Measurement, y: Any
    ) -> MeasurementUpdate:
        """Return the estimate after a reading."""
        x = EstimateArrays.of(predicted)
        update = UpdateArrays.of(measurement, x.P)
        KernelSequence(self.correction_steps(x, measurement, y, update))()
        return MeasurementUpdate(x.read(), *update)

    def prediction_steps(self, x: EstimateArrays, clock: Vector, u: Vector) -> Iterable[KernelStep]:
        """Return what makes an estimate that of the time and the held input that are there then."""
        if type(self).predicted is Filter.predicted:
            raise NotImplementedError(f"{type(self).__name__} must predict.")

        def predict() -> None:
            with in_python(clock):
                x.write(self.predicted(x.read(), float(clock[0]), u.copy()))

        return (predict,)

    def correction_steps(
        self, x: EstimateArrays, measurement: Measurement, y: Any, update: UpdateArrays
    ) -> Iterable[KernelStep]:
        """Return what makes an estimate that after the reading that is there then.

        Args:
            x: The estimate.
            measurement: What is read.
            y: Arrays of the reading.
            update: Receives by how much it is off, and the covariance of that.
        """
        if type(self).corrected is Filter.corrected:
            raise NotImplementedError(f"{type(self).__name__} must correct.")

        def correct() -> None:
            with in_python(x.clock):
                answer = self.corrected(x.read(), measurement, y)
                x.write(answer.estimate)
                update.innovation[:], update.S[...] = answer.innovation, answer.S

        return (correct,)

    @abc.abstractmethod
    def gain_at(self, at: TimedState, period: float, joints: Measurement) -> Matrix:
        """Return the gain that it has, or would settle at, near a moment: shape ``(n, m)``."""

    def near(self, at: TimedState, period: float, joints: Measurement) -> LinearObserver:
        r"""Return it near a moment: $(I - K H) F$, $(I - K H) \Gamma$ and $K$.

        Raises:
            InputError: It has no steady gain there.
        """
        linear = self.motion.linear(at.t, at.state.q, at.state.v, at.u)
        F, Gamma = zero_order_hold(linear.A, linear.B, period)
        K = self.gain_at(at, period, joints)
        error_map = np.eye(len(F)) - K @ joints.slopes(at, linear.full)
        return LinearObserver(error_map @ F, error_map @ Gamma, K)


NO_COVARIANCE: Matrix = np.zeros((0, 0))
"""No covariance."""


@compiled
def symmetrise_sum(X: Matrix, Y: Matrix, P: Matrix) -> None:
    """Write ``X + Y`` without what rounding has made of its symmetry."""
    for i in range(len(X)):
        for k in range(len(X)):
            P[i, k] = 0.5 * ((X[i, k] + Y[i, k]) + (X[k, i] + Y[k, i]))


@allocating
def gain_of(S: Matrix, C: Matrix) -> Matrix:
    """Return ``(S^-1 C)'``; without rows where ``S`` is not positive definite."""
    m, n = C.shape
    L, solved, K = np.empty((m, m)), C.copy(), np.empty((n, m))
    if cholesky(S, L) > 0:
        return np.empty((0, m))
    solve_lower_columns(L, solved)
    solve_upper_columns(L, solved)
    transpose_into(solved, K)
    return K


def not_positive(clock: Vector) -> NotFinite:
    """Return the error of a reading's covariance that is not positive definite."""
    return no_estimate(clock, "a covariance is not positive definite")


def no_estimate(clock: Vector, reason: object) -> NotFinite:
    """Return the error of an estimate that cannot be made."""
    why = str(reason).rstrip(".")
    return NotFinite(f"the observer has no estimate at t = {clock[0]:.6g} s: {why}.")


@contextlib.contextmanager
def in_python(clock: Vector) -> Iterator[None]:
    """Run a filter of Python: a step that is no number gives no estimate.

    Raises:
        NotFinite: It has none.
    """
    try:
        # what is not finite is told by whoever reads it
        with np.errstate(over="ignore", invalid="ignore"):
            yield
    except (np.linalg.LinAlgError, InputError) as error:
        raise no_estimate(clock, error) from None


@allocating
def normalised_square(error: Vector, P: Matrix) -> float:
    """Return ``e' P^-1 e`` an entry, of the leading block of ``P`` that has the error's size.

    NaN where the covariance is singular or there is none.
    """
    n = len(error)
    block, L, scaled = np.empty((n, n)), np.empty((n, n)), np.empty(n)
    if len(P) < n or n == 0:
        return np.nan
    copy_into(P[:n, :n], block)
    copy_into(error, scaled)
    if cholesky(block, L) > 0:
        return np.nan
    solve_lower(L, scaled)
    return dot(scaled, scaled) / n
