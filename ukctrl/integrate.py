"""Time integration of a state ``(q, v, memory)``, on the manifold of the configuration.

Two families behind one face, `Integrator.advance`. SciPy's adaptive methods integrate the
coordinates of ``q`` with ``q_dot = N(q) v``; the norm of a quaternion is a constant of that
motion, and what the integrator leaves of it is removed when the state is used. The fixed-step
methods step on the manifold itself, in the exponential chart of Munthe-Kaas, so quaternions
stay unit length by construction.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, final

import numpy as np

from ukctrl.errors import NotFinite, UkctrlError
from ukctrl.factor import Vector
from ukctrl.robot import Robot

SPEED_LIMIT = 1e5
"""A speed beyond this is no mechanism any more [rad/s or m/s]."""


FIRST_STEP = 1e-6
"""First step where SciPy cannot choose one, as a fraction of the interval."""


class IntegrationFailed(UkctrlError, ArithmeticError):
    """The motion cannot be continued: it blew up, or no step is small enough."""


class State(NamedTuple):
    """What is integrated."""

    q: Vector
    v: Vector
    memory: Vector


class System(Protocol):
    """The closed loop, as the integrators see it."""

    def rates(self, t: float, q: Vector, v: Vector, memory: Vector) -> tuple[Vector, Vector]:
        """Return the acceleration and the rate of the memory."""
        ...


Correction = Callable[[float, Vector, Vector], tuple[Vector, Vector]]
"""Maps time, q and v to the q and v from which to go on: a projection onto constraints."""


Guard = Callable[[float, State], float]
"""Positive until something happens that ends the integration, such as a switch of the law."""
GUARD_RTOL = 1e-13
"""A crossing is found to this fraction of the step in which it lies, or to rounding."""


class Integrator(abc.ABC):
    """Advances a state and reports it at chosen times.

    Args:
        system: The closed loop.
        robot: The robot whose configurations are integrated.
        correction: Applied to the state after every step, and to every state that is reported.
    """

    def __init__(self, system: System, robot: Robot, correction: Correction | None = None) -> None:
        self.system = system
        self.robot = robot
        self.correction = correction
        self.flat = robot.is_euclidean
        """Whether q_dot = v, so that plain addition integrates q."""

    @abc.abstractmethod
    def advance(
        self,
        t: float,
        state: State,
        stop: float,
        outputs: Sequence[float],
        guard: Guard | None = None,
    ) -> Iterator[tuple[float, State]]:
        """Yield the state at each of ``outputs``, increasing times in ``(t, stop]``.

        The last of them must be ``stop``, so that the caller can go on from there. Where the
        ``guard`` stops being positive, the state there is yielded, and it is the last one.

        Raises:
            IntegrationFailed: The motion cannot be continued.
        """

    @final
    def corrected(self, t: float, state: State) -> State:
        """Return the state from which to go on."""
        if self.correction is None:
            return state
        q, v = self.correction(t, state.q, state.v)
        return State(q, v, state.memory)


def check_bounded(t: float, state: State) -> None:
    """Raise `IntegrationFailed` when the state is no longer finite and bounded."""
    speed = np.abs(state.v).max(initial=0.0)
    if speed < SPEED_LIMIT and np.isfinite(state.q).all() and np.isfinite(state.memory).all():
        return
    raise IntegrationFailed(f"the motion grew without bound: speed {speed:.1e} at t = {t:.6g} s.")


def crossing(guard: Guard, state: Callable[[float], State], before: float, after: float) -> float:
    """Return the first time found at which the guard is not positive, by bisection.

    It is positive ``before`` and not ``after``; the time returned is on the far side.
    """
    near = GUARD_RTOL * (after - before)
    while after - before > near:
        middle = 0.5 * (before + after)
        if not before < middle < after:
            break
        if guard(middle, state(middle)) > 0.0:
            before = middle
        else:
            after = middle
    return after


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
    ) -> None:
        super().__init__(system, robot, correction)
        self._method, self._rtol, self._atol, self._max_step = method, rtol, atol, max_step
        self._nq, self._end = robot.nq, robot.nq + robot.nv
        # An explicit method survives a bad trial step: it is rejected and shortened.
        self._forgiving = method in ("DOP853", "RK45")
        self._fault: Exception | None = None

    def advance(
        self,
        t: float,
        state: State,
        stop: float,
        outputs: Sequence[float],
        guard: Guard | None = None,
    ) -> Iterator[tuple[float, State]]:
        from scipy import integrate  # here, because it takes 0.2 s to import

        start = np.concatenate(state)
        self._fault = None
        with np.errstate(all="ignore"):
            solver = getattr(integrate, self._method)(
                self._rate,
                t,
                start,
                stop,
                rtol=self._rtol,
                atol=self._atol,
                max_step=self._max_step,
            )
        if self._forgiving and not np.isfinite(solver.h_abs):
            # The trial that chooses the first step met a fault; SciPy would look for ever.
            solver.h_abs = FIRST_STEP * (stop - t)
        if self._forgiving:
            # Without SciPy's two wrappers, which convert and count at every evaluation.
            solver.fun = self._rate
        times = np.asarray(outputs)
        done = 0
        while solver.status == "running":
            with np.errstate(all="ignore"):  # a fault comes as NaN, which the step size answers
                message = solver.step()
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
            if self.correction is not None:
                self._go_on_from(solver)
            if between is not None:
                states = between(times[done:upto]).T
                if self._fault is not None:
                    raise self._fault
                for k, y in enumerate(states):
                    at = float(times[done + k])
                    if at == solver.t:
                        yield at, self._split(solver.y)
                    else:
                        yield at, self.corrected(at, self._split(y))
                done = upto

    def _go_on_from(self, solver: Any) -> None:
        """Correct the state that a one-step method has reached.

        All that such a method keeps of the past are the state and its rate: both are replaced.
        The interpolant of the step must have been made before.
        """
        solver.y = np.concatenate(self.corrected(solver.t, self._split(solver.y)))
        solver.f = self._rate(solver.t, solver.y)
        if self._fault is not None:
            raise self._fault

    def _split(self, y: Vector) -> State:
        q = y[: self._nq]
        if not self.flat:
            q = self.robot.normalize(q)
        return State(q, y[self._nq : self._end], y[self._end :])

    def _rate(self, t: float, y: Vector) -> Vector:
        nq, end = self._nq, self._end
        q, v = y[:nq], y[nq:end]
        rate: Vector = np.empty(len(y))
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
        if end < len(y):
            rate[end:] = memory_rate
        return rate


Step = Callable[[float, State, float], State]


@final
class FixedStep(Integrator):
    """Steps of equal length between outputs: RK4 (order 4) or semi-implicit Euler (order 1)."""

    def __init__(
        self,
        system: System,
        robot: Robot,
        method: str,
        step: float,
        correction: Correction | None = None,
    ) -> None:
        super().__init__(system, robot, correction)
        self._length = step
        steps: dict[str, Step] = {"RK4": self._rk4, "semi_implicit_euler": self._euler}
        self._step = steps[method]

    def advance(
        self,
        t: float,
        state: State,
        stop: float,
        outputs: Sequence[float],
        guard: Guard | None = None,
    ) -> Iterator[tuple[float, State]]:
        for target in outputs:
            count = max(1, round(np.ceil((target - t) / self._length - 1e-9)))
            h = (target - t) / count
            for k in range(count):
                before, start = state, t + k * h
                state = self.corrected(start + h, self._step(start, before, h))
                check_bounded(start + h, state)
                if guard is not None and not guard(start + h, state) > 0.0:

                    def at_time(moment: float, start: float = start, y: State = before) -> State:
                        return self.corrected(moment, self._step(start, y, moment - start))

                    end = crossing(guard, at_time, start, start + h)
                    yield end, at_time(end)
                    return
            t = target
            yield t, state

    def _euler(self, t: float, state: State, h: float) -> State:
        """``v`` first, then ``q`` with the new ``v``: symplectic for a separable energy."""
        q, v, memory = state
        a, memory_rate = self.system.rates(t, q, v, memory)
        v = v + h * a
        return State(self._moved(q, h * v), v, memory + h * memory_rate)

    def _rk4(self, t: float, state: State, h: float) -> State:
        """Classical Runge-Kutta for ``(xi, v, memory)``, where ``q = q0 (+) xi``.

        ``v = J(xi) xi_dot`` with the right Jacobian of the exponential; solving for ``xi_dot``
        keeps order 4 on the manifold (Munthe-Kaas 1999).
        """
        q0, v0, m0 = state
        xi = np.zeros(len(v0))
        sum_xi, sum_v, sum_m = np.zeros(len(v0)), np.zeros(len(v0)), np.zeros(len(m0))
        v, memory = v0, m0
        for weight, reach, time in ((1, 0.5, 0.0), (2, 0.5, 0.5), (2, 1.0, 0.5), (1, 0.0, 1.0)):
            a, memory_rate = self.system.rates(t + time * h, self._moved(q0, xi), v, memory)
            xi_dot = self._chart_rate(q0, xi, v)
            sum_xi += weight * xi_dot
            sum_v += weight * a
            sum_m += weight * memory_rate
            xi = reach * h * xi_dot
            v = v0 + reach * h * a
            memory = m0 + reach * h * memory_rate
        return State(self._moved(q0, h / 6.0 * sum_xi), v0 + h / 6.0 * sum_v, m0 + h / 6.0 * sum_m)

    def _moved(self, q: Vector, xi: Vector) -> Vector:
        if self.flat:
            moved: Vector = q + xi
            return moved
        return self.robot.integrate(q, xi)

    def _chart_rate(self, q: Vector, xi: Vector, v: Vector) -> Vector:
        if self.flat or not xi.any():
            return v
        return np.asarray(
            np.linalg.solve(self.robot.integrate_jacobian(q, xi), v), dtype=np.float64
        )
