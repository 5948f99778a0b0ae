r"""What a motor can give: torque limits, a velocity-torque curve and a rate limit.

An input with the rate $w$ of its power $u w$ is bounded by

$$ \underline u\, c(-w) \le u \le \bar u\, c(w), \qquad
   c(w) = \min\!\Big(1, \max\!\Big(0, \frac{w_0 - w}{w_0 - w_c}\Big)\Big), $$

where $w_c$ is the corner speed and $w_0$ the no-load speed. So a motor that drives loses its torque
with speed, and one that brakes keeps it.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import Annotated, final

import numpy as np
from pydantic import BeforeValidator, WithJsonSchema, model_validator

from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled, deferred
from ukctrl.core.errors import InputError, ModelError
from ukctrl.core.fields import NUMBER, JointSpeed, Quantity, spec
from ukctrl.core.program import BoundKernel, KernelStep

EFFORT = "N m or N"
"""Unit of an input as text; an input in another unit takes plain numbers."""
LimitPair = tuple[float, float]
"""A lower and an upper limit."""


def read_limit(value: object) -> float | LimitPair:
    """Return a limit as a file says it: a number above zero, or a lower and a higher number.

    Raises:
        InputError: It is neither.
    """
    if not isinstance(value, list | tuple):
        return Quantity(EFFORT, minimum=0.0, open_minimum=True).read(value)
    if len(value) != 2:
        raise InputError(f"must be one number or a lower and an upper one; got {len(value)}.")
    lower, upper = (Quantity(EFFORT).read(entry) for entry in value)
    if not lower < upper:
        raise InputError(
            f"must be a lower and a higher number; got {lower:g} and {upper:g}, which leave "
            "no input."
        )
    return lower, upper


InputRate = Annotated[float, Quantity("N m/s or N/s", minimum=0.0, open_minimum=True)]
"""Rate of change of an input, above zero."""
LIMIT_SCHEMA = {"anyOf": [*NUMBER["anyOf"], {"type": "array", "minItems": 2, "maxItems": 2}]}
"""JSON Schema of a limit."""
InputLimit = Annotated[float | LimitPair, BeforeValidator(read_limit), WithJsonSchema(LIMIT_SCHEMA)]
"""Largest absolute input, or the lowest and the highest input."""


@spec
class MotorLimits:
    """What the motor behind an input can give."""

    limit: InputLimit | None = None
    """Largest absolute input [N m or N], or the lowest and the highest, such as ``[0, 12]`` for a
    propeller. Absent: at a joint, the model file's effort limit over the gear; else unlimited."""
    rate_limit: InputRate | None = None
    """Largest rate of change of the input [N m/s or N/s]; absent: unlimited."""
    corner_speed: Annotated[float, Quantity("rad/s or m/s", minimum=0.0)] | None = None
    """Speed up to which the whole limit is available [rad/s or m/s]; absent: 0."""
    no_load_speed: JointSpeed | None = None
    """Speed at which a driving motor has no torque left [rad/s or m/s]; absent: torque does not
    depend on speed. Speeds are rates of the input: of the joint, times the gear."""

    @model_validator(mode="after")
    def _curve_falls(self) -> MotorLimits:
        corner, no_load = self.corner_speed, self.no_load_speed
        if corner is not None and no_load is None:
            raise InputError("corner_speed goes with no_load_speed, where torque has fallen to 0.")
        if corner is not None and no_load is not None and not corner < no_load:
            raise InputError(
                f"corner_speed must be less than no_load_speed, {no_load:g}; got {corner:g}."
            )
        if no_load is not None and isinstance(self.limit, tuple):
            lower, upper = self.limit
            if not lower <= 0.0 <= upper:
                raise InputError(
                    "no_load_speed needs a limit on both sides of zero, or the curve has nowhere "
                    f"to fall to; got {lower:g} and {upper:g}."
                )
        return self

    def limits(self, name: str, otherwise: LimitPair = (-np.inf, np.inf)) -> LimitPair:
        """Return the lowest and the highest input, where speed does not matter.

        Args:
            name: Name of the input, for the message.
            otherwise: Lowest and highest input where none is given.

        Raises:
            ModelError: A velocity-torque curve has no torque to start from.
        """
        limit = otherwise if self.limit is None else self.limit
        lower, upper = limit if isinstance(limit, tuple) else (-limit, limit)
        if self.no_load_speed is not None and not np.isfinite([lower, upper]).all():
            raise ModelError(
                f"input '{name}' has a no_load_speed and needs a limit, the torque at low speed."
            )
        return lower, upper


@compiled
def torque_speed_factor(w: float, corner: float, no_load: float) -> float:
    """Return which part of its torque a driving motor has left at a speed."""
    if no_load == np.inf:
        return 1.0
    factor = (no_load - w) / (no_load - corner)
    if factor < 0.0:
        factor = 0.0
    return 1.0 if factor > 1.0 else factor


@deferred
def input_bounds_at(
    lower: Vector,
    upper: Vector,
    corner: Vector,
    no_load: Vector,
    rate: Vector,
    low: Vector,
    high: Vector,
) -> None:
    """Write the lowest and the highest inputs at their rates; see `InputBounds`."""
    for i in range(len(rate)):
        low[i] = lower[i] * torque_speed_factor(-rate[i], corner[i], no_load[i])
        high[i] = upper[i] * torque_speed_factor(rate[i], corner[i], no_load[i])


@final
@dc.dataclass(frozen=True, eq=False)
class InputBounds:
    """The limits of all inputs of a robot, each array of shape ``(nu,)``."""

    lower: Vector
    """Lowest input at low speed; infinite where unlimited."""
    upper: Vector
    """Highest input at low speed; infinite where unlimited."""
    rate_limit: Vector
    """Largest rate of change; infinite where unlimited."""
    corner: Vector
    """Speed from which torque falls."""
    no_load: Vector
    """Speed at which it is zero; infinite where it does not fall."""

    @classmethod
    def of(cls, motors: Sequence[tuple[str, MotorLimits, LimitPair]]) -> InputBounds:
        """Return the bounds of motors with names, and what limits them where they do not say.

        Raises:
            ModelError: A motor contradicts itself.
        """
        limits = [motor.limits(name, otherwise) for name, motor, otherwise in motors]
        lower, upper = np.array(limits).reshape(-1, 2).T.copy()

        def each(values: Sequence[float | None], absent: float) -> Vector:
            return np.array([absent if value is None else value for value in values])

        return cls(
            lower,
            upper,
            each([motor.rate_limit for _, motor, _ in motors], np.inf),
            each([motor.corner_speed for _, motor, _ in motors], 0.0),
            each([motor.no_load_speed for _, motor, _ in motors], np.inf),
        )

    @property
    def depends_on_speed(self) -> bool:
        """Whether some bound depends on speed."""
        return bool(np.isfinite(self.no_load).any())

    def at(self, rate: Vector) -> tuple[Vector, Vector]:
        """Return the lowest and the highest input at the rates ``v @ B``, each ``(nu,)``."""
        # a factor of one at every speed: the same numbers, without a call for each sample
        if not self.depends_on_speed:
            return self.lower.copy(), self.upper.copy()
        low, high = np.empty(len(rate)), np.empty(len(rate))
        input_bounds_at(self.lower, self.upper, self.corner, self.no_load, rate.copy(), low, high)
        return low, high

    def step(self, rate: Vector, low: Vector, high: Vector) -> KernelStep:
        """Return what writes the same for the rates in an array."""
        return BoundKernel(
            input_bounds_at, self.lower, self.upper, self.corner, self.no_load, rate, low, high
        )
