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
from ukctrl.control.keep.prediction import (
    AT,
    MIDDLE,
    Ahead,
    Asked,
    Moved,
    Seen,
    change,
    looked_at,
    losses,
    predicted,
)
from ukctrl.control.keep.program import ROOM, Yielding, given_way
from ukctrl.core.algebra.factorisation import copy_into, dot, long_dot, multiplied
from ukctrl.core.algebra.grip import beside, drop_lost
from ukctrl.core.algebra.lexicographic import Lexicographic, lexicographic, solve_lexicographic
from ukctrl.core.algebra.products import times, write_times
from ukctrl.core.algebra.separate import acceleration
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.mechanics.constraints.constraint import Rows

PASSES = 6
"""So often at most the end of a tick is predicted anew, each time with the input found before."""
SAME = 1e-8
"""A prediction that changes by less than this part of what is asked needs no further pass."""
SURE = 0.1
"""Changes shrink from pass to pass by much the same factor; one that is foreseen to be so far below
`SAME` is not looked at."""
CONTRADICTED, UNPREDICTED = -1, -2
"""No input keeps what may not give way; the robot cannot be predicted, and its steps know why."""
CHANGES, PREDICTED = 1, 2
"""The law's input does not keep everything; or not until the end of the tick, which is known."""


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


class Turn(NamedTuple):
    """What is known of the quantities from one prediction to the next, shape ``(k,)`` each."""

    lost: Vector
    """What they lose until the end of the tick."""
    before: Vector
    """What that was taken to be when the input was looked for."""
    beside: Vector
    """By how much it is more than the middle of the tick tells."""
    missed: Vector
    """By how much they give way."""
    reduced: Vector
    """What their rows are kept to."""
    free: Vector
    """What they have without any input."""
    size: Vector
    """Terms of what is asked, each without its sign."""


