"""Steps of a fixed length, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import run
from ukctrl.core.program.kernel_sequence import STOP
from ukctrl.mechanics.integrate.ode_system import System
from ukctrl.robot.manifold_kernels import chart_rate, integrate

STAGES = {
    "RK4": np.array([[1.0, 0.5, 0.0], [2.0, 0.5, 0.5], [2.0, 1.0, 0.5], [1.0, 0.0, 1.0]]),
    "semi_implicit_euler": np.array([[1.0, 0.0, 0.0]]),
}
"""Of each stage: its weight, how far the next one lies ahead, and when it is, in steps."""
XI, XI_RATE, SUM_XI, SUM_V = range(4)
STEP_COUNT, LAST_CHECKED, NEXT_CHECKED = range(3)
"""Places in `StepDoubling.counts`: steps behind, that which was looked at last, and the next
one."""
ERROR, PATH_LENGTH = range(2)
"""Places in `StepDoubling.sums`."""
CHECK_SPACING = 0.05
"""Between two steps that are looked at lies this fraction of those behind, so that a long run costs
some hundred steps at most."""
VELOCITY_ROUNDING = 1e-12
"""A change of the velocity that is smaller than this fraction of it is rounding."""
SPEED_LIMIT = 1e5
"""A speed beyond this is no mechanism any more [rad/s or m/s]."""


class StageBuffers(NamedTuple):
    """What a step writes on its way."""

    q: Vector
    """Where it began, shape ``(nq,)``."""
    tangent: Matrix
    """The chart's coordinate, its rate, and the sums of both rates, shape ``(4, nv)``."""
    memory: Matrix
    """Where it began, and the sum of the rates, shape ``(2, k)``."""


class StepDoubling(NamedTuple):
    r"""The share of all that velocities change that halved steps change otherwise.

    $\sum \tfrac{2^p}{2^p - 1} \lVert v_h - v_{h/2} \rVert \,/ \sum \lVert v_h - v_0 \rVert$ with
    the order $p$ of the method: Richardson's estimate of the error of every step that is looked at,
    counted for those since the last one. Nothing of the motion itself changes.
    """

    counts: Indices
    sums: Vector
    order: float
    q: Vector
    """The state after halved steps."""
    v: Vector
    memory: Vector
    v_old: Vector
    """The velocity before the step."""


class FixedStepper(NamedTuple):
    """A method of fixed steps, and the state that it moves."""

    stages: Matrix
    """One of `STAGES`."""
    buffers: StageBuffers
    doubling: StepDoubling
    max_step: float
    """Longest step [s]."""
    q: Vector
    v: Vector
    memory: Vector
    correction: Indices
    """The table of what corrects the state after every step."""


@compiled
def count_step(halving: StepDoubling) -> bool:
    """Count a step, and return whether it is to be looked at."""
    halving.counts[STEP_COUNT] += 1
    return bool(halving.counts[STEP_COUNT] > halving.counts[NEXT_CHECKED])


@compiled
def add_error_estimate(halving: StepDoubling, v_new: Vector) -> None:
    """Take the step into account that has just been counted, from ``before``."""
    count = halving.counts[STEP_COUNT] - 1
    stands_for = max(count - halving.counts[LAST_CHECKED], 1)
    halving.counts[LAST_CHECKED] = count
    halving.counts[NEXT_CHECKED] = count + 1 + int(CHECK_SPACING * count)
    change, error, size = 0.0, 0.0, 0.0
    for i in range(len(v_new)):
        moved, off = v_new[i] - halving.v_old[i], v_new[i] - halving.v[i]
        change += moved * moved
        error += off * off
        size += v_new[i] * v_new[i]
    richardson = 2.0**halving.order / (2.0**halving.order - 1.0)
    error, floor = richardson * np.sqrt(error), VELOCITY_ROUNDING * np.sqrt(size)
    if np.isfinite(error) and np.sqrt(change) > floor:
        halving.sums[PATH_LENGTH] += stands_for * np.sqrt(change)
        halving.sums[ERROR] += stands_for * error if error > floor else 0.0


