"""Inputs within limits: the largest share of a demand, or levels of rows as far as they go.

Both are lexicographic programs with bounds, solved by our own dual active-set method
(`ukctrl.core.algebra.lexicographic_qp`), exact to rounding, in machine code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.bounded_rows import SENSITIVITY_RTOL
from ukctrl.core.algebra.lexicographic_qp import factor_lexicographic, solve_lexicographic
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.dynamics import Dynamics


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
    # a row of zeros holds or not whatever x is, and has no length to be scaled by
    still = ~box.C.any(axis=1)
    if (still & ((box.low > 0.0) | (box.high < 0.0))).any():
        return None
    # one level, or none where only the nearest point is asked for
    ends = np.full(min(len(r), 1), len(r))
    args = (
        X,
        r,
        ends,
        np.ones(len(r)),
        np.eye(len(near)),
        near,
        np.ascontiguousarray(box.C),
        SENSITIVITY_RTOL,
    )
    x = np.empty(len(near))
    return x if solve_lexicographic(factor_lexicographic(*args), box.low, box.high, x) else None


def _shifted_bounds(C: Matrix, u: Vector, low: Vector, high: Vector) -> LinearBounds:
    """Return the ``x`` with ``low <= u + C x <= high``."""
    return LinearBounds(C, low - u, high - u)


def stack_bounds(*boxes: LinearBounds) -> LinearBounds:
    """Return what lies in all boxes."""
    C, low, high = (np.concatenate(fields) for fields in zip(*boxes, strict=True))
    return LinearBounds(C, low, high)


SHARE_BACKOFF = 1e-10
"""How far below the largest share the least input is looked for, should rounding leave no room."""


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


def scale_demand(
    problem: BoundedInputProblem, u: Vector, dynamics: Dynamics
) -> tuple[Vector, float]:
    r"""Return the input within limits that serves most of the demand, and the share it serves.

    Inputs that serve the share $s$ of the demand are $u = u_b + s (u_1 - u_b) + S N z$ up to
    null-space motion: $u_1$ serves all of it, $u_b$ none, and the columns of $S N$ move no row. So
    only bounds on $(s, z)$ remain, and no equality.

    Args:
        problem: Rows and limits.
        u: Input that serves the whole demand, without limits, shape ``(nu,)``.
        dynamics: The believed robot, whose load the motors go on carrying.
    """
    H, S, u0, low, high, rank = problem
    X = H @ S
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    Vt = np.linalg.svd(X / np.where(lengths > 0.0, lengths, 1.0))[2]
    along, N = Vt[:rank], S @ Vt[rank:].T
    # with none of the demand the motors go on carrying the load
    carrying = np.clip(load_compensation(dynamics), low, high)
    start = np.linalg.solve(S, carrying - u0)
    # its part along the rows: the rest is null-space motion, which is chosen anew
    none = u0 + S @ (along.T @ (along @ start))
    z = _least_null_motion(N, u, low, high)
    # some null-space motion brings the whole demand within limits: nothing is scaled
    if z is not None:
        return np.clip(u + N @ z, low, high), 1.0
    share, z = _largest_share(N, none, u - none, Vt[rank:] @ start, low, high)
    served = none + share * (u - none)
    z_min = _least_null_motion(N, served, low, high)
    # rounding of the largest share can leave no room at all: a little less of it does
    if z_min is None:
        z_min = _least_null_motion(N, none + share * (1.0 - SHARE_BACKOFF) * (u - none), low, high)
    return np.clip(served + N @ (z if z_min is None else z_min), low, high), share


def load_compensation(dynamics: Dynamics) -> Vector:
    r"""Return the input under which the robot comes closest to moving on as it does.

    It minimises $a^\top M a$ with $a = a_\mathrm{free} + G u$: gravity, Coriolis forces and what
    else acts are carried as far as the motors reach them.
    """
    L = dynamics.L
    weighted = np.linalg.lstsq(L.T @ dynamics.G, L.T @ dynamics.a_free, rcond=1e-9)[0]
    return np.asarray(-weighted, dtype=np.float64)


def _least_null_motion(N: Matrix, u: Vector, low: Vector, high: Vector) -> Vector | None:
    """Return the least ``z`` with ``low <= u + N z <= high``; None where there is none."""
    if not N.shape[1]:
        return np.zeros(0) if ((u >= low) & (u <= high)).all() else None
    return nearest_in_bounds(_shifted_bounds(N, u, low, high), np.zeros(N.shape[1]))


def _largest_share(
    N: Matrix, none: Vector, step: Vector, z: Vector, low: Vector, high: Vector
) -> tuple[float, Vector]:
    """Return the greatest ``s`` in [0, 1] with ``low <= none + s step + N z <= high``, and a ``z``.

    Args:
        N: Null-space motion, shape ``(nu, k)``.
        none: Input without the demand, short of null-space motion.
        step: What the whole demand adds to it.
        z: Null-space motion that is within the limits at ``s = 0``.
        low: Lowest input.
        high: Highest input.
    """
    k = N.shape[1]
    # with null-space motion a program decides; without, the ratio of room to step
    if k:
        # What is looked for is s * scale, beside which z is of order one however large the demand.
        scale = float(np.linalg.norm(step) / np.linalg.norm(N)) or 1.0
        C, last = np.column_stack([N, step / scale]), np.eye(k + 1)[-1:]
        box = LinearBounds(
            np.vstack([C, last]), np.append(low - none, 0.0), np.append(high - none, scale)
        )
        x = bounded_least_squares(last, np.full(1, scale), box)
        if x is not None:
            return float(np.clip(x[-1] / scale, 0.0, 1.0)), x[:-1]
    at = none + N @ z
    # the bound in the direction of the step
    slack = np.where(step > 0.0, high - at, low - at)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(step != 0.0, slack / step, np.inf)
    return float(np.clip(shares.min(initial=1.0), 0.0, 1.0)), z


def relax_by_levels(
    problem: BoundedInputProblem,
    d: Vector,
    ends: NDArray[np.int64],
    scale: Vector,
    rank: RankPolicy,
    bounds: LinearBounds | None = None,
) -> Vector:
    """Return the input within limits that serves the levels in their order, nearest to ``u0``.

    Args:
        problem: Rows, highest priority first, the metric and the limits.
        d: Demand on them, shape ``(m,)``.
        ends: One past the last row of every level.
        scale: What each row is divided by before misses are added, shape ``(m,)``.
        rank: When a level counts as feeling a direction.
        bounds: What the inputs obey beside the limits, whatever the levels want; absent: nothing.
    """
    H, S, u0, low, high, _ = problem
    box = LinearBounds(np.eye(len(u0)), low, high)
    box = box if bounds is None else stack_bounds(box, bounds)
    args = np.ascontiguousarray(H), d, ends, scale, S, u0, box.C, float(rank.servo)
    u = np.empty(len(u0))
    solve_lexicographic(factor_lexicographic(*args), box.low, box.high, u)
    # the last bits: limits are kept exactly
    return np.clip(u, low, high)
