"""The one equation, compiled: what `ukctrl.uk` checks and documents, the control loop calls.

Arguments are C-contiguous float64 arrays that already fit each other; answers are written into
the caller's arrays, because boxing fresh ones costs more than the arithmetic. Failure is a
number, never an exception: the caller owns the names that make a good message.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.decompositions import svd
from ukctrl.core.algebra.factorisation import (
    MIN_BLOCKED,
    cholesky,
    copy_into,
    ldl_factor,
    ldl_solve,
    pivoted_lq,
    solve_lower,
    solve_lower_columns,
    solve_upper,
    solve_upper_columns,
)
from ukctrl.core.algebra.gram_factor import (
    MIN_GRAM_ROWS,
    GramFactor,
    GramFactorBuffers,
    gram_factor,
    project_columns_onto_rows,
)
from ukctrl.core.algebra.row_space import (
    BLEND_FACTOR,
    CLEARANCE_FACTOR,
    add_solution,
    mass_weighted_rows,
    mass_weighted_unit_columns_into,
    remove_constrained,
    remove_constrained_columns,
    row_space,
    zero_rounding_columns,
)
from ukctrl.core.algebra.sparse_products import column_norms, gram, matmul
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

MOVE_RTOL = 1e-6
"""Inputs that move a robot by less than this fraction of what they would without its reactions are
told apart by effort: their accelerations, squared, are too close to rounding to be a metric."""
IDLE_INPUT_COST = 1e-4
"""What such inputs cost, as a fraction of what they would without reactions."""


class EquationOfMotion(NamedTuple):
    """A robot and what pushes it: ``M a + nle = f + B u``."""

    M: Matrix
    nle: Vector
    f: Vector
    B: Matrix


class AccelerationMap(NamedTuple):
    """Where the answer ``a = a_free + G u`` is written."""

    L: Matrix
    """The factor of ``M = L L'``."""
    a_free: Vector
    G: Matrix
    motors: Vector
    """``|M^-1 B_k|``, what each motor does to the free robot, measured by mass; see
    `ukctrl.core.algebra.input_authority`."""


class PassiveRows(NamedTuple):
    """Rows ``A a = b`` that act whatever the motors do."""

    A: Matrix
    b: Matrix
    """Two rows, which add up: what the constraints ask for and what stabilises them."""
    rtol: float
    """Relative size below which a row counts as dependent."""
    a_0: Vector
    """Where the answer to the first row of ``b`` alone is written."""
    rank_gap: Vector
    """Where the smallest singular value kept and the largest dropped are written."""


@compiled
def unconstrained_response(L: Matrix, B: Matrix, answer: Matrix) -> None:
    """Write ``M^-1 B``, the acceleration per unit input without any reaction."""
    copy_into(B, answer)
    solve_lower_columns(L, answer)
    solve_upper_columns(L, answer)


@compiled
def unconstrained_acceleration(pushed: EquationOfMotion, answer: AccelerationMap) -> int:
    """Write the answer of a robot without passive rows.

    Returns 0, or ``-1 - i`` when ``M`` is not positive definite at i.
    """
    (M, nle, f, B), (L, a_free, G, motors) = pushed, answer
    failed = cholesky(M, L)
    if failed > 0:
        return -failed
    for i in range(len(a_free)):
        a_free[i] = f[i] - nle[i]
    solve_lower(L, a_free)
    solve_upper(L, a_free)
    copy_into(B, G)
    solve_lower_columns(L, G)
    column_norms(G, motors)
    solve_upper_columns(L, G)
    return 0


@compiled
def forward_dynamics(M: Matrix, nle: Vector, f: Vector, L: Matrix, a: Vector) -> int:
    """Write ``a = M^-1 (f - nle)``, in half of the time that `unconstrained_acceleration` takes.

    Of ``L`` nothing but its memory is used. Returns what `unconstrained_acceleration` does.
    """
    for i in range(len(a)):
        a[i] = f[i] - nle[i]
    # LDL needs no roots and is faster for few velocities; for many the envelope pays
    many = len(a) >= MIN_BLOCKED
    failed = cholesky(M, L) if many else ldl_factor(M, L)
    if failed > 0:
        return -failed
    if many:
        solve_lower(L, a)
        solve_upper(L, a)
    else:
        ldl_solve(L, a)
    return 0


