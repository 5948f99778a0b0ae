"""What every integrator is: a state, a closed loop, and how to advance one by the other."""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterator, Sequence
from typing import final

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.core.program import Steps
from ukctrl.mechanics.integrate.fixed_kernels import bounded
from ukctrl.mechanics.integrate.held_kernels import Stepping
from ukctrl.mechanics.integrate.system import State, System

GUARD_RTOL = 1e-13
"""A crossing is found to this fraction of the step in which it lies, or to rounding."""


class IntegrationFailed(UkctrlError, ArithmeticError):
    """The motion cannot be continued: it blew up, or no step is small enough."""


Correction = Callable[[float, Vector, Vector], tuple[Vector, Vector]]
"""Maps time, q and v to the q and v from which to go on: a projection onto constraints."""
Guard = Callable[[float, State], float]
"""Positive until something happens that ends the integration, such as a switch of the law."""


class Integrator(abc.ABC):
    """Advances a state and reports it at chosen times.

    Args:
        system: The closed loop.
        correction: Applied to the state after every step, and to every state that is reported.
    """

    def __init__(self, system: System, correction: Correction | None = None) -> None:
        self.system = system
        self.correction = correction
        self.after = Steps(())
        """What corrects a state in the port of the system, where a step is all compiled."""

    @property
    def step(self) -> float | None:
        """The step that it tries next [s]; None where it does not choose any."""
        return None

    @property
    def halved(self) -> tuple[float, float]:
        """What halved steps change otherwise, and all that steps change, summed as `StepHalving`
        does; nothing where a tolerance says how long steps are.
        """
        return 0.0, 0.0

    @property
    def stepping(self) -> Stepping | None:
        """What `ukctrl.mechanics.integrate.held_kernels.hold` takes of the method; None where a
        step is not all compiled.
        """
        return None

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
    if bounded(*state):
        return
    speed = np.abs(state.v).max(initial=0.0)
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
