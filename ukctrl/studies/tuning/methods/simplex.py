"""A Sobol sequence over the ranges, then downhill from the best of it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ukctrl.studies.tuning.methods.search_space import Explored

EDGE = 0.15
"""Edge of the first simplex, as a fraction of each range in its scale."""
SHRINK = 0.5
"""A simplex that has converged starts again around the best, this much smaller; where that brings
nothing new, the sequence goes on by a point."""
CONVERGED = 2e-3
"""Size of a simplex that has converged."""


def simplex(space: Explored) -> None:
    """Spend half of the budget on the sequence, and the rest on the simplex of Nelder and Mead.

    References:
        Nelder & Mead, "A simplex method for function minimization", Comput. J. 7, 1965.
    """
    from scipy.optimize import minimize

    first = 1 + (space.candidates - 1) // 2
    space.spend(space.sobol(1, first - 1), "sobol")

    def height(place: NDArray[np.float64]) -> float:
        return float(space.heights(place[None, :], "simplex")[0])

    edge, further = EDGE, first
    while True:
        spent = len(space.trials)
        corner = space.place(space.best.gains)
        edges = np.where(corner + edge <= 1.0, edge, -edge)
        minimize(
            height,
            corner,
            method="Nelder-Mead",
            bounds=[(0.0, 1.0)] * len(corner),
            options={
                "initial_simplex": np.vstack([corner, corner + np.diag(edges)]),
                "xatol": CONVERGED,
                "fatol": math.inf,
            },
        )
        edge *= SHRINK
        if len(space.trials) == spent or edge < 2.0 * CONVERGED:  # nothing new is near
            space.spend(space.sobol(further, further), "sobol")
            edge, further = EDGE, further + 1
