"""The least input that gives rows what they ask for.

`Dynamics.input_step` chooses the kernel by the robot: by the adjoint, body by body, or dense. The
dense `least_input` chooses by the rows: `gram_input` where they are clear of each other, else
`pivoted_input`, by orthonormal rows. Where neither is sure of the rank (motors or bodies most
unlike, rows lost or repeated), `scaled_input` settles it as
`ukctrl.core.algebra.input_authority` measures.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.column_space import column_space
from ukctrl.core.algebra.factorisation import (
    MIN_BLOCKED,
    cholesky,
    copy_into,
    dot,
    least_norm_into,
    normalise_rows,
    pivoted_lq_in_place,
    solve_lower,
    solve_upper,
)
from ukctrl.core.algebra.gram_input import (
    DEMAND,
    INPUT_SCRATCH,
    MASS_WEIGHTED_NORM,
    ROW_NORM,
    ROW_SCRATCH,
    STEP,
    UNIT_DEMAND,
    InputBuffers,
    gram_input,
    input_buffers,
)
from ukctrl.core.algebra.input_authority import (
    MAX_JOINT_ROWS,
    AuthorityScales,
    authority_scales_from,
    controllable_rows,
    zero_uncontrolled_rows,
)
from ukctrl.core.algebra.solution_checks import all_within_tolerance
from ukctrl.core.algebra.sparse_products import (
    column_norms,
    mass_weighted_columns_into,
    matmul_into,
)
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, deferred

UNDECIDED, LOST_AUTHORITY = -2, -3
"""Says that an answer must be found with care; or that rows have lost the motors' grip."""


class ServoProblem(NamedTuple):
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


def servo_input(problem: ServoProblem, u: Vector, miss: Vector) -> int:
    """Write ``u = u0 + R^-1 H' (H R^-1 H')^+ (d - H u0)`` with ``H = A G``, ``d = b - A a_free``.

    Rows whose grip is lost count as zero. ``miss = H u - d``, row by row, is the certificate.
    Returns the rank of ``H``, or -1 when ``R`` is not positive definite. With a rank below the
    number of rows, the independent rows are met and ``miss`` tells of the others.
    """
    rank = fast_input(problem, u, miss)
    return rank if rank != UNDECIDED else scaled_input(problem, u, miss)


@allocating
def fast_input(problem: ServoProblem, u: Vector, miss: Vector) -> int:
    """Write the least input, in buffers of its own; return its rank, or `UNDECIDED`."""
    (m, n), weighed = problem.A.shape, len(problem.R) > 0
    return least_input(input_buffers(m, n, len(u), weighed), problem, u, miss)


@compiled
def least_input(buffers: InputBuffers, problem: ServoProblem, u: Vector, miss: Vector) -> int:
    """Write what `servo_input` does, and return what it returns, or `UNDECIDED`.

    The choice between the routes, cheapest first: the Gram matrix of the rows where a bound proves
    that they are clear of each other, however unlike the motors are; orthonormal rows else, whose
    rank is certain if each pivot is, or if input authority tells the same rows from the others.
    What neither settles is for `scaled_input`, which costs a decomposition in Python.
    """
    A, b, a_free, G, L, motors, R, u0, rtol = problem
    rank, d, step = len(A), buffers.per_row[DEMAND], buffers.per_input[STEP]
    matmul_into(A, G, buffers.H)
    for i in range(len(A)):
        d[i] = b[i] - dot(A[i], a_free) - dot(buffers.H[i], u0)
    mass_weighted_columns_into(L, A, buffers.columns)
    column_norms(buffers.columns, buffers.per_row[MASS_WEIGHTED_NORM])
    if len(R) > 0 and cholesky(R, buffers.root) > 0:
        return -1
    if not gram_input(buffers, motors, rtol, miss):
        scales = AuthorityScales(buffers.per_row[MASS_WEIGHTED_NORM], motors)
        zero_uncontrolled_rows(buffers.H, scales, rtol)
        rank = pivoted_input(buffers, motors, rtol, miss)
        if rank <= UNDECIDED:
            rank = confirm_rank(UNDECIDED - rank, buffers, problem)
    for k in range(len(u)):
        u[k] = u0[k] + step[k]
    return rank


