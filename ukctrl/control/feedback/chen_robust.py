r"""Chen's robust law: $u = p_1 + p_2 + p_3$, for uncertainty with a known bound."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, final

import numpy as np
from pydantic import BeforeValidator, WithJsonSchema

from ukctrl.control.feedback.feedback import Ask, Feedback, ModelFeedback, PositivePerRow, Promise
from ukctrl.control.feedback.surface import Decay, Surface, require_grip, weighed_error
from ukctrl.core.algebra.compiled import compiled
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Fraction, Listed, NonNegative, Positive, Rate, is_number, spec
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


@final
class _ChenRobust(ModelFeedback):
    """Its memory is the start, as constants: time, ``|z|`` and the weighed ``|phi|``."""

    def __init__(self, spec: ChenRobust, stack: Stack) -> None:
        self._surface = Surface(stack, spec.rate, spec.weight)
        self._kappa, self._epsilon, self._grip = spec.kappa, spec.epsilon, 1.0 - spec.mismatch
        self._rho, self._promised = spec.rho, spec.promised()
        self._still = np.zeros(3)
        self.names, self.units = stack.names, self._surface.units

    def begin(self, t: float, rows: Rows) -> Vector:
        return np.array([t, *self._surface.sizes(rows)])

    def ask(self, rows: Rows, memory: Vector, dynamics: Dynamics) -> Ask:
        rho = growth(self._rho, dynamics.snapshot.v) / self._grip
        demand, _ = robust_demand(rows, self._surface, self._kappa, rho, self._epsilon)
        return Ask(rows, demand, self._still)

    def promise(self, t: float, rows: Rows, memory: Vector) -> Promise:
        start, surface, phi = memory.tolist()
        z, position = self._surface.sizes(rows)
        after = t - start
        return Promise(
            z,
            self._promised.surface(after, surface),
            position,
            self._promised.position(after, surface, phi),
        )


def growth(coefficients: tuple[float, float, float], v: Vector) -> float:
    """Return ``r0 + r1 |v| + r2 |v|^2``."""
    constant, linear, quadratic = coefficients
    if linear == quadratic == 0.0:
        return constant
    squared = float(v @ v)
    return constant + linear * float(np.sqrt(squared)) + quadratic * squared


def robust_demand(
    rows: Rows, surface: Surface, kappa: float, rho: float, epsilon: float
) -> tuple[Vector, float]:
    r"""Return the row acceleration of a robust law, and $|z|$."""
    demand: Vector = np.empty(len(rows.b))
    size = _demand(
        rows.b, rows.beta, rows.phi, surface.rate, surface.scale, kappa, rho, epsilon, demand
    )
    return demand, size


@compiled
def _demand(
    b: Vector,
    beta: Vector,
    phi: Vector,
    rate: Vector,
    scale: Vector,
    kappa: float,
    rho: float,
    epsilon: float,
    demand: Vector,
) -> float:
    z = np.empty(b.shape[0])
    size = weighed_error(beta, phi, rate, scale, z)
    gain = kappa + rho * rho / max(rho * size, epsilon)
    for i in range(b.shape[0]):
        demand[i] = b[i] - rate[i] * beta[i] - gain * z[i] / scale[i]
    return size
