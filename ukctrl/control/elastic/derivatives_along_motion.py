r"""How things go on along the motion of links, compiled: their first and second derivatives.

Along $q(\tau) = q \oplus (v \tau + \tfrac12 a \tau^2 + \tfrac16 j \tau^3)$ they are smooth
functions of one number, and central differences of sixth order give their derivatives to about ten
digits.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.finite_differences import SIXTH_ORDER_WEIGHTS
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import run
from ukctrl.robot.manifold_kernels import integrate

STENCIL: Vector = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
"""Where things are evaluated, in steps."""
FIRST_WEIGHTS: Vector = np.array(
    [*(-weight for weight in reversed(SIXTH_ORDER_WEIGHTS)), *SIXTH_ORDER_WEIGHTS]
)
SECOND_WEIGHTS: Vector = np.array([2.0, -27.0, 270.0, 270.0, -27.0, 2.0]) / 180.0
SECOND_CENTRE_WEIGHT = -490.0 / 180.0


class LinkMotion(NamedTuple):
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
    memory_ddot: Vector
    """Its second time derivative."""


class EvaluationPoint(NamedTuple):
    """Where something is evaluated: arrays that its steps read, and write."""

    clock: Vector
    q: Vector
    v: Vector
    a: Vector
    """Acceleration, shape ``(nv,)``."""
    memory: Vector
    joint_blocks: Indices
    """How configurations move; see `Structure.manifold_table`."""
    lines: Indices
    """The table of `ukctrl.core.program` that writes the values."""
    values: Vector
    """What is evaluated."""


@compiled
def start_motion(
    clock: Vector, q: Vector, v: Vector, a: Vector, memory: Vector, m: LinkMotion
) -> None:
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
        m.memory_rate[i] = m.memory_ddot[i] = 0.0


@compiled
def evaluate_along(m: LinkMotion, point: EvaluationPoint, tau: float) -> int:
    """Evaluate ``tau`` seconds on; return what `run` does."""
    point.clock[0] = m.clock[0] + tau
    for i in range(len(m.v)):
        # first the tangent step, in the room of the velocity
        point.v[i] = tau * (m.v[i] + tau / 2.0 * (m.a[i] + tau / 3.0 * m.jerk[i]))
    integrate(point.joint_blocks, m.q, point.v, point.q)
    for i in range(len(m.v)):
        point.v[i] = m.v[i] + tau * (m.a[i] + tau / 2.0 * m.jerk[i])
        point.a[i] = m.a[i] + tau * m.jerk[i]
    for i in range(len(m.memory)):
        point.memory[i] = m.memory[i]
        point.memory[i] += tau * (m.memory_rate[i] + tau / 2.0 * m.memory_ddot[i])
    return run(point.lines)


@compiled
def differentiate_along(
    m: LinkMotion, point: EvaluationPoint, h: float, centre: Vector, rate: Matrix
) -> int:
    """Write the first and second derivative along a motion, by differences with a step ``h`` [s].

    Args:
        m: The motion.
        point: Where things are evaluated.
        h: The step.
        centre: Their values at the state itself.
        rate: Receives both, shape ``(2, n)``.

    Returns:
        What `run` does.
    """
    for i in range(len(centre)):
        # the centre is known, and weighs nothing in the first derivative
        rate[0, i], rate[1, i] = 0.0, SECOND_CENTRE_WEIGHT * centre[i]
    for k in range(len(STENCIL)):
        code = evaluate_along(m, point, STENCIL[k] * h)
        if code < 0:
            return code
        for i in range(len(centre)):
            rate[0, i] += FIRST_WEIGHTS[k] * point.values[i]
            rate[1, i] += SECOND_WEIGHTS[k] * point.values[i]
    for i in range(len(centre)):
        rate[0, i] /= h
        rate[1, i] /= h * h
    return 0