@compiled
def solve_within(
    lex: Lexicographic, asked: Asked, least: Vector, limits: Matrix, u: Vector
) -> bool:
    """Write the input within limits that obeys all rows with bounds and serves the levels; return
    whether one was found.

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
    found = solve_lexicographic(lex, limits[0], limits[1], u)
    for c in range(nu):
        u[c] = min(max(u[c], asked.low[c]), asked.high[c])
    return bool(found)


@allocating
def program_of(served: Served, robot: Moved, asked: Asked, wanted: Vector) -> Lexicographic:
    """Return what leaves the servo rows what the law gives them, and then its input."""
    A, aim = np.empty((len(served.order), len(robot.a_free))), np.empty(len(served.order))
    copy_rows(served.A, served.order, A)
    H = times(A, robot.G)
    drop_lost(H, beside(robot.L, A, robot.motors), served.rtol)
    multiplied(H, wanted, aim)  # as the program adds up, so that nothing is missing
    given = served.ends, served.scale, served.S, wanted, asked.C, served.rtol
    return lexicographic(H, aim, *given)


@compiled
def copy_rows(X: Matrix, order: Indices, into: Matrix) -> None:
    """Write rows of a matrix in some order."""
    for i in range(len(order)):
        copy_into(X[order[i]], into[i])


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
    k, nv, r = len(asked.least), len(robot.a_free), len(asked.C)
    if not np.isfinite(u).all():
        return 0  # of which the loop complains
    wanted, each, ways = u.copy(), np.zeros((10, k)), np.empty((3, max(nv, r)))
    seen = Seen(np.empty((2, r)), each[0], each[1], each[2], np.zeros((3, k)), ways)
    turn = Turn(each[3], each[4], each[5], each[6], each[7], each[8], each[9])
    write_times(rows.A, robot.G, asked.C[len(u) : len(u) + len(rows.b)])
    code = stays(rows, barriers, account, robot, ahead, asked, u, seen, turn)
    if code <= 0:
        return code
    lex, limits = program_of(served, robot, asked, wanted), np.empty((2, r))
    given = barriers, account, robot, ahead, yielding, asked, limits, u, seen, turn
    code = settled(lex, code == PREDICTED, *given)
    if code == 0:
        tell(account, robot, served, asked, wanted, u, seen, turn, np.zeros((2, nv)))
    return code


@compiled
def stays(
    rows: Rows,
    barriers: Barriers,
    account: Account,
    robot: Moved,
    ahead: Ahead,
    asked: Asked,
    u: Vector,
    seen: Seen,
    turn: Turn,
) -> int:
    """Return 0 where the law's input keeps everything, else `CHANGES`, or `PREDICTED` where it is
    only at the end of the tick that it does not; or `UNPREDICTED`.
    """
    n, within, least = len(barriers.row), True, account.least
    for c in range(len(u)):
        within = within and asked.low[c] <= u[c] <= asked.high[c]
    for i in range(len(turn.free)):
        if i < n:
            row = barriers.row[i]
            turn.free[i] = asked.sign[i] * (long_dot(rows.A[row], robot.a_free) - rows.b[row])
        else:
            turn.free[i] = asked.force[i - n]
        turn.size[i] = abs(least[i]) + abs(turn.free[i]) + 1e-300
    looked_at(asked, u, turn.free, seen)
    if not within or not obeyed(seen.now, least, turn.lost):
        return CHANGES
    if ahead.period > 0.0 and not predicted(ahead, barriers, robot, u, 0, 3, seen):
        return UNPREDICTED
    losses(barriers, 3, seen.less, turn.beside, turn.lost)
    return 0 if obeyed(seen.now, least, turn.lost) else PREDICTED


@compiled
def obeyed(now: Vector, least: Vector, lost: Vector) -> bool:
    """Return whether all quantities have what they must, and what they lose."""
    every = True
    for i in range(len(now)):
        every = every and now[i] >= least[i] + lost[i]
    return every


@compiled
def settled(
    lex: Lexicographic,
    known: bool,
    barriers: Barriers,
    account: Account,
    robot: Moved,
    ahead: Ahead,
    yielding: Yielding,
    asked: Asked,
    limits: Matrix,
    u: Vector,
    seen: Seen,
    turn: Turn,
) -> int:
    """Write the input under which the end of the tick is the one that it heeds.

    Args:
        lex: What is solved, whatever the bounds.
        known: Whether all of the tick has been predicted under the law's input.
        barriers: What is kept by rows.
        account: What each quantity must reach.
        robot: At the tick.
        ahead: What predicts.
        yielding: In which order quantities give way.
        asked: What inputs must obey.
        limits: Scratch, shape ``(2, r)``.
        u: Receives the input.
        seen: What the input does.
        turn: What is known of the prediction.

    Returns:
        0, `CONTRADICTED` or `UNPREDICTED`.
    """
    least, last, foreseen = asked.least, 0.0, np.inf
    for _ in range(PASSES):
        for i in range(len(least)):
            least[i] = turn.reduced[i] = account.least[i] - turn.free[i] + turn.lost[i]
            turn.missed[i], turn.before[i] = 0.0, turn.lost[i]
        solve_within(lex, asked, turn.reduced, limits, u)
        looked_at(asked, u, turn.free, seen)
        if not all_kept(seen, least, turn.size):
            spare = give_way(asked, yielding, turn.reduced, turn.missed)
            for i in range(len(least)):
                if yielding.firm[i] and turn.missed[i] != 0.0:
                    return CONTRADICTED
            if not solve_within(lex, asked, turn.reduced, limits, u):
                copy_into(spare, u)
            looked_at(asked, u, turn.free, seen)
            falls_short(seen, least, turn.size, turn.missed)
        if ahead.period == 0.0 or foreseen <= SAME:
            break
        first = 0
        if known:
            if not predicted(ahead, barriers, robot, u, 0, 1, seen):
                return UNPREDICTED
            losses(barriers, 1, seen.less, turn.beside, turn.lost)
            first, moved = 1, change(seen, account.least, turn.size, turn.before, turn.lost)
            if MIDDLE * moved <= SAME:
                break
        if not predicted(ahead, barriers, robot, u, first, 3, seen):
            return UNPREDICTED
        losses(barriers, 3, seen.less, turn.beside, turn.lost)
        moved = change(seen, account.least, turn.size, turn.before, turn.lost)
        if moved <= SAME:
            break
        foreseen = moved * moved / (SURE * last) if last > 0.0 else np.inf
        last, known = moved, True
    return 0


@compiled
def tell(
    account: Account,
    robot: Moved,
    served: Served,
    asked: Asked,
    wanted: Vector,
    u: Vector,
    seen: Seen,
    turn: Turn,
    a: Matrix,
) -> None:
    """Write what binds, what gave way, and what that cost the law; ``a`` is zero."""
    for i in range(len(turn.size)):
        near = AT * (turn.size[i] + seen.terms[i])
        account.binding[i] = 1.0 if seen.at[i] - turn.reduced[i] <= near else 0.0
        account.missed[i] = turn.missed[i]
    for c in range(len(u)):
        wanted[c] -= u[c]
    acceleration(robot.ties, a[0], robot.G, wanted, a[1])
    for i in range(len(account.given_up)):
        account.given_up[i] = dot(served.A[i], a[1])


@compiled
def all_kept(seen: Seen, least: Vector, size: Vector) -> bool:
    """Return whether an input obeys all rows, but for rounding."""
    kept = True
    for i in range(len(least)):
        kept = kept and seen.at[i] >= least[i] - ROOM * (size[i] + seen.terms[i])
    return kept


@compiled
def falls_short(seen: Seen, least: Vector, size: Vector, missed: Vector) -> None:
    """Let quantities miss no less than an input does."""
    for i in range(len(least)):
        less = least[i] - seen.at[i]
        if less > 2.0 * ROOM * (size[i] + seen.terms[i] + 1.0):
            missed[i] = max(missed[i], less)


@allocating
def give_way(asked: Asked, yielding: Yielding, reduced: Vector, missed: Vector) -> Vector:
    """Write what quantities can be kept to, and what they miss; return an input that does."""
    C = np.empty((len(reduced), len(asked.low)))
    for i in range(len(C)):
        for c in range(C.shape[1]):
            C[i, c] = asked.sign[i] * asked.C[asked.row[i], c]
    return given_way(asked.low, asked.high, C, asked.least, yielding, reduced, missed)
