r"""What each quantity to keep asks of the acceleration, compiled; and what a tick remembers.

Of $h \ge 0$ a row of $\ddot h = s\,(A a - b)$, or of $\dot h$ where the inputs change that already,
must not fall below a number that follows from $h$ and $\dot h$. Under a hold of length $T$, in
which $\ddot h$ stays constant, that number is the least with which a set that holds
at one tick holds at the next, and $h \ge 0$ in between; with $T \to 0$ it is that of continuous
control. The proofs are in the documentation, under *Limits that the law keeps*.

References:
    Nguyen & Sreenath, "Exponential control barrier functions for enforcing high relative-degree
    safety-critical constraints", ACC 2016; Del Prete, "Joint position and velocity bounds in
    discrete-time acceleration/torque control of robot arms", IEEE RA-L 3(1), 2018.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.mechanics.constraints.constraint import Rows

ALERT_MARGIN = 0.1
"""In a tick the terms of a row are taken to change by less than this part; a row that has less to
spare is looked at with care, at the end of the tick as well."""


class Barriers(NamedTuple):
    """The quantities to keep, each entry of shape ``(k,)``."""

    row: NDArray[np.int64]
    """Row of the stack that it is made of."""
    sign: Vector
    """1 or -1."""
    offset: Vector
    margin: Vector
    degree: NDArray[np.int64]
    pole: Vector
    """[1/s]."""
    deceleration: Vector
    """[unit/s^2]; zero: an exponential barrier."""
    hold_factor: Vector
    """`hold_factor` of each pole and the hold, which would cost a tick as much as all the rest."""


class FilterDiagnostics(NamedTuple):
    """What was found at a tick, and what the law's input became of it."""

    h: Vector
    """Without the margin, shape ``(k,)``."""
    rate: Vector
    """Of ``h``; of a lower relative degree its rate is what inputs change, and this is zero."""
    lower_bound: Vector
    """What its highest derivative without the input's must not fall below, shape ``(k,)``."""
    active: Vector
    """1 where it changed the input."""
    relaxation: Vector
    """By how much it gave way [unit/s^2, or unit/s]."""
    task_relaxation: Vector
    """What the servo rows get less than the law gave them, shape ``(m,)``."""
    acceleration_loss: Vector
    """By how much less the believed robot accelerates, shape ``(nv,)``."""
    row_residual: Vector
    """Of every row of the stack, ``A a - b`` under the law's input."""
    row_magnitude: Vector
    """The sum of its terms, each without its sign."""


@compiled
def hold_factor(x: float) -> float:
    """Return ``(1 - exp(-x)) / x``."""
    # expm1 over x loses its meaning at zero; the series is exact to rounding below that
    return float(1.0 - 0.5 * x if x < 1e-8 else -np.expm1(-x) / x)


@compiled
def braking_bound(h: float, rate: float, pole: float, brake: float, period: float) -> float:
    """Return the least second derivative of a way that is left, to stop within it.

    Args:
        h: The way.
        rate: Its rate, negative on the way to the end.
        pole: At which it comes to rest where little of the way is left [1/s].
        brake: The deceleration.
        period: Of the hold; zero: none.
    """
    speed, slow = -rate, brake / pole
    # with a hold the way must do for whole ticks, else for the parabola from now on
    if period > 0.0:
        square = (slow + 0.5 * brake * period) ** 2 + brake * (2.0 * h - speed * period)
        fastest = float(np.sqrt(max(square, 0.0))) - 0.5 * brake * period - slow
        return min((speed - fastest) / period, brake)
    # beyond the limit no distance is left to brake in: back exponentially
    if h <= 0.0:
        return min(pole * (2.0 * speed - pole * h), brake)
    root = float(np.sqrt(slow * slow + 2.0 * brake * h))
    return min(pole * (speed - root + slow) + speed * brake / root, brake)


@compiled
def barrier_bound(
    degree: int, h: float, rate: float, pole: float, brake: float, period: float, share: float
) -> float:
    """Return what the highest derivative of ``h`` must not fall below; its degree is 1 or 2."""
    if degree == 1:
        return -pole * share * h
    if brake > 0.0:
        return braking_bound(h, rate, pole, brake, period)
    inside = rate + pole * h
    return -pole * (share * inside + rate) / (1.0 + 0.5 * pole * period)


