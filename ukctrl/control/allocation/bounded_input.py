"""Inputs within limits: the largest share of a demand, or levels of rows as far as they go.

Both are lexicographic programs with bounds, solved by our own dual active-set method
(`ukctrl.core.algebra.lexicographic_qp`), exact to rounding, in machine code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.bounded_rows import SENSITIVITY_RTOL
from ukctrl.core.algebra.decompositions import inverse, svd
from ukctrl.core.algebra.factorisation import (
    add_scaled_into,
    copy_into,
    dot,
    matvec,
    matvec_transposed,
    normalise_rows,
    row_norm_squared,
)
from ukctrl.core.algebra.lexicographic_qp import factor_lexicographic, solve_lexicographic
from ukctrl.core.algebra.sparse_products import matmul
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, deferred


class LinearBounds(NamedTuple):
    """Bounds ``low <= C x <= high``; infinite where there are none."""

    C: Matrix
    """Shape ``(k, n)``."""
    low: Vector
    """Shape ``(k,)``."""
    high: Vector
    """Shape ``(k,)``."""


def nearest_in_bounds(box: LinearBounds, q: Vector) -> Vector | None:
    r"""Return the ``x`` in the box that is nearest to ``-q``; None where the box is empty."""
    return _solve_bounded(np.zeros((0, len(q))), np.zeros(0), -q, box)


def bounded_least_squares(X: Matrix, r: Vector, box: LinearBounds) -> Vector | None:
    r"""Return the least ``x`` in the box with the least ``|X x - r|``; None where it is empty."""
    return _solve_bounded(X, r, np.zeros(X.shape[1]), box)


def _solve_bounded(X: Matrix, r: Vector, near: Vector, box: LinearBounds) -> Vector | None:
    x = np.empty(len(near))
    contiguous = box._replace(C=np.ascontiguousarray(box.C))
    return x if nearest_least_squares(X, r, near, contiguous, x) else None


@allocating
def nearest_least_squares(X: Matrix, r: Vector, near: Vector, box: LinearBounds, x: Vector) -> bool:
    """Write the ``x`` in the box with the least ``|X x - r|``, of several the nearest to ``near``.

    Returns whether the box is not empty.
    """
    for i in range(len(box.low)):
        # a row of zeros holds or not whatever x is, and has no length to be scaled by
        if row_norm_squared(box.C, i) == 0.0 and not box.low[i] <= 0.0 <= box.high[i]:
            return False
    # one level, or none where only the nearest point is asked for
    ends = np.full(min(len(r), 1), len(r))
    ones, free = np.ones(len(r)), np.eye(len(near))
    lex = factor_lexicographic(X, r, ends, ones, free, near, box.C, SENSITIVITY_RTOL)
    return solve_lexicographic(lex, box.low, box.high, x)


def stack_bounds(*boxes: LinearBounds) -> LinearBounds:
    """Return what lies in all boxes."""
    C, low, high = (np.concatenate(fields) for fields in zip(*boxes, strict=True))
    return LinearBounds(C, low, high)


SHARE_BACKOFF = 1e-10
"""How far below the largest share the least input is looked for, should rounding leave no room."""
LOAD_RTOL = 1e-9
"""Motors move nothing along what they push less than this part of the most."""


class BoundedInputProblem(NamedTuple):
    """Rows, an input metric and limits."""

    H: Matrix
    """Row acceleration per unit input, shape ``(m, nu)``."""
    S: Matrix
    """Freedoms, ``S S' = R^-1``, shape ``(nu, nu)``."""
    u0: Vector
    """Null-space input, shape ``(nu,)``."""
    low: Vector
    """Lowest input, shape ``(nu,)``."""
    high: Vector
    """Highest input, shape ``(nu,)``."""
    rank: int
    """Independent rows."""


@deferred
def scale_demand(problem: BoundedInputProblem, load: Vector, u: Vector, share: Vector) -> None:
    r"""Overwrite an input by the one within limits that serves most of the demand.

    Inputs that serve the share $s$ of the demand are $u = u_b + s (u_1 - u_b) + S N z$ up to
    null-space motion: $u_1$ serves all of it, $u_b$ none, and the columns of $S N$ move no row. So
    only bounds on $(s, z)$ remain, and no equality.

    Args:
        problem: Rows and limits.
        load: What the motors go on carrying, of `load_compensation`, shape ``(nu,)``.
        u: Input that serves the whole demand, without limits, shape ``(nu,)``.
        share: Receives the share that is served, shape ``(1,)``.
    """
    H, S, u0, low, high, rank = problem
    X, nu = matmul(H, S), len(u)
    normalise_rows(X, np.zeros(len(X)), np.empty(len(X)))
    Vt, carried, start = svd(X).Vt, np.empty(nu), np.empty(nu)
    N, none, along = matmul(S, Vt[rank:].T.copy()), np.empty(nu), np.empty(nu)
    # with none of the demand the motors go on carrying the load
    for k in range(nu):
        carried[k] = min(max(load[k], low[k]), high[k]) - u0[k]
    matvec(inverse(S), carried, start)
    matvec(Vt, start, along)
    z, least, trial = along[rank:].copy(), np.empty(nu - rank), np.empty(nu - rank)
    # its part along the rows: the rest is null-space motion, which is chosen anew
    for k in range(rank, nu):
        along[k] = 0.0
    matvec_transposed(along, Vt, start)
    matvec(S, start, none)
    for k in range(nu):
        none[k] += u0[k]
    share[0] = 1.0
    # where some null-space motion brings the whole demand within limits, nothing is scaled
    if not _least_null_motion(N, u, low, high, least):
        step = u - none
        share[0] = _largest_share(N, none, step, low, high, z)
        copy_into(z, least)
        # rounding of the largest share can leave no room at all: a little less of it does
        for backoff in (0.0, SHARE_BACKOFF):
            if _least_null_motion(N, none + share[0] * (1.0 - backoff) * step, low, high, trial):
                copy_into(trial, least)
                break
        add_scaled_into(none, share[0], step, u)
    for k in range(nu):
        u[k] = min(max(u[k] + dot(N[k], least), low[k]), high[k])


