"""The space of a search as a method sees it: a unit cube, a budget, and the heights in it.

Methods call a function for heights. `AskTell` turns that round, so that several searches can be
asked what to simulate next, and told what came of it.
"""

from __future__ import annotations

import math
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, final

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.studies.sweep.sampling_plan import sobol_points
from ukctrl.studies.tuning.gain_search import SearchStage, TuningTrial
from ukctrl.studies.tuning.gains import Gain

Gains = Mapping[str, float]
EvaluateCandidates = Callable[[Sequence[Gains], SearchStage], Sequence[TuningTrial]]
"""Simulates candidates and returns what came of them, in their order."""

FAILED_COST = 1e100
"""Height of a candidate whose runs got to their end; of one that got nowhere, twice that."""
INFEASIBLE_COST = 1e90
"""Height of a candidate that keeps to the constraints all but exactly; more the further off."""
VIOLATION_CAP = 1e9
"""Violations beyond this are not told apart."""


class BudgetSpent(Exception):
    """The budget is spent, or the user has stopped the search."""


class RangeWidened(Exception):
    """The best lies at an end of a range, which is wider from now on."""


class SearchSpace:
    """What was tried, and what is left to try.

    Args:
        gains: What is searched over.
        candidates: How many candidates the budget allows; the card's gains are the first.
        seed: Seed of everything random.
        attempt: What simulates candidates.
    """

    def __init__(
        self, gains: Sequence[Gain], candidates: int, seed: int, attempt: EvaluateCandidates
    ) -> None:
        self.gains, self.candidates, self.seed = tuple(gains), candidates, seed
        self.trials: list[TuningTrial] = []
        self._simulate = attempt
        self._trial_by_gains: dict[tuple[tuple[str, float], ...], TuningTrial] = {}

    @property
    def size(self) -> int:
        """How many gains there are."""
        return len(self.gains)

    def try_card(self) -> None:
        """Try the card's gains.

        Raises:
            BudgetSpent: There was budget for nothing else.
        """
        self.try_candidates([{gain.path: gain.value for gain in self.gains}], "card")

    def sobol(self, first: int, last: int) -> list[Gains]:
        """Return points of the Sobol sequence over the ranges, from 1, the last one included."""
        points = sobol_points(self.size, last, self.seed)[first - 1 :]
        return [self.gains_at(point) for point in points]

    def gains_at(self, point: Array) -> Gains:
        """Return the gains at a point of the unit cube."""
        return {g.path: g.at(float(x)) for g, x in zip(self.gains, point, strict=True)}

    def unit_point(self, gains: Gains) -> Array:
        """Return the point of the unit cube at which these gains lie, or the nearest."""
        coordinates = np.array([gain.place(gains[gain.path]) for gain in self.gains])
        inside: Array = np.clip(coordinates, 0.0, 1.0)
        return inside

    @property
    def best(self) -> TuningTrial:
        """The best so far."""
        return min(self.trials, key=lambda trial: trial.rank)

    def try_candidates(self, chosen: Sequence[Gains], stage: SearchStage) -> None:
        """Try candidates, each at the price of one, whether it was tried before or not.

        Raises:
            BudgetSpent: The budget is spent.
            RangeWidened: The search begins anew around the best, in wider ranges.
        """
        chosen = chosen[: self.candidates - len(self.trials)]
        fresh = [gains for gains in chosen if _key(gains) not in self._trial_by_gains]
        for trial in self._simulate(fresh, stage) if fresh else ():
            self._trial_by_gains[_key(trial.gains)] = trial
        self.trials += [self._trial_by_gains[_key(gains)]._replace(stage=stage) for gains in chosen]
        if len(self.trials) >= self.candidates:
            raise BudgetSpent
        if 2 * len(self.trials) >= self.candidates:
            wider = tuple(gain.beyond(self.best.gains[gain.path]) for gain in self.gains)
            if wider != self.gains:
                self.gains = wider
                raise RangeWidened

    def penalised_costs(self, points: Array, stage: SearchStage) -> Array:
        """Return the heights at some points, shape ``(k,)``; what was tried before costs nothing.

        Raises:
            BudgetSpent: The budget is spent.
        """
        chosen = [self.gains_at(point) for point in points]
        fresh = {_key(gains): gains for gains in chosen if _key(gains) not in self._trial_by_gains}
        if fresh:
            self.try_candidates(list(fresh.values()), stage)
        return np.array([penalised_cost(self._trial_by_gains[_key(gains)]) for gains in chosen])


def penalised_cost(trial: TuningTrial) -> float:
    """Return one number that orders trials as their rank does, for methods that compare numbers."""
    if trial.feasible:
        return min(trial.cost, INFEASIBLE_COST)
    if math.isfinite(trial.cost):
        return INFEASIBLE_COST * (1.0 + min(trial.violation, VIOLATION_CAP))
    return FAILED_COST * (2.0 - trial.reached)


def _key(gains: Gains) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(gains.items()))


class ProposedCandidates(NamedTuple):
    """Candidates to try."""

    gains: Sequence[Mapping[str, float]]
    stage: SearchStage


@final
class AskTell:
    """A search that calls a function, run as far as its next call.

    It runs in a thread of its own, which does nothing but wait for answers and propose.

    Args:
        work: The search; it calls `ask`, which raises `BudgetSpent` where its owner has no more
        answers.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._candidates: queue.SimpleQueue[ProposedCandidates | None] = queue.SimpleQueue()
        self._trials: queue.SimpleQueue[Sequence[TuningTrial] | None] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)

    def start(self) -> None:
        """Run it as far as its first question."""
        self._thread.start()

    def next_candidates(self) -> ProposedCandidates | None:
        """Wait for the next question; None where there are no more.

        Raises:
            Exception: What the search raised.
        """
        proposal = self._candidates.get()
        if proposal is None and self._error is not None:
            raise self._error
        return proposal

    def send_trials(self, trials: Sequence[TuningTrial]) -> None:
        """Answer it, and let the search go on."""
        self._trials.put(trials)

    def end(self) -> None:
        """Let the search end, whatever it waits for."""
        self._trials.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def evaluate(
        self, gains: Sequence[Mapping[str, float]], stage: SearchStage
    ) -> Sequence[TuningTrial]:
        """Put a question, in the thread of the search, and wait for the answer.

        Raises:
            BudgetSpent: There will be none.
        """
        self._candidates.put(ProposedCandidates(gains, stage))
        answer = self._trials.get()
        if answer is None:
            raise BudgetSpent
        return answer

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BudgetSpent:
            pass
        except BaseException as error:
            self._error = error
        self._candidates.put(None)