@allocating
def constrained_acceleration(
    pushed: EquationOfMotion,
    passive: PassiveRows,
    answer: AccelerationMap,
    Q: Matrix,
    weight: Vector,
    factor_buffers: GramFactorBuffers,
) -> int:
    """Write the answer under passive rows.

    In mass-weighted coordinates ``L' a`` the passive rows ``A L^-T`` span the directions in
    which the reaction acts; removing them from every column is the projection ``W``. Returns the
    rank of the passive rows, or ``-1 - i`` when ``M`` is not positive definite at i. A motor that
    pushes against them alone moves nothing: its column of ``G`` is zero, where rounding would be
    left.

    ``Q`` and ``weight``, where there is room in them, receive the directions and how far each
    counts. ``factor_buffers`` is that of `gram_factor_buffers`.
    """
    (M, nle, f, B), (L, a_free, G, motors) = pushed, answer
    A, b, rtol, a_0, margins = passive
    failed = cholesky(M, L)
    if failed > 0:
        return -failed
    for i in range(len(a_free)):
        a_free[i] = f[i] - nle[i]
    solve_lower(L, a_free)
    weighted, right = factor_buffers.T, b.copy()
    if A.shape[0] < MIN_GRAM_ROWS:
        weighted = np.empty((A.shape[1], A.shape[0]))
    mass_weighted_unit_columns_into(L, A, weighted, right)
    # many rows go by their Gram matrix, which writes no `Q`: the adjoint route of `Dynamics`, which
    # reads that, takes fewer rows only
    if A.shape[0] >= MIN_GRAM_ROWS:
        gram = gram_factor(factor_buffers)
        if gram.smallest_singular >= CLEARANCE_FACTOR * BLEND_FACTOR * rtol:
            margins[0], margins[1] = gram.smallest_singular, 0.0
            return gram_constrained_acceleration(gram, right, B, answer, a_0)
    space = row_space(weighted.T.copy(), right, rtol)
    margins[0], margins[1] = space.smallest_kept, space.largest_dropped
    if len(Q) > 0:
        for i in range(space.rank):
            weight[i] = space.weight[i]
            copy_into(space.Q[i], Q[i])
    remove_constrained(space, a_free)
    add_solution(space, a_free, 0)
    copy_into(a_free, a_0)
    solve_upper(L, a_0)
    add_solution(space, a_free, 1)
    solve_upper(L, a_free)
    copy_into(B, G)
    solve_lower_columns(L, G)
    column_norms(G, motors)
    remove_constrained_columns(space, G)
    zero_rounding_columns(motors, G)
    solve_upper_columns(L, G)
    return space.rank


@allocating
def gram_constrained_acceleration(
    gram: GramFactor, right: Matrix, B: Matrix, answer: AccelerationMap, a_0: Vector
) -> int:
    """Do the rest of `constrained_acceleration` for independent rows; ``a_free`` comes
    mass-weighted.
    """
    L, a_free, G, motors = answer
    x = np.zeros((len(a_free), 2))
    for i in range(len(x)):
        x[i, 0] = a_free[i]
    copy_into(B, G)
    solve_lower_columns(L, G)
    column_norms(G, motors)
    project_columns_onto_rows(gram, right, x)
    project_columns_onto_rows(gram, right[:0], G)
    zero_rounding_columns(motors, G)
    solve_upper_columns(L, x)
    solve_upper_columns(L, G)
    for i in range(len(x)):
        a_0[i] = x[i, 0]
        a_free[i] = x[i, 0] + x[i, 1]
    return gram.rank


@allocating
def input_metric(
    L: Matrix, B: Matrix, G: Matrix, power: int, reacting: bool, complete: bool, R: Matrix
) -> None:
    """Write what inputs cost by the accelerations that they cause; see `definite_metric`.

    ``power`` 1 measures those by the mass matrix, and 2 as they are; ``reacting`` robots answer
    inputs with reactions too.
    """
    n, nu = B.shape
    X, could = B.copy(), np.zeros(nu)
    solve_lower_columns(L, X)
    if power == 2:
        solve_upper_columns(L, X)
    column_norms(X, could)
    if reacting:
        for c in range(n):
            for k in range(nu):
                X[c, k] = G[c, k]
                if power == 1:
                    X[c, k] *= L[c, c]
                    for i in range(c + 1, n):
                        X[c, k] += L[i, c] * G[i, k]
    definite_metric(X, could, complete, R)


