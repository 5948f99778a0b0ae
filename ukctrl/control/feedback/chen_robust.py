r"""Chen's robust law, $u = p_1 + p_2 + p_3$: the uncertainty has a known bound, or one to learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from pydantic import BeforeValidator, WithJsonSchema, model_validator

from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.feedback.feedback import (
    ErrorBound,
    Feedback,
    FeedbackBuffers,
    ModelFeedback,
    PositivePerRow,
)
from ukctrl.control.feedback.sliding_surface import (
    DecayBound,
    SlidingSurface,
    SurfaceFeedback,
    require_small_mismatch,
    surface_gains,
    weighted_error,
)
from ukctrl.control.task import Signal
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import allocating
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Fraction, ListSize, NonNegative, Positive, Rate, is_number, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics


def _pad_coefficients(value: object) -> object:
    if is_number(value) or isinstance(value, str):
        value = (value,)
    items = ListSize().read(value)
    if len(items) > 3:
        raise InputError(f"must be a list of one to three numbers; got {len(items)}.")
    return (*items, *(0.0,) * (3 - len(items)))


SpeedPolynomial = Annotated[
    tuple[NonNegative, NonNegative, NonNegative],
    BeforeValidator(_pad_coefficients),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "minimum": 0.0},
                {"type": "array", "minItems": 1, "maxItems": 3},
            ]
        }
    ),
]
"""How an uncertainty grows with the velocity, ``r0 + r1 |v| + r2 |v|^2``; one to three numbers."""


@spec
class ChenRobust(Feedback):
    r"""Robust constraint following: nothing about the uncertainty is known but a bound.

    On the surface $z = P^{1/2}(\beta + \lambda\phi)$ the rows are asked for

    $$ b - \lambda\beta - P^{-1/2} \Bigl(\kappa z + \gamma \hat\rho^2 z\Bigr), \qquad
       \hat\rho = \frac{\rho_0 + \rho_1 |v| + \rho_2 |v|^2}{1 - e}, \qquad
       \gamma = \frac{1}{\max(\hat\rho |z|, \epsilon)} . $$

    The allocation turns the three parts into Chen's $p_1$, $p_2$ and $p_3$. If the wrong model
    leaves at most $|P^{1/2} \eta| \le \rho$ and spoils the grip of the motors by at most $e$,
    then $|z|$ ends within $R = \sqrt{\epsilon / 4\kappa}$ and the position error within
    $R / \lambda$, and both get there exponentially.

    References:
        Chen, "Approximate constraint-following of mechanical systems under uncertainty",
        Nonlinear Dyn. Syst. Theory 8(4), 2008; Corless & Leitmann, IEEE Trans. Autom. Control
        26(5), 1981.
    """

    kind: Literal["chen_robust"] = "chen_robust"
    assumed: ClassVar[tuple[str, ...]] = ("rho", "mismatch", "weight")
    told: ClassVar[tuple[str, ...]] = ("rho", "mismatch")
    kappa: Positive
    r"""Gain of $p_2$, the decay of $z$ [1/s]."""
    rate: Rate
    r"""$\lambda$, the decay of $\phi$ once $z$ is zero [1/s]; 0: velocity errors alone, as Chen
    has it."""
    rho: SpeedPolynomial
    r"""Bound of what the wrong model leaves, $\rho_0 + \rho_1 |v| + \rho_2 |v|^2$ [weighed unit
    of the rows per s^2]."""
    epsilon: Positive
    r"""Boundary layer: $p_3$ has its full strength where $\hat\rho |z|$ is at least this."""
    mismatch: Fraction = 0.0
    r"""$e$, how much of a demand's effect the wrong model may take away; below 1."""
    weight: PositivePerRow = 1.0
    """Weight of the rows, the diagonal of $P$ [1/unit^2]: one over the square of an error that
    counts as 1."""

    def promised(self) -> DecayBound:
        r"""Return what the law promises: radius $\sqrt{\epsilon/4\kappa}$, speed $\kappa(1-e)$."""
        radius = float(np.sqrt(self.epsilon / (4.0 * self.kappa)))
        return DecayBound(radius, self.kappa * (1.0 - self.mismatch), self.rate)

    def attach(self, stack: Stack) -> ModelFeedback:
        require_small_mismatch(self.mismatch)
        return _BoundChenRobust(self, stack)

    def gains_for(self, terms: ErrorSpec) -> Mapping[str, float] | None:
        r"""Return gains for errors within the boundary layer, at rest; None below a damping of 1.

        There $z$ decays with $k = \kappa + \hat\rho^2/\epsilon$, of which each term is made a half:
        so the radius that the law promises is that of a decay of $k$ alone, $\hat\rho/k$.
        """
        pair, rho = terms.real_pair(), self.rho[0] / (1.0 - self.mismatch)
        # below a damping of 1 there are no two real decays
        if pair is None:
            return None
        rate, k = pair
        # without uncertainty the robust term is none
        if rho == 0.0:
            return {"rate": rate, "kappa": k}
        return {"rate": rate, "kappa": 0.5 * k, "epsilon": 2.0 * rho * rho / k}


