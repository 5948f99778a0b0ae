r"""Integral sliding: a push that keeps the nominal error dynamics from the first moment on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, ClassVar, Literal, final

import numpy as np

from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.error_polynomial import ErrorPolynomial
from ukctrl.control.feedback.feedback import (
    BoundFeedback,
    Feedback,
    FeedbackBuffers,
    PositivePerRow,
    RateGain,
    RowGain,
    StiffnessGain,
    row_gains,
)
from ukctrl.control.feedback.linear_feedback import write_integrand
from ukctrl.control.feedback.odd_functions import AnyOddFunction, OddFunction, Sat
from ukctrl.control.task import Signal
from ukctrl.core.arrays import Flags, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.fields import Instance, PerElement, Quantity, spec
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics

PositiveRate = Annotated[RowGain, PerElement(Quantity("1/s", minimum=0.0, open_minimum=True))]


@spec
class IntegralSliding(Feedback):
    r"""Baumgarte's demand, and a push against whatever keeps the error from obeying it.

    With the nominal demand $b + w_0$, $w_0 = -\alpha\dot\phi - \beta\phi$, the rows are asked for

    $$ b + w_0 - \rho\, f(s/\epsilon), \qquad
       s = \dot\phi - \dot\phi_0 - \int w_0
         = \dot\phi + \alpha\phi + \beta\!\int\!\phi - (\dot\phi_0 + \alpha\phi_0), \qquad
       \epsilon = \rho/\gamma . $$

    $s$ starts at zero: there is no reaching phase. If what a wrong model and disturbances leave of
    a row's acceleration, $\dot s$ without the push, stays below $\rho$, then $|s| \le \epsilon$
    for ever. A nonholonomic row has $s = \psi - \psi_0 + \alpha\int\psi$.

    With the function ``sat`` and inside of the boundary layer, $|s| \le \epsilon$, it is a
    PID with the nominal poles and one at $-\gamma$,

    $$ (p^2 + \alpha p + \beta)(p + \gamma): \quad k_d = \alpha + \gamma, \;
       k_p = \beta + \alpha\gamma, \; k_i = \beta\gamma, $$

    whose integral begins such that an error at the start decays by the nominal poles alone.
    Outside of the layer it pushes no harder than $\rho$, where a PID would go on.

    References:
        Utkin & Shi, "Integral sliding mode in systems operating under uncertainty conditions",
        IEEE CDC, 1996.
    """

    kind: Literal["integral_sliding"] = "integral_sliding"
    assumed: ClassVar[tuple[str, ...]] = ("push", "function")
    alpha: RateGain
    r"""Nominal gain of the velocity error $\alpha$ [1/s]."""
    beta: StiffnessGain
    r"""Nominal gain of the position error $\beta$ [1/s^2]."""
    rate: PositiveRate
    r"""$\gamma$, the pole that the boundary layer adds [1/s]; its half width is $\rho/\gamma$."""
    push: PositivePerRow
    r"""$\rho$, the most that it pushes [unit of the row per s^2]; above what a wrong model and a
    disturbance leave of a row's acceleration."""
    function: AnyOddFunction | Annotated[OddFunction, Instance()] = Sat()
    """How the push grows in the layer."""

    def gains_for(self, terms: ErrorSpec) -> Mapping[str, float]:
        """Return gains for the errors within the boundary layer, of three poles."""
        w = terms.frequency(3)
        return {"alpha": 2.0 * terms.damping * w, "beta": w * w, "rate": w}

    def attach(self, stack: Stack) -> BoundFeedback:
        return _BoundIntegralSliding(self, stack)


