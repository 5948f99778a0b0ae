"""Methods that choose their steps, on the coordinates of ``q``.

They integrate ``q_dot = N(q) v``; the norm of a quaternion is a constant of that motion, and what
the integrator leaves of it is removed when the state is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, final

import numpy as np

from ukctrl.core.algebra.finite_differences import state_jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.integrate.butcher_tableaux import TABLEAUX
from ukctrl.mechanics.integrate.explicit_solver import ExplicitSolver, adaptive_stepper
from ukctrl.mechanics.integrate.fixed_step_integrator import empty_fixed_stepper
from ukctrl.mechanics.integrate.integrator import (
    Correction,
    Guard,
    IntegrationFailed,
    Integrator,
    check_bounded,
    locate_event,
)
from ukctrl.mechanics.integrate.interval_kernels import TOTAL_STEPS, StepMethod
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem
from ukctrl.mechanics.integrate.runge_kutta_kernels import H_ABS
from ukctrl.mechanics.integrate.singularity_crossing import (
    CompletedStep,
    SingularityCrossing,
    SolverFactory,
)
from ukctrl.robot import Robot


@final
class AdaptiveIntegrator(Integrator):
    """Methods with error control: our own DOP853 and RK45, SciPy's Radau, BDF and LSODA."""

    def __init__(
        self,
        system: OdeSystem,
        robot: Robot,
        method: str,
        *,
        rtol: float,
        atol: float,
        max_step: float,
        correction: Correction | None = None,
        onto: Correction | None = None,
    ) -> None:
        super().__init__(system, correction)
        self.robot = robot
        self._method, self._rtol, self._atol, self._max_step = method, rtol, atol, max_step
        self._nq, self._end = robot.nq, robot.nq + robot.nv
        self._explicit = method in TABLEAUX
        self._onto = onto if self._explicit else None
        self._solver: Any = None
        self._stepping: StepMethod | None = None

    @property
    def step(self) -> float | None:
        step = getattr(self._solver, "h_abs", None)  # LSODA keeps it to itself
        if self._stepping is not None:
            step = self._stepping.adaptive.buffers.times[H_ABS]
        return None if step is None else float(step)

    @property
    def step_method(self) -> StepMethod | None:
        if not self._explicit or self.correction is not None:
            return None
        if self._stepping is None:
            limits = float(self._rtol), float(self._atol), float(self._max_step)
            n = self._end + len(self.system.arrays.memory)
            remembers = self._onto is not None
            method = adaptive_stepper(self._method, n, *limits, remembers=remembers)
            self._stepping = StepMethod(empty_fixed_stepper(), method, is_adaptive=True)
        return self._stepping

    def advance(
        self,
        t: float,
        state: IntegratorState,
        stop: float,
        outputs: Sequence[float],
        guard: Guard | None = None,
    ) -> Iterator[tuple[float, IntegratorState]]:
        failed = self.system.steps
        failed.take_fault()
        solver = self._new_solver(t, np.concatenate(state), stop)
        over = None
        if self._onto is not None and guard is None:
            over = SingularityCrossing(
                self._solver_factory(stop),
                self._projected,
                self.robot.coordinates,
                stop,
                self._max_step,
                self._recent_steps(),
            )
        self._solver = solver
        times = np.asarray(outputs)
        done = 0
        crossing = None if over is None else over.cross_after_stall(t)
        while solver.status == "running" or crossing is not None:
            crossed_over = crossing is not None
            if crossed_over:
                self._solver = solver = crossing
                crossing = None
            else:
                solver.step()
            if over is not None and not crossed_over:
                fault = failed.fault
                solver, crossed_over = over.check_step(solver)
                self._solver, failed.fault = solver, fault
            if solver.status == "failed":
                failed.raise_fault()
                raise IntegrationFailed(
                    f"the integrator needs steps below rounding at t = {solver.t:.6g} s."
                )
            failed.take_fault()
            reached = self._split(solver.y)
            check_bounded(solver.t, reached)
            end = solver.t
            crossed = guard is not None and not guard(end, self.corrected(end, reached)) > 0.0
            upto = int(np.searchsorted(times, end, side="right"))
            if upto > done or crossed:
                solver.prepare_dense_output()
            if guard is not None and crossed:
                inside = solver.interpolate

                def at_time(moment: float, inside: Any = inside) -> IntegratorState:
                    return self.corrected(moment, self._split(inside(np.array([moment]))[0]))

                end = locate_event(guard, at_time, solver.t_old, end)
                for moment in [float(output) for output in times[done:] if output < end]:
                    yield moment, at_time(moment)
                yield end, at_time(end)
                return
            if crossed_over:  # from here on, for others like it may follow
                self.correction = self._onto
            last = solver.y
            if self.correction is not None:
                last = np.concatenate(self.corrected(solver.t, reached))
                solver.start_from(last)
                failed.raise_fault()
            if upto > done:
                for at, y in zip(
                    times[done:upto].tolist(), solver.interpolate(times[done:upto]), strict=True
                ):
                    state = self._split(last if at == solver.t else y)
                    yield at, state if at == solver.t else self.corrected(at, state)
                done = upto

    def _new_solver(
        self, t: float, y: Vector, stop: float, looser: float = 1.0, **steps: float
    ) -> Any:
        """Return what takes the steps, with errors so many times the tolerance."""
        limits = {"rtol": looser * self._rtol, "atol": looser * self._atol}
        steps = {"max_step": self._max_step, **limits, **steps}
        if self._explicit:
            return ExplicitSolver(self.system, self._method, t, y, stop, **steps)
        return ImplicitSolver(self.system, self._method, t, y, stop, self._slopes, **steps)

    def _recent_steps(self) -> list[CompletedStep]:
        """Return the steps that machine code has taken last."""
        if self._stepping is None:
            return []
        steps, states, counts = self._stepping.adaptive.history
        count, size = int(counts[TOTAL_STEPS]), len(steps)
        slots = (k % size for k in range(max(count - size, 0), count))
        records = [
            CompletedStep(float(steps[k, 0]), states[k].copy(), float(steps[k, 1])) for k in slots
        ]
        counts[:] = 0
        return records

    def _solver_factory(self, stop: float) -> SolverFactory:
        """Return what makes solvers for one step of a given length."""

        def begin(t: float, y: Vector, h: float, looser: float) -> Any:
            solver = self._new_solver(t, y, stop, looser, first_step=h, max_step=h)
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
        J = state_jacobian(lambda x: self.system.time_derivative(t, x), y, self._end)
        if not np.isfinite(J).all():
            raise self.system.steps.fault or IntegrationFailed(
                f"the equations of motion have no derivative at t = {t:.6g} s."
            )
        return J

    def _split(self, y: Vector) -> IntegratorState:
        q = self.robot.normalize(y[: self._nq])
        return IntegratorState(q, y[self._nq : self._end], y[self._end :])


@final
class ImplicitSolver:
    """A method of SciPy's, on the face of `ExplicitSolver`."""

    def __init__(
        self,
        system: OdeSystem,
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
                system.time_derivative, t, y, stop, jac=jacobian, **limits
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
        self._solver.y, self._solver.f = y, self._system.time_derivative(self._solver.t, y)

    def prepare_dense_output(self) -> None:
        """Make `between` that of the last step."""
        self._inside = self._solver.dense_output()

    def interpolate(self, times: Vector) -> Matrix:
        """Return the states at times within the last step, one row each."""
        states: Matrix = self._inside(times).T
        return states