@deferred
def load_compensation(L: Matrix, G: Matrix, a_free: Vector, load: Vector) -> None:
    r"""Write the input under which a robot comes closest to moving on as it does.

    It minimises $a^\top M a$ with $a = a_\mathrm{free} + G u$, $M = L L^\top$: gravity, Coriolis
    forces and what else acts are carried as far as the motors reach them.
    """
    pushed, force = matmul(L.T.copy(), G), np.empty(len(a_free))
    matvec_transposed(a_free, L, force)
    U, sigma, Vt = svd(pushed)
    for k in range(len(load)):
        load[k] = 0.0
    for i in range(len(sigma)):
        along = 0.0
        for c in range(len(force)):
            along += U[c, i] * force[c]
        for k in range(len(load) if sigma[i] > LOAD_RTOL * sigma[0] else 0):
            load[k] -= Vt[i, k] * along / sigma[i]


@allocating
def _least_null_motion(N: Matrix, u: Vector, low: Vector, high: Vector, z: Vector) -> bool:
    """Write the least ``z`` with ``low <= u + N z <= high``; return whether there is one."""
    if len(z) == 0:
        inside = True
        for i in range(len(u)):
            inside = inside and low[i] <= u[i] <= high[i]
        return inside
    box, nowhere = LinearBounds(N, low - u, high - u), np.zeros((0, len(z)))
    return nearest_least_squares(nowhere, np.zeros(0), np.zeros(len(z)), box, z)


@allocating
def _largest_share(
    N: Matrix, none: Vector, step: Vector, low: Vector, high: Vector, z: Vector
) -> float:
    """Return the greatest ``s`` in [0, 1] with ``low <= none + s step + N z <= high``.

    Args:
        N: Null-space motion, shape ``(nu, k)``.
        none: Input without the demand, short of null-space motion.
        step: What the whole demand adds to it.
        low: Lowest input.
        high: Highest input.
        z: Null-space motion that is within the limits at ``s = 0``; receives that at ``s``.
    """
    nu, k = N.shape
    # with null-space motion a program decides; without, the ratio of room to step
    if k > 0:
        squares = 0.0
        for i in range(nu):
            squares += row_norm_squared(N, i)
        # What is looked for is s * scale, beside which z is of order one however large the demand.
        scale = float(np.sqrt(dot(step, step) / squares))
        scale = scale if scale > 0.0 else 1.0
        box = LinearBounds(np.zeros((nu + 1, k + 1)), np.zeros(nu + 1), np.empty(nu + 1))
        x = np.empty(k + 1)
        for i in range(nu):
            copy_into(N[i], box.C[i, :k])
            box.C[i, k] = step[i] / scale
            box.low[i], box.high[i] = low[i] - none[i], high[i] - none[i]
        box.C[nu, k], box.high[nu] = 1.0, scale
        if nearest_least_squares(box.C[nu:], np.full(1, scale), np.zeros(k + 1), box, x):
            copy_into(x[:k], z)
            return min(max(float(x[k]) / scale, 0.0), 1.0)
    share = 1.0
    for i in range(nu):
        at = none[i] + dot(N[i], z)
        # the bound in the direction of the step
        if step[i] != 0.0:
            share = min(share, ((high[i] if step[i] > 0.0 else low[i]) - at) / step[i])
    return max(share, 0.0)


@deferred
def relax_by_levels(
    problem: BoundedInputProblem,
    d: Vector,
    ends: NDArray[np.int64],
    scale: Vector,
    rtol: float,
    u: Vector,
) -> None:
    """Write the input within limits that serves the levels in their order, nearest to ``u0``.

    Args:
        problem: Rows, highest priority first, the metric and the limits.
        d: Demand on them, shape ``(m,)``.
        ends: One past the last row of every level.
        scale: What each row is divided by before misses are added, shape ``(m,)``.
        rtol: A level feels no direction of which it has less than this part.
        u: Receives the input, shape ``(nu,)``.
    """
    H, S, u0, low, high, _ = problem
    lex = factor_lexicographic(H, d, ends, scale, S, u0, np.eye(len(u0)), rtol)
    solve_lexicographic(lex, low, high, u)
    # the last bits: limits are kept exactly
    for k in range(len(u)):
        u[k] = min(max(u[k], low[k]), high[k])
