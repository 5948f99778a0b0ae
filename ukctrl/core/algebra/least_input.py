"""The least input that gives rows what they ask for.

Decided twice: quickly, as inputs are measured, by compiled loops that are sure of almost every
robot; and with care, as `ukctrl.core.algebra.grip` measures, where motors or bodies are most unlike
or rows are lost or repeated.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.answer_checks import all_met
from ukctrl.core.algebra.clear_input import (
    BESIDE,
    LEFT,
    RIGHT,
    ROWS,
    SIZE,
    STEP,
    D,
    Desk,
    clear_input,
)
from ukctrl.core.algebra.factorisation import (
    LONG,
    cholesky,
    copy_into,
    dot,
    factor_in_place,
    solve_lower,
    solve_upper,
    unit_rows,
    write_least_norm,
)
from ukctrl.core.algebra.grip import MANY, Lengths, beside, drop_lost, held_rows
from ukctrl.core.algebra.products import (
    column_lengths,
    write_times,
    write_weighted_columns,
)
from ukctrl.core.algebra.span import span
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, deferred

UNSURE, LOST = -2, -3
"""Says that an answer must be found with care; or that rows have lost the motors' grip."""


class Demand(NamedTuple):
    """What an input is wanted for: rows ``A (a_free + G u) = b`` of a robot."""

    A: Matrix
    """Shape ``(m, nv)``."""
    b: Vector
    a_free: Vector
    G: Matrix
    """Shape ``(nv, nu)``."""
    L: Matrix
    """Factor of the mass matrix, which with `motors` says what the grip of rows is compared with.
    """
    motors: Vector
    """What each motor does to the free robot."""
    R: Matrix
    """What inputs cost; of shape ``(0, 0)`` the identity."""
    u0: Vector
    """The input where nothing is asked for."""
    rtol: float
    """Rows count as lost that have no more grip."""


def servo_input(demand: Demand, u: Vector, miss: Vector) -> int:
    """Write ``u = u0 + R^-1 H' (H R^-1 H')^+ (d - H u0)`` with ``H = A G``, ``d = b - A a_free``.

    Rows whose grip is lost count as zero. ``miss = H u - d``, row by row, is the certificate.
    Returns the rank of ``H``, or -1 when ``R`` is not positive definite. With a rank below the
    number of rows, the independent rows are met and ``miss`` tells of the others.
    """
    rank = quick_input(demand, u, miss)
    if rank != UNSURE:
        return rank
    A, b, a_free, G, L, motors, R, u0, rtol = demand
    H, length = A @ G, beside(L, A, motors)
    drop_lost(H, length, rtol)
    return careful_input(L, A, G, length, R, rtol, H, b - A @ a_free - H @ u0, u0, u, miss)


@allocating
def quick_input(demand: Demand, u: Vector, miss: Vector) -> int:
    """Write what `servo_input` does, and return what it returns, or `UNSURE`.

    Sure are ranks that enough is left of every row for, however unlike the motors are, and rows
    that grip tells from the others as well.
    """
    (m, n), nu = demand.A.shape, len(u)
    same, each, order = np.empty((3, m, nu)), np.empty((5, m)), np.empty(m, dtype=np.int64)
    across, gram = np.empty((nu, m)), np.empty((m, m))
    columns, root, inputs = np.empty((n, m)), np.empty(demand.R.shape), np.empty((2, nu))
    desk = Desk(same[0], same[1], same[2], across, gram, columns, root, each, order, inputs)
    return sure_input(desk, demand, u, miss)


@compiled
def sure_input(desk: Desk, demand: Demand, u: Vector, miss: Vector) -> int:
    """Do what `quick_input` does, with room for it."""
    code = input_on(desk, demand, u, miss)
    return code if code > UNSURE else held_or_unsure(UNSURE - code, desk, demand)


@compiled
def input_on(desk: Desk, demand: Demand, u: Vector, miss: Vector) -> int:
    """Do what `quick_input` does; return `UNSURE` minus the rank where that is not sure."""
    A, b, a_free, G, L, motors, R, u0, rtol = demand
    m, d, step = len(A), desk.each[D], desk.inputs[STEP]
    write_times(A, G, desk.H)
    for i in range(m):
        d[i] = b[i] - dot(A[i], a_free) - dot(desk.H[i], u0)
    write_weighted_columns(L, A, desk.columns)
    column_lengths(desk.columns, desk.each[ROWS])
    if len(R) > 0 and cholesky(R, desk.root) > 0:
        return -1
    code = m
    if not clear_input(desk, motors, rtol, miss):
        drop_lost(desk.H, Lengths(desk.each[ROWS], motors), rtol)
        code = pivoted_input(desk, motors, rtol, miss)
    for k in range(len(u)):
        u[k] = u0[k] + step[k]
    return code


