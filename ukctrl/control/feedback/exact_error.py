"""The error as the believed model would have it, in closed form."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Vector


class Error(NamedTuple):
    """An error of all rows at one time; of a nonholonomic row ``phi`` is zero."""

    phi: Vector
    beta: Vector
    rate: Vector
    """Time derivative of ``beta``."""


@final
class NominalError:
    r"""The solution of $\ddot\phi + \alpha\dot\phi + \beta\phi = 0$, row by row.

    Of a nonholonomic row that of $\dot\psi + \alpha\psi = 0$, which is the same equation with
    $\beta = 0$ and $\psi = \dot\phi$.
    """

    def __init__(self, alpha: Vector, beta: Vector, holonomic: NDArray[np.bool_]) -> None:
        self._alpha, self._beta = alpha, np.where(holonomic, beta, 0.0)
        self._holonomic = holonomic
        root = np.sqrt(np.asarray(alpha**2 / 4.0 - self._beta, dtype=np.complex128))
        self._slow, self._apart = -alpha / 2.0 - root, 2.0 * root

    def at(self, t: float, phi: Vector, beta: Vector) -> Error:
        """Return the error ``t`` seconds after it was ``phi`` with the velocity ``beta``."""
        if not (phi.any() or beta.any()):
            return Error(phi, phi, phi)
        # The solutions that start as (0, 1) and (1, 0); S stays accurate where the roots meet.
        first = np.exp(self._slow * t)
        near = np.abs(self._apart) * t < 1e-8
        apart = np.where(near, 1.0, self._apart)
        S = first * np.where(near, t, np.expm1(apart * t) / apart)
        C = first - self._slow * S
        S_rate = self._slow * S + first * np.exp(self._apart * t)
        now: Vector = (phi * C + beta * S).real
        moving: Vector = (beta * S_rate - phi * self._beta * S).real
        rate = -self._alpha * moving - self._beta * now
        return Error(np.where(self._holonomic, now, 0.0), moving, rate)