@compiled
def recall_input(clock: Vector, held_inputs: Matrix, last: Vector) -> None:
    """Write the input of the tick before, and 1 where there was one, else 0.

    It is kept with its time, so that a tick that is asked for twice has the same one before it,
    and a run that begins anew has none.

    Args:
        clock: The time, shape ``(1,)``.
        held_inputs: The inputs of the last two ticks with their times, shape ``(2, nu + 1)``.
        last: Shape ``(nu + 1,)``; empty where nothing is looked back at.
    """
    n = len(last) - 1
    if n < 0:
        return
    t = clock[0]
    # time that goes back is another run, whose ticks are none of this one's
    if t < held_inputs[1, n]:
        held_inputs[0, n] = held_inputs[1, n] = -np.inf
    elif t > held_inputs[1, n]:
        for k in range(n + 1):
            held_inputs[0, k] = held_inputs[1, k]
    for k in range(n):
        last[k] = held_inputs[0, k]
    last[n] = 1.0 if held_inputs[0, n] > -np.inf else 0.0


@compiled
def write_inequalities(rows: Rows, barriers: Barriers, a: Vector, h: Vector) -> None:
    """Write the quantities to keep at a state and its acceleration."""
    for i in range(len(h)):
        k = barriers.row[i]
        level = rows.phi[k] if barriers.degree[i] == 2 else rows.beta[k]
        if barriers.degree[i] == 0:
            level = -rows.b[k]
            for c in range(len(a)):
                level += rows.A[k, c] * a[c]
        h[i] = barriers.sign[i] * level + barriers.offset[i]


@compiled
def check_barriers(
    rows: Rows,
    barriers: Barriers,
    period: float,
    a: Vector,
    u: Vector,
    low: Vector,
    high: Vector,
    diagnostics: FilterDiagnostics,
    alert: Vector,
) -> None:
    """Write what must be kept, and whether an input must be looked at with care: 1, else 0.

    It need not be where it does, with something to spare.

    Args:
        rows: Written at the state.
        barriers: What is kept.
        period: Of the hold [s]; zero: none.
        a: Acceleration under the input, shape ``(nv,)``.
        u: The input, shape ``(nu,)``.
        low: Lowest inputs.
        high: Highest inputs.
        diagnostics: Receives what is found.
        alert: Receives whether, shape ``(1,)``.
    """
    clear = True
    for k in range(len(u)):
        clear = clear and low[k] <= u[k] <= high[k]
    for i in range(len(diagnostics.task_relaxation)):
        diagnostics.task_relaxation[i] = 0.0
    for c in range(len(diagnostics.acceleration_loss)):
        diagnostics.acceleration_loss[c] = 0.0
    for k in range(len(rows.b)):
        gained, size = -rows.b[k], abs(rows.b[k])
        for c in range(len(a)):
            term = rows.A[k, c] * a[c]
            gained += term
            size += abs(term)
        diagnostics.row_residual[k], diagnostics.row_magnitude[k] = gained, size
    write_inequalities(rows, barriers, a, diagnostics.h)
    for i in range(len(diagnostics.h)):
        k, sign = barriers.row[i], barriers.sign[i]
        h = diagnostics.h[i] - barriers.margin[i]
        rate = sign * rows.beta[k] if barriers.degree[i] == 2 else 0.0
        args = barriers.degree[i], h, rate, barriers.pole[i], barriers.deceleration[i], period
        gained = sign * diagnostics.row_residual[k]
        lower_bound = (
            barrier_bound(*args, barriers.hold_factor[i]) if barriers.degree[i] else gained - h
        )
        diagnostics.rate[i], diagnostics.lower_bound[i] = rate, lower_bound
        diagnostics.active[i] = diagnostics.relaxation[i] = 0.0
        spare = gained - lower_bound
        # with a hold the quantities change until the next tick, and need some room; without, none
        clear = clear and spare >= (
            ALERT_MARGIN * diagnostics.row_magnitude[k] if period > 0.0 else 0.0
        )
    alert[0] = 0.0 if clear else 1.0
