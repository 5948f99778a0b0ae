"""Methods of a fixed step, on the manifold of the configuration.

They step in the exponential chart of Munthe-Kaas, so quaternions stay unit length by construction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

import numpy as np

from ukctrl.core.program import Steps
from ukctrl.mechanics.integrate.explicit import chosen
from ukctrl.mechanics.integrate.fixed_kernels import (
    ERROR,
    NEXT,
    PATH,
    STAGES,
    Halving,
    Work,
    fixed_steps,
)
from ukctrl.mechanics.integrate.held_kernels import Fixed, Stepping
from ukctrl.mechanics.integrate.integrator import (
    SPEED_LIMIT,
    Correction,
    Guard,
    Integrator,
    check_bounded,
    crossing,
)
from ukctrl.mechanics.integrate.system import State, System

ORDERS = {"RK4": 4, "semi_implicit_euler": 1}


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
        self._halving = halving(ORDERS[method], len(q), len(v), len(memory))
        self._blind = halving(ORDERS[method], len(q), len(v), len(memory))
        self._blind.counts[NEXT] = np.iinfo(np.int64).max
        if correction is None:
            self.after = Steps(())
        else:  # one that has no steps is a function of Python
            self.after = getattr(correction, "steps", None) or Steps((self._correct,))

    @property
    def halved(self) -> tuple[float, float]:
        return float(self._halving.sums[ERROR]), float(self._halving.sums[PATH])

    @property
    def stepping(self) -> Stepping | None:
        port = self.system.port
        q, v, memory = (np.zeros(len(part)) for part in (port.q, port.v, port.memory))
        own = self._stages, self._work, self._halving, float(self._length)
        fixed = Fixed(*own, q, v, memory, self.after.lines)
        return Stepping(fixed, chosen("RK45", 0, 0.0, 0.0, 0.0), adapts=False)

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
            h, k = (target - t) / count, 0
            while k < count:
                before, start = state, t + k * h
                many = 1 if guard is not None else count - k
                state, done = self._steps(start, before, h, many, self._halving)
                k += done
                check_bounded(start + done * h, state)
                if guard is not None and not guard(start + h, state) > 0.0:

                    def at_time(moment: float, start: float = start, y: State = before) -> State:
                        return self._step(start, y, moment - start)

                    end = crossing(guard, at_time, start, start + h)
                    yield end, at_time(end)
                    return
            t = target
            yield t, state

    def _correct(self) -> None:
        assert self.correction is not None
        port = self.system.port
        port.q[:], port.v[:] = self.correction(float(port.clock[0]), port.q.copy(), port.v.copy())

    def _step(self, t: float, state: State, h: float) -> State:
        return self._steps(t, state, h, 1, self._blind)[0]

    def _steps(
        self, t: float, state: State, h: float, count: int, looked_at: Halving
    ) -> tuple[State, int]:
        """Return the state after some steps, and how many: fewer where it grew without bound."""
        reached = State(*(np.array(part) for part in state))
        given = self.system.port, self._stages, self._work, looked_at, t
        done = fixed_steps(*given, *reached, h, count, SPEED_LIMIT, self.after.lines)
        if done < 0:
            self.after.complain()
            self.system.steps.complain()
        self.system.steps.forget()  # of halved steps
        return reached, done


def no_fixed() -> Fixed:
    """Return what stands for the method where there is none."""
    none = np.zeros(0)
    work = Work(none, np.zeros((0, 0)), np.zeros((0, 0)))
    state = none, none, none, Steps(()).lines
    return Fixed(np.zeros((0, 0)), work, halving(1, 0, 0, 0), 1.0, *state)


def halving(order: int, nq: int, nv: int, memory: int) -> Halving:
    """Return an account of halved steps of a method of this order, with nothing in it yet."""
    counts, room = np.zeros(3, dtype=np.int64), (np.zeros(nq), np.zeros(nv), np.zeros(memory))
    return Halving(counts, np.zeros(2), float(order), *room, np.zeros(nv))