@compiled
def fixed_steps(port: System, fixed: FixedStepper, t: float, h: float, count: int) -> int:
    r"""Overwrite a state by that some steps later.

    Of four stages the classical Runge-Kutta method for $(\xi, v, \text{memory})$, where
    $q = q_0 \oplus \xi$ and $v = J(\xi)\,\dot\xi$ with the right Jacobian of the exponential;
    solving for $\dot\xi$ keeps order 4 on the manifold (Munthe-Kaas 1999). Of one stage the
    semi-implicit Euler method: ``v`` first, then ``q`` with the new ``v``, symplectic for a
    separable energy.

    Returns how many were taken, fewer than ``count`` where a speed reaches the limit; or what
    `ukctrl.core.program.run` does where it fails.
    """
    stages, work, halving, _, q, v, memory, correction = fixed
    for k in range(count):
        start, looks = t + k * h, count_step(halving)
        if looks:
            copy_into(q, halving.q)
            copy_into(v, halving.v)
            copy_into(v, halving.v_old)
            copy_into(memory, halving.memory)
        code = fixed_step(port, stages, work, start, q, v, memory, h)
        if code < 0:
            return code
        if looks:  # what it meets on the way is not the step's, which has passed
            halved = halving.q, halving.v, halving.memory
            code = fixed_step(port, stages, work, start, *halved, 0.5 * h)
            if code == 0:
                code = fixed_step(port, stages, work, start + 0.5 * h, *halved, 0.5 * h)
            if code == STOP:
                return code
            if code == 0:
                add_error_estimate(halving, v)
        if len(correction) > 1:
            port.clock[0] = start + h
            copy_into(q, port.q)
            copy_into(v, port.v)
            code = run(correction)
            if code < 0:
                return code
            copy_into(port.q, q)
            copy_into(port.v, v)
        if not is_bounded(q, v, memory):
            return k + 1
    return count


@compiled
def fixed_step(
    port: System,
    stages: Matrix,
    work: StageBuffers,
    t: float,
    q: Vector,
    v: Vector,
    memory: Vector,
    h: float,
) -> int:
    """Overwrite a state by that a step later; see `fixed_steps`."""
    n, k = len(v), len(memory)
    x, total = work.tangent, work.memory[1]
    for i in range(len(q)):
        work.q[i] = port.q[i] = q[i]
    for i in range(n):
        x[XI, i] = x[SUM_XI, i] = x[SUM_V, i] = 0.0
        port.v[i] = v[i]
    for i in range(k):
        total[i] = 0.0
        port.memory[i] = memory[i]
    for s in range(len(stages)):
        weight, increment = stages[s, 0], stages[s, 1] * h
        port.clock[0] = t + stages[s, 2] * h
        if s > 0:
            integrate(port.blocks, work.q, x[XI], port.q)
        code = run(port.lines)
        if code < 0:
            return code
        chart_rate(port.blocks, x[XI], port.v, x[XI_RATE])
        for i in range(n):
            x[SUM_XI, i] += weight * x[XI_RATE, i]
            x[SUM_V, i] += weight * port.a[i]
            x[XI, i] = increment * x[XI_RATE, i]
            port.v[i] = v[i] + increment * port.a[i]
        for i in range(k):
            total[i] += weight * port.memory_rate[i]
            port.memory[i] = memory[i] + increment * port.memory_rate[i]
    mean = h / 6.0 if len(stages) > 1 else h
    for i in range(n):
        v[i] += mean * x[SUM_V, i]
        x[XI, i] = mean * x[SUM_XI, i] if len(stages) > 1 else h * v[i]
    integrate(port.blocks, work.q, x[XI], q)
    for i in range(k):
        memory[i] += mean * total[i]
    return 0


@compiled
def is_bounded(q: Vector, v: Vector, memory: Vector) -> bool:
    """Return whether all is finite, and no speed reaches `SPEED_LIMIT`."""
    fine = True
    for i in range(len(v)):
        fine = fine and abs(v[i]) < SPEED_LIMIT
    for i in range(len(q)):
        fine = fine and np.isfinite(q[i])
    for i in range(len(memory)):
        fine = fine and np.isfinite(memory[i])
    return fine
