r"""Quadratic programs with bounds, $\min \tfrac12 x^\top P x + q^\top x$ with $l \le C x \le h$.

Solved by DAQP, a dual active-set method: exact to rounding, and a few microseconds at the sizes of
robots. A ``P`` that is not definite is met by proximal steps, which end at an exact solution.

References:
    Arnström, Bemporad & Axehill, "A dual active-set solver for embedded quadratic programming using
    recursive LDL^T updates", IEEE T. Automatic Control 67(8), 2022.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector

UNLIMITED = 1e30
"""How the solver writes infinity."""
FEASIBLE = 1e-11
"""By how much bounds may be exceeded, of rows of unit length."""
PROXIMAL, SETTLED = 1e-4, 1e-13
"""Weight of the proximal steps where ``P`` is singular, of a ``P`` of order one, and the change of
``x`` at which they have converged."""
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
    P = X.T @ X
    size = float(np.abs(P).max(initial=0.0)) or 1.0
    return _solved(P / size, -(X.T @ r) / size, box, PROXIMAL)


def highest(direction: Vector, box: Box) -> Vector | None:
    r"""Return an ``x`` in the box with the greatest ``direction' x``; None where it is empty."""
    n = len(direction)
    return _solved(np.zeros((n, n)), -direction / np.linalg.norm(direction), box, PROXIMAL)


def _solved(P: Matrix, q: Vector, box: Box, proximal: float) -> Vector | None:
    import daqp

    lengths = np.linalg.norm(box.C, axis=1)
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
