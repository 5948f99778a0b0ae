"""Ways of searching: each proposes candidates, some at a time, and learns how they rank.

A method is a function of an `Explored` space, its seed included, and of the heights that it is
told; it goes on until there is no budget left.

1. `simplex`: a Sobol sequence over the ranges, then downhill from the best of it.
2. `evolution`: SciPy's differential evolution, a generation at a time.
3. `cma_es`: a normal distribution that learns the shape of the valley.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ukctrl.studies.tuning.search_space import Explored, Widened

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
    if len(space.trials) < first:  # and not begun anew in wider ranges
        space.spend(space.sobol(len(space.trials), first - 1), "sobol")

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


WIDTH = 0.25
"""Standard deviation of the first generation, as a fraction of each range in its scale."""
IDLE = 3
"""After so many generations without a new candidate the distribution has collapsed."""


def cma_es(space: Explored) -> None:
    """Spend the budget on generations drawn around a mean that moves.

    The first mean is the card. A distribution that has collapsed starts again from the next point
    of a Sobol sequence, with a population twice as large.

    References:
        Hansen & Ostermeier, Evol. Comput. 9(2), 2001; Auger & Hansen, "A restart CMA evolution
        strategy with increasing population size", CEC 2005.
    """
    import cma

    rng = np.random.default_rng(space.seed)
    mean, count, further = space.place(space.best.gains), 0, 1
    while True:
        options = {
            "bounds": [0.0, 1.0],
            # Its own default is NumPy's global generator.
            "seed": math.nan,
            "randn": lambda *shape: rng.standard_normal(shape),
            "verbose": -9,
            "verb_log": 0,
            "signals_filename": "",  # or it takes options from a file in the working folder
            **({"popsize": count} if count else {}),
        }
        strategy = cma.CMAEvolutionStrategy(mean, WIDTH, options)
        idle = 0
        while not strategy.stop() and idle < IDLE:
            spent = len(space.trials)
            places = strategy.ask()
            strategy.tell(places, space.heights(np.array(places), "cma").tolist())
            idle = 0 if len(space.trials) > spent else idle + 1
        (start,) = space.sobol(further, further)
        space.spend([start], "sobol")
        mean, count, further = space.place(start), 2 * strategy.popsize, further + 1


def run_method(space: Explored, method: str) -> None:
    """Try the card, then search until the budget is spent; anew where ranges have become wider."""
    space.card()
    while True:
        with contextlib.suppress(Widened):
            SEARCH[method](space)


SEARCH: Mapping[str, Callable[[Explored], None]] = MappingProxyType(
    {"simplex": simplex, "evolution": evolution, "cma": cma_es}
)
"""What spends a budget, by the names of the methods."""
