"""The largest, and the first among equals: which moment, motor or row is named where several share
an extreme.

A periodic motion has its maximum once a round, and equal motors carry equal loads. Rounding then
decides which of them is largest, differently on every processor. What is said must not depend on
it, so a sentence, a table or a file names the first of those that are equal within `TIE_RTOL`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

TIE_RTOL = 1e-6
"""Values this close, relatively, are equal: far above what rounding and the integrator's tolerance
leave of a symmetry, far below what a reader sees of three digits. What is `@compiled` uses it,
too."""


def first_largest(values: ArrayLike, floor: float = 0.0) -> int:
    """Return the place of the first value that equals the largest; NaN is none.

    Args:
        values: At least one; of more than one axis, the place is that in the flattened array.
        floor: Values closer than this are equal too, where zero is made of rounding.
    """
    array = np.asarray(values, dtype=np.float64).ravel()
    top = float(np.max(array, initial=-np.inf, where=~np.isnan(array)))
    return int(np.argmax(array >= top - _equal(top, floor)))


def first_smallest(values: ArrayLike, floor: float = 0.0) -> int:
    """Return the place of the first value that equals the smallest, as `first_largest` does."""
    return first_largest(-np.asarray(values, dtype=np.float64), floor)


def tie_ranks(values: Iterable[float], floor: float = 0.0) -> NDArray[np.intp]:
    """Return the place of each value from the smallest on; neighbours that are equal share one.

    For sorting a few values, where a stable sort then keeps equals in their order; along a smooth
    curve all neighbours are equal.
    """
    array = np.fromiter(values, dtype=np.float64)
    order = np.argsort(array, kind="stable")
    ranks = np.zeros(len(array), dtype=np.intp)
    for lower, upper in itertools.pairwise(order):
        tolerance = _equal(array[upper], floor)
        ranks[upper] = ranks[lower] + (not array[upper] - array[lower] <= tolerance)
    return ranks


def max_abs(values: ArrayLike) -> float:
    """Return the largest absolute value of any array: zero of none, and NaN if one is NaN."""
    return float(np.max(np.abs(values), initial=0.0))


def tie_breaking_weights(count: int) -> NDArray[np.float64]:
    """Return weights by which pivoting takes the first of equals: each is `TIE_RTOL` less than
    that before it.
    """
    return np.asarray(1.0 - TIE_RTOL * np.arange(count), dtype=np.float64)


def _equal(value: float, floor: float) -> float:
    return max(TIE_RTOL * abs(value), floor) if np.isfinite(value) else 0.0
