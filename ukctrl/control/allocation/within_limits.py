r"""Inputs within limits: the largest share of a demand, or levels of rows as far as they go.

Both are quadratic programs with bounds, $\min \tfrac12 x^\top P x + q^\top x$ with
$l \le C x \le h$, solved by DAQP, a dual active-set method: exact to rounding, and a few
microseconds at the sizes of robots. A ``P`` that is not definite is met by proximal steps, which
end at an exact solution.

References:
    Arnström, Bemporad & Axehill, "A dual active-set solver for embedded quadratic programming using
    recursive LDL^T updates", IEEE T. Automatic Control 67(8), 2022.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.extremes import max_abs
from ukctrl.mechanics.dynamics import Dynamics

UNLIMITED = 1e30
"""How the solver writes infinity."""
FEASIBLE = 1e-11
"""By how much bounds may be exceeded, of rows of unit length."""
PROXIMAL, SETTLED = 1e-4, 1e-13
"""Weight of the proximal steps where ``P`` is singular, of a ``P`` of order one, and the change of
``x`` at which they have converged."""
FELT = 1e-9
"""Rows feel a direction whose singular value is more than this part of the largest."""
SLIGHT = 1e-6
"""What directions cost that no row feels, of a cost of order one, where proximal steps fail."""
SOLVED = (1, 2)
"""Exit flags of a solution."""


class Box(NamedTuple):
    """Bounds ``low <= C x <= high``; infinite where there are none."""

    C: Matrix
    """Shape ``(k, n)``."""
    low: Vector
    """Shape ``(k,)``."""
    high: Vector
    """Shape ``(k,)``."""


def nearest(box: Box, q: Vector) -> Vector | None:
    r"""Return the ``x`` in the box that is nearest to ``-q``; None where the box is empty."""
    return _solved(np.eye(len(q)), q, box, 0.0)


def least_squares(X: Matrix, r: Vector, box: Box) -> Vector | None:
    r"""Return an ``x`` in the box with the least ``|X x - r|``; None where the box is empty."""
    U, sigma, Vt = np.linalg.svd(X)
    count = int(np.sum(sigma > FELT * (sigma[0] if len(sigma) else 0.0)))
    lengths = np.full(len(Vt), sigma[0] if count else 1.0)
    lengths[:count] = sigma[:count]
    T = Vt.T / lengths  # in these coordinates the cost is a sum of squares
    cost = np.zeros(len(Vt))
    cost[:count] = 1.0
    target = np.zeros(len(Vt))
    target[:count] = U[:, :count].T @ r
    firm = count == len(Vt)
    room = Box(box.C @ T, *box[1:])
    z = _solved(np.diag(cost), -target, room, 0.0 if firm else PROXIMAL)
    if z is None and not firm:  # the proximal steps did not settle
        cost[count:] = SLIGHT
        z = _solved(np.diag(cost), -target, room, 0.0)
    return None if z is None else T @ z


def highest(direction: Vector, box: Box) -> Vector | None:
    r"""Return an ``x`` in the box with the greatest ``direction' x``; None where it is empty."""
    n = len(direction)
    return _solved(np.zeros((n, n)), -direction / np.linalg.norm(direction), box, PROXIMAL)


def _solved(P: Matrix, q: Vector, box: Box, proximal: float) -> Vector | None:
    import daqp

    lengths = np.sqrt(np.einsum("ij,ij->i", box.C, box.C))
    at = np.flatnonzero((lengths > 0.0) & (np.isfinite(box.low) | np.isfinite(box.high)))
    if (~(lengths > 0.0) & ((box.low > FEASIBLE) | (box.high < -FEASIBLE))).any():
        return None
    if not at.size:
        at = np.zeros(0, dtype=np.intp)
    scale = lengths[at]
    x, _, flag, _ = daqp.solve(
        P,
        q,
        np.ascontiguousarray(box.C[at] / scale[:, None]),
        np.clip(box.high[at] / scale, -UNLIMITED, UNLIMITED),
        np.clip(box.low[at] / scale, -UNLIMITED, UNLIMITED),
        np.zeros(len(at), dtype=np.intc),
        primal_tol=FEASIBLE,
        eps_prox=proximal,
        eta_prox=SETTLED,
    )
    return np.asarray(x, dtype=np.float64) if flag in SOLVED else None


def _room(C: Matrix, u: Vector, low: Vector, high: Vector) -> Box:
    """Return the ``x`` with ``low <= u + C x <= high``."""
    return Box(C, low - u, high - u)


def stacked(*boxes: Box) -> Box:
    """Return what lies in all boxes."""
    C, low, high = (np.concatenate(parts) for parts in zip(*boxes, strict=True))
    return Box(C, low, high)


