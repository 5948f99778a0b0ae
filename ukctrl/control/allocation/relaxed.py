r"""Levels of rows within limits: a lexicographic quadratic program.

Level by level, the rows come as close as the limits and the levels before let them. What a level
reaches is then kept exactly, by letting later levels move only in what it does not feel; within
that, the limits leave later levels less, but never nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.allocation.box import Box, least_squares, nearest
from ukctrl.control.allocation.scaled import Problem
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.arrays import Matrix, Vector


def relaxed(
    problem: Problem, d: Vector, ends: NDArray[np.int64], scale: Vector, rank: RankPolicy
) -> Vector:
    """Return the input within limits that serves the levels in their order, nearest to ``u0``.

    Args:
        problem: Rows, highest priority first, the metric and the limits.
        d: Demand on them, shape ``(m,)``.
        ends: One past the last row of every level.
        scale: What each row is divided by before misses are added, shape ``(m,)``.
        rank: When a level counts as feeling a direction.
    """
    H, S, u0, low, high, _ = problem
    w, Z = np.zeros(len(u0)), np.eye(len(u0))
    rows, first = H @ S / scale[:, None], 0
    for last in ends.tolist():
        X = rows[first:last] @ Z
        missing = (d[first:last] - H[first:last] @ (u0 + S @ w)) / scale[first:last]
        size = np.linalg.norm(rows[first:last], axis=1).max(initial=0.0)
        first = last
        if not Z.shape[1]:
            break
        y = least_squares(X, missing, _room(S @ Z, u0 + S @ w, low, high))
        if y is not None:
            w = w + Z @ y
        _, sigma, Qt = np.linalg.svd(X)
        Z = Z @ Qt[int(np.sum(sigma > rank.servo * size)) :].T
    if Z.shape[1]:
        y = nearest(_room(S @ Z, u0 + S @ w, low, high), Z.T @ w)
        if y is not None:
            w = w + Z @ y
    return np.clip(u0 + S @ w, low, high)


def _room(C: Matrix, u: Vector, low: Vector, high: Vector) -> Box:
    return Box(C, low - u, high - u)
