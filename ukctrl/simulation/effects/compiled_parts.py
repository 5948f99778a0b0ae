"""Sensors and drives of kernels: their steps say all, and Python may still call them."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.program import Step, Steps
from ukctrl.simulation.effects.effect import Drive, Sensor


class Reading(NamedTuple):
    """Where a sensor writes what it reads."""

    q: Vector
    """Configuration, shape ``(nq,)``; that which it was given where it leaves that alone."""
    v: Vector
    """Velocity, shape ``(nv,)``, likewise."""
    steps: Sequence[Step]
    """What writes them."""


class Driven(NamedTuple):
    """Where a drive writes the input that it gives."""

    u: Vector
    """Input, shape ``(nu,)``; that which it was given where it leaves that alone."""
    steps: Sequence[Step]
    """What writes it."""


@final
class Asked:
    """Steps as a function of Python, from a time and arrays to copies of what they write.

    Args:
        make: Returns arrays and the steps that write them, given the clock and the arrays to read.
        sizes: Of those to read, but for the clock.
    """

    def __init__(self, make: Callable[..., Reading | Driven], *sizes: int) -> None:
        self._given = tuple(np.zeros(size) for size in (1, *sizes))
        *self._made, steps = make(*self._given)
        self._steps = Steps(steps)

    def __call__(self, *values: float | Vector) -> list[Vector]:
        """Return what the steps make of these values."""
        for array, value in zip(self._given, values, strict=True):
            array[:] = value
        self._steps()
        return [array.copy() for array in self._made]


class CompiledSensor(Sensor):
    """A sensor that kernels are."""

    _asked: Asked | None = None

    @abc.abstractmethod
    def steps(self, clock: Vector, q: Vector, v: Vector) -> Reading:
        """Return what becomes of a measured state, and the kernels that write it.

        Args:
            clock: Time, shape ``(1,)`` [s].
            q: Configuration, shape ``(nq,)``.
            v: Velocity, shape ``(nv,)``.
        """

    def read(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Run the steps at a state."""
        self._asked = self._asked or Asked(self.steps, len(q), len(v))
        q_read, v_read = self._asked(t, q, v)
        return q_read, v_read


class CompiledDrive(Drive):
    """A drive that kernels are."""

    _asked: Asked | None = None

    @abc.abstractmethod
    def steps(self, clock: Vector, u: Vector, rate: Vector) -> Driven:
        """Return what becomes of an input, and the kernels that write it.

        Args:
            clock: Time, shape ``(1,)`` [s].
            u: Input, shape ``(nu,)``.
            rate: Rates of the actuators, $B^T v$, shape ``(nu,)``.
        """

    def apply(self, t: float, u: Vector, rate: Vector) -> Vector:
        """Run the steps with an input."""
        self._asked = self._asked or Asked(self.steps, len(u), len(u))
        return self._asked(t, u, rate)[0]
