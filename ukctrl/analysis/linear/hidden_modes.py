r"""Modes that the motors do not move, or that the outputs do not show.

A mode $s$ is beyond the inputs where $[A - s I, B]$ loses rank, and unseen where
$[A^\top - s I, C^\top]$ does. How many such modes there are is the size of what is left of the
system once all that is reached, or seen, has been taken out of it.

References:
    Hautus, "Controllability and observability conditions of linear autonomous systems",
    Indag. Math. 72, 1969.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ukctrl.analysis.linear.zeros import invariant_zeros
from ukctrl.control.regulators.riccati import UNREACHED, states_of_mode
from ukctrl.core.arrays import Matrix
from ukctrl.core.extremes import places

SAME = 1e-5
"""Poles this close, relative to the largest, are one mode; rounding scatters double zeros."""


class HiddenMode(NamedTuple):
    """A mode that the inputs do not reach, or the outputs do not show."""

    pole: complex
    """Its pole [1/s]; of a conjugate pair, the upper."""
    number: int
    """How many of its kind there are, conjugates included."""
    states: str
    """The states that make up most of it, as messages have them."""

    @property
    def grows(self) -> bool:
        """Whether it grows."""
        return self.pole.real > 0.0


def unreached_modes(A: Matrix, B: Matrix, states: Sequence[str]) -> tuple[HiddenMode, ...]:
    """Return the modes that no input moves, the ones that grow most first."""
    n, m = B.shape
    poles = invariant_zeros(A, B, np.zeros((0, n)), np.zeros((0, m)))
    size = max(1.0, float(np.abs(np.linalg.eigvals(A)).max(initial=0.0)))
    poles = np.where(np.abs(poles) < SAME * size, 0.0, poles)
    modes = []
    left = list(poles[poles.imag >= 0.0])
    while left:
        pole = complex(left[0])
        near = [p for p in left if abs(p - pole) <= SAME * size]
        left = [p for p in left if abs(p - pole) > SAME * size]
        U, sigma, _ = np.linalg.svd(np.hstack([A - pole * np.eye(n), B]))
        beyond = sigma <= max(UNREACHED * sigma[0], sigma[-1])  # at least what is nearest
        weights = np.linalg.norm(U[:, beyond], axis=1)
        twice = 2 if abs(pole.imag) > SAME * size else 1
        modes.append(HiddenMode(pole, twice * len(near), states_of_mode(weights, states)))
    order = np.argsort(places((-mode.pole.real for mode in modes), SAME * size), kind="stable")
    return tuple(modes[k] for k in order)


def unseen_modes(A: Matrix, C: Matrix, states: Sequence[str]) -> tuple[HiddenMode, ...]:
    """Return the modes that no output shows, the ones that grow most first."""
    return unreached_modes(A.T, C.T, states)
