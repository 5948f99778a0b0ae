"""SciPy's differential evolution, a generation at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.studies.tuning.methods.search_space import Explored

SMALLEST = 5
"""The smallest population that the method can work with."""
PER_GAIN = 10
"""Largest population, for each gain."""
GENERATIONS = 10
"""How many generations a budget is to suffice for, where the population can be that small."""


def evolution(space: Explored) -> None:
    """Spend the budget on populations that mix their differences.

    The first population is the best so far and a Sobol sequence; one that has become uniform, or
    brings nothing new, is followed by another around the best.

    References:
        Storn & Price, "Differential evolution", J. Global Optim. 11, 1997.
    """
    from scipy.optimize import differential_evolution

    count = max(SMALLEST, min(PER_GAIN * space.size, space.candidates // GENERATIONS))
    further, round_ = 1, 0

    def heights(places: NDArray[np.float64]) -> NDArray[np.float64]:
        return space.heights(places.T, "evolution")

    while True:
        spent = len(space.trials)
        others = space.sobol(further, further + count - 2)
        population = [space.place(gains) for gains in (space.best.gains, *others)]
        differential_evolution(
            heights,
            [(0.0, 1.0)] * space.size,
            init=np.array(population),
            maxiter=space.candidates,
            tol=0.0,
            polish=False,
            updating="deferred",
            vectorized=True,
            rng=np.random.default_rng([space.seed, round_]),
        )
        further, round_ = further + count - 1, round_ + 1
        if len(space.trials) == spent:
            space.spend(space.sobol(further, further), "sobol")
            further += 1
