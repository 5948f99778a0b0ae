"""Methods of a fixed step, on the manifold of the configuration.

They step in the exponential chart of Munthe-Kaas, so quaternions stay unit length by construction.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

import numpy as np

from ukctrl.core.arrays import Indices, Matrix
from ukctrl.core.program import KernelSequence
from ukctrl.mechanics.integrate.explicit_solver import adaptive_stepper
from ukctrl.mechanics.integrate.fixed_step_kernels import (
    ERROR,
    NEXT_CHECKED,
    PATH_LENGTH,
    STAGES,
    FixedStepper,
    StageBuffers,
    StepDoubling,
    fixed_steps,
)
from ukctrl.mechanics.integrate.integrator import (
    Correction,
    Guard,
    Integrator,
    check_bounded,
    locate_event,
)
from ukctrl.mechanics.integrate.interval_kernels import StepMethod
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem

ORDERS = {"RK4": 4, "semi_implicit_euler": 1}


@final
class FixedStepIntegrator(Integrator):
    """Steps of equal length between outputs: RK4 (order 4) or semi-implicit Euler (order 1).

    Args:
        system: The closed loop.
        method: ``RK4`` or ``semi_implicit_euler``.
        step: Longest step [s].
        correction: Applied to the state after every step.
    """

    def __init__(
        self, system: OdeSystem, method: str, step: float, correction: Correction | None = None
    ) -> None:
        super().__init__(system, correction)
        if correction is None:
            self.correction_steps = KernelSequence(())
        else:  # one that has no steps is a function of Python
            self.correction_steps = getattr(correction, "steps", None) or KernelSequence(
                (self._correct,)
            )
        sizes = len(system.arrays.q), len(system.arrays.v), len(system.arrays.memory)
        order, lines = ORDERS[method], self.correction_steps.lines
        self._fixed = fixed_stepper(STAGES[method], order, float(step), sizes, lines)
        self.without_estimates = self._fixed._replace(doubling=step_doubling(order, *sizes))
        """The method, which halves no step to tell its error."""
        self.without_estimates.doubling.counts[NEXT_CHECKED] = np.iinfo(np.int64).max

    @property
    def step_doubling_error(self) -> tuple[float, float]:
        sums = self._fixed.doubling.sums
        return float(sums[ERROR]), float(sums[PATH_LENGTH])

    @property
    def step_method(self) -> StepMethod | None:
        return StepMethod(
            self._fixed, adaptive_stepper("RK45", 0, 0.0, 0.0, 0.0), is_adaptive=False
        )

    def advance(
        self,
        t: float,
        state: IntegratorState,
        stop: float,
        outputs: Sequence[float],
        guard: Guard | None = None,
    ) -> Iterator[tuple[float, IntegratorState]]:
        for target in outputs:
            count = max(1, round(np.ceil((target - t) / self._fixed.max_step - 1e-9)))
            h, k = (target - t) / count, 0
            while k < count:
                state_old, start = state, t + k * h
                many = 1 if guard is not None else count - k
                state, done = self._steps(start, state_old, h, many, self._fixed)
                k += done
                check_bounded(start + done * h, state)
                if guard is not None and not guard(start + h, state) > 0.0:

                    def at_time(
                        moment: float, start: float = start, y: IntegratorState = state_old
                    ) -> IntegratorState:
                        return self._step(start, y, moment - start)

                    end = locate_event(guard, at_time, start, start + h)
                    yield end, at_time(end)
                    return
            t = target
            yield t, state

    def _correct(self) -> None:
        assert self.correction is not None
        port = self.system.arrays
        port.q[:], port.v[:] = self.correction(float(port.clock[0]), port.q.copy(), port.v.copy())

    def _step(self, t: float, state: IntegratorState, h: float) -> IntegratorState:
        return self._steps(t, state, h, 1, self.without_estimates)[0]

    def _steps(
        self, t: float, state: IntegratorState, h: float, count: int, fixed: FixedStepper
    ) -> tuple[IntegratorState, int]:
        """Return the state after some steps, and how many: fewer where it grew without bound."""
        reached = fixed.q, fixed.v, fixed.memory
        for buffer, values in zip(reached, state, strict=True):
            buffer[:] = values
        done = fixed_steps(self.system.arrays, fixed, t, h, count)
        if done < 0:
            self.correction_steps.raise_fault()
            self.system.steps.raise_fault()
        self.system.steps.take_fault()  # of halved steps
        return IntegratorState(*(buffer.copy() for buffer in reached)), done


def empty_fixed_stepper() -> FixedStepper:
    """Return what stands for the method where there is none."""
    return fixed_stepper(np.zeros((0, 0)), 1, 1.0, (0, 0, 0), KernelSequence(()).lines)


def fixed_stepper(
    stages: Matrix, order: int, length: float, sizes: tuple[int, int, int], correction: Indices
) -> FixedStepper:
    """Return a method with room for a state, and for what a step writes on its way."""
    nq, nv, memory = sizes
    work = StageBuffers(np.zeros(nq), np.zeros((4, nv)), np.zeros((2, memory)))
    state = np.zeros(nq), np.zeros(nv), np.zeros(memory)
    return FixedStepper(stages, work, step_doubling(order, *sizes), length, *state, correction)


def step_doubling(order: int, nq: int, nv: int, memory: int) -> StepDoubling:
    """Return an account of halved steps of a method of this order, with nothing in it yet."""
    counts, buffers = np.zeros(3, dtype=np.int64), (np.zeros(nq), np.zeros(nv), np.zeros(memory))
    return StepDoubling(counts, np.zeros(2), float(order), *buffers, np.zeros(nv))
