"""Units in which the rows and the columns of a matrix are alike."""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.factorisation import NEGLIGIBLE_RTOL
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.tie_breaking import max_abs


def balancing_units(A: Matrix) -> Vector:
    """Return units, powers of two, that make rows and columns of ``A`` alike, shape ``(n,)``.

    ``A * units / units[:, None]`` is balanced (Parlett & Reinsch). What is rounding beside the
    largest entry does not count: a row of nothing else would be enlarged without end.
    """
    from scipy.linalg import matrix_balance

    clear = np.where(np.abs(A) > NEGLIGIBLE_RTOL * max_abs(A), A, 0.0)
    _, (units, _) = matrix_balance(clear, permute=False, separate=True)
    return np.asarray(units, dtype=np.float64)