def within(box: Box, S: Matrix, Z: Matrix, w: Vector) -> Box:
    """Return the ``x`` with which ``w + Z x`` lies in a box of ``S w``.

    Bounds that only rounding would move are left out: the ``w`` that took the other directions
    obeys them, to rounding, and scaled to unit length that rounding would leave no room.
    """
    rows, at = box.C @ S, box.C @ (S @ w)
    C = rows @ Z
    felt = np.linalg.norm(C, axis=1) > FELT * np.linalg.norm(rows, axis=1)
    return Box(C[felt], (box.low - at)[felt], (box.high - at)[felt])


INWARD = 1e-10
"""How far below the largest share the least input is looked for, should rounding leave no room."""


class Problem(NamedTuple):
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


def scaled(problem: Problem, u: Vector, dynamics: Dynamics) -> tuple[Vector, float]:
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
    carrying = np.clip(carrying_input(dynamics), low, high)
    start = np.linalg.solve(S, carrying - u0)
    none = u0 + S @ (along.T @ (along @ start))
    z = _least(N, u, low, high)
    if z is not None:
        return np.clip(u + N @ z, low, high), 1.0
    share, z = _share(N, none, u - none, Vt[rank:] @ start, low, high)
    served = none + share * (u - none)
    least = _least(N, served, low, high)
    if least is None:
        least = _least(N, none + share * (1.0 - INWARD) * (u - none), low, high)
    return np.clip(served + N @ (z if least is None else least), low, high), share


def carrying_input(dynamics: Dynamics) -> Vector:
    r"""Return the input under which the robot comes closest to moving on as it does.

    It minimises $a^\top M a$ with $a = a_\mathrm{free} + G u$: gravity, Coriolis forces and what
    else acts are carried as far as the motors reach them.
    """
    L = dynamics.L
    weighted = np.linalg.lstsq(L.T @ dynamics.G, L.T @ dynamics.a_free, rcond=1e-9)[0]
    return np.asarray(-weighted, dtype=np.float64)


def _least(N: Matrix, u: Vector, low: Vector, high: Vector) -> Vector | None:
    """Return the least ``z`` with ``low <= u + N z <= high``; None where there is none."""
    if not N.shape[1]:
        return np.zeros(0) if ((u >= low) & (u <= high)).all() else None
    return nearest(_room(N, u, low, high), np.zeros(N.shape[1]))


def _share(
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
    if k:
        # The solver looks for s * most, beside which z is of order one however large the demand.
        most = float(np.linalg.norm(step) / np.linalg.norm(N)) or 1.0
        C = np.vstack([np.column_stack([N, step / most]), np.eye(k + 1)[-1]])
        box = Box(C, np.append(low - none, 0.0), np.append(high - none, most))
        x = highest(np.eye(k + 1)[-1], box)
        if x is not None:
            return float(np.clip(x[-1] / most, 0.0, 1.0)), x[:-1]
    at = none + N @ z
    room = np.where(step > 0.0, high - at, low - at)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(step != 0.0, room / step, np.inf)
    return float(np.clip(shares.min(initial=1.0), 0.0, 1.0)), z


def relaxed(
    problem: Problem,
    d: Vector,
    ends: NDArray[np.int64],
    scale: Vector,
    rank: RankPolicy,
    kept: Box | None = None,
) -> Vector:
    """Return the input within limits that serves the levels in their order, nearest to ``u0``.

    A lexicographic quadratic program: level by level, the rows come as close as the limits and the
    levels before let them. What a level reaches is then kept exactly, by letting later levels move
    only in what it does not feel; within that, the limits leave later levels less, but never
    nothing.

    Args:
        problem: Rows, highest priority first, the metric and the limits.
        d: Demand on them, shape ``(m,)``.
        ends: One past the last row of every level.
        scale: What each row is divided by before misses are added, shape ``(m,)``.
        rank: When a level counts as feeling a direction.
        kept: What the inputs obey beside the limits, whatever the levels want; absent: nothing.
    """
    H, S, u0, low, high, _ = problem
    box = Box(np.eye(len(u0)), low - u0, high - u0)
    if kept is not None:
        at = kept.C @ u0
        box = stacked(box, Box(kept.C, kept.low - at, kept.high - at))
    w, Z = np.zeros(len(u0)), np.eye(len(u0))
    rows, first = H @ S / scale[:, None], 0
    for last in ends.tolist():
        X = rows[first:last] @ Z
        missing = (d[first:last] - H[first:last] @ (u0 + S @ w)) / scale[first:last]
        size = max_abs(np.linalg.norm(rows[first:last], axis=1))
        first = last
        if not Z.shape[1]:
            break
        room = within(box, S, Z, w)
        y = least_squares(X, missing, room)
        if y is None and kept is not None:  # by rounding: what is kept goes before the level
            y = nearest(room, Z.T @ w)
        if y is not None:
            w = w + Z @ y
        _, sigma, Qt = np.linalg.svd(X)
        Z = Z @ Qt[int(np.sum(sigma > rank.servo * size)) :].T
    if Z.shape[1]:
        y = nearest(within(box, S, Z, w), Z.T @ w)
        if y is not None:
            w = w + Z @ y
    return np.clip(u0 + S @ w, low, high)
