r"""The input that keeps what is to be kept, and is otherwise as near to the law's as can be.

With $a = a_\mathrm{free} + G u$ every row to keep is $C u \ge l$. Of all inputs within the motors'
limits that obey them, those are taken that leave the servo rows what the law gave them, block
after block, and of those the nearest to the law's in the metric of the allocation: one
lexicographic program.

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
from ukctrl.core.algebra.factorisation import copy_into, dot, long_dot
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


class Asked(NamedTuple):
    """What inputs must obey: ``low <= C u <= high``."""

    low: Vector
    """Lowest inputs."""
    high: Vector
    """Highest inputs."""
    C: Matrix
    """One row for every motor, every row of which quantities are made, and every force; the first
    are there, and the last."""
    force: Vector
    """What forces are without any input."""
    row: Indices
    """Of every quantity to keep, which of these rows it is, forces last, shape ``(k,)``."""
    sign: Vector
    """And in which direction: 1 or -1."""
    least: Vector
    """What it must reach: written, for whoever tells why it cannot."""


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
    first, way, most, then = np.empty(nv), np.empty(nv), np.zeros(n), np.empty(len(ahead.rows.b))
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
        for k in range(len(then)):
            then[k] = long_dot(ahead.rows.A[k], ahead.a) - ahead.rows.b[k]
        for i in range(n):
            less = now[i] - barriers.sign[i] * then[barriers.row[i]]
            lost[i] += less / (6.0 if stage == 2 else 3.0)
            most[i] = max(most[i], less)
    for i in range(n):
        lost[i] = max(most[i] if barriers.degree[i] == 0 else lost[i], 0.0)
    return True


@compiled
def looked_at(asked: Asked, u: Vector, free: Vector, at: Matrix, now: Vector) -> None:
    """Write ``C u`` and the sums of its terms, and what all quantities have under an input."""
    for i in range(at.shape[1]):
        at[0, i], at[1, i] = long_dot(asked.C[i], u), terms(asked.C[i], u)
    for i in range(len(now)):
        now[i] = free[i] + asked.sign[i] * at[0, asked.row[i]]


@allocating
def solve_within(
    lex: Lexicographic, asked: Asked, least: Vector, limits: Matrix, u: Vector
) -> None:
    """Write the input within limits that obeys all rows with bounds and serves the levels.

    Quantities of one row are one row with a lowest and a highest value, in ``limits``.
    """
    nu = len(u)
    for c in range(limits.shape[1]):
        limits[0, c], limits[1, c] = -np.inf, np.inf
    for c in range(nu):
        limits[0, c], limits[1, c] = asked.low[c], asked.high[c]
    for i in range(len(least)):
        c = asked.row[i]
        if asked.sign[i] > 0.0:
            limits[0, c] = max(limits[0, c], least[i])
        else:
            limits[1, c] = min(limits[1, c], -least[i])
    solve_lexicographic(lex, limits[0], limits[1], u)
    for c in range(nu):
        u[c] = min(max(u[c], asked.low[c]), asked.high[c])


@allocating
def program_of(served: Served, robot: Moved, asked: Asked, wanted: Vector) -> Lexicographic:
    """Return what leaves the servo rows what the law gives them, and then its input."""
    m = len(served.order)
    A, aim = np.empty((m, len(robot.a_free))), np.empty(m)
    for i in range(m):
        copy_into(served.A[served.order[i]], A[i])
    H = times(A, robot.G)
    drop_lost(H, beside(robot.L, A, robot.motors), served.rtol)
    for i in range(m):
        aim[i] = dot(H[i], wanted)  # as the program adds up, so that nothing is missing
    given = served.ends, served.scale, served.S, wanted, asked.C, served.rtol
    return lexicographic(H, aim, *given)


@allocating
def kept_input(
    rows: Rows,
    barriers: Barriers,
    account: Account,
    robot: Moved,
    ahead: Ahead,
    served: Served,
    yielding: Yielding,
    asked: Asked,
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
        asked: What inputs must obey.
        u: The law's input; receives what becomes of it.

    Returns:
        0, `CONTRADICTED` or `UNPREDICTED`.
    """
    n, k, nu, least = len(barriers.row), len(asked.least), len(u), asked.least
    wanted, free, size = u.copy(), np.empty(k), np.empty(k)
    finite, clear = True, True
    for c in range(nu):
        finite = finite and np.isfinite(u[c])
        clear = clear and asked.low[c] <= u[c] <= asked.high[c]
    if not finite:
        return 0  # of which the loop complains
    copy_into(times(rows.A, robot.G), asked.C[nu : nu + len(rows.b)])
    for i in range(k):
        if i < n:
            row = barriers.row[i]
            free[i] = asked.sign[i] * (dot(rows.A[row], robot.a_free) - rows.b[row])
        else:
            free[i] = asked.force[i - n]
        size[i] = abs(account.least[i]) + abs(free[i]) + 1e-300
    now, lost, before, missed = np.empty(k), np.zeros(k), np.empty(k), np.zeros(k)
    at, limits = np.empty((2, len(asked.C))), np.empty((2, len(asked.C)))
    looked_at(asked, u, free, at, now)
    if clear and (now >= account.least).all():
        if not losses(ahead, barriers, robot, u, now, lost):
            return UNPREDICTED
        if (now >= account.least + lost).all():
            return 0
    lex = program_of(served, robot, asked, wanted)
    reduced, change, falls = np.empty(k), 0.0, np.inf
    for _ in range(PASSES):
        for i in range(k):
            least[i] = reduced[i] = account.least[i] - free[i] + lost[i]
            missed[i], before[i] = 0.0, lost[i]
        solve_within(lex, asked, reduced, limits, u)
        looked_at(asked, u, free, at, now)
        if not all_kept(asked, size, at):
            give_way(asked, yielding, reduced, missed)
            for i in range(k):
                if yielding.firm[i] and missed[i] != 0.0:
                    return CONTRADICTED
            solve_within(lex, asked, reduced, limits, u)
            looked_at(asked, u, free, at, now)
        if ahead.period == 0.0 or falls <= SAME:
            break
        if not losses(ahead, barriers, robot, u, now, lost):
            return UNPREDICTED
        earlier, change = change, 0.0
        for i in range(k):
            change = max(change, abs(lost[i] - before[i]) / size[i])
        if change <= SAME:
            break
        falls = change if earlier == 0.0 else change * change / (SURE * earlier)
    for i in range(k):
        c = asked.row[i]
        near = AT * (size[i] + at[1, c])
        account.binding[i] = 1.0 if asked.sign[i] * at[0, c] - reduced[i] <= near else 0.0
        account.missed[i] = missed[i]
    for c in range(nu):
        wanted[c] -= u[c]
    gone = np.zeros(len(robot.a_free))
    acceleration(robot.ties, np.zeros(len(gone)), robot.G, wanted, gone)
    for i in range(len(account.given_up)):
        account.given_up[i] = dot(served.A[i], gone)
    return 0


@compiled
def all_kept(asked: Asked, size: Vector, at: Matrix) -> bool:
    """Return whether an input obeys all rows, but for rounding."""
    kept = True
    for i in range(len(asked.least)):
        c = asked.row[i]
        room = ROOM * (size[i] + at[1, c])
        kept = kept and asked.sign[i] * at[0, c] >= asked.least[i] - room
    return kept


@allocating
def give_way(asked: Asked, yielding: Yielding, reduced: Vector, missed: Vector) -> None:
    """Write what quantities can be kept to, and what they miss."""
    C = np.empty((len(reduced), len(asked.low)))
    for i in range(len(C)):
        for c in range(C.shape[1]):
            C[i, c] = asked.sign[i] * asked.C[asked.row[i], c]
    given_way(asked.low, asked.high, C, asked.least, yielding, reduced, missed)
