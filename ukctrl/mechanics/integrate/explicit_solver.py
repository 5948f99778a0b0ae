"""An explicit method with error control, on the face of SciPy's solvers."""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.program.kernel_sequence import FAULT, STOP
from ukctrl.mechanics.integrate import runge_kutta_kernels as kernels
from ukctrl.mechanics.integrate.butcher_tableaux import TABLEAUX
from ukctrl.mechanics.integrate.interval_kernels import (
    FIRST_STEP,
    HISTORY_SIZE,
    AdaptiveStepper,
    StepHistory,
)
from ukctrl.mechanics.integrate.ode_system import OdeSystem, state_rates
from ukctrl.mechanics.integrate.runge_kutta_kernels import (
    H_ABS,
    STEP_TOO_SMALL,
    T_OLD,
    ButcherTableau,
    StepBuffers,
    T,
)


def step_buffers(method: ButcherTableau, n: int) -> tuple[StepBuffers, Matrix]:
    """Return room for a step, and for its interpolation, of ``n`` numbers."""
    y_old, y, new = np.zeros((3, n))
    trial = StepBuffers(np.zeros(3), y_old, y, new, np.zeros((len(method.A), n)))
    return trial, np.zeros((7 if method.nested else 4, n))


def adaptive_stepper(
    name: str, n: int, rtol: float, atol: float, longest: float, *, remembers: bool = False
) -> AdaptiveStepper:
    """Return a method for `ukctrl.mechanics.integrate.interval_kernels`."""
    method, size = TABLEAUX[name], HISTORY_SIZE if remembers else 0
    recent = StepHistory(np.zeros((size, 2)), np.zeros((size, n)), np.zeros(2, dtype=np.int64))
    return AdaptiveStepper(
        method, *step_buffers(method, n), np.zeros((1, n)), recent, rtol, atol, longest
    )


@final
class ExplicitSolver:
    """RK45 or DOP853, one step at a time.

    A rate that fails is not a number; the step is then tried again, shorter. What failed first
    stands in ``system.steps.fault``.

    Args:
        system: The closed loop.
        method: ``RK45`` or ``DOP853``.
        t: Time of the start [s].
        y: State there: q, v and memory one behind the other.
        stop: End of the interval [s].
        rtol: Relative tolerance.
        atol: Absolute tolerance.
        max_step: Longest step [s].
        first_step: First one [s]; absent: chosen.
    """

    def __init__(
        self,
        system: OdeSystem,
        method: str,
        t: float,
        y: Vector,
        stop: float,
        *,
        rtol: float,
        atol: float,
        max_step: float,
        first_step: float | None = None,
    ) -> None:
        self._system, self._method, self._stop = system, TABLEAUX[method], stop
        self.max_step, self.rtol, self.atol = max_step, rtol, atol
        self._trial, self._F = step_buffers(self._method, len(y))
        self._trial.times[T], self.status = t, "running"
        self.start_from(y)
        self.h_abs = first_step or self._first_step()

    @property
    def t(self) -> float:
        """Time [s]."""
        return float(self._trial.times[T])

    @property
    def t_old(self) -> float:
        """Time before the last step [s]."""
        return float(self._trial.times[T_OLD])

    @property
    def y(self) -> Vector:
        """The state, in an array of its own."""
        return self._trial.y.copy()

    @property
    def y_old(self) -> Vector:
        """The state before the last step, in an array of its own."""
        return self._trial.y_old.copy()

    @property
    def h_abs(self) -> float:
        """Length of the step that is tried next [s]."""
        return float(self._trial.times[H_ABS])

    @h_abs.setter
    def h_abs(self, h: float) -> None:
        self._trial.times[H_ABS] = h

    def start_from(self, y: Vector) -> None:
        """Go on from another state at the same time; its rates may have failed."""
        self._trial.y[:] = y
        rates = self._trial.K[self._method.stages]
        self._checked(state_rates(self._system.arrays, self.t, self._trial.y, rates))

    def step(self) -> None:
        """Take a step, if there is one that is long enough to be told from none."""
        args = self._system.arrays, self._method, self._trial
        code = kernels.take_step(*args, self._stop, self.max_step, self.rtol, self.atol)
        self._checked(code)
        if code == STEP_TOO_SMALL:
            self.status = "failed"
        elif not self.t < self._stop:
            self.status = "finished"

    def interpolate(self, times: Vector) -> Matrix:
        """Return the states at times within the last step, one row each."""
        states: Matrix = np.empty((len(times), len(self._trial.y)))
        h = self.t - self.t_old
        args = self._trial.y_old, self.t_old, h, times, states
        kernels.interpolate(self._method.nested, self._F, *args)
        return states

    def prepare_dense_output(self) -> None:
        """Make `interpolate` that of the last step.

        Raises:
            Exception: What failed where the interpolation looks.
        """
        code = kernels.dense_output(self._system.arrays, self._method, self._trial, self._F)
        if code == FAULT:
            self._system.steps.raise_fault()
        self._checked(code)

    def _first_step(self) -> float:
        args = self._system.arrays, self._method, self._trial
        limits = self._stop, self.max_step, self.rtol, self.atol
        self._checked(kernels.initial_step(*args, *limits))
        chosen = self.h_abs
        return chosen if np.isfinite(chosen) else FIRST_STEP * (self._stop - self.t)

    def _checked(self, code: int) -> None:
        if code == STOP:
            self._system.steps.raise_fault()
