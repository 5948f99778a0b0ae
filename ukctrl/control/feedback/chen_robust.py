r"""Chen's robust law, $u = p_1 + p_2 + p_3$: the uncertainty has a known bound, or one to learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, ClassVar, Literal, final

import numpy as np
from pydantic import BeforeValidator, WithJsonSchema, model_validator

from ukctrl.control.feedback.feedback import (
    Asked,
    Feedback,
    ModelFeedback,
    PositivePerRow,
    Promise,
)
from ukctrl.control.feedback.surface import (
    Decay,
    Surface,
    SurfaceFeedback,
    decay_gains,
    require_grip,
    weighed_error,
)
from ukctrl.control.task import Signal
from ukctrl.control.terms import Terms
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import allocating
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Fraction, Listed, NonNegative, Positive, Rate, is_number, spec
from ukctrl.core.program import Call, Step
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics


def _padded(value: object) -> object:
    if is_number(value) or isinstance(value, str):
        value = (value,)
    items = Listed().read(value)
    if len(items) > 3:
        raise InputError(f"must be a list of one to three numbers; got {len(items)}.")
    return (*items, *(0.0,) * (3 - len(items)))


Growth = Annotated[
    tuple[NonNegative, NonNegative, NonNegative],
    BeforeValidator(_padded),
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
    rho: Growth
    r"""Bound of what the wrong model leaves, $\rho_0 + \rho_1 |v| + \rho_2 |v|^2$ [weighed unit
    of the rows per s^2]."""
    epsilon: Positive
    r"""Boundary layer: $p_3$ has its full strength where $\hat\rho |z|$ is at least this."""
    mismatch: Fraction = 0.0
    r"""$e$, how much of a demand's effect the wrong model may take away; below 1."""
    weight: PositivePerRow = 1.0
    """Weight of the rows, the diagonal of $P$ [1/unit^2]: one over the square of an error that
    counts as 1."""

    def promised(self) -> Decay:
        r"""Return what the law promises: radius $\sqrt{\epsilon/4\kappa}$, speed $\kappa(1-e)$."""
        radius = float(np.sqrt(self.epsilon / (4.0 * self.kappa)))
        return Decay(radius, self.kappa * (1.0 - self.mismatch), self.rate)

    def attach(self, stack: Stack) -> ModelFeedback:
        require_grip(self.mismatch)
        return _ChenRobust(self, stack)

    def gains_for(self, terms: Terms) -> Mapping[str, float] | None:
        r"""Return gains for errors within the boundary layer, at rest; None below a damping of 1.

        There $z$ decays with $k = \kappa + \hat\rho^2/\epsilon$, of which each term is made a half:
        so the radius that the law promises is that of a decay of $k$ alone, $\hat\rho/k$.
        """
        pair, rho = terms.real_pair(), self.rho[0] / (1.0 - self.mismatch)
        if pair is None:
            return None
        rate, k = pair
        if rho == 0.0:
            return {"rate": rate, "kappa": k}
        return {"rate": rate, "kappa": 0.5 * k, "epsilon": 2.0 * rho * rho / k}


@final
class _ChenRobust(SurfaceFeedback):
    asks_otherwise = False

    def __init__(self, spec: ChenRobust, stack: Stack) -> None:
        super().__init__(Surface(stack, spec.rate, spec.weight), spec.promised(), stack.names)
        self._spec = spec

    def steps(self, rows: Rows, memory: Vector, dynamics: Dynamics, asked: Asked) -> Iterable[Step]:
        law, v, surface = self._spec, dynamics.snapshot.v, self._surface
        known, estimate = np.array(law.rho, np.float64), np.ones(1)
        numbers = float(law.kappa), float(law.epsilon), 1.0 - float(law.mismatch)
        given = rows, surface.rate, surface.scale, v, known, estimate, *numbers
        yield Call(robust_demand, *given, np.zeros(0), asked.demand, asked.memory_rate)


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
    size = weighed_error(rows.beta, rows.phi, rate, scale, z)
    squared = 0.0
    for i in range(len(v)):
        squared += v[i] * v[i]
    grown = profile[0] + profile[1] * np.sqrt(squared) + profile[2] * squared
    rho = estimate[0] * grown / grip
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
    profile: Growth = (1.0, 2.0, 1.0)
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
    def _learns(self) -> AdaptiveRobust:
        if not any(self.profile):
            raise InputError(
                "profile must have some number that is not zero, or the law never pushes and its "
                "estimate never grows; the default is [1, 2, 1]."
            )
        return self

    def promised(self, alpha: float) -> Decay:
        r"""Return what the law promises where the uncertainty stays within $\alpha \Pi(v)$."""
        grip = 1.0 - self.mismatch
        c = min(2.0 * self.kappa * grip, self.leak)
        left = self.epsilon / 4.0 + self.leak * alpha**2 / (2.0 * self.growth)
        return Decay(float(np.sqrt(2.0 * grip / c * left)), c / 2.0, self.rate)

    def attach(self, stack: Stack) -> ModelFeedback:
        require_grip(self.mismatch)
        return _AdaptiveRobust(self, stack)

    def gains_for(self, terms: Terms) -> Mapping[str, float] | None:
        """Return gains for the errors before it has learnt; None below a damping of 1."""
        return decay_gains(terms)


@final
class _AdaptiveRobust(ModelFeedback):
    """Its memory is the estimate, and the start as constants: time, ``|z|``, weighed ``|phi|``."""

    asks_otherwise = False

    def __init__(self, spec: AdaptiveRobust, stack: Stack) -> None:
        self._spec = spec
        self._surface = Surface(stack, spec.rate, spec.weight)
        self.names, self.units = stack.names, self._surface.units

    def begin(self, t: float, rows: Rows) -> Vector:
        return np.array([self._spec.initial, t, *self._surface.sizes(rows)])

    def steps(self, rows: Rows, memory: Vector, dynamics: Dynamics, asked: Asked) -> Iterable[Step]:
        law, v, surface = self._spec, dynamics.snapshot.v, self._surface
        profile, learning = np.array(law.profile, np.float64), np.ones(2)
        learning[:] = law.growth, law.leak
        numbers = float(law.kappa), float(law.epsilon), 1.0
        given = rows, surface.rate, surface.scale, v, profile, memory, *numbers
        yield Call(robust_demand, *given, learning, asked.demand, asked.memory_rate)

    def promise(self, t: float, rows: Rows, memory: Vector) -> Promise:
        law, (_, start, surface, phi) = self._spec, memory.tolist()
        z, position = self._surface.sizes(rows)
        if law.supposed is None:
            return Promise(z, np.nan, position, np.nan)
        away = (1.0 - law.mismatch) / law.growth * (law.initial - law.supposed) ** 2
        w, after = float(np.sqrt(surface**2 + away)), t - start
        promised = law.promised(law.supposed)
        return Promise(z, promised.surface(after, w), position, promised.position(after, w, phi))

    def signals(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> Mapping[str, Signal]:
        learnt = Signal(float(memory[0]), "", "estimate of the uncertainty's bound")
        return {"alpha_hat": learnt, **super().signals(rows, memory, dynamics)}
