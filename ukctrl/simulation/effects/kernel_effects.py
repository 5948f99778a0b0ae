"""Sensors and drives of kernels: their steps say all, and Python may still call them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, final

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.program import KernelSequence, KernelStep
from ukctrl.simulation.effects.effect import Bounds, Drive, Sensor

SensorOutput = tuple[Vector, Vector, Sequence[KernelStep]]
"""Arrays of a reading, configuration and velocity, and the steps that write them; an array that a
sensor leaves alone is the one it reads."""
DriveOutput = tuple[Vector, Sequence[KernelStep]]
"""Array of an input, and the steps that write it, likewise."""


@final
class KernelFunction:
    """Kernel function: steps called from Python, from a time and arrays to copies of their output.

    Args:
        make: Returns arrays and the steps that write them, given the clock and the arrays to read.
        sizes: Of those to read, but for the clock.
    """

    def __init__(self, make: Callable[..., Any], *sizes: int) -> None:
        self._given = tuple(np.zeros(size) for size in (1, *sizes))
        *self._made, steps = make(*self._given)
        self._steps = KernelSequence(steps)

    def __call__(self, *values: float | Vector) -> list[Vector]:
        """Return what the steps make of these values."""
        for array, value in zip(self._given, values, strict=True):
            array[:] = value
        self._steps()
        # the arrays are written again at the next call
        return [array.copy() for array in self._made]


@final
class KernelSensor(Sensor):
    """A sensor that kernels are.

    Args:
        steps: Returns a sensor's output, given clock, configuration and velocity.
    """

    def __init__(self, steps: Callable[[Vector, Vector, Vector], SensorOutput]) -> None:
        self.steps = steps
        self._function: KernelFunction | None = None

    def read(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Run the steps at a state."""
        # made when Python asks first: a loop in machine code never does
        self._function = self._function or KernelFunction(self.steps, len(q), len(v))
        q_read, v_read = self._function(t, q, v)
        return q_read, v_read


@final
class KernelDrive(Drive):
    """A drive that kernels are.

    Args:
        steps: Returns a drive's output, given clock, input and rates of the actuators.
        bounds: Returns the bounds of the input at such rates; absent: it has none.
        delay: By how much the input arrives late [s].
    """

    def __init__(
        self,
        steps: Callable[[Vector, Vector, Vector], DriveOutput],
        *,
        bounds: Callable[[Vector], Bounds | None] = lambda rate: None,
        delay: float = 0.0,
    ) -> None:
        self.steps, self._bounds, self.delay = steps, bounds, delay
        self._function: KernelFunction | None = None

    def apply(self, t: float, u: Vector, rate: Vector) -> Vector:
        """Run the steps with an input."""
        self._function = self._function or KernelFunction(self.steps, len(u), len(u))
        return self._function(t, u, rate)[0]

    def bounds(self, rate: Vector) -> Bounds | None:
        return self._bounds(rate)
