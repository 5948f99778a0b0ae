"""The input of a tick in which something to keep may bind, compiled.

What a row asks for depends on what it loses until the end of the tick, and that on the input: so
the end is predicted, the program solved, and the end predicted with its input, until that changes
no more. The directions and factors of a tick's programs are the same, and each begins with the
limits that bind in the one before.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.keep.barriers import Account, Barriers
from ukctrl.control.keep.program import ROOM, Yielding, given_way, terms
from ukctrl.core.algebra.factorisation import copy_into, dot
from ukctrl.core.algebra.grip import beside, drop_lost
from ukctrl.core.algebra.lexicographic import Lexicographic, lexicographic, solve_lexicographic
from ukctrl.core.algebra.products import times
from ukctrl.core.algebra.separate import acceleration
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.program import run
from ukctrl.mechanics.constraints.constraint import Rows
from ukctrl.robot.configuration_kernels import integrate

PASSES = 6
"""So often at most the end of a tick is predicted anew, each time with the input found before."""
SAME = 1e-8
"""A prediction that changes by less than this part of what is asked needs no further pass."""
SURE = 0.1
"""Changes shrink from pass to pass by much the same factor; one that is foreseen to be so far below
`SAME` is not looked at."""
AT = 1e-7
"""A row binds within this part of its terms."""
CONTRADICTED, UNPREDICTED = -1, -2
"""No input keeps what may not give way; the robot cannot be predicted, and its steps know why."""


class Place(NamedTuple):
    """A state of a robot, where its steps read it."""

    clock: Vector
    q: Vector
    v: Vector


class Moved(NamedTuple):
    """A robot's answer to its input at the tick."""

    ties: Indices
    a_free: Vector
    G: Matrix
    L: Matrix
    motors: Vector


class Ahead(NamedTuple):
    """What predicts the end of a tick."""

    period: float
    """[s]; zero: nothing is predicted."""
    here: Place
    there: Place
    blocks: Indices
    """How configurations move."""
    lines: Indices
    """What evaluates the robot and the rows there, under the input of the tick."""
    a: Vector
    rows: Rows


class Served(NamedTuple):
    """The servo rows, in the order in which they give way, the last first."""

    A: Matrix
    order: Indices
    ends: NDArray[np.int64]
    scale: Vector
    S: Matrix
    """Freedoms of the input, in the metric in which it is near to another."""
    rtol: float
    """Below this, grip counts as lost."""


class Bounds(NamedTuple):
    """What inputs obey: limits, and ``C u >= least`` of quantities, those of forces last."""

    low: Vector
    high: Vector
    C: Matrix
    least: Vector


@allocating
def losses(
    ahead: Ahead, barriers: Barriers, robot: Moved, u: Vector, now: Vector, lost: Vector
) -> bool:
    """Write what each row loses until the end of the tick, by a prediction of it: on average, or of
    a row of the acceleration itself at the most; return whether there is one.

    The weights and stages are those of Nyström's method of order 4.

    Args:
        ahead: What predicts.
        barriers: The rows.
        robot: At the tick.
        u: The input that is held.
        now: What the rows have under it at the tick.
        lost: Receives what they lose, zero or more.
    """
    n, nv = len(barriers.row), len(robot.a_free)
    for i in range(len(lost)):
        lost[i] = 0.0
    if ahead.period == 0.0:
        return True
    first, way, most = np.empty(nv), np.empty(nv), np.zeros(n)
    acceleration(robot.ties, robot.a_free, robot.G, u, first)
    copy_into(first, ahead.a)
    for stage in range(3):
        step = ahead.period if stage == 2 else 0.5 * ahead.period
        for c in range(nv):
            pull = ahead.a[c] if stage == 2 else first[c]
            way[c] = step * (ahead.here.v[c] + 0.5 * step * pull)
            ahead.there.v[c] = ahead.here.v[c] + step * ahead.a[c]
        integrate(ahead.blocks, ahead.here.q, way, ahead.there.q)
        ahead.there.clock[0] = ahead.here.clock[0] + step
        if run(ahead.lines) < 0:
            return False
        for i in range(n):
            k = barriers.row[i]
            less = now[i] - barriers.sign[i] * (dot(ahead.rows.A[k], ahead.a) - ahead.rows.b[k])
            lost[i] += less / (6.0 if stage == 2 else 3.0)
            most[i] = max(most[i], less)
    for i in range(n):
        lost[i] = max(most[i] if barriers.degree[i] == 0 else lost[i], 0.0)
    return True


@compiled
def under(C: Matrix, u: Vector, free: Vector, now: Vector) -> None:
    """Write ``C u + free``."""
    for i in range(len(now)):
        now[i] = free[i] + dot(C[i], u)


@allocating
def solve_within(
    lex: Lexicographic, barriers: Barriers, least: Vector, limits: Matrix, u: Vector
) -> None:
    """Write the input within limits that obeys all rows with bounds and serves the levels.

    Quantities of one row are one row with a lowest and a highest value; ``limits`` are those of
    motors, rows and forces, and their first columns are there.
    """
    nu, n, count = len(u), len(barriers.row), limits.shape[1]
    for i in range(nu, count):
        limits[0, i], limits[1, i] = -np.inf, np.inf
    for i in range(n):
        at = nu + barriers.row[i]
        if barriers.sign[i] > 0.0:
            limits[0, at] = max(limits[0, at], least[i])
        else:
            limits[1, at] = min(limits[1, at], -least[i])
    for i in range(n, len(least)):
        limits[0, count - len(least) + i] = least[i]
    solve_lexicographic(lex, limits[0], limits[1], u)
    for c in range(nu):
        u[c] = min(max(u[c], limits[0, c]), limits[1, c])


