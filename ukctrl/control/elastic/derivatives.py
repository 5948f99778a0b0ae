r"""Derivatives of what depends on the state, along a motion that is known as a polynomial.

A law for elastic joints needs the first and second time derivative of things that the robot says
only the value of: the load of the springs, and the acceleration that a servo law asks for. Along

$$ q(\tau) = q \oplus \left(v \tau + \tfrac12 a \tau^2 + \tfrac16 j \tau^3\right) $$

they are smooth functions of one number, and central differences of sixth order give their
derivatives to about ten digits: of a rigid body, of a formula or of a user's own function, under
rows of any kind.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.differences import WEIGHTS
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot import Robot

PLACES = (-3.0, -2.0, -1.0, 1.0, 2.0, 3.0)
FIRST: Vector = np.array([*(-weight for weight in reversed(WEIGHTS)), *WEIGHTS])
SECOND: Vector = np.array([2.0, -27.0, 270.0, 270.0, -27.0, 2.0]) / 180.0
CENTRE = -490.0 / 180.0


class Motion(NamedTuple):
    """A state and how it goes on, with the memory of a law."""

    t: float
    """Time [s]."""
    q: Vector
    """Configuration, shape ``(nq,)``."""
    v: Vector
    """Velocity, shape ``(nv,)``."""
    a: Vector
    """Acceleration, shape ``(nv,)``."""
    jerk: Vector
    """Jerk, shape ``(nv,)``."""
    memory: Vector
    """Memory of the law."""
    memory_rate: Vector
    """Its time derivative."""
    memory_bend: Vector
    """Its second time derivative."""

    def after(self, tau: float, robot: Robot) -> tuple[float, Vector, Vector, Vector]:
        """Return time, configuration, velocity and memory ``tau`` seconds on."""
        step = tau * (self.v + tau / 2.0 * (self.a + tau / 3.0 * self.jerk))
        rate: Vector = self.v + tau * (self.a + tau / 2.0 * self.jerk)
        memory: Vector = self.memory + tau * (self.memory_rate + tau / 2.0 * self.memory_bend)
        return self.t + tau, robot.integrate(self.q, step), rate, memory


def sampled(value: Callable[[float], Vector], h: float) -> Matrix:
    """Return a function of time around zero, a row for each of `PLACES` in steps of ``h`` [s]."""
    return np.array([value(place * h) for place in PLACES])


def first(samples: Matrix, h: float) -> Vector:
    """Return the derivative at zero of what was `sampled`."""
    rate: Vector = FIRST @ samples
    rate /= h
    return rate


def second(samples: Matrix, centre: Vector, h: float) -> Vector:
    """Return the second derivative at zero of what was `sampled`, with its value there."""
    rate: Vector = SECOND @ samples
    rate += CENTRE * centre
    rate /= h * h
    return rate
