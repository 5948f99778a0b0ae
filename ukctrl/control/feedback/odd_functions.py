r"""Odd functions, by which a sliding law pushes in place of a sign, which would chatter.

Each has $f(-x) = -f(x)$, increases up to there, and is scaled so that $f(1) = 1$: 1 is the edge of
the error box. They differ in how hard they push inside it and how hard outside.
"""

from __future__ import annotations

import abc
import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.fields import Positive, Quantity, spec
from ukctrl.core.program import BoundKernel, KernelStep

TANH, ARCTAN, POWER, SINH, SAT = range(5)
"""What `odd_function` knows."""
SLOPE_STEP = 1e-6
"""Where the slope at zero is taken."""
MIN_SLOPE = 1e-3
"""A slope below this is none."""


@compiled
def odd_function(kind: int, shape: float, x: Vector, y: Vector) -> None:
    """Write the values of an odd function of the catalogue, with its width or exponent."""
    far = 700.0 * shape  # beyond this the exponential is no number any more
    for i in range(len(x)):
        if kind == TANH:
            y[i] = math.tanh(x[i] / shape) / math.tanh(1.0 / shape)
        elif kind == ARCTAN:
            y[i] = math.atan(x[i] / shape) / math.atan(1.0 / shape)
        elif kind == POWER:
            y[i] = np.sign(x[i]) * np.abs(x[i]) ** shape
        elif kind == SAT:
            y[i] = min(max(x[i], -1.0), 1.0)
        else:
            y[i] = math.sinh(min(max(x[i], -far), far) / shape) / math.sinh(1.0 / shape)


@spec
class OddFunction(abc.ABC):
    """An odd function with ``f(1) = 1`` that increases up to there, and never falls."""

    @abc.abstractmethod
    def __call__(self, x: Vector) -> Vector:
        """Return the values, entry by entry."""

    def slope(self) -> float:
        """Return its slope at zero, within 1e-9; zero where it is flat there."""
        slope = float(self(np.array([SLOPE_STEP]))[0]) / SLOPE_STEP
        # a flatter function is no gain: poles worked out of it would be too far off
        return slope if slope > MIN_SLOPE else 0.0

    def step(self, x: Vector, y: Vector) -> KernelStep:
        """Return what writes the values at the ``x`` of then into ``y``."""

        def ask() -> None:
            y[:] = self(x)

        return ask


class _KernelOddFunction(OddFunction):
    """An odd function of the catalogue."""

    _code: ClassVar[int]

    @property
    @abc.abstractmethod
    def _shape(self) -> float:
        """Width or exponent."""

    def __call__(self, x: Vector) -> Vector:
        flat = np.array(x, dtype=np.float64).ravel()
        odd_function(self._code, float(self._shape), flat, flat)
        return flat.reshape(np.shape(x))

    def step(self, x: Vector, y: Vector) -> KernelStep:
        return BoundKernel(odd_function, self._code, float(self._shape), x, y)


class _WidthOddFunction(_KernelOddFunction):
    width: float

    @property
    def _shape(self) -> float:
        return self.width


@spec
class Tanh(_WidthOddFunction):
    r"""$f(x) = \tanh(x/w) / \tanh(1/w)$: bounded, so the push never exceeds the gain by much."""

    kind: Literal["tanh"] = "tanh"
    _code: ClassVar[int] = TANH
    width: Positive = 0.3
    """Where it turns, as a fraction of the box."""


@spec
class Arctan(_WidthOddFunction):
    r"""$f(x) = \arctan(x/w) / \arctan(1/w)$: bounded, and still rising outside the box."""

    kind: Literal["arctan"] = "arctan"
    _code: ClassVar[int] = ARCTAN
    width: Positive = 0.3
    """Where it turns, as a fraction of the box."""


@spec
class Power(_KernelOddFunction):
    r"""$f(x) = x\,|x|^{p-1}$: gentle inside the box, ever harder outside; never saturates."""

    kind: Literal["power"] = "power"
    _code: ClassVar[int] = POWER
    exponent: Annotated[float, Quantity("1", minimum=1.0)] = 3.0
    """$p$; 1 is a plain linear feedback, 3 a cubic one."""

    @property
    def _shape(self) -> float:
        return self.exponent


@spec
class Sinh(_WidthOddFunction):
    r"""$f(x) = \sinh(x/w) / \sinh(1/w)$: linear inside, exponential outside; never saturates."""

    kind: Literal["sinh"] = "sinh"
    _code: ClassVar[int] = SINH
    width: Annotated[float, Quantity("1", minimum=0.01)] = 0.5
    """Where it turns, as a fraction of the box."""


@spec
class Sat(_KernelOddFunction):
    r"""$f(x) = \min(\max(x, -1), 1)$: linear inside, and no harder outside than at the edge."""

    kind: Literal["sat"] = "sat"
    _code: ClassVar[int] = SAT

    @property
    def _shape(self) -> float:
        return 1.0


AnyOddFunction = Annotated[Tanh | Arctan | Power | Sinh | Sat, Field(discriminator="kind")]
"""Any odd function of the catalogue."""
