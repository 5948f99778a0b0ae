"""The space of a search as a method sees it: a unit cube, a budget, and the heights in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.studies.tuning.gains import Gain
from ukctrl.studies.tuning.tuning_record import Stage, Trial

Gains = Mapping[str, float]
Try = Callable[[Sequence[Gains], Stage], Sequence[Trial]]
"""Simulates candidates and returns what came of them, in their order."""

FAILED = 1e100
"""Height of a candidate whose runs got to their end; of one that got nowhere, twice that."""
INFEASIBLE = 1e90
"""Height of a candidate that keeps to the constraints all but exactly; more the further off."""
FURTHEST = 1e9
"""Violations beyond this are not told apart."""


class Ended(Exception):
    """The budget is spent, or the user has stopped the search."""


class Explored:
    """What was tried, and what is left to try.

    Args:
        gains: What is searched over.
        candidates: How many candidates the budget allows; the card's gains are the first.
        seed: Seed of everything random.
        attempt: What simulates candidates.
    """

    def __init__(self, gains: Sequence[Gain], candidates: int, seed: int, attempt: Try) -> None:
        self.gains, self.candidates, self.seed = tuple(gains), candidates, seed
        self.trials: list[Trial] = []
        self._attempt = attempt
        self._tried: dict[tuple[tuple[str, float], ...], Trial] = {}

    @property
    def size(self) -> int:
        """How many gains there are."""
        return len(self.gains)

    def card(self) -> None:
        """Try the card's gains.

        Raises:
            Ended: There was budget for nothing else.
        """
        self._try([{gain.path: gain.value for gain in self.gains}], "card")

    def sobol(self, first: int, last: int) -> list[Gains]:
        """Return points of the Sobol sequence over the ranges, from 1, the last one included."""
        from scipy.stats import qmc

        if last < first:
            return []
        size = max(1, math.ceil(math.log2(max(self.candidates, last))))
        sequence = qmc.Sobol(self.size, rng=np.random.default_rng(self.seed))
        return [self.at(place) for place in sequence.random_base2(size)[first - 1 : last]]

    def at(self, place: Array) -> Gains:
        """Return the gains at a point of the unit cube."""
        return {g.path: g.at(float(x)) for g, x in zip(self.gains, place, strict=True)}

    def place(self, gains: Gains) -> Array:
        """Return the point of the unit cube at which these gains lie, or the nearest."""
        places = np.array([gain.place(gains[gain.path]) for gain in self.gains])
        inside: Array = np.clip(places, 0.0, 1.0)
        return inside

    @property
    def best(self) -> Trial:
        """The best so far."""
        return min(self.trials, key=lambda trial: trial.rank)

    def spend(self, chosen: Sequence[Gains], stage: Stage) -> None:
        """Try candidates, each at the price of one, whether it was tried before or not.

        Raises:
            Ended: The budget is spent.
        """
        self._try(chosen, stage)

    def heights(self, places: Array, stage: Stage) -> Array:
        """Return the heights at some points, shape ``(k,)``; what was tried before costs nothing.

        Raises:
            Ended: The budget is spent.
        """
        chosen = [self.at(place) for place in places]
        fresh = {_key(gains): gains for gains in chosen if _key(gains) not in self._tried}
        if fresh:
            self._try(list(fresh.values()), stage)
        return np.array([height(self._tried[_key(gains)]) for gains in chosen])

    def _try(self, chosen: Sequence[Gains], stage: Stage) -> None:
        chosen = chosen[: self.candidates - len(self.trials)]
        fresh = [gains for gains in chosen if _key(gains) not in self._tried]
        for trial in self._attempt(fresh, stage) if fresh else ():
            self._tried[_key(trial.gains)] = trial
        self.trials += [self._tried[_key(gains)]._replace(stage=stage) for gains in chosen]
        if len(self.trials) >= self.candidates:
            raise Ended


def height(trial: Trial) -> float:
    """Return one number that orders trials as their rank does, for methods that compare numbers."""
    if trial.feasible:
        return min(trial.cost, INFEASIBLE)
    if math.isfinite(trial.cost):
        return INFEASIBLE * (1.0 + min(trial.violation, FURTHEST))
    return FAILED * (2.0 - trial.reached)


def _key(gains: Gains) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(gains.items()))
