"""What every integrator is: a state, a closed loop, and how to advance one by the other."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import final

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.program import KernelSequence
from ukctrl.mechanics.integrate.fixed_step_kernels import is_bounded
from ukctrl.mechanics.integrate.interval_kernels import StepMethod
from ukctrl.mechanics.integrate.ode_system import IntegratorState, OdeSystem

GUARD_RTOL = 1e-13
"""A crossing is found to this fraction of the step in which it lies, or to rounding."""


class IntegrationFailed(UkctrlError, ArithmeticError):
    """The motion cannot be continued: it blew up, or no step is small enough."""


Correction = Callable[[float, Vector, Vector], tuple[Vector, Vector]]
"""Maps time, q and v to the q and v from which to go on: a projection onto constraints."""
Guard = Callable[[float, IntegratorState], float]
"""Positive until something happens that ends the integration, such as a switch of the law."""


class Integrator(abc.ABC):
    """Advances a state and reports it at chosen times.

    Args:
        system: The closed loop.
        correction: Applied to the state after every step, and to every state that is reported.
    """

    def __init__(self, system: OdeSystem, correction: Correction | None = None) -> None:
        self.system = system
        self.correction = correction
        self.correction_steps = KernelSequence(())
        """What corrects a state in the port of the system, where a step is all compiled."""

    @property
    def step(self) -> float | None:
        """The step that it tries next [s]; None where it does not choose any."""
        return None

    @property
    def step_doubling_error(self) -> tuple[float, float]:
        """What halved steps change otherwise, and all that steps change, summed as `StepDoubling`
        does; nothing where a tolerance says how long steps are.
        """
        return 0.0, 0.0

    @property
    def step_method(self) -> StepMethod | None:
        """What `ukctrl.mechanics.integrate.interval_kernels.run_intervals` takes of the method;
        None where a step is not all compiled.
        """
        return None

    @abc.abstractmethod
    def advance(
        self,
        t: float,
        state: IntegratorState,
        stop: float,
        outputs: Sequence[float],
        guard: Guard | None = None,
    ) -> Iterator[tuple[float, IntegratorState]]:
        """Yield the state at each of ``outputs``, increasing times in ``(t, stop]``.

        The last of them must be ``stop``, so that the caller can go on from there. Where the
        ``guard`` stops being positive, the state there is yielded, and it is the last one.

        Raises:
            IntegrationFailed: The motion cannot be continued.
        """

    @final
    def corrected(self, t: float, state: IntegratorState) -> IntegratorState:
        """Return the state from which to go on."""
        if self.correction is None:
            return state
        q, v = self.correction(t, state.q, state.v)
        return IntegratorState(q, v, state.memory)


def check_bounded(t: float, state: IntegratorState) -> None:
    """Raise `IntegrationFailed` when the state is no longer finite and bounded."""
    if is_bounded(*state):
        return
    speed = np.abs(state.v).max(initial=0.0)
    raise IntegrationFailed(f"the motion grew without bound: speed {speed:.1e} at t = {t:.6g} s.")


def locate_event(
    guard: Guard, state: Callable[[float], IntegratorState], lower: float, upper: float
) -> float:
    """Return the first time found at which the guard is not positive, by bisection.

    It is positive ``lower`` and not ``upper``; the time returned is on the far side.
    """
    near = GUARD_RTOL * (upper - lower)
    while upper - lower > near:
        middle = 0.5 * (lower + upper)
        if not lower < middle < upper:
            break
        if guard(middle, state(middle)) > 0.0:
            lower = middle
        else:
            upper = middle
    return upper
