"""SciPy's adaptive methods, on the coordinates of ``q``.

They integrate ``q_dot = N(q) v``; the norm of a quaternion is a constant of that motion, and what
the integrator leaves of it is removed when the state is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

import numpy as np

from ukctrl.core.algebra.differences import state_jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import NotFinite
from ukctrl.mechanics.integrate.integrator import (
    Correction,
    Guard,
    IntegrationFailed,
    Integrator,
    State,
    System,
    check_bounded,
    crossing,
)
from ukctrl.mechanics.integrate.step_over import Begin, StepOver
from ukctrl.robot import Robot

Slopes = Callable[[float, Vector, Vector, Vector], Matrix | None]
"""Returns the Jacobian of the rates with ``(dq, v, memory)``, ``dq`` along the tangent, at
``t, q, v, memory``; None where differences must do."""
FIRST_STEP = 1e-6
"""First step where SciPy cannot choose one, as a fraction of the interval."""


@compiled
def _horner(F: Matrix, y: Vector, start: float, h: float, times: Vector, states: Matrix) -> None:
    """Write the states that SciPy's interpolant of DOP853 has at some times, to the last bit.

    Hairer, Norsett & Wanner, "Solving Ordinary Differential Equations I", section II.6: a
    polynomial in the step's fraction x, nested with x and 1 - x in turn.
    """
    for k in range(times.shape[0]):
        x = (times[k] - start) / h
        rest = 1.0 - x
        for c in range(y.shape[0]):
            total = 0.0
            for i in range(F.shape[0]):
                total += F[F.shape[0] - 1 - i, c]
                total *= x if i % 2 == 0 else rest
            states[k, c] = total + y[c]


@final
class Adaptive(Integrator):
    """SciPy's integrators with error control: DOP853, RK45, Radau, BDF, LSODA."""

    def __init__(
        self,
        system: System,
        robot: Robot,
        method: str,
        rtol: float,
        atol: float,
        max_step: float,
        correction: Correction | None = None,
        jacobian: Slopes | None = None,
        onto: Correction | None = None,
    ) -> None:
        super().__init__(system, robot, correction)
        self._jacobian = jacobian
        self._method, self._rtol, self._atol, self._max_step = method, rtol, atol, max_step
        self._nq, self._end = robot.nq, robot.nq + robot.nv
        # An explicit method survives a bad trial step: it is rejected and shortened.
        self._forgiving = method in ("DOP853", "RK45")
        self._onto = onto if self._forgiving else None
        self._fault: Exception | None = None
        self._solver: Any = None

    @property
    def step(self) -> float | None:
        step = getattr(self._solver, "h_abs", None)  # LSODA keeps it to itself
        return None if step is None else float(step)

    def advance(
        self,
        t: float,
        state: State,
        stop: float,
        outputs: Sequence[float],
        guard: Guard | None = None,
    ) -> Iterator[tuple[float, State]]:
        self._fault = None
        solver = self._begin(t, np.concatenate(state), stop)
        over = None
        if self._onto is not None and guard is None:
            over = StepOver(
                self._across(stop), self._projected, self.robot.coordinates, stop, self._max_step
            )
        self._solver = solver
        times = np.asarray(outputs)
        done = 0
        while solver.status == "running":
            with np.errstate(all="ignore"):  # a fault comes as NaN, which the step size answers
                message = solver.step()
            crossed_over = False
            if over is not None:
                fault = self._fault
                solver, crossed_over = over.watch(solver)
                self._solver, self._fault = solver, None if crossed_over else fault
            if solver.status == "failed":
                if self._fault is not None:
                    raise self._fault
                raise IntegrationFailed(
                    f"the integrator needs steps below rounding at t = {solver.t:.6g} s: {message}"
                )
            self._fault = None
            reached = self._split(solver.y)
            check_bounded(solver.t, reached)
            end = solver.t
            crossed = guard is not None and not guard(end, self.corrected(end, reached)) > 0.0
            upto = int(np.searchsorted(times, end, side="right"))
            between = solver.dense_output() if upto > done or crossed else None
            if guard is not None and crossed and between is not None:
                inside = between

                def at_time(moment: float, inside: Any = inside) -> State:
                    return self.corrected(moment, self._split(inside(moment)))

                end = crossing(guard, at_time, solver.t_old, end)
                for moment in [float(each) for each in times[done:] if each < end]:
                    yield moment, at_time(moment)
                yield end, at_time(end)
                return
            if crossed_over:  # from here on, for others like it may follow
                self.correction = self._onto
            if self.correction is not None:
                self._go_on_from(solver)
            if between is not None:
                states = self._inside(between, times[done:upto])
                if self._fault is not None:
                    raise self._fault
                for k, y in enumerate(states):
                    at = float(times[done + k])
                    if at == solver.t:
                        yield at, self._split(solver.y)
                    else:
                        yield at, self.corrected(at, self._split(y))
                done = upto

    def _inside(self, between: Any, times: Vector) -> Matrix:
        """Return the states at times inside a step, one row each.

        SciPy's own interpolant of DOP853 takes as long as two evaluations of the loop.
        """
        if self._method != "DOP853":
            states: Matrix = between(times).T
            return states
        states = np.empty((len(times), len(between.y_old)))
        _horner(between.F, between.y_old, between.t_old, between.h, times, states)
        return states

    def _begin(self, t: float, y: Vector, stop: float, looser: float = 1.0, **steps: float) -> Any:
        """Return SciPy's solver, with errors so many times the tolerance."""
        from scipy import integrate  # here, because it takes 0.2 s to import

        steps = {"max_step": self._max_step, **steps}
        with np.errstate(all="ignore"):
            solver = getattr(integrate, self._method)(
                self._rate,
                t,
                y,
                stop,
                rtol=looser * self._rtol,
                atol=looser * self._atol,
                **steps,
                **({} if self._forgiving else {"jac": self._slopes}),
            )
        if self._forgiving and not np.isfinite(solver.h_abs):
            # The trial that chooses the first step met a fault; SciPy would look for ever.
            solver.h_abs = FIRST_STEP * (stop - t)
        if self._forgiving:
            # Without SciPy's two wrappers, which convert and count at every evaluation.
            solver.fun = self._rate
        return solver

    def _across(self, stop: float) -> Begin:
        """Return what makes solvers for one step of a given length."""

        def begin(t: float, y: Vector, h: float, looser: float) -> Any:
            solver = self._begin(t, y, stop, looser, first_step=h, max_step=h)
            with np.errstate(all="ignore"):
                solver.step()
            solver.max_step, solver.rtol, solver.atol = self._max_step, self._rtol, self._atol
            return solver

        return begin

    def _projected(self, t: float, y: Vector) -> Vector:
        """Return a state on the closures."""
        assert self._onto is not None
        q, v, memory = self._split(y)
        return np.concatenate([*self._onto(t, q, v), memory])

    def _go_on_from(self, solver: Any) -> None:
        """Correct the state that a one-step method has reached.

        All that such a method keeps of the past are the state and its rate: both are replaced.
        The interpolant of the step must have been made before.
        """
        solver.y = np.concatenate(self.corrected(solver.t, self._split(solver.y)))
        solver.f = self._rate(solver.t, solver.y)
        if self._fault is not None:
            raise self._fault

    def _slopes(self, t: float, y: Vector) -> Matrix:
        """Return the Jacobian of `_rate`, shape ``(n, n)``.

        SciPy's own differences choose a step by how much it changes, and raise that of a column
        which is always zero, as a cyclic coordinate has, tenfold each time until it is infinite.
        """
        nq, end = self._nq, self._end
        known = None
        if self._jacobian is not None:
            q = self.robot.normalize(y[:nq])
            known = self._jacobian(t, q, y[nq:end], y[end:])
        if known is None:
            J = state_jacobian(lambda x: self._rate(t, x), y, end)
        else:
            J = self._on_coordinates(known, q, y[nq:end])
        if not np.isfinite(J).all():
            raise self._fault or IntegrationFailed(
                f"the equations of motion have no derivative at t = {t:.6g} s."
            )
        return J

    def _on_coordinates(self, known: Matrix, q: Vector, v: Vector) -> Matrix:
        r"""Return the Jacobian with the entries of ``q``, given that along its tangent.

        $\dot q = N(q) v$, and $\delta q$ is the part of a change of ``q`` in the columns of $N$.
        """
        nq, n = self._nq, len(v)
        rate = self.robot.coordinate_rate
        J: Matrix = np.zeros((nq + len(known), nq + known.shape[1] - n))
        J[nq:, nq:] = known[:, n:]
        if self.flat:
            J[:nq, nq : nq + n], J[nq:, :nq] = np.eye(n), known[:, :n]
            return J
        N = np.column_stack([rate(q, axis) for axis in np.eye(n)])
        J[:nq, nq : nq + n] = N
        J[:nq, :nq] = state_jacobian(lambda x: rate(self.robot.normalize(x), v), q, nq)
        J[nq:, :nq] = known[:, :n] @ np.linalg.pinv(N)
        return J

    def _split(self, y: Vector) -> State:
        q = y[: self._nq]
        if not self.flat:
            q = self.robot.normalize(q)
        return State(q, y[self._nq : self._end], y[self._end :])

    def _rate(self, t: float, y: Vector) -> Vector:
        nq, end = self._nq, self._end
        q, v = y[:nq], y[nq:end]
        rate: Vector = np.empty(y.size)
        try:
            if self.flat:
                a, memory_rate = self.system.rates(t, q, v, y[end:])
                rate[:nq] = v
            else:
                unit = self.robot.normalize(q)
                a, memory_rate = self.system.rates(t, unit, v, y[end:])
                rate[:nq] = self.robot.coordinate_rate(unit, v)
        except Exception as fault:  # a user's law may raise anything
            if not self._forgiving and not isinstance(fault, NotFinite):
                raise
            self._fault = self._fault or fault  # the first: later stages only see its NaN
            rate.fill(np.nan)
            return rate
        rate[nq:end] = a
        if end < y.size:
            rate[end:] = memory_rate
        return rate
