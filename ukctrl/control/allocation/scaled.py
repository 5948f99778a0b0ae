r"""The largest share of a demand that motors can give.

Inputs that serve the share $s$ of the demand are $u = u_b + s (u_1 - u_b) + S N z$ up to null-space
motion: $u_1$ serves all of it, $u_b$ none, and the columns of $S N$ move no row. So only bounds on
$(s, z)$ remain, and no equality.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.control.allocation.box import Box, highest, nearest
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.dynamics import Dynamics

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
    """Return the input within limits that serves most of the demand, and the share it serves.

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
    return nearest(Box(N, low - u, high - u), np.zeros(N.shape[1]))


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
