"""Polynomials from waypoint to waypoint: coefficients of motions that stop at each."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import InputError

MIN_JERK_ORDER = 2
"""So many derivatives that vanish at both ends make a path of least squared jerk."""


def rest_to_rest_coefficients(
    times: NDArray[np.float64], points: NDArray[np.float64], still: int
) -> NDArray[np.float64]:
    r"""Return the pieces from rest to rest whose first ``still`` derivatives vanish at both ends.

    $r = p_i + (p_{i+1} - p_i)\, s(\tau)$ with $\tau = (t - t_i)/(t_{i+1} - t_i)$ and

    $$ s(\tau) = \tau^{n+1} \sum_{k=0}^{n} \binom{n + k}{k} \binom{2n + 1}{n - k} (-\tau)^k , $$

    the polynomial of least degree, which also has the least $\int (s^{(n+1)})^2$: with $n = 2$ the
    least squared jerk, $10 \tau^3 - 15 \tau^4 + 6 \tau^5$.

    Args:
        times: Instants [s], shape (count,).
        points: Waypoints, shape ``(count, size)``.
        still: The number n.

    Returns:
        Ascending powers of ``t - t_i``, shape ``(count - 1, 2 n + 2, size)``.

    References:
        Flash & Hogan, "The coordination of arm movements", J. Neuroscience 5(7), 1985.
    """
    steps, spans, n = np.diff(points, axis=0), np.diff(times)[:, None], still
    coefficients = np.zeros((len(steps), 2 * n + 2, points.shape[1]))
    coefficients[:, 0] = points[:-1]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # checked by piecewise
        for k in range(n + 1):
            weight = float((-1) ** k * math.comb(n + k, k) * math.comb(2 * n + 1, n - k))
            coefficients[:, n + 1 + k] = weight * steps / spans ** (n + 1 + k)
    return coefficients


def check_increasing(times: Sequence[float]) -> None:
    """Check that instants increase.

    Raises:
        InputError: Two coincide or decrease.
    """
    for index, (one, successor) in enumerate(itertools.pairwise(times)):
        if not successor > one:
            raise InputError(
                f"times must increase; got {successor:g} after {one:g} at place {index + 1}."
            )
    if not math.isfinite(times[-1] - times[0]):
        raise InputError("times must lie closer together; their span overflows.")