@deferred
def pivoted_input(desk: Desk, motors: Vector, rtol: float, miss: Vector) -> int:
    """Do what `clear_input` does for any rows, by orthonormal ones; return as `input_on` does."""
    H, rows, root, each, order = desk.H, desk.rows, desk.root, desk.each, desk.order
    m, d, step = len(miss), each[D], desk.inputs[STEP]
    copy_into(H, rows)
    copy_into(d, each[RIGHT])
    if len(root) > 0:
        for i in range(m):
            solve_lower(root, rows[i])
    unit_rows(rows, each[RIGHT], each[SIZE])
    rank = by_separate_rows(rows, each[RIGHT], desk.inputs[BESIDE], step) if m >= LONG else -1
    sure = rank >= 0
    if not sure:
        rank = factor_in_place(rows, rtol, desk.factor, order, each[LEFT])
        write_least_norm(desk.factor, rows, order, rank, each[RIGHT], each[LEFT], step)
        sure, stretch = rank == m, motor_stretch(motors, root, desk.inputs[BESIDE])
        for i in range(rank):
            k = order[i]
            sure = sure and desk.factor[i, i] * each[SIZE, k] > rtol * each[ROWS, k] * stretch
    if len(root) > 0:
        solve_upper(root, step)
    for i in range(m):
        miss[i] = dot(H[i], step) - d[i]
    return rank if sure else UNSURE - rank


@deferred
def held_or_unsure(rank: int, desk: Desk, demand: Demand) -> int:
    """Return the rank where grip holds the same rows, else `UNSURE`."""
    A, _, _, G, L, motors, _, _, rtol = demand
    length = Lengths(desk.each[ROWS], motors)
    if len(A) > MANY or stands(L, A, G, length, rtol, desk.each[D], desk.order[:rank]):
        return rank
    return UNSURE


@compiled
def by_separate_rows(rows: Matrix, d: Vector, taken: Vector, x: Vector) -> int:
    """Write the least ``x`` that meets unit rows, and return their rank, or -1.

    That of rows no two of which share a column: they are orthogonal, as those of a swarm are.
    ``taken`` is scratch, of the shape of ``x``.
    """
    m, n = rows.shape
    rank = 0
    for k in range(n):
        x[k] = taken[k] = 0.0
    for i in range(m):
        some = False
        for k in range(n):
            if rows[i, k] != 0.0:
                if taken[k] > 0.0:
                    return -1
                taken[k] = 1.0
                x[k] = rows[i, k] * d[i]
                some = True
        rank += some
    return rank


@compiled
def checked_input(desk: Desk, demand: Demand, reach: float, u: Vector, miss: Vector) -> int:
    """Write what `servo_input` does; return what it does, or `UNSURE`, or what `judged` does."""
    return judged(sure_input(desk, demand, u, miss), demand, miss, reach)


@compiled
def judged(rank: int, demand: Demand, miss: Vector, reach: float) -> int:
    """Return the rank of an input, or `LOST` minus it.

    The latter where rows are missed that have lost the motors' grip, or all are to be known that
    have, where ``reach`` is not positive. A number below zero stays what it is.
    """
    A, b, a_free = demand.A, demand.b, demand.a_free
    met = rank == len(b) or (reach > 0.0 and all_met(A, b, a_free, miss, reach))
    return rank if rank < 0 or met else LOST - rank


@compiled
def motor_stretch(motors: Vector, L: Matrix, column: Vector) -> float:
    """Return how much longer inputs can be than in units of what motors do, in a metric ``L L'``.

    A bound, and for an empty ``L`` that of the identity; ``column`` is scratch.
    """
    total = 0.0
    for k in range(len(motors)):
        square = 1.0
        if len(L) > 0:
            square = 0.0
            for i in range(k, len(L)):
                rest = 1.0 if i == k else 0.0
                for c in range(k, i):
                    rest -= L[i, c] * column[c]
                column[i] = rest / L[i, i]
                square += column[i] * column[i]
        total += motors[k] * motors[k] * square
    return float(np.sqrt(total))


@allocating
def stands(
    L: Matrix,
    A: Matrix,
    G: Matrix,
    length: Lengths,
    rtol: float,
    d: Vector,
    found: NDArray[np.int64],
) -> bool:
    """Return whether an answer with fewer rows than all, those ``found``, has the rows that grip
    holds; or nothing better exists, of numbers that are not finite.
    """
    for i in range(len(d)):
        if not np.isfinite(d[i]):
            return True
    order, common = np.empty(len(d), dtype=np.int64), 0
    rank = held_rows(L, A, G, length, rtol, order)
    for i in range(rank):
        for k in range(len(found)):
            common += order[i] == found[k]
    return common == rank == len(found) < len(d)


def careful_input(
    L: Matrix,
    A: Matrix,
    G: Matrix,
    length: Lengths,
    R: Matrix,
    rtol: float,
    H: Matrix,
    d: Vector,
    u0: Vector,
    u: Vector,
    miss: Vector,
) -> int:
    """Overwrite the input and its misses with those of the rows that grip holds.

    Rank and rows are decided, and solved for, in units of what the rows and motors could do.
    """
    order = np.arange(len(d))
    rank = held_rows(L, A, G, length, rtol, order)
    held = order[:rank]
    served = span(H[held], length.motors, rows=length.rows[held], rank=rank)
    step = served.least(d[held], R if R.size else None)
    u[:] = u0 + step
    miss[:] = H @ step - d
    return int(rank)
