"""CMA-ES: a normal distribution that learns the shape of the valley, a generation at a time."""

from __future__ import annotations

import math

import numpy as np

from ukctrl.studies.tuning.methods.search_space import Explored

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
