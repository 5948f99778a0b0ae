r"""Taylor coefficients $c_k = r^{(k)}/k!$ of paths about an instant, shape (order + 1, ...).

Truncated power series multiply, divide and compose exactly, so that a path made of others has
derivatives of any order without a formula of its own for each.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]


def factorials(order: int) -> Series:
    """Return 0!, 1!, ..., order!, shape (order + 1,)."""
    return np.array([float(math.factorial(k)) for k in range(order + 1)])


def sinusoid(omega: float, angle: float, order: int) -> tuple[Series, Series]:
    """Return the series of the cosine and the sine of ``angle + omega t``, each (order + 1,)."""
    k = np.arange(order + 1)
    scale = omega**k / factorials(order)
    turned = angle + 0.5 * math.pi * (k % 4)
    return scale * np.cos(turned), scale * np.sin(turned)


def product(a: Series, b: Series) -> Series:
    """Return the series of a product of two numbers, shape (order + 1,)."""
    return np.asarray(np.convolve(a, b)[: len(a)])


def quotient(a: Series, b: Series) -> Series:
    """Return the series of a quotient of two numbers, shape (order + 1,)."""
    quotients = np.zeros(len(a))
    for k in range(len(a)):
        quotients[k] = (a[k] - quotients[:k] @ b[k:0:-1]) / b[0]
    return quotients


def compose(outer: Series, inner: Series) -> Series:
    """Return the series of ``p(s(t))``.

    Args:
        outer: Series of p about s(t0), shape (order + 1, size).
        inner: Series of s about t0, shape (order + 1,).
    """
    step = inner.copy()
    step[0] = 0.0
    series = np.zeros(outer.shape)
    power = np.zeros(len(inner))
    power[0] = 1.0
    for coefficient in outer:
        series += power[:, None] * coefficient[None, :]
        power = product(power, step)
    return series
