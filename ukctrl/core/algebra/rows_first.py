r"""The least input of large robots, from the answers to rows and not to motors; compiled.

What rows feel of the motors, $H = A\,G$ with $G = W B$, is $(W A^\top)^\top B$ too, for the inverse
mass $W$ of a robot with its passive rows is symmetric. A task has fewer rows than a humanoid has
motors, so that $G$ is left to those that read it (`motor_answer`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.clear_input import SQUARED, least_eigenvalue
from ukctrl.core.algebra.factorisation import (
    copy_into,
    dot,
    factor_unrooted,
    solve_lower,
    solve_lower_columns,
    solve_unrooted,
    solve_upper,
    solve_upper_columns,
)
from ukctrl.core.algebra.least_input import UNSURE, Demand, judged, quick_input
from ukctrl.core.algebra.products import column_lengths, transposed, write_gram
from ukctrl.core.algebra.row_space import RowSpace, drop_taken_up, remove_constrained_columns
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

LARGE = 24
"""From so many freedoms on it is faster."""
SOME = 8
"""So many rows are solved for together; fewer, one after the other."""
MARGIN = 1e3
"""By how much motors may do more than a probe of them says: all signs would have to conspire."""


class Held(NamedTuple):
    """What passive rows hold at a state, mass-weighted; nothing without any."""

    Q: Matrix
    """Orthonormal directions, shape ``(mp, nv)``, the first ``rank`` of which count."""
    weight: Vector
    """How far each counts, shape ``(mp,)``."""
    ranks: Indices
    """Their rank, at first; see `ukctrl.core.algebra.constrained`."""


@compiled
def free_columns(L: Matrix, held: Held, X: Matrix) -> None:
    """Take from mass-weighted columns what the passive rows hold of them."""
    if len(held.Q) > 0 and held.ranks[0] > 0:
        space = RowSpace(held.Q, held.weight, held.Q, held.ranks[0], 0.0, 0.0)
        remove_constrained_columns(space, X)


@allocating
def motor_answer(L: Matrix, B: Matrix, held: Held, G: Matrix, motors: Vector) -> None:
    """Write ``G`` and ``motors`` of `ukctrl.core.algebra.kernels.passive_answer`."""
    copy_into(B, G)
    solve_lower_columns(L, G)
    column_lengths(G, motors)
    if len(held.Q) > 0:
        free_columns(L, held, G)
        drop_taken_up(motors, G)
    solve_upper_columns(L, G)


@allocating
def answer_to(
    L: Matrix, B: Matrix, places: Indices, held: Held, a_free: Vector, u: Vector, a: Vector
) -> bool:
    """Write ``a = a_free + W B u``; return whether ``u`` is finite."""
    x, finite = np.zeros((len(a), 1)), True
    for k in range(len(u)):
        finite = finite and np.isfinite(u[k])
    for p in range(len(places)):
        c, k = places[p, 0], places[p, 1]
        x[c, 0] += B[c, k] * u[k]
    solve_lower(L, x.reshape(-1))
    free_columns(L, held, x)
    solve_upper(L, x.reshape(-1))
    for i in range(len(a)):
        a[i] = a_free[i] + x[i, 0]
    return finite


@allocating
def checked_rows_first(
    places: Indices, demand: Demand, B: Matrix, held: Held, reach: float, u: Vector, miss: Vector
) -> int:
    """Do what `ukctrl.core.algebra.least_input.checked_input` does.

    Of the demand ``R`` is empty, and so are ``G`` and ``motors``, which nobody needs as a rule.
    """
    rank = rows_first_input(places, demand, B, held, u, miss)
    if rank != UNSURE:
        return rank
    A, b, a_free, _, L, _, R, u0, rtol = demand
    G, motors = np.empty(B.shape), np.empty(len(u))
    motor_answer(L, B, held, G, motors)
    whole = Demand(A, b, a_free, G, L, motors, R, u0, rtol)
    return judged(quick_input(whole, u, miss), whole, miss, reach)


@allocating
def rows_first_input(
    places: Indices, demand: Demand, B: Matrix, held: Held, u: Vector, miss: Vector
) -> int:
    """Write the input that `ukctrl.core.algebra.least_input.quick_input` does, least in effort.

    ``places`` are those of ``B`` that are not always zero, shape ``(p, 2)``.
    Returns the rank of the rows, all of them, or `UNSURE`. Unit rows whose Gram matrix is far from
    singular have all the grip of the length of theirs; and what the motors could do to the free
    robot, which that is compared with, a probe says, all of them at once.
    """
    A, b, a_free, _, L, _, _, u0, rtol = demand
    (m, n), nu = A.shape, B.shape[1]
    X, lengths, H = np.empty((n, m + 1)), np.empty(m + 1), np.zeros((nu, m))
    probed = np.zeros((m + 1, n))
    copy_into(A, probed[:m])
    for p in range(len(places)):
        c, k = places[p, 0], places[p, 1]
        probed[m, c] += B[c, k] if np.sin((k + 1.0) ** 2) > 0.0 else -B[c, k]
    if m < SOME:
        for i in range(m + 1):
            solve_lower(L, probed[i])
    transposed(probed, X)
    if m >= SOME:
        solve_lower_columns(L, X)
    column_lengths(X, lengths)
    free_columns(L, held, X)
    if m >= SOME:
        solve_upper_columns(L, X)
    else:
        transposed(X, probed)
        for i in range(m):
            solve_upper(L, probed[i])
        transposed(probed, X)
    for p in range(len(places)):
        c, k = places[p, 0], places[p, 1]
        for i in range(m):
            H[k, i] += B[c, k] * X[c, i]
    sizes, d, S = np.empty(m), np.empty(m), np.empty((m, m))
    column_lengths(H, sizes)
    for i in range(m):
        d[i] = b[i] - dot(A[i], a_free)
        for k in range(nu):
            d[i] -= H[k, i] * u0[k]
        if not sizes[i] > 0.0:
            return UNSURE
    for k in range(nu):
        for i in range(m):
            H[k, i] /= sizes[i]
    write_gram(H, S)
    x, step = np.ones(m), np.zeros(nu)
    if factor_unrooted(S, S) > 0:
        return UNSURE
    least = least_eigenvalue(S, x, miss)
    for i in range(m):
        if not np.sqrt(least) * sizes[i] > MARGIN * rtol * lengths[i] * lengths[m]:
            return UNSURE
    if not least > SQUARED:
        return UNSURE
    for _ in range(2):  # the second time undoes what squaring the rows has cost
        for i in range(m):
            x[i] = d[i] / sizes[i]
        for k in range(nu):
            for i in range(m):
                x[i] -= H[k, i] * step[k]
        solve_unrooted(S, x)
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
