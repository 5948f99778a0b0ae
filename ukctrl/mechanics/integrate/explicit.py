"""An explicit method with error control, on the face of SciPy's solvers."""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.program.program import FAULT, STOP
from ukctrl.mechanics.integrate import explicit_kernels as kernels
from ukctrl.mechanics.integrate.explicit_kernels import H_ABS, T_OLD, TOO_SMALL, Method, T, Trial
from ukctrl.mechanics.integrate.held_kernels import FIRST_STEP, RECENT, Chosen, Recent
from ukctrl.mechanics.integrate.system import System, rates
from ukctrl.mechanics.integrate.tableaux import METHODS


def room(method: Method, n: int) -> tuple[Trial, Matrix]:
    """Return room for a step, and for its interpolation, of ``n`` numbers."""
    before, y, new = np.zeros((3, n))
    trial = Trial(np.zeros(3), before, y, new, np.zeros((len(method.A), n)))
    return trial, np.zeros((7 if method.nested else 4, n))


def chosen(
    name: str, n: int, rtol: float, atol: float, longest: float, *, remembers: bool = False
) -> Chosen:
    """Return a method for `ukctrl.mechanics.integrate.held_kernels`."""
    method, size = METHODS[name], RECENT if remembers else 0
    recent = Recent(np.zeros((size, 2)), np.zeros((size, n)), np.zeros(2, dtype=np.int64))
    return Chosen(method, *room(method, n), np.zeros((1, n)), recent, rtol, atol, longest)


@final
class Explicit:
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
        system: System,
        method: str,
        t: float,
        y: Vector,
        stop: float,
        rtol: float,
        atol: float,
        max_step: float,
        first_step: float | None = None,
    ) -> None:
        self._system, self._method, self._stop = system, METHODS[method], stop
        self.max_step, self.rtol, self.atol = max_step, rtol, atol
        self._trial, self._F = room(self._method, len(y))
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
        here = self._trial.K[self._method.stages]
        self._checked(rates(self._system.port, self.t, self._trial.y, here))

    def step(self) -> None:
        """Take a step, if there is one that is long enough to be told from none."""
        given = self._system.port, self._method, self._trial
        code = kernels.step(*given, self._stop, self.max_step, self.rtol, self.atol)
        self._checked(code)
        if code == TOO_SMALL:
            self.status = "failed"
        elif not self.t < self._stop:
            self.status = "finished"

    def between(self, times: Vector) -> Matrix:
        """Return the states at times within the last step, one row each."""
        states: Matrix = np.empty((len(times), len(self._trial.y)))
        h = self.t - self.t_old
        given = self._trial.y_old, self.t_old, h, times, states
        kernels.between(self._method.nested, self._F, *given)
        return states

    def interpolate(self) -> None:
        """Make `between` that of the last step.

        Raises:
            Exception: What failed where the interpolation looks.
        """
        code = kernels.interpolant(self._system.port, self._method, self._trial, self._F)
        if code == FAULT:
            self._system.steps.complain()
        self._checked(code)

    def _first_step(self) -> float:
        given = self._system.port, self._method, self._trial
        limits = self._stop, self.max_step, self.rtol, self.atol
        self._checked(kernels.first_step(*given, *limits))
        chosen = self.h_abs
        return chosen if np.isfinite(chosen) else FIRST_STEP * (self._stop - self.t)

    def _checked(self, code: int) -> None:
        if code == STOP:
            self._system.steps.complain()
