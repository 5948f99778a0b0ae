r"""How things go on along the motion of links, compiled: their first and second derivatives.

Along $q(\tau) = q \oplus (v \tau + \tfrac12 a \tau^2 + \tfrac16 j \tau^3)$ they are smooth
functions of one number, and central differences of sixth order give their derivatives to about ten
digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.differences import WEIGHTS
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import run
from ukctrl.robot.configuration_kernels import integrate

PLACES: Vector = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
"""Where things are evaluated, in steps."""
FIRST: Vector = np.array([*(-weight for weight in reversed(WEIGHTS)), *WEIGHTS])
SECOND: Vector = np.array([2.0, -27.0, 270.0, 270.0, -27.0, 2.0]) / 180.0
CENTRE = -490.0 / 180.0


class Motion(NamedTuple):
    """A state and how it goes on, with the memory of a law."""

    clock: Vector
    """Time, shape ``(1,)`` [s]."""
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


class Place(NamedTuple):
    """Where something is evaluated: arrays that its steps read, and write."""

    clock: Vector
    q: Vector
    v: Vector
    a: Vector
    """Acceleration, shape ``(nv,)``."""
    memory: Vector
    blocks: Indices
    """How configurations move; see `Structure.configurations`."""
    lines: Indices
    """The table of `ukctrl.core.program` that writes the values."""
    values: Vector
    """What is evaluated."""


@compiled
def set_out(clock: Vector, q: Vector, v: Vector, a: Vector, memory: Vector, m: Motion) -> None:
    """Write a motion of links from a state on, without jerk; ``a`` is theirs, of ``k`` joints.

    The motors' part in it is left as it is, zero, because it does not matter.
    """
    m.clock[0] = clock[0]
    copy_into(q, m.q)
    copy_into(v, m.v)
    copy_into(memory, m.memory)
    for i in range(len(m.a)):
        m.a[i] = a[i] if i < len(a) else 0.0
        m.jerk[i] = 0.0
    for i in range(len(memory)):
        m.memory_rate[i] = m.memory_bend[i] = 0.0


@compiled
def evaluated_at(m: Motion, place: Place, tau: float) -> int:
    """Evaluate ``tau`` seconds on; return what `run` does."""
    place.clock[0] = m.clock[0] + tau
    for i in range(len(m.v)):
        place.v[i] = tau * (m.v[i] + tau / 2.0 * (m.a[i] + tau / 3.0 * m.jerk[i]))
    integrate(place.blocks, m.q, place.v, place.q)
    for i in range(len(m.v)):
        place.v[i] = m.v[i] + tau * (m.a[i] + tau / 2.0 * m.jerk[i])
        place.a[i] = m.a[i] + tau * m.jerk[i]
    for i in range(len(m.memory)):
        place.memory[i] = m.memory[i]
        place.memory[i] += tau * (m.memory_rate[i] + tau / 2.0 * m.memory_bend[i])
    return run(place.lines)


@compiled
def differentiated(m: Motion, place: Place, h: float, centre: Vector, rate: Matrix) -> int:
    """Write the first and second derivative along a motion, by differences with a step ``h`` [s].

    Args:
        m: The motion.
        place: Where things are evaluated.
        h: The step.
        centre: Their values at the state itself.
        rate: Receives both, shape ``(2, n)``.

    Returns:
        What `run` does.
    """
    for i in range(len(centre)):
        rate[0, i], rate[1, i] = 0.0, CENTRE * centre[i]
    for k in range(len(PLACES)):
        code = evaluated_at(m, place, PLACES[k] * h)
        if code < 0:
            return code
        for i in range(len(centre)):
            rate[0, i] += FIRST[k] * place.values[i]
            rate[1, i] += SECOND[k] * place.values[i]
    for i in range(len(centre)):
        rate[0, i] /= h
        rate[1, i] /= h * h
    return 0
