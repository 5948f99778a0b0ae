"""Methods of a fixed step, on the manifold of the configuration.

They step in the exponential chart of Munthe-Kaas, so quaternions stay unit length by construction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

import numpy as np

from ukctrl.core.arrays import Indices, Matrix
from ukctrl.core.program import Steps
from ukctrl.mechanics.integrate.explicit import chosen
from ukctrl.mechanics.integrate.fixed_kernels import (
    ERROR,
    NEXT,
    PATH,
    STAGES,
    Fixed,
    Halving,
    Work,
    fixed_steps,
)
from ukctrl.mechanics.integrate.held_kernels import Stepping
from ukctrl.mechanics.integrate.integrator import (
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
        if correction is None:
            self.after = Steps(())
        else:  # one that has no steps is a function of Python
            self.after = getattr(correction, "steps", None) or Steps((self._correct,))
        sizes = len(system.port.q), len(system.port.v), len(system.port.memory)
        order, lines = ORDERS[method], self.after.lines
        self._fixed = fixed_for(STAGES[method], order, float(step), sizes, lines)
        self._blind = self._fixed._replace(halving=halving(order, *sizes))
        self._blind.halving.counts[NEXT] = np.iinfo(np.int64).max

    @property
    def halved(self) -> tuple[float, float]:
        sums = self._fixed.halving.sums
        return float(sums[ERROR]), float(sums[PATH])

    @property
    def stepping(self) -> Stepping | None:
        return Stepping(self._fixed, chosen("RK45", 0, 0.0, 0.0, 0.0), adapts=False)

    def advance(
        self,
        t: float,
        state: State,
        stop: float,
        outputs: Sequence[float],
        guard: Guard | None = None,
    ) -> Iterator[tuple[float, State]]:
        for target in outputs:
            count = max(1, round(np.ceil((target - t) / self._fixed.length - 1e-9)))
            h, k = (target - t) / count, 0
            while k < count:
                before, start = state, t + k * h
                many = 1 if guard is not None else count - k
                state, done = self._steps(start, before, h, many, self._fixed)
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
        self, t: float, state: State, h: float, count: int, fixed: Fixed
    ) -> tuple[State, int]:
        """Return the state after some steps, and how many: fewer where it grew without bound."""
        reached = fixed.q, fixed.v, fixed.memory
        for part, given in zip(reached, state, strict=True):
            part[:] = given
        done = fixed_steps(self.system.port, fixed, t, h, count)
        if done < 0:
            self.after.complain()
            self.system.steps.complain()
        self.system.steps.forget()  # of halved steps
        return State(*(part.copy() for part in reached)), done


def no_fixed() -> Fixed:
    """Return what stands for the method where there is none."""
    return fixed_for(np.zeros((0, 0)), 1, 1.0, (0, 0, 0), Steps(()).lines)


def fixed_for(
    stages: Matrix, order: int, length: float, sizes: tuple[int, int, int], after: Indices
) -> Fixed:
    """Return a method with room for a state, and for what a step writes on its way."""
    nq, nv, memory = sizes
    work = Work(np.zeros(nq), np.zeros((4, nv)), np.zeros((2, memory)))
    state = np.zeros(nq), np.zeros(nv), np.zeros(memory)
    return Fixed(stages, work, halving(order, *sizes), length, *state, after)


def halving(order: int, nq: int, nv: int, memory: int) -> Halving:
    """Return an account of halved steps of a method of this order, with nothing in it yet."""
    counts, room = np.zeros(3, dtype=np.int64), (np.zeros(nq), np.zeros(nv), np.zeros(memory))
    return Halving(counts, np.zeros(2), float(order), *room, np.zeros(nv))