@final
class _BoundIntegralSliding(BoundFeedback):
    """Its memory: the integral of each row's error, and what ``s`` starts from, a constant."""

    has_integrals = True

    def __init__(self, spec: IntegralSliding, stack: Stack) -> None:
        gains = (row_gains(getattr(spec, name), stack, name) for name in ("alpha", "beta", "rate"))
        self._alpha, beta, self._rate = gains
        self._beta = np.where(stack.holonomic, beta, 0.0)
        self._push = row_gains(spec.push, stack, "push")
        self._layer, self._function = self._push / self._rate, spec.function
        self._holonomic, self._rows = stack.holonomic, stack.names
        self.memory = np.zeros(2 * len(stack))

    def begin(self, t: float, rows: Rows) -> Vector:
        # so that the surface begins at zero: there is no reaching phase
        start = rows.beta + np.where(self._holonomic, self._alpha * rows.phi, 0.0)
        return np.concatenate([np.zeros(len(start)), start])

    def steps(
        self, rows: Rows, memory: Vector, dynamics: Dynamics, buffers: FeedbackBuffers
    ) -> Iterator[KernelStep]:
        m = len(self._alpha)
        x, pushed = np.zeros(m), np.zeros(m)
        yield self._surface(rows, memory, x)
        yield self._function.step(x, pushed)
        gains = self._alpha, self._beta, self._push
        yield BoundKernel(
            integral_sliding_demand, self._holonomic, rows, *gains, pushed, buffers.demand
        )
        yield BoundKernel(
            write_integrand, self._holonomic, rows.beta, rows.phi, buffers.memory_rate[:m]
        )

    def _surface(self, rows: Rows, memory: Vector, x: Vector) -> BoundKernel:
        """Return what writes ``s`` as a fraction of the layer."""
        gains = self._alpha, self._beta, self._layer
        return BoundKernel(integral_surface, self._holonomic, rows, *gains, memory, x)

    def demand(self, rows: Rows, memory: Vector) -> Vector:
        """Return the row acceleration to ask for, shape ``(m,)``."""
        x, demand = np.zeros((2, len(self._alpha)))
        KernelSequence([self._surface(rows, memory, x)])()
        gains = self._alpha, self._beta, self._push
        integral_sliding_demand(self._holonomic, rows, *gains, self._function(x), demand)
        return demand

    def memory_rate(self, rows: Rows, memory: Vector) -> Vector:
        """Return what is integrated, and no rate of the constants."""
        error = np.where(self._holonomic, rows.phi, rows.beta)
        return np.concatenate([error, np.zeros(len(error))])

    def signals(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> Mapping[str, Signal]:
        x = np.zeros(len(self._alpha))
        KernelSequence([self._surface(rows, memory, x)])()
        words = "error of the integral surface, as a fraction of the boundary layer"
        return {"surface": Signal(x, "1", words, self._rows)}

    def error_polynomials(self, stack: Stack) -> tuple[ErrorPolynomial, ...]:
        """Return the equation inside of the layer, where the function is linear there."""
        # another function is linear nowhere, to be exact
        if self._function != Sat():
            return ()
        row_gains = zip(
            stack.names, self._alpha, self._beta, self._rate, self._holonomic, strict=True
        )
        return tuple(
            ErrorPolynomial(
                row=name,
                gains=(b * g, b + a * g, a + g) if has else (a * g, a + g),
                integral=True,
            )
            for name, a, b, g, has in row_gains
        )


@compiled
def integral_surface(
    holonomic: Flags,
    rows: Rows,
    alpha: Vector,
    beta: Vector,
    layer: Vector,
    memory: Vector,
    x: Vector,
) -> None:
    """Write ``s`` of every row as a fraction of its layer; see `IntegralSliding`."""
    m = len(x)
    for i in range(m):
        s = rows.beta[i] - memory[m + i]
        if holonomic[i]:
            s += alpha[i] * rows.phi[i] + beta[i] * memory[i]
        else:
            s += alpha[i] * memory[i]
        x[i] = s / layer[i]


@compiled
def integral_sliding_demand(
    holonomic: Flags,
    rows: Rows,
    alpha: Vector,
    beta: Vector,
    push: Vector,
    share: Vector,
    demand: Vector,
) -> None:
    """Write ``b - alpha beta - beta phi - push share``."""
    for i in range(len(demand)):
        demand[i] = rows.b[i] - alpha[i] * rows.beta[i] - push[i] * share[i]
        if holonomic[i]:
            demand[i] -= beta[i] * rows.phi[i]
