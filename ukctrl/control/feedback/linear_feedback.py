"""Linear feedbacks: the error of each row obeys an equation with constant coefficients."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, final

import numpy as np

from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.feedback.feedback import (
    BoundFeedback,
    Feedback,
    FeedbackBuffers,
    IntegralGain,
    RateGain,
    StiffnessGain,
    row_gains,
)
from ukctrl.control.task import TunableGain
from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError
from ukctrl.core.fields import spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics

GAIN_UNITS = ("1/s", "1/s^2", "1/s^3")
"""Of the rate's error, of the position's, and of its integral."""


@final
class LinearFeedback(BoundFeedback):
    """Gains spread over rows: ``b - k_beta * beta - k_phi * phi - k_memory * memory``.

    Args:
        k_beta: Shape ``(m,)``.
        k_phi: Shape ``(m,)``.
        k_memory: Shape ``(m,)``.
        stack: The rows.
        names: What the three are called; of one that nobody may change, nothing.
    """

    def __init__(
        self,
        k_beta: Vector,
        k_phi: Vector,
        k_memory: Vector,
        stack: Stack,
        names: tuple[str, str, str] = ("", "", ""),
    ) -> None:
        self._gains = np.array([k_beta, np.where(stack.holonomic, k_phi, 0.0), k_memory])
        self.memory = np.zeros(len(stack) if k_memory.any() else 0)
        self._holonomic = stack.holonomic
        self._is_zero = not self._gains.any()
        self.has_integrals = bool(len(self.memory))
        # of a row without a position there is nothing that its gain could multiply
        every = np.ones(len(stack), dtype=bool)
        used = (every, stack.holonomic, every & self.has_integrals)
        self.gains = tuple(
            TunableGain(name, row, unit, self._gains, level * len(stack) + i)
            for level, (name, unit) in enumerate(zip(names, GAIN_UNITS, strict=True))
            for i, row in enumerate(stack.names)
            if name and used[level][i]
        )

    def demand(self, rows: Rows, memory: Vector) -> Vector:
        """Return the row acceleration to ask for, shape ``(m,)``."""
        _, b, beta, phi = rows
        if self._is_zero:
            return b
        demand: Vector = np.empty(len(b))
        _linear_demand(b, beta, phi, memory, self._gains, demand)
        return demand

    def memory_rate(self, rows: Rows, memory: Vector) -> Vector:
        """Return what the memory integrates: ``phi``, or ``beta`` of a nonholonomic row."""
        if not self.memory.size:
            return memory
        return np.where(self._holonomic, rows.phi, rows.beta)

    def steps(
        self, rows: Rows, memory: Vector, dynamics: Dynamics, buffers: FeedbackBuffers
    ) -> Iterator[KernelStep]:
        _, b, beta, phi = rows
        yield BoundKernel(_linear_demand, b, beta, phi, memory, self._gains, buffers.demand)
        if len(memory):
            yield BoundKernel(write_integrand, self._holonomic, beta, phi, buffers.memory_rate)


@compiled
def _linear_demand(
    b: Vector, beta: Vector, phi: Vector, memory: Vector, gains: Matrix, demand: Vector
) -> None:
    for i in range(b.shape[0]):
        total = b[i] - gains[0, i] * beta[i]
        if gains[1, i] != 0.0:  # phi is NaN on nonholonomic rows, and NaN * 0 is NaN
            total -= gains[1, i] * phi[i]
        if memory.shape[0] > 0:
            total -= gains[2, i] * memory[i]
        demand[i] = total


@compiled
def write_integrand(holonomic: Flags, beta: Vector, phi: Vector, rate: Vector) -> None:
    """Write the rate of integrals: of the position error, or where there is none of the rate's."""
    for i in range(len(rate)):
        rate[i] = phi[i] if holonomic[i] else beta[i]


@spec
class Exact(Feedback):
    r"""No feedback: $\ddot\phi = 0$. An error at the start grows linearly with time."""

    kind: Literal["exact"] = "exact"

    def attach(self, stack: Stack) -> LinearFeedback:
        none = np.zeros(len(stack))
        return LinearFeedback(none, none, none, stack)


@spec
class Baumgarte(Feedback):
    r"""Error dynamics of second order: $\ddot\phi + \alpha \dot\phi + \beta \phi = 0$.

    References:
        Baumgarte 1972; Xu & Liu 2017, eq (52). Liu et al. 2015 and de Falco et al. write
        $\ddot\phi + 2 \alpha \dot\phi + \beta^2 \phi$: convert their gains.
    """

    kind: Literal["baumgarte"] = "baumgarte"
    alpha: RateGain
    r"""Gain of the velocity error $\alpha$ [1/s]."""
    beta: StiffnessGain
    r"""Gain of the position error $\beta$ [1/s^2]."""

    def gains_for(self, terms: ErrorSpec) -> Mapping[str, float]:
        beta, alpha = terms.second_order()
        return {"alpha": alpha, "beta": beta}

    def attach(self, stack: Stack) -> LinearFeedback:
        alpha, beta = row_gains(self.alpha, stack, "alpha"), row_gains(self.beta, stack, "beta")
        none = np.zeros(len(stack))
        return LinearFeedback(alpha, beta, none, stack, ("alpha", "beta", ""))


@spec
class Pid(Feedback):
    r"""Second order with an integral: $\ddot\phi + k_d \dot\phi + k_p \phi + k_i \int\phi = 0$.

    The integral removes the steady error that a wrong model leaves. Stable while
    $k_d k_p > k_i$ (Routh-Hurwitz), which is checked. On a nonholonomic row:
    $\dot\psi + k_d \psi + k_i \int\psi = 0$.
    """

    kind: Literal["pid"] = "pid"
    kp: StiffnessGain
    """Gain of the position error [1/s^2]."""
    ki: IntegralGain
    """Gain of its integral [1/s^3]."""
    kd: RateGain
    """Gain of the velocity error [1/s]."""

    def gains_for(self, terms: ErrorSpec) -> Mapping[str, float]:
        kp, ki, kd = terms.third_order()
        return {"kp": kp, "ki": ki, "kd": kd}

    def attach(self, stack: Stack) -> LinearFeedback:
        kp, ki, kd = (
            row_gains(gain, stack, name)
            for gain, name in ((self.kp, "kp"), (self.ki, "ki"), (self.kd, "kd"))
        )
        # nonholonomic rows have no kp: any kd and ki of theirs are stable
        unstable = np.flatnonzero(stack.holonomic & (ki > 0.0) & ~(kd * kp > ki))
        if unstable.size:
            i = unstable[0]
            raise GainError(
                f"kd * kp must be greater than ki for a stable error; got {kd[i]:g} * {kp[i]:g} "
                f"and {ki[i]:g} on row '{stack.names[i]}'."
            )
        return LinearFeedback(kd, kp, ki, stack, ("kd", "kp", "ki"))


@spec
class FirstOrder(Feedback):
    r"""Error dynamics of first order in the velocity: $\dot\beta + \kappa \beta = 0$.

    The natural choice for nonholonomic rows. On a holonomic row the velocity error decays and
    the position error stays where that leaves it.
    """

    kind: Literal["first_order"] = "first_order"
    kappa: RateGain
    r"""Decay rate $\kappa$ [1/s]."""

    def gains_for(self, terms: ErrorSpec) -> Mapping[str, float]:
        return {"kappa": terms.frequency(1)}

    def attach(self, stack: Stack) -> LinearFeedback:
        none = np.zeros(len(stack))
        kappa = row_gains(self.kappa, stack, "kappa")
        return LinearFeedback(kappa, none, none, stack, ("kappa", "", ""))
