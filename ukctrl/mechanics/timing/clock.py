r"""The clock $s(t)$ of a profile: exact polynomial pieces, and rounded where acceleration jumps.

Between two points of the grid $\ddot s$ is constant: the clock is piecewise quadratic and its
velocity continuous. Its mean over a window of width $w$, $s_w(t) = \frac1w \int_{t-w}^t s$, is
piecewise cubic: $\ddot s_w$ is continuous too, a change of acceleration takes $w$, and rest to
rest takes $w$ longer.
"""

from __future__ import annotations

import numpy as np
from numpy.polynomial import polynomial

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.reference.piecewise_polynomial import PiecewisePolynomial
from ukctrl.mechanics.timing.reachability import passage_times

MIN_PIECE_RATIO = 1e-9
"""Pieces shorter than this part of the whole are left out."""


def clock_from_profile(s: Vector, x: Vector, begin: float = 0.0) -> PiecewisePolynomial:
    """Return the clock of a profile.

    Args:
        s: The grid, shape ``(n,)``.
        x: The square of the speed there, shape ``(n,)``.
        begin: When it starts [s].
    """
    t, speed = passage_times(s, x), np.sqrt(x)
    half = (x[1:] - x[:-1]) / (4.0 * np.diff(s))
    coefficients = np.stack([s[:-1], speed[:-1], half], axis=1)[:, :, None]
    return PiecewisePolynomial(t + begin, coefficients)


def smooth_clock(clock: PiecewisePolynomial, width: float) -> PiecewisePolynomial:
    """Return the mean of a clock over a window that ends now, as a clock from rest to rest.

    Args:
        clock: Quadratic pieces.
        width: Of the window [s]; zero leaves the clock as it is.
    """
    if width <= 0.0:
        return clock
    t = clock.times
    edges = np.unique(np.concatenate([t, t + width]))
    # edges equal but for rounding would make pieces without a length
    keep = np.append(np.diff(edges) > MIN_PIECE_RATIO * (edges[-1] - edges[0]), True)
    edges = edges[keep]
    starts, middles = edges[:-1], 0.5 * (edges[:-1] + edges[1:])
    states = clock_states(clock, starts, middles)
    past_states = clock_states(clock, starts - width, middles - width)
    cubic: Matrix = np.zeros((len(edges) - 1, 4))
    # the mean over a window has the difference at its ends as its derivative
    cubic[:, 1:] = (states - past_states) / (width * np.array([1.0, 2.0, 6.0]))
    cubic[0, 0] = clock.coefficients[0, 0, 0]
    # integrated piece by piece, so that the clock is continuous to the last bit
    for i, h in enumerate(np.diff(edges)[:-1].tolist()):
        cubic[i + 1, 0] = polynomial.polyval(h, cubic[i])
    return PiecewisePolynomial(edges, cubic[:, :, None])


def clock_states(clock: PiecewisePolynomial, at: Vector, within: Vector | None = None) -> Matrix:
    """Return a clock, its rate and its acceleration right after some times, shape ``(n, 3)``.

    Args:
        clock: The clock.
        at: The times, shape ``(n,)`` [s].
        within: Times in the pieces that are asked for; absent: the same ones.
    """
    first, last = clock.times[0], clock.times[-1]
    within = at if within is None else within
    piece = np.clip(np.searchsorted(clock.times, within, side="right") - 1, 0, len(clock.times) - 2)
    h = np.clip(at, first, last) - clock.times[piece]
    c = clock.coefficients[piece, :, 0].T
    states: Matrix = np.empty((len(at), 3))
    for order in range(3):
        states[:, order] = polynomial.polyval(h, polynomial.polyder(c, order), tensor=False)
    # the clock rests outside
    states[(within < first) | (within >= last), 1:] = 0.0
    return states
