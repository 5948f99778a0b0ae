r"""The nearest point that two-sided rows leave room for, compiled: a dual active-set method.

$\min \tfrac12 |x - t|^2$ with $l \le C x \le h$. With the rows $N$ that are active,
$x = t + N^\top \lambda$ and $N N^\top \lambda = b - N t$, $\lambda \ge 0$: from one set to the next
the multipliers go towards that answer until one of them would change its sign, whose row leaves;
else the row joins that is violated most. Rows are kept as $N = L Q$ with orthonormal $Q$, so that
what is nearly dependent loses no more digits than it must. Coordinates that cost nothing are held
to where they were by a small cost, until they stay: proximal steps, which end at an exact answer.

References:
    Goldfarb & Idnani, "A numerically stable dual method for solving strictly convex quadratic
    programs", Mathematical Programming 27, 1983; Arnström, Bemporad & Axehill, "A dual active-set
    solver for embedded quadratic programming using recursive LDL^T updates", IEEE T. Automatic
    Control 67(8), 2022.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled

FEASIBLE = 1e-11
"""By how much bounds may be exceeded, of rows of unit length."""
ROUNDED = 4.0 * float(np.finfo(np.float64).eps)
"""And of the terms of a row, which are no more accurate."""
DEPENDS = 1e-10
"""A row of unit length depends on others where less than this of it is outside of their span."""
UNMOVED = 1e-11
"""A multiplier that falls by no more than this, per multiplier that grows, does not fall."""
PROXIMAL, SETTLED = 1e-8, 1e-13
"""Weight of the proximal steps, and the change, of the answer, at which they have converged."""
STEPS = 100
"""After so many of them the answer is taken as it is: each obeys the rows."""
TURNS = 20
"""So often on average a row may join before it is given up."""


class Active(NamedTuple):
    """Rows that hold as equations, of ``n`` unknowns."""

    total: NDArray[np.int64]
    """Shape ``(1,)``."""
    row: NDArray[np.int64]
    """Their numbers, shape ``(n + 1,)``."""
    sign: Vector
    """1 at the lower bound, -1 at the upper, shape ``(n + 1,)``."""
    multiplier: Vector
    """Shape ``(n + 1,)``."""
    L: Matrix
    """Of the rows times their signs, ``L Q``, shape ``(n + 1, n + 1)``."""
    Q: Matrix
    """Shape ``(n + 1, n)``."""


@compiled
def join(C: Matrix, n: int, active: Active, k: int) -> bool:
    """Factor the active row of a place; return whether it depends on those before it."""
    L, Q, row = active.L, active.Q, active.row[k]
    for c in range(n):
        Q[k, c] = active.sign[k] * C[row, c]
    for i in range(k + 1):
        L[k, i] = 0.0
    for _ in range(2):
        for i in range(k):
            along = 0.0
            for c in range(n):
                along += Q[i, c] * Q[k, c]
            for c in range(n):
                Q[k, c] -= along * Q[i, c]
            L[k, i] += along
    left = 0.0
    for c in range(n):
        left += Q[k, c] * Q[k, c]
    L[k, k] = left = np.sqrt(left)
    for c in range(n):
        Q[k, c] /= left
    return not left > DEPENDS


@compiled
def leave(C: Matrix, n: int, active: Active, place: int) -> bool:
    """Take the active row of a place away; return whether the last one depends on the others."""
    count = active.total[0] - 1
    active.total[0] = count
    depends = False
    for k in range(place, count):
        active.row[k], active.sign[k] = active.row[k + 1], active.sign[k + 1]
        active.multiplier[k] = active.multiplier[k + 1]
        depends = join(C, n, active, k)
    return depends


@compiled
def towards(
    low: Vector,
    high: Vector,
    target: Vector,
    n: int,
    active: Active,
    depends: bool,
    at: Vector,
    step: Vector,
) -> None:
    """Write how the multipliers change on the way to the nearest point of the active rows.

    ``at`` receives where that is along ``Q``. Where the last row depends on the others there is
    none: multipliers then grow with it as they must.
    """
    L, Q, last = active.L, active.Q, active.total[0]
    if depends:
        last -= 1
        for k in range(last):
            step[k] = -L[last, k]
    else:
        for k in range(last):
            i, sign = active.row[k], active.sign[k]
            total, there = low[i] if sign > 0.0 else -high[i], 0.0
            for j in range(k):
                total -= L[k, j] * at[j]
            for c in range(n):
                there += Q[k, c] * target[c]
            at[k] = total / L[k, k]
            step[k] = at[k] - there
    for k in range(last - 1, -1, -1):
        step[k] /= L[k, k]
        for j in range(k):
            step[j] -= L[k, j] * step[k]
    if depends:
        step[last] = 1.0
    else:
        for k in range(last):
            step[k] -= active.multiplier[k]


@compiled
def place(target: Vector, n: int, active: Active, at: Vector, x: Vector) -> None:
    """Write the point nearest to a target that is somewhere along ``Q``.

    What ``Q`` has of the target is taken away twice, which leaves no rounding of one far away.
    """
    Q = active.Q
    for c in range(n):
        x[c] = target[c]
    for times in range(3):
        for k in range(active.total[0]):
            along = -at[k] if times == 2 else 0.0
            if times < 2:
                for c in range(n):
                    along += Q[k, c] * x[c]
            for c in range(n):
                x[c] -= along * Q[k, c]


@compiled
def most_violated(C: Matrix, low: Vector, high: Vector, x: Vector, n: int) -> tuple[int, float]:
    """Return the row whose bound a point exceeds most, -1 for none, and the sign of the bound."""
    worst, found, side = 0.0, -1, 1.0
    for i in range(len(low)):
        at, size = 0.0, 0.0
        for c in range(n):
            term = C[i, c] * x[c]
            at += term
            size += abs(term)
        over = max(low[i] - at, at - high[i]) - FEASIBLE - ROUNDED * size
        if over > worst:
            worst, found, side = over, i, 1.0 if low[i] > at else -1.0
    return found, side


@compiled
def add(C: Matrix, n: int, active: Active, row: int, sign: float) -> bool:
    """Let a row be active; return whether it depends on those that are."""
    last = active.total[0]
    active.row[last], active.sign[last], active.multiplier[last] = row, sign, 0.0
    active.total[0] = last + 1
    return join(C, n, active, last)


@compiled
def begin(C: Matrix, low: Vector, high: Vector, target: Vector, n: int, active: Active) -> None:
    """Let independent rows be active that a target does not obey."""
    for i in range(len(low)):
        at = 0.0
        for c in range(n):
            at += C[i, c] * target[c]
        outside = max(low[i] - at, at - high[i]) > FEASIBLE
        if outside and add(C, n, active, i, 1.0 if low[i] > at else -1.0):
            active.total[0] -= 1


@compiled
def nearest_point(
    C: Matrix,
    low: Vector,
    high: Vector,
    target: Vector,
    n: int,
    active: Active,
    work: Matrix,
    x: Vector,
) -> bool:
    """Write the nearest point to a target in a box of rows; return whether there is one.

    Args:
        C: Rows of unit length, or of zeros with bounds that zero obeys, shape ``(k, n)`` or wider.
        low: Lowest ``C x``.
        high: Highest ``C x``.
        target: Shape ``(n,)`` or longer.
        n: How many unknowns there are.
        active: Rows to begin with; receives those that are active. They change how long it takes.
        work: Scratch, shape ``(2, n + 1)``.
        x: Receives the point.
    """
    at, step, depends = work[0], work[1], False
    if active.total[0] == 0:
        begin(C, low, high, target, n, active)
    for _ in range(TURNS * (len(low) + 1)):
        towards(low, high, target, n, active, depends, at, step)
        part, stops = np.inf if depends else 1.0, -1
        for k in range(active.total[0]):
            if step[k] < -UNMOVED and active.multiplier[k] + part * step[k] < 0.0:
                part, stops = -active.multiplier[k] / step[k], k
        if part == np.inf:
            return False
        for k in range(active.total[0]):
            active.multiplier[k] = max(active.multiplier[k] + part * step[k], 0.0)
        if stops >= 0:
            depends = leave(C, n, active, stops)
            continue
        place(target, n, active, at, x)
        found, side = most_violated(C, low, high, x, n)
        if found < 0:
            return True
        depends = add(C, n, active, found, side)
    return False


@compiled
def least_cost(
    C: Matrix,
    low: Vector,
    high: Vector,
    target: Vector,
    n: int,
    firm: int,
    active: Active,
    work: Matrix,
    x: Vector,
) -> bool:
    r"""Write a point in a box of rows with the least $\tfrac12 |x - t|^2$ over the first unknowns.

    The others cost nothing, and come times the root of `PROXIMAL`. ``work`` has four rows; the rest
    as for `nearest_point`. Returns whether there is one.
    """
    centre, aim = work[2], work[3]
    for c in range(n):
        centre[c] = 0.0
    for _ in range(STEPS):
        for c in range(n):
            aim[c] = target[c] if c < firm else centre[c]
        if not nearest_point(C, low, high, aim, n, active, work, x):
            return False
        change, size = 0.0, PROXIMAL
        for c in range(firm, n):
            change, size = max(change, abs(x[c] - centre[c])), max(size, abs(x[c]))
            centre[c] = x[c]
        if change <= SETTLED * size:
            break
    return True
