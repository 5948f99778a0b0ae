"""Ways of searching: each proposes candidates, some at a time, and learns how they rank.

A method is a function of an `SearchSpace` space, its seed included, and of the heights that it is
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

from ukctrl.studies.tuning.search_space import RangeWidened, SearchSpace

SIMPLEX_EDGE = 0.15
"""Edge of the first simplex, as a fraction of each range in its scale."""
RESTART_SHRINK = 0.5
"""A simplex that has converged starts again around the best, this much smaller; where that brings
nothing new, the sequence goes on by a point."""
SIMPLEX_XTOL = 2e-3
"""Size of a simplex that has converged."""


def simplex(space: SearchSpace) -> None:
    """Spend half of the budget on the sequence, and the rest on the simplex of Nelder and Mead.

    References:
        Nelder & Mead, "A simplex method for function minimization", Comput. J. 7, 1965.
    """
    from scipy.optimize import minimize

    first = 1 + (space.candidates - 1) // 2
    if len(space.trials) < first:  # and not begun anew in wider ranges
        space.try_candidates(space.sobol(len(space.trials), first - 1), "sobol")

    def height(point: NDArray[np.float64]) -> float:
        return float(space.penalised_costs(point[None, :], "simplex")[0])

    edge, further = SIMPLEX_EDGE, first
    while True:
        spent = len(space.trials)
        corner = space.unit_point(space.best.gains)
        edges = np.where(corner + edge <= 1.0, edge, -edge)
        minimize(
            height,
            corner,
            method="Nelder-Mead",
            bounds=[(0.0, 1.0)] * len(corner),
            options={
                "initial_simplex": np.vstack([corner, corner + np.diag(edges)]),
                "xatol": SIMPLEX_XTOL,
                "fatol": math.inf,
            },
        )
        edge *= RESTART_SHRINK
        if len(space.trials) == spent or edge < 2.0 * SIMPLEX_XTOL:  # nothing new is near
            space.try_candidates(space.sobol(further, further), "sobol")
            edge, further = SIMPLEX_EDGE, further + 1


MIN_POPULATION = 5
"""The smallest population that the method can work with."""
POPULATION_PER_GAIN = 10
"""Largest population, for each gain."""
GENERATIONS = 10
"""How many generations a budget is to suffice for, where the population can be that small."""


def evolution(space: SearchSpace) -> None:
    """Spend the budget on populations that mix their differences.

    The first population is the best so far and a Sobol sequence; one that has become uniform, or
    brings nothing new, is followed by another around the best.

    References:
        Storn & Price, "Differential evolution", J. Global Optim. 11, 1997.
    """
    from scipy.optimize import differential_evolution

    count = max(
        MIN_POPULATION, min(POPULATION_PER_GAIN * space.size, space.candidates // GENERATIONS)
    )
    further, round_ = 1, 0

    def heights(points: NDArray[np.float64]) -> NDArray[np.float64]:
        return space.penalised_costs(points.T, "evolution")

    while True:
        spent = len(space.trials)
        samples = space.sobol(further, further + count - 2)
        population = [space.unit_point(gains) for gains in (space.best.gains, *samples)]
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
            space.try_candidates(space.sobol(further, further), "sobol")
            further += 1


INITIAL_SIGMA = 0.25
"""Standard deviation of the first generation, as a fraction of each range in its scale."""
MAX_IDLE_GENERATIONS = 3
"""After so many generations without a new candidate the distribution has collapsed."""


def cma_es(space: SearchSpace) -> None:
    """Spend the budget on generations drawn around a mean that moves.

    The first mean is the card. A distribution that has collapsed starts again from the next point
    of a Sobol sequence, with a population twice as large.

    References:
        Hansen & Ostermeier, Evol. Comput. 9(2), 2001; Auger & Hansen, "A restart CMA evolution
        strategy with increasing population size", CEC 2005.
    """
    import cma

    rng = np.random.default_rng(space.seed)
    mean, count, further = space.unit_point(space.best.gains), 0, 1
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
        strategy = cma.CMAEvolutionStrategy(mean, INITIAL_SIGMA, options)
        idle = 0
        while not strategy.stop() and idle < MAX_IDLE_GENERATIONS:
            spent = len(space.trials)
            points = strategy.ask()
            strategy.tell(points, space.penalised_costs(np.array(points), "cma").tolist())
            idle = 0 if len(space.trials) > spent else idle + 1
        (start,) = space.sobol(further, further)
        space.try_candidates([start], "sobol")
        mean, count, further = space.unit_point(start), 2 * strategy.popsize, further + 1


def run_method(space: SearchSpace, method: str) -> None:
    """Try the card, then search until the budget is spent; anew where ranges have become wider."""
    space.try_card()
    while True:
        with contextlib.suppress(RangeWidened):
            SEARCH_METHODS[method](space)


SEARCH_METHODS: Mapping[str, Callable[[SearchSpace], None]] = MappingProxyType(
    {"simplex": simplex, "evolution": evolution, "cma": cma_es}
)
"""What spends a budget, by the names of the methods."""
