"""The space of a search as a method sees it: a unit cube, a budget, and the heights in it.

Methods call a function for heights. `Turned` turns that round, so that several searches can be
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


class Widened(Exception):
    """The best lies at an end of a range, which is wider from now on."""


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
        self.spend([{gain.path: gain.value for gain in self.gains}], "card")

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
            Widened: The search begins anew around the best, in wider ranges.
        """
        chosen = chosen[: self.candidates - len(self.trials)]
        fresh = [gains for gains in chosen if _key(gains) not in self._tried]
        for trial in self._attempt(fresh, stage) if fresh else ():
            self._tried[_key(trial.gains)] = trial
        self.trials += [self._tried[_key(gains)]._replace(stage=stage) for gains in chosen]
        if len(self.trials) >= self.candidates:
            raise Ended
        if 2 * len(self.trials) >= self.candidates:
            wider = tuple(gain.beyond(self.best.gains[gain.path]) for gain in self.gains)
            if wider != self.gains:
                self.gains = wider
                raise Widened

    def heights(self, places: Array, stage: Stage) -> Array:
        """Return the heights at some points, shape ``(k,)``; what was tried before costs nothing.

        Raises:
            Ended: The budget is spent.
        """
        chosen = [self.at(place) for place in places]
        fresh = {_key(gains): gains for gains in chosen if _key(gains) not in self._tried}
        if fresh:
            self.spend(list(fresh.values()), stage)
        return np.array([height(self._tried[_key(gains)]) for gains in chosen])


def height(trial: Trial) -> float:
    """Return one number that orders trials as their rank does, for methods that compare numbers."""
    if trial.feasible:
        return min(trial.cost, INFEASIBLE)
    if math.isfinite(trial.cost):
        return INFEASIBLE * (1.0 + min(trial.violation, FURTHEST))
    return FAILED * (2.0 - trial.reached)


def _key(gains: Gains) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(gains.items()))


class Asked(NamedTuple):
    """Candidates to try."""

    gains: Sequence[Mapping[str, float]]
    stage: Stage


@final
class Turned:
    """A search that calls a function, run as far as its next call.

    It runs in a thread of its own, which does nothing but wait for answers and propose.

    Args:
        work: The search; it calls `ask`, which raises `Ended` where its owner has no more answers.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        self._asked: queue.SimpleQueue[Asked | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[Sequence[Trial] | None] = queue.SimpleQueue()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)

    def start(self) -> None:
        """Run it as far as its first question."""
        self._thread.start()

    def question(self) -> Asked | None:
        """Wait for the next question; None where there are no more.

        Raises:
            Exception: What the search raised.
        """
        asked = self._asked.get()
        if asked is None and self._error is not None:
            raise self._error
        return asked

    def answer(self, trials: Sequence[Trial]) -> None:
        """Answer it, and let the search go on."""
        self._answers.put(trials)

    def end(self) -> None:
        """Let the search end, whatever it waits for."""
        self._answers.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def ask(self, gains: Sequence[Mapping[str, float]], stage: Stage) -> Sequence[Trial]:
        """Put a question, in the thread of the search, and wait for the answer.

        Raises:
            Ended: There will be none.
        """
        self._asked.put(Asked(gains, stage))
        answer = self._answers.get()
        if answer is None:
            raise Ended
        return answer

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Ended:
            pass
        except BaseException as error:
            self._error = error
        self._asked.put(None)