@final
class _BoundChenRobust(SurfaceFeedback):
    changes_rows = False

    def __init__(self, spec: ChenRobust, stack: Stack) -> None:
        super().__init__(
            SlidingSurface(stack, spec.rate, spec.weight), spec.promised(), stack.names
        )
        self._spec = spec

    def steps(
        self, rows: Rows, memory: Vector, dynamics: Dynamics, buffers: FeedbackBuffers
    ) -> Iterable[KernelStep]:
        law, v, surface = self._spec, dynamics.snapshot.v, self._surface
        rho, estimate = np.array(law.rho, np.float64), np.ones(1)
        numbers = float(law.kappa), float(law.epsilon), 1.0 - float(law.mismatch)
        args = rows, surface.rate, surface.scale, v, rho, estimate, *numbers
        yield BoundKernel(robust_demand, *args, np.zeros(0), buffers.demand, buffers.memory_rate)


@allocating
def robust_demand(
    rows: Rows,
    rate: Vector,
    scale: Vector,
    v: Vector,
    profile: Vector,
    estimate: Vector,
    kappa: float,
    epsilon: float,
    grip: float,
    learning: Vector,
    demand: Vector,
    estimate_rate: Vector,
) -> None:
    r"""Write the row acceleration of a robust law, and the rate of its estimate where it learns.

    Args:
        rows: The rows of the task.
        rate: Decay of each, shape ``(m,)``.
        scale: Root of the weight of each, shape ``(m,)``.
        v: Velocity.
        profile: How the uncertainty grows with it, shape ``(3,)``.
        estimate: By what that is multiplied, in its first entry.
        kappa: Decay of the error.
        epsilon: Boundary layer.
        grip: By what the bound of the uncertainty is divided.
        learning: How fast the estimate grows and forgets, or empty.
        demand: Receives the demand, shape ``(m,)``.
        estimate_rate: Receives the rate in its first entry.
    """
    z = np.empty(len(demand))
    size = weighted_error(rows.beta, rows.phi, rate, scale, z)
    squared = 0.0
    for i in range(len(v)):
        squared += v[i] * v[i]
    grown = profile[0] + profile[1] * np.sqrt(squared) + profile[2] * squared
    rho = estimate[0] * grown / grip
    # beyond epsilon the push has the size of the bound; within, it is linear and has no corner
    gain = kappa + rho * rho / max(rho * size, epsilon)
    for i in range(len(demand)):
        demand[i] = rows.b[i] - rate[i] * rows.beta[i] - gain * z[i] / scale[i]
    if len(learning) > 0:
        estimate_rate[0] = learning[0] * grown * size - learning[1] * estimate[0]


