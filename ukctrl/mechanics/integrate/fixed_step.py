"""Methods of a fixed step, on the manifold of the configuration.

They step in the exponential chart of Munthe-Kaas, so quaternions stay unit length by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import final

import numpy as np

from ukctrl.mechanics.integrate.fixed_kernels import STAGES, Work, fixed_steps
from ukctrl.mechanics.integrate.integrator import (
    SPEED_LIMIT,
    Correction,
    Guard,
    Integrator,
    check_bounded,
    crossing,
)
from ukctrl.mechanics.integrate.system import State, System

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

    @property
    def before_next(self) -> int:
        """How many steps come before the next one that is looked at."""
        return self._next - self._behind

    def look(self, t: float, before: State, h: float, after: State, steps: int = 1) -> None:
        """Look at a step from ``before`` to ``after``, if its turn has come.

        Of several ``steps`` between them none must be the next one.
        """
        count = self._behind
        self._behind += steps
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
    """Steps of equal length between outputs: RK4 (order 4) or semi-implicit Euler (order 1).

    Args:
        system: The closed loop.
        method: ``RK4`` or ``semi_implicit_euler``.
        step: Longest step [s].
        correction: Applied to the state after every step.
    """

    def __init__(
        self, system: System, method: str, step: float, correction: Correction | None = None
    ) -> None:
        super().__init__(system, correction)
        self._length, self._stages = step, STAGES[method]
        q, v, memory = system.port.q, system.port.v, system.port.memory
        self._work = Work(np.zeros(len(q)), np.zeros((4, len(v))), np.zeros((2, len(memory))))
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
        one_by_one = guard is not None or self.correction is not None
        for target in outputs:
            count = max(1, round(np.ceil((target - t) / self._length - 1e-9)))
            h, k = (target - t) / count, 0
            while k < count:
                before, start = state, t + k * h
                many = 1 if one_by_one else min(count - k, max(1, self._halving.before_next))
                state, done = self._steps(start, before, h, many)
                self._halving.look(start, before, h, state, many)
                k += done
                state = self.corrected(start + done * h, state)
                check_bounded(start + done * h, state)
                if guard is not None and not guard(start + h, state) > 0.0:

                    def at_time(moment: float, start: float = start, y: State = before) -> State:
                        return self.corrected(moment, self._step(start, y, moment - start))

                    end = crossing(guard, at_time, start, start + h)
                    yield end, at_time(end)
                    return
            t = target
            yield t, state

    def _step(self, t: float, state: State, h: float) -> State:
        return self._steps(t, state, h, 1)[0]

    def _steps(self, t: float, state: State, h: float, count: int) -> tuple[State, int]:
        """Return the state after some steps, and how many: fewer where it grew without bound."""
        reached = State(*(np.array(part) for part in state))
        given = self.system.port, self._stages, self._work, t, *reached
        done = fixed_steps(*given, h, count, SPEED_LIMIT)
        if done < 0:
            self.system.steps.complain()
        return reached, done
