"""Methods that choose their steps, on the coordinates of ``q``.

They integrate ``q_dot = N(q) v``; the norm of a quaternion is a constant of that motion, and what
the integrator leaves of it is removed when the state is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

import numpy as np

from ukctrl.core.algebra.differences import state_jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.integrate.explicit import Explicit, chosen
from ukctrl.mechanics.integrate.explicit_kernels import H_ABS
from ukctrl.mechanics.integrate.fixed_step import no_fixed
from ukctrl.mechanics.integrate.held_kernels import TAKEN, Stepping
from ukctrl.mechanics.integrate.integrator import (
    Correction,
    Guard,
    IntegrationFailed,
    Integrator,
    check_bounded,
    crossing,
)
from ukctrl.mechanics.integrate.step_over import Begin, StepOver, Taken
from ukctrl.mechanics.integrate.system import State, System
from ukctrl.mechanics.integrate.tableaux import METHODS
from ukctrl.robot import Robot

Slopes = Callable[[float, Vector, Vector, Vector], Matrix | None]
"""Returns the Jacobian of the rates with ``(dq, v, memory)``, ``dq`` along the tangent, at
``t, q, v, memory``; None where differences must do."""


@final
class Adaptive(Integrator):
    """Methods with error control: our own DOP853 and RK45, SciPy's Radau, BDF and LSODA."""

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
        super().__init__(system, correction)
        self._jacobian, self.robot = jacobian, robot
        self._method, self._rtol, self._atol, self._max_step = method, rtol, atol, max_step
        self._nq, self._end = robot.nq, robot.nq + robot.nv
        self._explicit = method in METHODS
        self._onto = onto if self._explicit else None
        self._solver: Any = None
        self._stepping: Stepping | None = None

    @property
    def step(self) -> float | None:
        step = getattr(self._solver, "h_abs", None)  # LSODA keeps it to itself
        if self._stepping is not None:
            step = self._stepping.chosen.trial.times[H_ABS]
        return None if step is None else float(step)

    @property
    def stepping(self) -> Stepping | None:
        if not self._explicit or self.correction is not None:
            return None
        if self._stepping is None:
            limits = float(self._rtol), float(self._atol), float(self._max_step)
            n = self._end + len(self.system.port.memory)
            remembers = self._onto is not None
            method = chosen(self._method, n, *limits, remembers=remembers)
            self._stepping = Stepping(no_fixed(), method, adapts=True)
        return self._stepping

    def advance(
        self,
        t: float,
        state: State,
        stop: float,
        outputs: Sequence[float],
        guard: Guard | None = None,
    ) -> Iterator[tuple[float, State]]:
        failed = self.system.steps
        failed.forget()
        solver = self._begin(t, np.concatenate(state), stop)
        over = None
        if self._onto is not None and guard is None:
            over = StepOver(
                self._across(stop),
                self._projected,
                self.robot.coordinates,
                stop,
                self._max_step,
                self._taken(),
            )
        self._solver = solver
        times = np.asarray(outputs)
        done = 0
        beyond = None if over is None else over.at_once(t)
        while solver.status == "running" or beyond is not None:
            crossed_over = beyond is not None
            if crossed_over:
                self._solver = solver = beyond
                beyond = None
            else:
                solver.step()
            if over is not None and not crossed_over:
                fault = failed.fault
                solver, crossed_over = over.watch(solver)
                self._solver, failed.fault = solver, fault
            if solver.status == "failed":
                failed.complain()
                raise IntegrationFailed(
                    f"the integrator needs steps below rounding at t = {solver.t:.6g} s."
                )
            failed.forget()
            reached = self._split(solver.y)
            check_bounded(solver.t, reached)
            end = solver.t
            crossed = guard is not None and not guard(end, self.corrected(end, reached)) > 0.0
            upto = int(np.searchsorted(times, end, side="right"))
            if upto > done or crossed:
                solver.interpolate()
            if guard is not None and crossed:
                inside = solver.between

                def at_time(moment: float, inside: Any = inside) -> State:
                    return self.corrected(moment, self._split(inside(np.array([moment]))[0]))

                end = crossing(guard, at_time, solver.t_old, end)
                for moment in [float(each) for each in times[done:] if each < end]:
                    yield moment, at_time(moment)
                yield end, at_time(end)
                return
            if crossed_over:  # from here on, for others like it may follow
                self.correction = self._onto
            last = solver.y
            if self.correction is not None:
                last = np.concatenate(self.corrected(solver.t, reached))
                solver.start_from(last)
                failed.complain()
            if upto > done:
                for at, y in zip(
                    times[done:upto].tolist(), solver.between(times[done:upto]), strict=True
                ):
                    state = self._split(last if at == solver.t else y)
                    yield at, state if at == solver.t else self.corrected(at, state)
                done = upto

    def _begin(self, t: float, y: Vector, stop: float, looser: float = 1.0, **steps: float) -> Any:
        """Return what takes the steps, with errors so many times the tolerance."""
        limits = {"rtol": looser * self._rtol, "atol": looser * self._atol}
        steps = {"max_step": self._max_step, **limits, **steps}
        if self._explicit:
            return Explicit(self.system, self._method, t, y, stop, **steps)
        return Implicit(self.system, self._method, t, y, stop, self._slopes, **steps)

    def _taken(self) -> list[Taken]:
        """Return the steps that machine code has taken last."""
        if self._stepping is None:
            return []
        steps, states, counts = self._stepping.chosen.recent
        count, size = int(counts[TAKEN]), len(steps)
        every = (k % size for k in range(max(count - size, 0), count))
        taken = [Taken(float(steps[k, 0]), states[k].copy(), float(steps[k, 1])) for k in every]
        counts[:] = 0
        return taken

    def _across(self, stop: float) -> Begin:
        """Return what makes solvers for one step of a given length."""

        def begin(t: float, y: Vector, h: float, looser: float) -> Any:
            solver = self._begin(t, y, stop, looser, first_step=h, max_step=h)
            solver.step()
            solver.max_step, solver.rtol, solver.atol = self._max_step, self._rtol, self._atol
            return solver

        return begin

    def _projected(self, t: float, y: Vector) -> Vector:
        """Return a state on the closures."""
        assert self._onto is not None
        q, v, memory = self._split(y)
        return np.concatenate([*self._onto(t, q, v), memory])

    def _slopes(self, t: float, y: Vector) -> Matrix:
        """Return the Jacobian of the rates, shape ``(n, n)``.

        SciPy's own differences choose a step by how much it changes, and raise that of a column
        which is always zero, as a cyclic coordinate has, tenfold each time until it is infinite.
        """
        nq, end = self._nq, self._end
        known = None
        if self._jacobian is not None:
            q = self.robot.normalize(y[:nq])
            known = self._jacobian(t, q, y[nq:end], y[end:])
        if known is None:
            J = state_jacobian(lambda x: self.system.slope(t, x), y, end)
        else:
            J = self._on_coordinates(known, q, y[nq:end])
        if not np.isfinite(J).all():
            raise self.system.steps.fault or IntegrationFailed(
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
        if self.robot.is_euclidean:
            J[:nq, nq : nq + n], J[nq:, :nq] = np.eye(n), known[:, :n]
            return J
        N = np.column_stack([rate(q, axis) for axis in np.eye(n)])
        J[:nq, nq : nq + n] = N
        J[:nq, :nq] = state_jacobian(lambda x: rate(self.robot.normalize(x), v), q, nq)
        J[nq:, :nq] = known[:, :n] @ np.linalg.pinv(N)
        return J

    def _split(self, y: Vector) -> State:
        q = self.robot.normalize(y[: self._nq])
        return State(q, y[self._nq : self._end], y[self._end :])


@final
class Implicit:
    """A method of SciPy's, on the face of `Explicit`."""

    def __init__(
        self,
        system: System,
        method: str,
        t: float,
        y: Vector,
        stop: float,
        jacobian: Callable[[float, Vector], Matrix],
        **limits: float,
    ) -> None:
        from scipy import integrate  # here, because it takes 0.3 s to import

        self._system = system
        self._inside: Any = None
        with np.errstate(all="ignore"):
            self._solver = getattr(integrate, method)(
                system.slope, t, y, stop, jac=jacobian, **limits
            )

    def __getattr__(self, name: str) -> Any:
        return getattr(self._solver, name)

    def step(self) -> None:
        """Take a step, if there is one that is long enough."""
        with np.errstate(all="ignore"):
            self._solver.step()

    def start_from(self, y: Vector) -> None:
        """Go on from another state at the same time.

        All that a one-step method keeps of the past are the state and its rate.
        """
        self._solver.y, self._solver.f = y, self._system.slope(self._solver.t, y)

    def interpolate(self) -> None:
        """Make `between` that of the last step."""
        self._inside = self._solver.dense_output()

    def between(self, times: Vector) -> Matrix:
        """Return the states at times within the last step, one row each."""
        states: Matrix = self._inside(times).T
        return states
