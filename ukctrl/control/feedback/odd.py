r"""Odd functions that a sliding law pushes with, in place of a sign that would chatter.

Each is increasing, has $f(-x) = -f(x)$, and is scaled so that $f(1) = 1$: 1 is the edge of the
error box. They differ in how hard they push inside it and how hard outside.
"""

from __future__ import annotations

import abc
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from ukctrl.core.arrays import Vector
from ukctrl.core.fields import Positive, Quantity, spec


@spec
class OddFunction(abc.ABC):
    """A smooth increasing odd function with ``f(1) = 1``."""

    @abc.abstractmethod
    def __call__(self, x: Vector) -> Vector:
        """Return the values, entry by entry."""


@spec
class Tanh(OddFunction):
    r"""$f(x) = \tanh(x/w) / \tanh(1/w)$: bounded, so the push never exceeds the gain by much."""

    kind: Literal["tanh"] = "tanh"
    width: Positive = 0.3
    """Where it turns, as a fraction of the box."""

    def __call__(self, x: Vector) -> Vector:
        y: Vector = np.tanh(x / self.width) / np.tanh(1.0 / self.width)
        return y


@spec
class Arctan(OddFunction):
    r"""$f(x) = \arctan(x/w) / \arctan(1/w)$: bounded, and still rising outside the box."""

    kind: Literal["arctan"] = "arctan"
    width: Positive = 0.3
    """Where it turns, as a fraction of the box."""

    def __call__(self, x: Vector) -> Vector:
        y: Vector = np.arctan(x / self.width) / np.arctan(1.0 / self.width)
        return y


@spec
class Power(OddFunction):
    r"""$f(x) = x\,|x|^{p-1}$: gentle inside the box, ever harder outside; never saturates."""

    kind: Literal["power"] = "power"
    exponent: Annotated[float, Quantity("1", minimum=1.0)] = 3.0
    """$p$; 1 is a plain linear feedback, 3 a cubic one."""

    def __call__(self, x: Vector) -> Vector:
        y: Vector = np.sign(x) * np.abs(x) ** self.exponent
        return y


@spec
class Sinh(OddFunction):
    r"""$f(x) = \sinh(x/w) / \sinh(1/w)$: linear inside, exponential outside; never saturates."""

    kind: Literal["sinh"] = "sinh"
    width: Annotated[float, Quantity("1", minimum=0.01)] = 0.5
    """Where it turns, as a fraction of the box."""

    def __call__(self, x: Vector) -> Vector:
        far = 700.0 * self.width  # beyond this the exponential is no number any more
        y: Vector = np.sinh(np.clip(x, -far, far) / self.width) / np.sinh(1.0 / self.width)
        return y


AnyOddFunction = Annotated[Tanh | Arctan | Power | Sinh, Field(discriminator="kind")]
"""Any odd function of the catalogue."""