@compiled
def unconstrained_metric(B: Matrix, G: Matrix, power: int, R: Matrix) -> None:
    """Write what `input_metric` does, for independent motors of a robot without passive rows.

    ``B' M^-1 B`` and ``B' M^-2 B``, of ``G = M^-1 B``.
    """
    X = B if power == 1 else G
    nu = len(R)
    for i in range(nu):
        for j in range(i + 1):
            R[i, j] = 0.0
    for c in range(len(B)):
        for i in range(nu):
            entry = X[c, i]
            if entry != 0.0:
                for j in range(i + 1):
                    R[i, j] += entry * G[c, j]
    for i in range(nu):
        for j in range(i):
            R[j, i] = R[i, j]


@allocating
def definite_metric(X: Matrix, could: Vector, complete: bool, R: Matrix) -> None:
    """Write ``R = X' X``, what the motors' accelerations ``X u`` cost, positive definite.

    Inputs ``z`` with ``X z = 0`` cost nothing: motors that repeat each other, or press a closed
    chain against itself. ``complete`` lets them cost a little, ``|could z|^2 / 10000``. Rows that
    are moved by ``X u`` alone do not feel them, so among the inputs of the least ``|X u|`` that
    meet such rows, the least ``u' R u`` is the one orthogonal to all ``z``: the least ``|u|``.

    ``could`` is the length that each column of ``X`` would have without reactions: motors of any
    strength are told from rounding alike.
    """
    n, nu = X.shape
    R[:] = 0.0
    for c in range(n):
        for i in range(nu):
            entry = X[c, i]
            for j in range(nu):
                R[i, j] += entry * X[c, j]
    # asked for only where R is inverted; it costs an SVD
    if not complete:
        return
    length = np.ones(nu)
    for i in range(nu):
        if could[i] > 0.0:
            length[i] = could[i]
    # an SVD of NaN need not end
    if not np.isfinite(np.sum(R) + np.sum(length)):
        return
    _, sigma, Vt = svd(X / length)
    rank = 0
    for k in range(sigma.shape[0]):
        if sigma[k] > MOVE_RTOL:
            rank += 1
    if rank < nu:
        still = pivoted_lq(Vt[rank:] / length, 0.0).Q
        weighed = matmul(still.T.copy(), still)
        for i in range(nu):
            for k in range(nu):
                weighed[i, k] *= length[i]
        R += IDLE_INPUT_COST * gram(weighed)


@compiled
def apply_input(a_free: Vector, G: Matrix, u: Vector, a: Vector) -> bool:
    """Write ``a = a_free + G u``; return whether ``u`` is finite."""
    finite = True
    for k in range(G.shape[1]):
        finite = finite and np.isfinite(u[k])
    for i in range(G.shape[0]):
        total = a_free[i]
        for k in range(G.shape[1]):
            total += G[i, k] * u[k]
        a[i] = total
    return finite


@compiled
def inverse_dynamics(M: Matrix, nle: Vector, f: Vector, a: Vector, force: Vector) -> None:
    """Write the force that an acceleration takes, ``M a + nle - f``, or so much of it first."""
    for i in range(len(force)):
        force[i] = nle[i] - f[i]
        for c in range(len(force)):
            force[i] += M[i, c] * a[c]


@compiled
def constraint_reaction(
    M: Matrix, nle: Vector, f: Vector, B: Matrix, a: Vector, u: Vector, force: Vector
) -> None:
    """Write the generalised force of the passive constraints, ``M a + nle - f - B u``."""
    inverse_dynamics(M, nle, f, a, force)
    for i in range(len(force)):
        for k in range(len(u)):
            force[i] -= B[i, k] * u[k]


@allocating
def constraint_force(M: Matrix, Q: Vector, A: Matrix, b: Vector, rtol: float, force: Vector) -> int:
    """Write the Udwadia-Kalaba force ``M^1/2 (A M^-1/2)^+ (b - A M^-1 Q)``.

    The square root is never formed: any factor of ``M`` gives the same force, because the
    pseudoinverse only needs the mass-weighted length. Ranks are decided, and the rank or failure
    is returned, as `constrained_acceleration` does.
    """
    n = Q.shape[0]
    L = np.empty((n, n))
    failed = cholesky(M, L)
    if failed > 0:
        return -failed
    a = Q.copy()
    solve_lower(L, a)
    missing = b.copy().reshape(1, b.shape[0])
    weighted, right = mass_weighted_rows(L, A, missing)
    for i in range(A.shape[0]):
        for c in range(n):
            right[0, i] -= weighted[i, c] * a[c]
    space = row_space(weighted, right, rtol)
    push = np.zeros(n)
    add_solution(space, push, 0)
    for i in range(n):
        total = 0.0
        for k in range(i + 1):
            total += L[i, k] * push[k]
        force[i] = total
    return space.rank
