r"""What motors within their limits can give together, as half-spaces.

The forces $y = E u$ with every $u_j$ between its bounds fill a zonotope,
$y = E c + \sum_j \xi_j w_j E_j$ with $|\xi_j| \le 1$. For any normal $n$,
$|n \cdot (y - E c)| \le \sum_j w_j |n \cdot E_j|$; the normals of its facets are those that stand
on $d - 1$ columns of $E$, and their rows together are the zonotope, exactly. With as many motors as
directions they are the motors' own bounds; with more they are what is left when the null space of
the inputs is eliminated.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.errors import InputError

MAX_FACETS = 20_000
"""So many facets at every point of a path would take too long."""
GAIN_RTOL = 1e-9
"""A motor with less of a direction, beside the others, does not limit it."""


class InputZonotope(NamedTuple):
    """Half-spaces ``|N y - middle| <= half``, one a row."""

    normals: Matrix
    """Shape ``(k, d)``, of unit length."""
    gains: Matrix
    """What a unit input gives along each normal, shape ``(k, nu)``; zero of unlimited motors."""

    def bounds(self, low: Vector, high: Vector) -> tuple[Vector, Vector]:
        """Return the middle and the half width along each normal, shape ``(k,)`` each."""
        limited = np.isfinite(low) & np.isfinite(high)
        # motors without limits are no part: facets stand across what they give
        low, high = np.where(limited, low, 0.0), np.where(limited, high, 0.0)
        return self.gains @ (0.5 * (low + high)), np.abs(self.gains) @ (0.5 * (high - low))

    def binding_motors(self, row: int) -> Indices:
        """Return the motors that are at a limit where this half-space binds."""
        share = np.abs(self.gains[row])
        return np.flatnonzero(share > GAIN_RTOL * share.max(initial=0.0))


def input_zonotope(E: Matrix, limited: Flags) -> InputZonotope:
    """Return the half-spaces of what limited motors can give, whatever the others do.

    Args:
        E: What a unit input gives, shape ``(d, nu)``, of full row rank.
        limited: Whether each motor has limits, shape ``(nu,)``.

    Raises:
        InputError: There are too many.
    """
    # what unlimited motors give in any amount bounds nothing
    basis = _orthogonal_complement(E[:, ~limited])
    bound = basis.T @ E[:, limited]
    d, count = bound.shape
    if d == 0 or count == 0:
        return InputZonotope(np.zeros((0, len(E))), np.zeros((0, E.shape[1])))
    # a facet contains d - 1 motors' directions, and stands on them
    choices = _facet_columns(count, d - 1)
    chosen = bound.T[choices]  # (k, d - 1, d)
    # The last column of a full QR stands on the others, whatever their rank.
    Q = np.linalg.qr(np.swapaxes(chosen, 1, 2), mode="complete")[0]
    normals = Q[:, :, -1] @ basis.T
    products = normals @ E[:, limited]
    np.put_along_axis(products, choices, 0.0, axis=1)  # what a normal stands on, without rounding
    gains: Matrix = np.zeros((len(normals), E.shape[1]))
    gains[:, limited] = products
    return InputZonotope(normals, gains)


def _orthogonal_complement(columns: Matrix) -> Matrix:
    """Return an orthonormal basis of what stands on all columns, shape ``(d, r)``."""
    d = len(columns)
    if not columns.shape[1]:
        return np.eye(d)
    U, sigma, _ = np.linalg.svd(columns)
    rank = int((sigma > GAIN_RTOL * sigma.max(initial=0.0)).sum())
    return np.asarray(U[:, rank:])


@functools.cache
def _facet_columns(count: int, size: int) -> Indices:
    number = math.comb(count, size)
    if number > MAX_FACETS:
        raise InputError(
            f"robot must have fewer motors for its timing: {count} of them share {size + 1} "
            f"directions in {number} ways; at most {MAX_FACETS} are looked at. Time the path by "
            "speed and acceleration alone: limits = 'speed'."
        )
    subsets = list(itertools.combinations(range(count), size))
    return np.array(subsets, dtype=np.intp).reshape(number, size)
