r"""The least input of large robots, from the answers to rows and not to motors; compiled.

What rows feel of the motors, $H = A\,G$ with $G = W B$, is $(W A^\top)^\top B$ too, for the inverse
mass $W$ of a robot with its passive rows is symmetric. A task has fewer rows than a humanoid has
motors, so that $G$ is left to those that read it (`input_response`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import (
    copy_into,
    dot,
    ldl_factor,
    ldl_solve,
    solve_lower,
    solve_lower_columns,
    solve_upper,
    solve_upper_columns,
)
from ukctrl.core.algebra.gram_input import MIN_GRAM_EIGENVALUE, eigenvalue_lower_bound
from ukctrl.core.algebra.least_norm_input import UNDECIDED, ServoProblem, fast_input, rank_or_lost
from ukctrl.core.algebra.row_space import (
    RowSpace,
    remove_constrained_columns,
    zero_rounding_columns,
)
from ukctrl.core.algebra.sparse_products import column_norms, gram_into, transpose_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

MIN_FREEDOMS = 24
"""From so many freedoms on it is faster."""
MIN_BLOCKED_ROWS = 8
"""So many rows are solved for together; fewer, one after the other."""
PROBE_FACTOR = 1e3
"""By how much motors may do more than a probe of them says: all signs would have to conspire."""


class PassiveDirections(NamedTuple):
    """What passive rows hold at a state, mass-weighted; nothing without any."""

    Q: Matrix
    """Orthonormal directions, shape ``(mp, nv)``, the first ``rank`` of which count."""
    weight: Vector
    """How far each counts, shape ``(mp,)``."""
    ranks: Indices
    """Their rank, at first; see `ukctrl.core.algebra.constrained_acceleration`."""


@compiled
def project_out_passive(L: Matrix, directions: PassiveDirections, X: Matrix) -> None:
    """Take from mass-weighted columns what the passive rows hold of them."""
    if len(directions.Q) > 0 and directions.ranks[0] > 0:
        space = RowSpace(
            directions.Q, directions.weight, directions.Q, directions.ranks[0], 0.0, 0.0
        )
        remove_constrained_columns(space, X)


@allocating
def input_response(
    L: Matrix, B: Matrix, directions: PassiveDirections, G: Matrix, motors: Vector
) -> None:
    """Write ``G`` and ``motors`` of
    `ukctrl.core.algebra.dynamics_kernels.constrained_acceleration`.
    """
    copy_into(B, G)
    solve_lower_columns(L, G)
    column_norms(G, motors)
    if len(directions.Q) > 0:
        project_out_passive(L, directions, G)
        zero_rounding_columns(motors, G)
    solve_upper_columns(L, G)


@allocating
def apply_input_by_columns(
    L: Matrix,
    B: Matrix,
    pattern: Indices,
    directions: PassiveDirections,
    a_free: Vector,
    u: Vector,
    a: Vector,
) -> bool:
    """Write ``a = a_free + W B u``; return whether ``u`` is finite."""
    x, finite = np.zeros((len(a), 1)), True
    for k in range(len(u)):
        finite = finite and np.isfinite(u[k])
    for p in range(len(pattern)):
        c, k = pattern[p, 0], pattern[p, 1]
        x[c, 0] += B[c, k] * u[k]
    solve_lower(L, x.reshape(-1))
    project_out_passive(L, directions, x)
    solve_upper(L, x.reshape(-1))
    for i in range(len(a)):
        a[i] = a_free[i] + x[i, 0]
    return finite


@allocating
def checked_adjoint_input(
    pattern: Indices,
    demand: ServoProblem,
    B: Matrix,
    directions: PassiveDirections,
    reach: float,
    u: Vector,
    miss: Vector,
) -> int:
    """Write the least input by the adjoint; return as `least_norm_input.checked_input`.

    Of the demand ``R`` is empty, and so are ``G`` and ``motors``, which nobody needs as a rule.
    """
    rank = adjoint_input(pattern, demand, B, directions, u, miss)
    if rank != UNDECIDED:
        return rank
    A, b, a_free, _, L, _, R, u0, rtol = demand
    G, motors = np.empty(B.shape), np.empty(len(u))
    input_response(L, B, directions, G, motors)
    whole = ServoProblem(A, b, a_free, G, L, motors, R, u0, rtol)
    return rank_or_lost(fast_input(whole, u, miss), whole, miss, reach)


@allocating
def adjoint_input(
    pattern: Indices,
    demand: ServoProblem,
    B: Matrix,
    directions: PassiveDirections,
    u: Vector,
    miss: Vector,
) -> int:
    """Write the input that `ukctrl.core.algebra.least_norm_input.fast_input` does, least in effort.

    ``pattern`` are those of ``B`` that are not always zero, shape ``(p, 2)``.
    Returns the rank of the rows, all of them, or `UNDECIDED`. Unit rows whose Gram matrix is far
    from singular have all the grip of the length of theirs; and what the motors could do to the
    free robot, which that is compared with, a probe says, all of them at once.
    """
    A, b, a_free, _, L, _, _, u0, rtol = demand
    (m, n), nu = A.shape, B.shape[1]
    X, lengths, H = np.empty((n, m + 1)), np.empty(m + 1), np.zeros((nu, m))
    probed = np.zeros((m + 1, n))
    copy_into(A, probed[:m])
    for p in range(len(pattern)):
        c, k = pattern[p, 0], pattern[p, 1]
        # one vector with random signs stands for all motors: never longer than all, seldom much
        # shorter
        probed[m, c] += B[c, k] if np.sin((k + 1.0) ** 2) > 0.0 else -B[c, k]
    # a few rows one by one are faster than columns together, which skip zeros
    if m < MIN_BLOCKED_ROWS:
        for i in range(m + 1):
            solve_lower(L, probed[i])
    transpose_into(probed, X)
    if m >= MIN_BLOCKED_ROWS:
        solve_lower_columns(L, X)
    column_norms(X, lengths)
    project_out_passive(L, directions, X)
    if m >= MIN_BLOCKED_ROWS:
        solve_upper_columns(L, X)
    else:
        transpose_into(X, probed)
        for i in range(m):
            solve_upper(L, probed[i])
        transpose_into(probed, X)
    for p in range(len(pattern)):
        c, k = pattern[p, 0], pattern[p, 1]
        for i in range(m):
            H[k, i] += B[c, k] * X[c, i]
    sizes, d, S = np.empty(m), np.empty(m), np.empty((m, m))
    column_norms(H, sizes)
    for i in range(m):
        d[i] = b[i] - dot(A[i], a_free)
        for k in range(nu):
            d[i] -= H[k, i] * u0[k]
        if not sizes[i] > 0.0:
            return UNDECIDED
    for k in range(nu):
        for i in range(m):
            H[k, i] /= sizes[i]
    gram_into(H, S)
    x, step = np.ones(m), np.zeros(nu)
    if ldl_factor(S, S) > 0:
        return UNDECIDED
    lower_bound = eigenvalue_lower_bound(S, x, miss)
    for i in range(m):
        # within the factor that the probe may fall short, all rows are certain
        if not np.sqrt(lower_bound) * sizes[i] > PROBE_FACTOR * rtol * lengths[i] * lengths[m]:
            return UNDECIDED
    if not lower_bound > MIN_GRAM_EIGENVALUE:
        return UNDECIDED
    for _ in range(2):  # the second time undoes what squaring the rows has cost
        for i in range(m):
            x[i] = d[i] / sizes[i]
        for k in range(nu):
            for i in range(m):
                x[i] -= H[k, i] * step[k]
        ldl_solve(S, x)
        for k in range(nu):
            step[k] += dot(H[k], x)
    for i in range(m):
        miss[i] = -d[i] / sizes[i]
    for k in range(nu):
        for i in range(m):
            miss[i] += H[k, i] * step[k]
        u[k] = u0[k] + step[k]
    for i in range(m):
        miss[i] *= sizes[i]
    return int(m)
