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

UNLIMITED = 1e16
"""Above this square of a speed nothing limits the path."""
COEFFICIENT_RTOL = 1e-12
"""A row with less of a variable, beside the other one, does not limit it."""
ROW_ROUNDING = 1e-12
"""Rows that miss each other by less, beside their size, meet."""
FRACTIONS: Vector = np.arange(1, 6) / 6.0
"""Parts of an interval at which the speed alone is bounded, as between its ends it may be largest.
"""
MAX_CORNERS = 1000
"""Corners of a polygon after which the search for its end is given up."""


class LinearPathLimits(NamedTuple):
    r"""What bounds the motion along a path, at every point of its grid.

    $a\,\ddot s + b\,\dot s^2 \le c$ row by row, and $\dot s^2 \le$ ``most``.
    """

    a: Matrix
    """Shape ``(n, m)``."""
    b: Matrix
    """Shape ``(n, m)``."""
    c: Matrix
    """Shape ``(n, m)``."""
    max_square_speed: Vector
    """Shape ``(n,)``; infinite where nothing limits the speed alone."""
    inner_square_speed: Matrix | None = None
    """The same within the intervals, at `FRACTIONS` of each, shape ``(n - 1, k)``."""


class NoFeasibleProfile(Exception):
    """No motion along the path keeps the limits.

    Args:
        k: The point of the grid from which none does.
        cause: ``stuck`` where no speed serves at all, ``start`` where none serves from the start's.
    """

    def __init__(self, k: int, cause: str) -> None:
        super().__init__(cause, k)
        self.k, self.cause = k, cause


def fastest_profile(
    s: Vector, limits: LinearPathLimits, first: float = 0.0, last: float = 0.0
) -> Vector:
    r"""Return the largest $x = \dot s^2$ at every point that leads from one end to the other.

    Backward, the set of $x_k$ from which the end can be reached is an interval; forward, the
    fastest step that stays in these intervals is taken.

    Args:
        s: The grid, increasing, shape ``(n,)``.
        limits: What bounds the motion.
        first: $\dot s^2$ at the start; more than can be is lowered to what can.
        last: $\dot s^2$ at the end, lowered as well.

    Returns:
        Shape ``(n,)``; above `UNLIMITED` / 10 where nothing limits it.

    Raises:
        NoFeasibleProfile: No motion keeps the limits.
    """
    n = len(s)
    max_x = np.minimum(limits.max_square_speed, UNLIMITED)
    p, r, c = _step_rows(s, limits)
    low, high = np.zeros(n), np.zeros(n)
    high[-1] = min(last, max_x[-1])
    # backwards: the speeds from which the end can be reached at all
    for k in range(n - 2, -1, -1):
        rows = _with_interval(p[k], r[k], c[k], low[k + 1], high[k + 1])
        top = _extreme_speed(*rows, 0.0, max_x[k], down=True)
        # from the top, for the set is an interval
        bottom = None if top is None else _extreme_speed(*rows, 0.0, top, down=False)
        if top is None or bottom is None:
            raise NoFeasibleProfile(k, "stuck")
        low[k], high[k] = bottom, max(bottom, top)
    x = np.zeros(n)
    x[0] = min(first, high[0])
    # above the reachable set it is lowered to it; below it no profile leads on
    if x[0] < low[0] * (1.0 - ROW_ROUNDING):
        raise NoFeasibleProfile(0, "start")
    # forwards: the fastest of them, step by step, is the optimum
    for k in range(n - 1):
        rows = _with_interval(p[k], r[k], c[k], low[k + 1], high[k + 1])
        x[k + 1] = max(_largest_successor(*rows, x[k]), low[k + 1])
    return x


def passage_times(s: Vector, x: Vector) -> Vector:
    """Return when each point is passed, the first at 0; infinite where the motion rests before.

    Args:
        s: The grid, shape ``(n,)``.
        x: The square of the speed there, shape ``(n,)``.
    """
    speed = np.sqrt(x)
    with np.errstate(divide="ignore"):
        spent = 2.0 * np.diff(s) / (speed[:-1] + speed[1:])
    return np.concatenate([[0.0], np.cumsum(spent)])


def _step_rows(s: Vector, limits: LinearPathLimits) -> tuple[Matrix, Matrix, Matrix]:
    """Return the rows ``p y + r x <= c`` of every step, from x at its begin to y at its end."""
    twice = 2.0 * np.diff(s)[:, None]
    begin, end = limits.a[:-1] / twice, limits.a[1:] / twice
    bounds = [limits.c[:-1], limits.c[1:]]
    to, of = [begin, end + limits.b[1:]], [limits.b[:-1] - begin, -end]
    if limits.inner_square_speed is not None:
        # x is linear within an interval
        bounds.append(np.minimum(limits.inner_square_speed, UNLIMITED))
        to.append(np.broadcast_to(FRACTIONS, bounds[-1].shape))
        of.append(np.broadcast_to(1.0 - FRACTIONS, bounds[-1].shape))
    p, r = np.hstack(to), np.hstack(of)
    size = np.maximum(np.abs(p), np.abs(r))
    # a coefficient that is rounding would turn a bound on one end into one on both
    p[np.abs(p) <= COEFFICIENT_RTOL * size] = 0.0
    return p, r, np.hstack(bounds)


def _with_interval(
    p: Vector, r: Vector, c: Vector, low: float, high: float
) -> tuple[Vector, Vector, Vector]:
    """Return the rows of a step with those that y must lie in an interval."""
    return np.append(p, (1.0, -1.0)), np.append(r, (0.0, 0.0)), np.append(c, (high, -low))


def _extreme_speed(
    p: Vector, r: Vector, c: Vector, min_x: float, max_x: float, *, down: bool
) -> float | None:
    """Return the largest x (down from the top), or the least, for which some y keeps all rows.

    The room for y is concave and piecewise linear in x: from outside Newton's method goes to its
    end from corner to corner. None where there is no room.
    """
    # rows without the next speed bound this one directly
    alone = p == 0.0
    for slope, bound in zip(r[alone].tolist(), c[alone].tolist(), strict=True):
        if slope > 0.0:
            max_x = min(max_x, bound / slope)
        elif slope < 0.0:
            min_x = max(min_x, bound / slope)
        elif bound < 0.0:
            return None
    if min_x > max_x:
        return None
    up, below = p > 0.0, p < 0.0
    offset, slope = c / np.where(alone, 1.0, p), -r / np.where(alone, 1.0, p)
    over, under = (offset[up], slope[up]), (offset[below], slope[below])
    x = max_x if down else min_x
    for _ in range(MAX_CORNERS):
        tops, bottoms = over[0] + over[1] * x, under[0] + under[1] * x
        # the tightest pair of rows at this x; where they cross, the corner beyond is next
        i, j = int(np.argmin(tops)), int(np.argmax(bottoms))
        size = abs(tops[i]) + abs(bottoms[j]) + abs(over[1][i] * x) + abs(under[1][j] * x)
        if tops[i] - bottoms[j] >= -ROW_ROUNDING * size:
            return x
        widens = over[1][i] - under[1][j]
        # the gap between them closes further on: there is no such x
        if (widens >= 0.0) if down else (widens <= 0.0):
            return None
        x = float((under[0][j] - over[0][i]) / widens)
        if not min_x * (1.0 - ROW_ROUNDING) <= x <= max_x * (1.0 + ROW_ROUNDING):
            return None
    return None


def _largest_successor(p: Vector, r: Vector, c: Vector, x: float) -> float:
    """Return the largest y that keeps the rows at x."""
    up = p > 0.0
    return float(np.min((c[up] - r[up] * x) / p[up]))
