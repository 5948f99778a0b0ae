r"""The surface $s = \beta + \lambda \phi = 0$ of velocity level, on which errors decay.

Robust laws need an error that the demand changes directly. Of a nonholonomic row that is its
velocity error $\beta$; of a holonomic one $s = \dot\phi + \lambda \phi$, since $s = 0$ means
$\dot\phi = -\lambda \phi$. Row by row it is weighed, $z = P^{1/2} s$ with a diagonal $P$.
"""

from __future__ import annotations

import math
from typing import NamedTuple, final

import numpy as np

from ukctrl.control.error_dynamics_spec import ErrorSpec
from ukctrl.control.feedback.feedback import ErrorBound, ModelFeedback, RowGain, row_gains
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError
from ukctrl.mechanics.constraints import Rows, Stack


@final
class SlidingSurface:
    r"""The weighed surface of the rows of a task.

    Attributes:
        rate: $\lambda$ of each row, zero where it is nonholonomic, shape ``(m,)`` [1/s].
        scale: Square root of each row's weight, shape ``(m,)``.
        units: Units of ``|z|`` and of the weighed position error.
    """

    def __init__(self, stack: Stack, rate: float, weight: RowGain) -> None:
        self.holonomic = stack.holonomic
        self.rate: Vector = np.where(stack.holonomic, rate, 0.0)
        self.scale: Vector = np.sqrt(row_gains(weight, stack, "weight"))
        at = {unit for unit, has in zip(stack.units, stack.holonomic, strict=True) if has}
        moving = {
            f"{unit}/s" if has else unit
            for unit, has in zip(stack.units, stack.holonomic, strict=True)
        }
        plain = bool((self.scale == 1.0).all())
        self.units = (
            moving.pop() if plain and len(moving) == 1 else "1",
            at.pop() if plain and len(at) == 1 else "1",
        )

    def error(self, rows: Rows) -> Vector:
        """Return ``z``, shape ``(m,)``."""
        z: Vector = np.empty(len(self.rate))
        weighted_error(rows.beta, rows.phi, self.rate, self.scale, z)
        return z

    def norms(self, rows: Rows) -> tuple[float, float]:
        """Return the lengths of ``z`` and of the weighed position error."""
        phi = (self.scale * rows.phi)[self.holonomic]
        return float(np.linalg.norm(self.error(rows))), float(np.linalg.norm(phi))


class SurfaceFeedback(ModelFeedback):
    """A feedback on the surface, which promises that errors decay.

    Its memory is the start, as constants: time, ``|z|`` and the weighed ``|phi|``.
    """

    def __init__(
        self, surface: SlidingSurface, promised: DecayBound, names: tuple[str, ...]
    ) -> None:
        self._surface, self._decay_bound = surface, promised
        self.names, self.units = names, surface.units

    def begin(self, t: float, rows: Rows) -> Vector:
        return np.array([t, *self._surface.norms(rows)])

    def promise(self, t: float, rows: Rows, memory: Vector) -> ErrorBound:
        start, surface, phi = memory.tolist()
        z, position = self._surface.norms(rows)
        duration, promised = t - start, self._decay_bound
        return ErrorBound(
            z,
            promised.surface(duration, surface),
            position,
            promised.position(duration, surface, phi),
        )


@compiled
def weighted_error(beta: Vector, phi: Vector, rate: Vector, scale: Vector, z: Vector) -> float:
    """Write ``z = scale (beta + rate phi)`` and return its length."""
    total = 0.0
    for i in range(z.shape[0]):
        s = beta[i]
        if rate[i] != 0.0:  # phi is NaN on nonholonomic rows
            s += rate[i] * phi[i]
        z[i] = scale[i] * s
        total += z[i] * z[i]
    return float(np.sqrt(total))


class DecayBound(NamedTuple):
    r"""A bound that shrinks: $|z| \le R + (w_0 - R)^+ e^{-c t}$ with $w_0$ at the start.

    It follows from $(w^2)' \le -2 c (w^2 - R^2)$, $w \ge |z|$, and as well from
    $w' \le -c (w - R)$ wherever $w > R$.
    """

    radius: float
    """$R$, which is left of any error in the end."""
    speed: float
    """$c$ [1/s]."""
    rate: float
    r"""$\lambda$ of the surface [1/s]."""

    def surface(self, t: float, start: float) -> float:
        """Return the bound of ``|z|`` at ``t`` [s] after a start with ``w_0 = start``."""
        return self.radius + max(0.0, start - self.radius) * math.exp(-self.speed * t)

    def position(self, t: float, start: float, phi: float) -> float:
        r"""Return the bound of the weighed position error, which was ``phi`` at the start.

        $\dot\phi = -\lambda \phi + s$ makes it the convolution of the bound of $s$ with
        $e^{-\lambda t}$.
        """
        # the convolution is symmetric: taken out of the slower one, no exponent grows, and equal
        # rates divide nothing by zero
        slow, fast = sorted((self.rate, self.speed))
        extra = math.exp(-slow * t) * _first_order_step(fast - slow, t)
        return (
            phi * math.exp(-self.rate * t)
            + self.radius * _first_order_step(self.rate, t)
            + max(0.0, start - self.radius) * extra
        )

    @property
    def position_radius(self) -> float:
        r"""What is left of a position error in the end, $R / \lambda$; infinite without a rate."""
        return self.radius / self.rate if self.rate > 0.0 else math.inf


def _first_order_step(rate: float, t: float) -> float:
    """Return ``(1 - exp(-rate t)) / rate``, which is ``t`` for a rate of zero."""
    return -math.expm1(-rate * t) / rate if rate > 0.0 else t


def surface_gains(terms: ErrorSpec) -> dict[str, float] | None:
    r"""Return $\lambda$ and $\kappa$ of a law whose $z$ decays with $\kappa$; None below a damping
    of 1, where no two decays have that.
    """
    pair = terms.real_pair()
    return None if pair is None else {"rate": pair[0], "kappa": pair[1]}


def require_small_mismatch(mismatch: float) -> None:
    """Refuse a mismatch of 100 %: the motors might then do nothing, or the opposite.

    Raises:
        GainError: It is 1 or more.
    """
    if not mismatch < 1.0:
        raise GainError(
            f"mismatch must be below 1, so that a demand still acts in its own direction; "
            f"got {mismatch:g}."
        )
