"""A linear system whose input is held."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Matrix


def held(A: Matrix, B: Matrix, time: float) -> tuple[Matrix, Matrix]:
    """Return the system a time later with its input held: the matrices of state and input."""
    from scipy.linalg import expm

    n, m = B.shape
    whole = np.zeros((n + m, n + m))
    whole[:n, :n], whole[:n, n:] = A, B
    step = expm(time * whole)
    return step[:n, :n], step[:n, n:]