@compiled
def all_above(C: Matrix, least: Vector, size: Vector, u: Vector) -> bool:
    """Return whether an input obeys all rows, but for rounding."""
    above = True
    for i in range(len(least)):
        above = above and dot(C[i], u) >= least[i] - ROOM * (size[i] + terms(C[i], u))
    return above


@allocating
def kept_input(
    rows: Rows,
    barriers: Barriers,
    account: Account,
    robot: Moved,
    ahead: Ahead,
    served: Served,
    yielding: Yielding,
    bounds: Bounds,
    force: Vector,
    u: Vector,
) -> int:
    """Write the input that keeps what is to be kept, and what that costs.

    Args:
        rows: Of which quantities are made.
        barriers: What is kept by them; forces are kept beside.
        account: What was found at the tick, with what each quantity must reach.
        robot: At the tick.
        ahead: What predicts its end.
        served: The servo rows.
        yielding: In which order quantities give way.
        bounds: Limits of motors; those of quantities are written, forces' ``C`` is there.
        force: What forces are without any input.
        u: The law's input; receives what becomes of it.

    Returns:
        0, `CONTRADICTED` or `UNPREDICTED`.
    """
    low, high, C, least = bounds
    n, k, nu = len(barriers.row), len(least), len(u)
    wanted, free, size = u.copy(), np.empty(k), np.empty(k)
    finite, clear = True, True
    for c in range(nu):
        finite = finite and np.isfinite(u[c])
        clear = clear and low[c] <= u[c] <= high[c]
    if not finite:
        return 0  # of which the loop complains
    AG = times(rows.A, robot.G)
    for i in range(k):
        if i < n:
            row, sign = barriers.row[i], barriers.sign[i]
            for c in range(nu):
                C[i, c] = sign * AG[row, c]
            free[i] = sign * (dot(rows.A[row], robot.a_free) - rows.b[row])
        else:
            free[i] = force[i - n]
        size[i] = abs(account.least[i]) + abs(free[i]) + 1e-300
    now, lost, before, missed = np.empty(k), np.empty(k), np.empty(k), np.zeros(k)
    under(C, u, free, now)
    for i in range(k):
        clear, lost[i] = clear and now[i] >= account.least[i], 0.0
    if clear:
        if not losses(ahead, barriers, robot, u, now, lost):
            return UNPREDICTED
        for i in range(k):
            clear = clear and now[i] >= account.least[i] + lost[i]
        if clear:
            return 0
    H = np.empty((len(served.order), nu))
    A = np.empty((len(served.order), rows.A.shape[1]))
    for i in range(len(A)):
        copy_into(served.A[served.order[i]], A[i])
    copy_into(times(A, robot.G), H)
    drop_lost(H, beside(robot.L, A, robot.motors), served.rtol)
    aim = np.empty(len(H))
    for i in range(len(H)):
        aim[i] = dot(H[i], wanted)
    every = np.concatenate((np.eye(nu), AG, C[n:]))
    limits = np.empty((2, len(every)))
    for c in range(nu):
        limits[0, c], limits[1, c] = low[c], high[c]
    lex = lexicographic(H, aim, served.ends, served.scale, served.S, wanted, every, served.rtol)
    reduced, change, falls = np.empty(k), 0.0, np.inf
    for _ in range(PASSES):
        for i in range(k):
            least[i] = reduced[i] = account.least[i] - free[i] + lost[i]
            missed[i], before[i] = 0.0, lost[i]
        solve_within(lex, barriers, reduced, limits, u)
        if not all_above(C, least, size, u):
            given_way(low, high, C, least, yielding, reduced, missed)
            for i in range(k):
                if yielding.firm[i] and missed[i] != 0.0:
                    return CONTRADICTED
            solve_within(lex, barriers, reduced, limits, u)
        if ahead.period == 0.0 or falls <= SAME:
            break
        under(C, u, free, now)
        if not losses(ahead, barriers, robot, u, now, lost):
            return UNPREDICTED
        earlier, change = change, 0.0
        for i in range(k):
            change = max(change, abs(lost[i] - before[i]) / size[i])
        if change <= SAME:
            break
        falls = change if earlier == 0.0 else change * change / (SURE * earlier)
    for i in range(k):
        spare = dot(C[i], u) - reduced[i]
        account.binding[i] = 1.0 if spare <= AT * (size[i] + terms(C[i], u)) else 0.0
        account.missed[i] = missed[i]
    for c in range(nu):
        wanted[c] -= u[c]
    gone = np.zeros(len(robot.a_free))
    acceleration(robot.ties, np.zeros(len(gone)), robot.G, wanted, gone)
    for i in range(len(account.given_up)):
        account.given_up[i] = dot(served.A[i], gone)
    return 0
