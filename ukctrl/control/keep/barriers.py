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

ALERT = 0.1
"""In a tick the terms of a row are taken to change by less than this part; a row that has less to
spare is looked at with care, at the end of the tick as well."""


class Barriers(NamedTuple):
    """The quantities to keep, each entry of shape ``(k,)``."""

    row: NDArray[np.int64]
    """Row of the stack that it is made of."""
    sign: Vector
    """1 or -1."""
    shift: Vector
    margin: Vector
    degree: NDArray[np.int64]
    pole: Vector
    """[1/s]."""
    brake: Vector
    """[unit/s^2]; zero: an exponential barrier."""
    share: Vector
    """`held_share` of each pole and the hold, which would cost a tick as much as all the rest."""


class Account(NamedTuple):
    """What was found at a tick, and what the law's input became of it."""

    h: Vector
    """Without the margin, shape ``(k,)``."""
    rate: Vector
    """Of ``h``; of a lower relative degree its rate is what inputs change, and this is zero."""
    least: Vector
    """What its highest derivative without the input's must not fall below, shape ``(k,)``."""
    binding: Vector
    """1 where it changed the input."""
    missed: Vector
    """By how much it gave way [unit/s^2, or unit/s]."""
    given_up: Vector
    """What the servo rows get less than the law gave them, shape ``(m,)``."""
    gained: Vector
    """Of every row of the stack, ``A a - b`` under the law's input."""
    size: Vector
    """The sum of its terms, each without its sign."""


@compiled
def held_share(x: float) -> float:
    """Return ``(1 - exp(-x)) / x``."""
    return float(1.0 - 0.5 * x if x < 1e-8 else -np.expm1(-x) / x)


@compiled
def braking(h: float, rate: float, pole: float, brake: float, period: float) -> float:
    """Return the least second derivative of a way that is left, to stop within it.

    Args:
        h: The way.
        rate: Its rate, negative on the way to the end.
        pole: At which it comes to rest where little of the way is left [1/s].
        brake: The deceleration.
        period: Of the hold; zero: none.
    """
    speed, slow = -rate, brake / pole
    if period > 0.0:
        square = (slow + 0.5 * brake * period) ** 2 + brake * (2.0 * h - speed * period)
        fastest = float(np.sqrt(max(square, 0.0))) - 0.5 * brake * period - slow
        return min((speed - fastest) / period, brake)
    if h <= 0.0:
        return min(pole * (2.0 * speed - pole * h), brake)
    root = float(np.sqrt(slow * slow + 2.0 * brake * h))
    return min(pole * (speed - root + slow) + speed * brake / root, brake)


@compiled
def least_of(
    degree: int, h: float, rate: float, pole: float, brake: float, period: float, share: float
) -> float:
    """Return what the highest derivative of ``h`` must not fall below; its degree is 1 or 2."""
    if degree == 1:
        return -pole * share * h
    if brake > 0.0:
        return braking(h, rate, pole, brake, period)
    inside = rate + pole * h
    return -pole * (share * inside + rate) / (1.0 + 0.5 * pole * period)


@compiled
def look_back(clock: Vector, held: Matrix, last: Vector) -> None:
    """Write the input of the tick before, and 1 where there was one, else 0.

    It is kept with its time, so that a tick that is asked for twice has the same one before it,
    and a run that begins anew has none.

    Args:
        clock: The time, shape ``(1,)``.
        held: The inputs of the last two ticks with their times, shape ``(2, nu + 1)``.
        last: Shape ``(nu + 1,)``; empty where nothing is looked back at.
    """
    n = len(last) - 1
    if n < 0:
        return
    t = clock[0]
    if t < held[1, n]:
        held[0, n] = held[1, n] = -np.inf
    elif t > held[1, n]:
        for k in range(n + 1):
            held[0, k] = held[1, k]
    for k in range(n):
        last[k] = held[0, k]
    last[n] = 1.0 if held[0, n] > -np.inf else 0.0


@compiled
def left_of(rows: Rows, barriers: Barriers, a: Vector, h: Vector) -> None:
    """Write the quantities to keep at a state and its acceleration."""
    for i in range(len(h)):
        k = barriers.row[i]
        level = rows.phi[k] if barriers.degree[i] == 2 else rows.beta[k]
        if barriers.degree[i] == 0:
            level = -rows.b[k]
            for c in range(len(a)):
                level += rows.A[k, c] * a[c]
        h[i] = barriers.sign[i] * level + barriers.shift[i]


@compiled
def nothing_binds(
    rows: Rows,
    barriers: Barriers,
    period: float,
    a: Vector,
    u: Vector,
    low: Vector,
    high: Vector,
    account: Account,
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
        account: Receives what is found.
        alert: Receives whether, shape ``(1,)``.
    """
    clear = True
    for k in range(len(u)):
        clear = clear and low[k] <= u[k] <= high[k]
    for i in range(len(account.given_up)):
        account.given_up[i] = 0.0
    for k in range(len(rows.b)):
        gained, size = -rows.b[k], abs(rows.b[k])
        for c in range(len(a)):
            part = rows.A[k, c] * a[c]
            gained += part
            size += abs(part)
        account.gained[k], account.size[k] = gained, size
    left_of(rows, barriers, a, account.h)
    for i in range(len(account.h)):
        k, sign = barriers.row[i], barriers.sign[i]
        h = account.h[i] - barriers.margin[i]
        rate = sign * rows.beta[k] if barriers.degree[i] == 2 else 0.0
        given = barriers.degree[i], h, rate, barriers.pole[i], barriers.brake[i], period
        gained = sign * account.gained[k]
        least = least_of(*given, barriers.share[i]) if barriers.degree[i] else gained - h
        account.rate[i], account.least[i] = rate, least
        account.binding[i] = account.missed[i] = 0.0
        spare = gained - least
        clear = clear and spare >= (ALERT * account.size[k] if period > 0.0 else 0.0)
    alert[0] = 0.0 if clear else 1.0