@spec
class AdaptiveRobust(Feedback):
    r"""Robust constraint following where not even the bound of the uncertainty is known.

    The law of `ChenRobust` with $\hat\rho = \hat\alpha \Pi(v)$, and an estimate that grows with
    the error and leaks,

    $$ \dot{\hat\alpha} = k_1 \Pi(v) |z| - k_2 \hat\alpha . $$

    If the uncertainty stays within $\alpha \Pi(v)$ for some $\alpha$ that nobody needs to know, in
    the sense $|P^{1/2}\eta| \le (1-e)\,\alpha\,\Pi(v)$, then with $c = \min(2\kappa(1-e), k_2)$

    $$ |z|^2 \le R^2 + (w_0^2 - R^2)^+ e^{-c t}, \quad
       R^2 = \frac{2(1-e)}{c}\Bigl(\frac{\epsilon}{4} + \frac{k_2 \alpha^2}{2 k_1}\Bigr), \quad
       w_0^2 = |z_0|^2 + \frac{1-e}{k_1} (\hat\alpha_0 - \alpha)^2 . $$

    The leak keeps the estimate from growing for ever, at the price of the term with
    $\alpha^2$: more ``growth`` makes it small.

    References:
        Chen & Zhang, "Adaptive robust approximate constraint-following control for mechanical
        systems", J. Franklin Inst. 347(1), 2010.
    """

    kind: Literal["adaptive_robust"] = "adaptive_robust"
    assumed: ClassVar[tuple[str, ...]] = ("profile", "initial", "mismatch", "supposed", "weight")
    kappa: Positive
    r"""Gain of $p_2$, the decay of $z$ [1/s]."""
    rate: Rate
    r"""$\lambda$, the decay of $\phi$ once $z$ is zero [1/s]."""
    growth: Positive
    r"""$k_1$, how fast the estimate grows."""
    leak: Positive
    r"""$k_2$, how fast it forgets [1/s]."""
    epsilon: Positive
    r"""Boundary layer, as in `ChenRobust`."""
    profile: SpeedPolynomial = (1.0, 2.0, 1.0)
    r"""$\Pi(v) = \pi_0 + \pi_1 |v| + \pi_2 |v|^2$; by default $(1 + |v|)^2$."""
    initial: NonNegative = 0.0
    r"""$\hat\alpha$ at the start [weighed unit of the rows per s^2]."""
    mismatch: Fraction = 0.0
    r"""$e$, how much of a demand's effect the wrong model may take away; below 1. Only the
    promised bound depends on it, not the law."""
    supposed: NonNegative | None = None
    r"""An $\alpha$ for which the bound is recorded; the law does without it. Absent: no bound is
    recorded, as none can be known."""
    weight: PositivePerRow = 1.0
    """Weight of the rows, the diagonal of $P$ [1/unit^2]."""

    @model_validator(mode="after")
    def _check_profile(self) -> AdaptiveRobust:
        if not any(self.profile):
            raise InputError(
                "profile must have some number that is not zero, or the law never pushes and its "
                "estimate never grows; the default is [1, 2, 1]."
            )
        return self

    def promised(self, alpha: float) -> DecayBound:
        r"""Return what the law promises where the uncertainty stays within $\alpha \Pi(v)$."""
        grip = 1.0 - self.mismatch
        # error and estimate shrink together at the slower of their rates
        c = min(2.0 * self.kappa * grip, self.leak)
        residual = self.epsilon / 4.0 + self.leak * alpha**2 / (2.0 * self.growth)
        return DecayBound(float(np.sqrt(2.0 * grip / c * residual)), c / 2.0, self.rate)

    def attach(self, stack: Stack) -> ModelFeedback:
        require_small_mismatch(self.mismatch)
        return _BoundAdaptiveRobust(self, stack)

    def gains_for(self, terms: ErrorSpec) -> Mapping[str, float] | None:
        """Return gains for the errors before it has learnt; None below a damping of 1."""
        return surface_gains(terms)


@final
class _BoundAdaptiveRobust(ModelFeedback):
    """Its memory is the estimate, and the start as constants: time, ``|z|``, weighed ``|phi|``."""

    changes_rows = False

    def __init__(self, spec: AdaptiveRobust, stack: Stack) -> None:
        self._spec = spec
        self._surface = SlidingSurface(stack, spec.rate, spec.weight)
        self.names, self.units = stack.names, self._surface.units

    def begin(self, t: float, rows: Rows) -> Vector:
        return np.array([self._spec.initial, t, *self._surface.norms(rows)])

    def steps(
        self, rows: Rows, memory: Vector, dynamics: Dynamics, buffers: FeedbackBuffers
    ) -> Iterable[KernelStep]:
        law, v, surface = self._spec, dynamics.snapshot.v, self._surface
        profile, learning = np.array(law.profile, np.float64), np.ones(2)
        learning[:] = law.growth, law.leak
        numbers = float(law.kappa), float(law.epsilon), 1.0
        args = rows, surface.rate, surface.scale, v, profile, memory, *numbers
        yield BoundKernel(robust_demand, *args, learning, buffers.demand, buffers.memory_rate)

    def promise(self, t: float, rows: Rows, memory: Vector) -> ErrorBound:
        law, (_, start, surface, phi) = self._spec, memory.tolist()
        z, position = self._surface.norms(rows)
        # without a supposed bound nothing is known of how wrong the estimate begins
        if law.supposed is None:
            return ErrorBound(z, np.nan, position, np.nan)
        away = (1.0 - law.mismatch) / law.growth * (law.initial - law.supposed) ** 2
        w, duration = float(np.sqrt(surface**2 + away)), t - start
        promised = law.promised(law.supposed)
        return ErrorBound(
            z, promised.surface(duration, w), position, promised.position(duration, w, phi)
        )

    def signals(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> Mapping[str, Signal]:
        learnt = Signal(float(memory[0]), "", "estimate of the uncertainty's bound")
        return {"alpha_hat": learnt, **super().signals(rows, memory, dynamics)}