@deferred
def pivoted_input(buffers: InputBuffers, motors: Vector, rtol: float, miss: Vector) -> int:
    """Write the step that any rows need, by orthonormal ones, and what it misses.

    Returns their rank, or `UNDECIDED` minus it where that is not certain.
    """
    H, rows, root, per_row, order = (
        buffers.H,
        buffers.rows,
        buffers.root,
        buffers.per_row,
        buffers.order,
    )
    m, d, step = len(miss), per_row[DEMAND], buffers.per_input[STEP]
    copy_into(H, rows)
    copy_into(d, per_row[UNIT_DEMAND])
    if len(root) > 0:
        for i in range(m):
            solve_lower(root, rows[i])
    normalise_rows(rows, per_row[UNIT_DEMAND], per_row[ROW_NORM])
    rank = -1
    if m >= MIN_BLOCKED:  # a swarm: rows without a common column are orthogonal as they are
        rank = disjoint_rows_input(
            rows, per_row[UNIT_DEMAND], buffers.per_input[INPUT_SCRATCH], step
        )
    sure = rank >= 0
    if not sure:
        rank = pivoted_lq_in_place(rows, rtol, buffers.factor, order, per_row[ROW_SCRATCH])
        least_norm_into(
            buffers.factor, rows, order, rank, per_row[UNIT_DEMAND], per_row[ROW_SCRATCH], step
        )
        sure, stretch = rank == m, input_scale(motors, root, buffers.per_input[INPUT_SCRATCH])
        for i in range(rank):
            k = order[i]
            # a pivot above the threshold in the worst scaling of the inputs is above it in any
            sure = (
                sure
                and buffers.factor[i, i] * per_row[ROW_NORM, k]
                > rtol * per_row[MASS_WEIGHTED_NORM, k] * stretch
            )
    if len(root) > 0:
        solve_upper(root, step)
    for i in range(m):
        miss[i] = dot(H[i], step) - d[i]
    return rank if sure else UNDECIDED - rank


@deferred
def confirm_rank(rank: int, buffers: InputBuffers, problem: ServoProblem) -> int:
    """Return the rank where input authority finds the same rows independent, else `UNDECIDED`."""
    A, _, _, G, L, motors, _, _, rtol = problem
    m, common = len(A), 0
    if m > MAX_JOINT_ROWS:  # beyond it the comparison costs more than the tick
        return rank
    for i in range(m):
        if not np.isfinite(buffers.per_row[DEMAND, i]):  # which no route mends
            return rank
    order = np.empty(m, dtype=np.int64)
    scales = AuthorityScales(buffers.per_row[MASS_WEIGHTED_NORM], motors)
    n_controllable = controllable_rows(L, A, G, scales, rtol, order)
    for i in range(n_controllable):
        for k in range(rank):
            common += order[i] == buffers.order[k]
    # with all rows controllable, the pivots were below their bound only for the units of the inputs
    return rank if common == n_controllable == rank < m else UNDECIDED


@compiled
def disjoint_rows_input(rows: Matrix, d: Vector, usage: Vector, x: Vector) -> int:
    """Write the least ``x`` that meets unit rows, and return their rank, or -1.

    That of rows no two of which share a column: they are orthogonal, as those of a swarm are.
    ``usage`` is scratch, of the shape of ``x``.
    """
    m, n = rows.shape
    rank = 0
    for k in range(n):
        x[k] = usage[k] = 0.0
    for i in range(m):
        some = False
        for k in range(n):
            if rows[i, k] != 0.0:
                if usage[k] > 0.0:
                    return -1
                usage[k] = 1.0
                x[k] = rows[i, k] * d[i]
                some = True
        rank += some
    return rank


@compiled
def checked_input(
    buffers: InputBuffers, problem: ServoProblem, reach: float, u: Vector, miss: Vector
) -> int:
    """Write the least input; return its rank, `UNDECIDED`, or `LOST_AUTHORITY` minus the rank."""
    return rank_or_lost(least_input(buffers, problem, u, miss), problem, miss, reach)


@compiled
def rank_or_lost(rank: int, demand: ServoProblem, miss: Vector, reach: float) -> int:
    """Return the rank of an input, or `LOST_AUTHORITY` minus it.

    The latter where rows are missed that have lost the motors' grip, or all are to be known that
    have, where ``reach`` is not positive. A number below zero stays what it is.
    """
    A, b, a_free = demand.A, demand.b, demand.a_free
    feasible = rank == len(b) or (reach > 0.0 and all_within_tolerance(A, b, a_free, miss, reach))
    return rank if rank < 0 or feasible else LOST_AUTHORITY - rank


@compiled
def input_scale(motors: Vector, L: Matrix, column: Vector) -> float:
    """Return how much longer inputs can be than in units of what motors do, in a metric ``L L'``.

    A bound, and for an empty ``L`` that of the identity; ``column`` is scratch.
    """
    total = 0.0
    for k in range(len(motors)):
        square = 1.0
        if len(L) > 0:
            square = 0.0
            for i in range(k, len(L)):
                residual = 1.0 if i == k else 0.0
                for c in range(k, i):
                    residual -= L[i, c] * column[c]
                column[i] = residual / L[i, i]
                square += column[i] * column[i]
        total += motors[k] * motors[k] * square
    return float(np.sqrt(total))


def scaled_input(problem: ServoProblem, u: Vector, miss: Vector) -> int:
    """Write the least input for the rows that motors control; return their rank.

    Rank and rows are decided, and solved for, in units of what the rows and motors could do.
    """
    A, b, a_free, G, L, motors, R, u0, rtol = problem
    H, scales, order = A @ G, authority_scales_from(L, A, motors), np.arange(len(b))
    zero_uncontrolled_rows(H, scales, rtol)
    d = b - A @ a_free - H @ u0
    rank = controllable_rows(L, A, G, scales, rtol, order)
    rows = order[:rank]
    space = column_space(H[rows], motors, rows=scales.rows[rows], rank=rank)
    step = space.solve(d[rows], R if R.size else None)
    u[:] = u0 + step
    miss[:] = H @ step - d
    return int(rank)
