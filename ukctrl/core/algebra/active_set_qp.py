r"""The nearest point that two-sided rows leave room for, compiled: a dual active-set method.

$\min \tfrac12 |x - t|^2$ with $l \le C x \le h$, of $x$ that are coordinates of an input (`room`).
With the rows $N$ that are active, $x = t + N^\top \lambda$ and $N N^\top \lambda = b - N t$,
$\lambda \ge 0$: from one set to the next the multipliers go towards that answer until one of them
would change its sign, whose row leaves; else the row joins that is violated most. Rows are kept as
$N = L Q$ with orthonormal $Q$, so that what is nearly dependent loses no more digits than it must.
Coordinates that cost nothing are held to where they were by a small cost, until they stay: proximal
steps, which end at an exact answer.

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

from ukctrl.core.algebra.bounded_rows import (
    FEASIBILITY_TOL,
    BoundedRows,
    most_violated,
    transform_row,
    write_violations,
)
from ukctrl.core.algebra.factorisation import long_dot, orthogonalise_row, row_norm_squared
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled

DEPENDENT_TOL = 1e-10
"""A row of unit length depends on others where less than this of it is outside of their span."""
REORTHOGONALISE_BELOW = 0.7
"""Where so much of it is outside, taking away what is inside once is accurate."""
MULTIPLIER_TOL = 1e-11
"""A multiplier that falls by no more than this, per multiplier that grows, does not fall."""
PROXIMAL, PROXIMAL_RTOL = 1e-8, 1e-13
"""Weight of the proximal steps, and the change, of the answer, at which they have converged."""
MAX_PROXIMAL_STEPS = 100
"""After so many of them the answer is taken as it is: each obeys the rows."""
MAX_CHANGES_PER_ROW = 20
"""So often on average a row may join before it is given up."""
CYCLING_AFTER, MAX_RELAXATION = 3, 100.0
"""After so many turns rows come and go by rounding, of which they have more than `FEASIBILITY_TOL`
where others nearly depend on each other: twice as much with every turn, up to so many times."""


class ActiveRows(NamedTuple):
    """Rows that hold as equations."""

    total: NDArray[np.int64]
    """Shape ``(1,)``."""
    row: NDArray[np.int64]
    """Their numbers, shape ``(nu + 1,)``."""
    sign: Vector
    """1 at the lower bound, -1 at the upper, shape ``(nu + 1,)``."""
    multiplier: Vector
    """Shape ``(nu + 1,)``."""
    L: Matrix
    """Of the rows times their signs, ``L Q``, shape ``(nu + 1, nu + 1)``."""
    Q: Matrix
    """Shape ``(nu + 1, nu)``."""


@compiled
def orthogonalise_against_four(L: Matrix, Q: Matrix, i: int, k: int) -> None:
    """Take from row k its parts along four unit rows from i on, and add to ``L`` how long they are.

    Together they take half as long as one after the other.
    """
    x, p, q, r, s = Q[k], Q[i], Q[i + 1], Q[i + 2], Q[i + 3]
    a, b, c, d = long_dot(p, x), long_dot(q, x), long_dot(r, x), long_dot(s, x)
    for j in range(len(x)):
        x[j] -= (a * p[j] + b * q[j]) + (c * r[j] + d * s[j])
    L[k, i] += a
    L[k, i + 1] += b
    L[k, i + 2] += c
    L[k, i + 3] += d


@compiled
def factor_last_row(bounds: BoundedRows, active: ActiveRows, k: int) -> bool:
    """Factor the active row of a place; return whether it depends on those before it."""
    L, Q, row, n = active.L, active.Q, active.row[k], bounds.n
    for c in range(Q.shape[1]):
        Q[k, c] = active.sign[k] * bounds.rows[row, c] if c < n else 0.0
    for i in range(k + 1):
        L[k, i] = 0.0
    for _ in range(2):
        for i in range(0, k - 3, 4):
            orthogonalise_against_four(L, Q, i, k)
        for i in range(k - k % 4, k):
            L[k, i] += orthogonalise_row(Q, i, k)
        L[k, k] = norm = np.sqrt(row_norm_squared(Q, k))
        if norm > REORTHOGONALISE_BELOW:  # of which rounding has no part
            break
    for c in range(n):
        Q[k, c] /= norm
    return not norm > DEPENDENT_TOL


@compiled
def remove_active_row(bounds: BoundedRows, active: ActiveRows, index: int) -> bool:
    """Take the active row of a place away; return whether the last one depends on the others.

    Givens' rotations make the factor of the others triangular again; the last is factored anew, for
    it may have depended on them.
    """
    L, Q, last = active.L, active.Q, active.total[0] - 1
    active.total[0] = last
    for k in range(index, last):
        active.row[k], active.sign[k] = active.row[k + 1], active.sign[k + 1]
        active.multiplier[k] = active.multiplier[k + 1]
        for j in range(k + 2):
            L[k, j] = L[k + 1, j]
    for k in range(index, last - 1):
        length = np.sqrt(L[k, k] * L[k, k] + L[k, k + 1] * L[k, k + 1])
        cosine, sine = L[k, k] / length, L[k, k + 1] / length
        for i in range(k, last - 1):
            x, y = L[i, k], L[i, k + 1]
            L[i, k], L[i, k + 1] = cosine * x + sine * y, cosine * y - sine * x
        for c in range(bounds.n):
            x, y = Q[k, c], Q[k + 1, c]
            Q[k, c], Q[k + 1, c] = cosine * x + sine * y, cosine * y - sine * x
    return factor_last_row(bounds, active, last - 1) if index < last else False


@compiled
def multiplier_step(
    bounds: BoundedRows,
    target: Vector,
    active: ActiveRows,
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
            total = (bounds.low[i] if sign > 0.0 else -bounds.high[i]) / bounds.lengths[i]
            for j in range(k):
                total -= L[k, j] * at[j]
            at[k] = total / L[k, k]
            step[k] = at[k] - long_dot(Q[k], target)
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
def project_on_active_rows(
    bounds: BoundedRows, target: Vector, active: ActiveRows, at: Vector, x: Vector
) -> None:
    """Write the point nearest to a target that is somewhere along ``Q``.

    What ``Q`` has of the target is taken away twice, which leaves no rounding of one far away.
    """
    Q, n = active.Q, bounds.n
    for c in range(n):
        x[c] = target[c]
    for c in range(n, len(x)):
        x[c] = 0.0
    for times in range(3):
        for k in range(active.total[0]):
            along = -at[k] if times == 2 else long_dot(Q[k], x)
            for c in range(n):
                x[c] -= along * Q[k, c]


@compiled
def add_active_row(bounds: BoundedRows, active: ActiveRows, row: int) -> bool:
    """Let a row be active; return whether it depends on those that are."""
    last = active.total[0]
    active.row[last], active.sign[last], active.multiplier[last] = row, bounds.side[row], 0.0
    active.total[0] = last + 1
    return factor_last_row(bounds, active, last)


@compiled
def nearest_point(
    bounds: BoundedRows,
    target: Vector,
    strict: bool,
    active: ActiveRows,
    work: Matrix,
    x: Vector,
) -> bool:
    """Write the nearest point to a target that has room; return whether there is one.

    Args:
        bounds: Rows with bounds.
        target: Shape ``(n,)`` or longer; numbers all along, of which those beyond have no part.
        strict: Whether rows count that none of them moves.
        active: Rows to begin with; receives those that are active. They change how long it takes.
        work: Scratch, shape ``(3, nu + 1)``, numbers too.
        x: Receives the point.
    """
    at, step, w, depends = work[0], work[1], work[2, : len(bounds.basis)], False
    # the start set changes how long it takes, never the answer
    if active.total[0] == 0:  # begin with what the target exceeds, as far as that is independent
        write_violations(bounds, target, w)
        for i in range(len(bounds.violation) - 1, -1, -1):
            if (
                bounds.violation[i] > 0.0
                and transform_row(bounds, i)
                and add_active_row(bounds, active, i)
            ):
                active.total[0] -= 1
    count, grace = len(bounds.violation) + 1, 0.0
    for turns in range(MAX_CHANGES_PER_ROW * count):
        if turns >= CYCLING_AFTER * count and turns % count == 0:
            # rows that come and go by rounding would cycle for ever
            grace = min(2.0 * grace + FEASIBILITY_TOL, MAX_RELAXATION * FEASIBILITY_TOL)
        multiplier_step(bounds, target, active, depends, at, step)
        fraction, stops, fall = np.inf if depends else 1.0, -1, 0.0
        for k in range(active.total[0]):  # of those that would be the first, what falls most
            if step[k] < -MULTIPLIER_TOL and active.multiplier[k] <= -fraction * step[k]:
                share = -active.multiplier[k] / step[k]
                if share < fraction or step[k] < fall:
                    fraction, stops, fall = share, k, step[k]
        if fraction == np.inf:
            return False
        for k in range(active.total[0]):
            active.multiplier[k] = max(active.multiplier[k] + fraction * step[k], 0.0)
        if stops >= 0:
            depends = remove_active_row(bounds, active, stops)
            continue
        project_on_active_rows(bounds, target, active, at, x)
        write_violations(bounds, x, w)
        row = most_violated(bounds, strict, grace)
        if row < 0:
            return row == -1
        depends = add_active_row(bounds, active, row)
    return False


@compiled
def proximal_nearest_point(
    bounds: BoundedRows,
    target: Vector,
    strict: bool,
    active: ActiveRows,
    work: Matrix,
    x: Vector,
) -> bool:
    r"""Write a point that has room with the least $\tfrac12 |x - t|^2$ over the first coordinates.

    The others cost nothing, and come times the root of `PROXIMAL`. ``work`` has five rows; the rest
    as for `nearest_point`. Returns whether there is one.
    """
    n, firm, centre, aim = bounds.n, bounds.n_costed, work[3], work[4]
    for c in range(n):
        centre[c] = 0.0
    for _ in range(MAX_PROXIMAL_STEPS):
        for c in range(n):
            aim[c] = target[c] if c < firm else centre[c]
        if not nearest_point(bounds, aim, strict, active, work, x):
            return False
        change, size = 0.0, PROXIMAL
        for c in range(firm, n):
            change, size = max(change, abs(x[c] - centre[c])), max(size, abs(x[c]))
            centre[c] = x[c]
        if change <= PROXIMAL_RTOL * size:
            break
    return True
