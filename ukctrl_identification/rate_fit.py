r"""A velocity as the rate of a position: factor and delay, whatever noise and outliers there are.

What a position changes by over a window of some samples is compared with the integral of the
velocity over it, which noise and resolution disturb less than a difference quotient.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Flags, Indices, Vector
from ukctrl.core.tie_breaking import first_largest
from ukctrl_identification.log_fault import (
    GAP_PERIODS,
    ROUNDING,
    JointChannels,
    growing_rows,
    is_constant,
    median_period,
)
from ukctrl_identification.position_faults import jump_places

WINDOW = 10
"""Samples over which changes are compared."""
MAX_WINDOWS = 4000
"""Windows that delay and factor are fitted to."""
FOLLOWS = 0.9
"""Of a correlation above this something is said."""
MIN_MOTION = 0.1
"""Windows of less, of the largest, are a rest, whose residuals are those of no motion."""
TRIMMED = 4.0
"""Windows whose residual is so many times the median are outliers."""
LONGEST_DELAY = 0.25
"""Delays that are looked for [s]."""
MIN_GAIN = 0.01
"""A velocity whose changes over a window are a smaller part of its travel times a second says
nothing of a delay [1/s]."""


class Comparison(NamedTuple):
    """A position and a velocity that might be its rate, over the whole log."""

    time: Vector
    """Strictly growing."""
    position: Vector
    velocity: Vector
    integral: Vector
    """Of the velocity, by the trapezoidal rule."""
    starts: Indices
    """Where windows begin, without those that hold a break."""
    breaks: Indices
    """After which samples the position jumps, or the time has a gap."""

    def windows(self, delay: float = 0.0) -> tuple[Vector, Vector, Vector]:
        """Return what changes over each window that lies within the log, so much later.

        Returns:
            The change of the position, and so much later the integral of the velocity and the
            change of the velocity.
        """
        ends = self.starts + WINDOW
        first, last = self.time[self.starts] + delay, self.time[ends] + delay
        inside = (first >= self.time[0]) & (last <= self.time[-1])
        change = (self.position[ends] - self.position[self.starts])[inside]
        travel, gain = (
            np.interp(last[inside], self.time, x) - np.interp(first[inside], self.time, x)
            for x in (self.integral, self.velocity)
        )
        return change, travel, gain


class RateFit(NamedTuple):
    """By which factor and how much later a velocity is the rate of a position."""

    factor: float
    """The rate of the position over the velocity."""
    delay: float
    """By how much the velocity is late [s]."""
    delay_deviation: float
    """Standard deviation of the delay [s]."""
    correlation: float


def compare(time: Vector, motion: JointChannels) -> Comparison | None:
    """Return the channels of a joint where the time grows; None: too few, or none moves."""
    q, v = motion.position, motion.velocity
    if q is None or v is None or is_constant(q) or not np.abs(v).max() > ROUNDING:
        return None
    rows = growing_rows(time)
    if np.count_nonzero(rows) < 5 * WINDOW:
        return None
    t, q, v = time[rows], q[rows], v[rows]
    step = max(WINDOW, (len(t) - WINDOW) // MAX_WINDOWS)
    starts = np.arange(0, len(t) - WINDOW, step)
    jumps = jump_places(q, t)
    gaps = np.flatnonzero(np.diff(t) > GAP_PERIODS * median_period(t))
    breaks = np.concatenate((jumps, gaps))
    starts = without_breaks(starts, breaks, WINDOW)
    integral = np.concatenate(([0.0], np.cumsum(0.5 * (v[1:] + v[:-1]) * np.diff(t))))
    pair = Comparison(t, q, v, integral, starts, breaks)
    change, travel, _ = pair.windows()
    return pair if change.size and np.any(change) and np.any(travel) else None


def without_breaks(starts: Indices, breaks: Indices, length: int) -> Indices:
    """Return where those windows of a length begin that hold no break."""
    kept: Indices = starts[~np.isin(starts, (breaks[:, None] - np.arange(length)).ravel())]
    return kept


def correlation(first: Vector, second: Vector) -> float:
    """Return the cosine between two vectors; zero where one is zero."""
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    return float(first @ second) / size if size else 0.0


def fit_rate(pair: Comparison) -> RateFit:
    r"""Fit $\Delta q = c \int v(t + d)\,dt$ to all windows but outliers, by Gauss and Newton.

    A delay is looked for on a grid where the velocity as it is does not fit.
    """
    delay, deviation = 0.0, math.inf
    fit = fit_factor(pair, delay)
    if abs(fit.correlation) < FOLLOWS:
        spacing = max(WINDOW * median_period(pair.time) / 2.0, LONGEST_DELAY / 100.0)
        grid = np.arange(-LONGEST_DELAY, LONGEST_DELAY + spacing, spacing)
        sizes = [abs(correlation(*pair.windows(d)[:2])) for d in grid]
        delay = float(grid[first_largest(sizes)])
    for _ in range(4):
        change, travel, gain = pair.windows(delay)
        fit = fit_factor(pair, delay)
        change, travel, gain = (x[fit.inliers] for x in (change, travel, gain))
        size = float(travel @ travel)
        # what no factor does; nothing, where the velocity is constant or grows exponentially
        own = gain - float(gain @ travel) / size * travel if size else gain
        own_size = float(own @ own)
        if not (fit.factor and own_size > max(MIN_GAIN**2 * size, 0.01 * float(gain @ gain))):
            return fit_factor(pair, 0.0).with_delay(0.0, math.inf)
        residual = change - fit.factor * travel
        shift = float(own @ residual) / own_size
        residual = residual - shift * own
        deviation = math.sqrt(float(residual @ residual) / len(change) / own_size) / abs(fit.factor)
        delay += shift / fit.factor
        if abs(delay) > LONGEST_DELAY:
            return fit_factor(pair, 0.0).with_delay(0.0, math.inf)
    return fit_factor(pair, delay).with_delay(delay, deviation)


class FactorFit(NamedTuple):
    """By which factor a velocity is the rate of a position, at one delay."""

    factor: float
    correlation: float
    inliers: Flags

    def with_delay(self, delay: float, deviation: float) -> RateFit:
        return RateFit(self.factor, delay, deviation, self.correlation)


def fit_factor(pair: Comparison, delay: float) -> FactorFit:
    """Fit the factor to windows whose residuals are no outliers; of those with motion half stay."""
    change, travel, _ = pair.windows(delay)
    inliers = np.ones(len(change), dtype=np.bool_)
    sizes = np.maximum(*(np.abs(x) / np.abs(x).max(initial=ROUNDING) for x in (change, travel)))
    moving = sizes > MIN_MOTION
    factor = 0.0
    for _ in range(3):
        size = float(travel[inliers] @ travel[inliers])
        if not size:
            break
        factor = float(change[inliers] @ travel[inliers]) / size
        residual = np.abs(change - factor * travel)
        inliers = residual <= TRIMMED * float(np.median(residual[moving]))
    return FactorFit(factor, correlation(change[inliers], travel[inliers]), inliers)
