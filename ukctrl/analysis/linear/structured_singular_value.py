"""The structured singular value for independent complex factors, from above."""

from __future__ import annotations

import math

import numpy as np

from ukctrl.core.arrays import Complex, Vector

ITERATIONS = 30
"""Of the search for the scaling that bounds a structured singular value best."""


def structured(M: Complex) -> float:
    """Return an upper bound of the structured singular value for independent complex factors.

    The least largest singular value of ``D M D^-1`` over positive diagonal ``D``, which is exact
    for up to three; the logarithm of ``D`` is where it is convex.
    """
    n = len(M)
    if n == 1:
        return float(abs(M[0, 0]))
    if not np.isfinite(M).all():
        return math.inf
    from scipy.optimize import minimize

    def height(d: Vector) -> tuple[float, Vector]:
        scale = np.exp(np.concatenate([[0.0], d]))
        U, sigma, Vh = np.linalg.svd(scale[:, None] * M / scale[None])
        slope = sigma[0] * (np.abs(U[:, 0]) ** 2 - np.abs(Vh[0]) ** 2)
        return float(sigma[0]), slope[1:]

    begin = balanced(M)
    least = minimize(
        height, begin[1:] - begin[0], jac=True, method="L-BFGS-B", options={"maxiter": ITERATIONS}
    )
    return min(float(least.fun), bound(M, begin), bound(M, np.zeros(n)))


def balanced(M: Complex) -> Vector:
    """Return logarithms of a scaling that makes rows as large as columns (Osborne)."""
    size = np.abs(M) ** 2
    np.fill_diagonal(size, 0.0)
    d = np.zeros(len(M))
    for _ in range(10):
        for k in range(len(M)):
            row, column = size[k].sum(), size[:, k].sum()
            if row > 0.0 and column > 0.0:
                factor = (column / row) ** 0.25
                d[k] += math.log(factor)
                size[k] *= factor**2
                size[:, k] /= factor**2
    return d


def bound(M: Complex, d: Vector) -> float:
    """Return the largest singular value of ``D M D^-1`` for the logarithms of a scaling."""
    scale = np.exp(d)
    return float(np.linalg.svd(scale[:, None] * M / scale[None], compute_uv=False)[0])
