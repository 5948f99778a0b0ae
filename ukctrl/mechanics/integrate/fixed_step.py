"""Methods of a fixed step, on the manifold of the configuration.

They step in the exponential chart of Munthe-Kaas, so quaternions stay unit length by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import final

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.mechanics.integrate.integrator import (
    Correction,
    Guard,
    Integrator,
    State,
    System,
    check_bounded,
    crossing,
)
from ukctrl.robot import Robot

Step = Callable[[float, State, float], State]
ORDERS = {"RK4": 4, "semi_implicit_euler": 1}
SPACING = 0.02
"""Between two steps that are looked at lies this fraction of those behind, so that a long run costs
no more than some hundred steps."""
ROUNDING = 1e-12
"""A change of the velocity that is smaller than this fraction of it is rounding."""


@final
class StepHalving:
    r"""The share of all that velocities change that halved steps change otherwise.

    $\sum \tfrac{2^p}{2^p - 1} \lVert v_h - v_{h/2} \rVert \,/ \sum \lVert v_h - v_0 \rVert$ with
    the order $p$ of the method: Richardson's estimate of the error of every step that is looked at,
    counted for those since the last one. Nothing of the motion itself changes.
    """

    def __init__(self, step: Step, order: int) -> None:
        self._step, self._richardson = step, 2.0**order / (2.0**order - 1.0)
        self._behind = self._last = self._next = 0
        self.error = self.path = 0.0

    def look(self, t: float, before: State, h: float, after: State) -> None:
        """Look at a step from ``before`` to ``after``, if its turn has come."""
        count = self._behind
        self._behind += 1
        if count < self._next:
            return
        stands_for, self._last = max(count - self._last, 1), count
        self._next = count + 1 + int(SPACING * count)
        try:
            halved = self._step(t + 0.5 * h, self._step(t, before, 0.5 * h), 0.5 * h)
        except Exception:  # the step itself has passed; what it meets on the way is not this one's
            return
        with np.errstate(over="ignore"):  # of a motion that grows without bound
            change = float(np.linalg.norm(after.v - before.v))
            error = self._richardson * float(np.linalg.norm(after.v - halved.v))
            floor = ROUNDING * float(np.linalg.norm(after.v))
        if np.isfinite(error) and change > floor:
            self.path += stands_for * change
            self.error += stands_for * error if error > floor else 0.0


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
        quick: Step | None = None,
    ) -> None:
        """Make one.

        Args:
            system: The closed loop.
            robot: The robot whose configurations are integrated.
            method: ``RK4`` or ``semi_implicit_euler``.
            step: Longest step [s].
            correction: Applied to the state after every step.
            quick: A step that does the same in less time, where there is one.
        """
        super().__init__(system, robot, correction)
        self._length = step
        steps: dict[str, Step] = {"RK4": self._rk4, "semi_implicit_euler": self._euler}
        self._step = quick or steps[method]
        self._halving = StepHalving(self._step, ORDERS[method])

    @property
    def halved(self) -> tuple[float, float]:
        return self._halving.error, self._halving.path

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
                stepped = self._step(start, before, h)
                self._halving.look(start, before, h, stepped)
                state = self.corrected(start + h, stepped)
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
            xi_dot = v if self.flat else self.robot.chart_rate(xi, v)
            sum_xi += weight * xi_dot
            sum_v += weight * a
            sum_m += weight * memory_rate
            xi = reach * h * xi_dot
            v = v0 + reach * h * a
            memory = m0 + reach * h * memory_rate
        return State(self._moved(q0, h / 6.0 * sum_xi), v0 + h / 6.0 * sum_v, m0 + h / 6.0 * sum_m)

    def _moved(self, q: Vector, xi: Vector) -> Vector:
        if self.flat:
            return q + xi
        return self.robot.integrate(q, xi)
