r"""The fastest profile along a path: time-optimal path parametrisation by reachability analysis.

With $x = \dot s^2$ and $u = \ddot s = x'/2$ every limit of first and second order is linear,
$a(s)\,u + b(s)\,x \le c(s)$. Between two points of the grid $u$ is constant, so
$x_{k+1} = x_k + 2 \Delta_k u_k$, and the limits are asked for at both ends of the interval.

References:
    Pham & Pham, "A new approach to time-optimal path parameterization based on reachability
    analysis", IEEE Transactions on Robotics 34(3), 2018.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector

CAP = 1e16
"""Above this square of a speed nothing limits the path."""
FREE = 1e-12
"""A row with less of a variable, beside the other one, does not limit it."""
ROUNDING = 1e-12
"""Rows that miss each other by less, beside their size, meet."""
MAX_CORNERS = 1000
"""Corners of a polygon after which the search for its end is given up."""


class Limits(NamedTuple):
    r"""What bounds the motion along a path, at every point of its grid.

    $a\,\ddot s + b\,\dot s^2 \le c$ row by row, and $\dot s^2 \le$ ``most``.
    """

    a: Matrix
    """Shape ``(n, m)``."""
    b: Matrix
    """Shape ``(n, m)``."""
    c: Matrix
    """Shape ``(n, m)``."""
    most: Vector
    """Shape ``(n,)``; infinite where nothing limits the speed alone."""


class NoProfile(Exception):
    """No motion along the path keeps the limits.

    Args:
        k: The point of the grid from which none does.
        why: ``stuck`` where no speed serves at all, ``start`` where none serves from the start's.
    """

    def __init__(self, k: int, why: str) -> None:
        super().__init__(why, k)
        self.k, self.why = k, why


def fastest(s: Vector, limits: Limits, first: float = 0.0, last: float = 0.0) -> Vector:
    r"""Return the largest $x = \dot s^2$ at every point that leads from one end to the other.

    Backward, the set of $x_k$ from which the end can be reached is an interval; forward, the
    fastest step that stays in these intervals is taken.

    Args:
        s: The grid, increasing, shape ``(n,)``.
        limits: What bounds the motion.
        first: $\dot s^2$ at the start; more than can be is lowered to what can.
        last: $\dot s^2$ at the end, lowered as well.

    Returns:
        Shape ``(n,)``; above `CAP` / 10 where nothing limits it.

    Raises:
        NoProfile: No motion keeps the limits.
    """
    n = len(s)
    most = np.minimum(limits.most, CAP)
    p, r, c = _steps(s, limits)
    low, high = np.zeros(n), np.zeros(n)
    high[-1] = min(last, most[-1])
    for k in range(n - 2, -1, -1):
        rows = _bounded(p[k], r[k], c[k], low[k + 1], high[k + 1])
        top = _end(*rows, 0.0, most[k], down=True)
        bottom = None if top is None else _end(*rows, 0.0, top, down=False)
        if top is None or bottom is None:
            raise NoProfile(k, "stuck")
        low[k], high[k] = bottom, max(bottom, top)
    x = np.zeros(n)
    x[0] = min(first, high[0])
    if x[0] < low[0] * (1.0 - ROUNDING):
        raise NoProfile(0, "start")
    for k in range(n - 1):
        rows = _bounded(p[k], r[k], c[k], low[k + 1], high[k + 1])
        x[k + 1] = max(_next(*rows, x[k]), low[k + 1])
    return x


def times(s: Vector, x: Vector) -> Vector:
    """Return when each point is passed, the first at 0; infinite where the motion rests before.

    Args:
        s: The grid, shape ``(n,)``.
        x: The square of the speed there, shape ``(n,)``.
    """
    speed = np.sqrt(x)
    with np.errstate(divide="ignore"):
        spent = 2.0 * np.diff(s) / (speed[:-1] + speed[1:])
    return np.concatenate([[0.0], np.cumsum(spent)])


def _steps(s: Vector, limits: Limits) -> tuple[Matrix, Matrix, Matrix]:
    """Return the rows ``p y + r x <= c`` of every step, from x at its begin to y at its end."""
    twice = 2.0 * np.diff(s)[:, None]
    here, there = limits.a[:-1] / twice, limits.a[1:] / twice
    p = np.hstack([here, there + limits.b[1:]])
    r = np.hstack([limits.b[:-1] - here, -there])
    size = np.maximum(np.abs(p), np.abs(r))
    p[np.abs(p) <= FREE * size] = 0.0
    return p, r, np.hstack([limits.c[:-1], limits.c[1:]])


def _bounded(
    p: Vector, r: Vector, c: Vector, low: float, high: float
) -> tuple[Vector, Vector, Vector]:
    """Return the rows of a step with those that y must lie in an interval."""
    return np.append(p, (1.0, -1.0)), np.append(r, (0.0, 0.0)), np.append(c, (high, -low))


def _end(p: Vector, r: Vector, c: Vector, least: float, most: float, *, down: bool) -> float | None:
    """Return the largest x (down from the top), or the least, for which some y keeps all rows.

    The room for y is concave and piecewise linear in x: from outside Newton's method goes to its
    end from corner to corner. None where there is no room.
    """
    alone = p == 0.0
    for slope, bound in zip(r[alone].tolist(), c[alone].tolist(), strict=True):
        if slope > 0.0:
            most = min(most, bound / slope)
        elif slope < 0.0:
            least = max(least, bound / slope)
        elif bound < 0.0:
            return None
    if least > most:
        return None
    up, below = p > 0.0, p < 0.0
    offset, slope = c / np.where(alone, 1.0, p), -r / np.where(alone, 1.0, p)
    over, under = (offset[up], slope[up]), (offset[below], slope[below])
    x = most if down else least
    for _ in range(MAX_CORNERS):
        tops, bottoms = over[0] + over[1] * x, under[0] + under[1] * x
        i, j = int(np.argmin(tops)), int(np.argmax(bottoms))
        size = abs(tops[i]) + abs(bottoms[j]) + abs(over[1][i] * x) + abs(under[1][j] * x)
        if tops[i] - bottoms[j] >= -ROUNDING * size:
            return x
        widens = over[1][i] - under[1][j]
        if (widens >= 0.0) if down else (widens <= 0.0):
            return None
        x = float((under[0][j] - over[0][i]) / widens)
        if not least * (1.0 - ROUNDING) <= x <= most * (1.0 + ROUNDING):
            return None
    return None


def _next(p: Vector, r: Vector, c: Vector, x: float) -> float:
    """Return the largest y that keeps the rows at x."""
    up = p > 0.0
    return float(np.min((c[up] - r[up] * x) / p[up]))
