"""The search itself: the same for every controller, and repeatable from its seed."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.batch import Crew, Lost, Outcome, Progress, Run, Watch, training_seed
from ukctrl.errors import InputError
from ukctrl.scenario import Scenario
from ukctrl.tuning.cost import Cost
from ukctrl.tuning.gains import Gain, gains_of, with_ranges
from ukctrl.tuning.record import Stage, Trial, Tuning

Array = NDArray[np.float64]

DIGITS = 4
"""Significant digits of a gain that is tried: what is on the page is what was simulated."""
SIMPLEX = 0.15
"""Edge of the first simplex, as a fraction of each range in its logarithm."""
SHRINK = 0.5
"""A simplex that has converged starts again around the best, this much smaller; where that brings
nothing new, the sequence goes on by a point."""
CONVERGED = 2e-3
"""Size of a simplex that has converged."""
MOST_SIMULATIONS = 1_000_000
"""A larger budget is a typing error."""
FAILED = 1e100
"""Stands for an infinite cost where the simplex compares runs that failed by how far they got."""


@dc.dataclass(frozen=True, kw_only=True)
class Budget:
    """What every controller is granted, and for what."""

    simulations: int
    """Number of simulations for each. The card's gains are the first of them."""
    cost: str = "rms_phi"
    """A metric or a weighted sum of metrics, as for [`Cost`][ukctrl.tuning.Cost]."""
    over: Mapping[str, tuple[float, float]] = dc.field(default_factory=dict)
    """Ranges of gains by path; absent: a decade to both sides of the card's."""

    def __post_init__(self) -> None:
        if self.simulations < 1:
            raise InputError(f"the budget must be at least 1 simulation; got {self.simulations}.")
        if self.simulations > MOST_SIMULATIONS:
            raise InputError(
                f"the budget must be at most {MOST_SIMULATIONS} simulations; "
                f"got {self.simulations}."
            )
        Cost.parse(self.cost)


def tune(
    scenarios: Mapping[str, Scenario],
    budget: Budget,
    *,
    known: Mapping[str, Sequence[Trial]] = MappingProxyType({}),
    crew: Crew | None = None,
    progress: Progress | None = None,
) -> dict[str, Tuning]:
    """Search for the gains of every controller, with the same number of simulations for each.

    Args:
        scenarios: By name; each is run with the seed that `training_seed` makes of its own.
        budget: How many simulations each is granted, for which cost, over which ranges.
        known: Trials of an earlier search by name, which are not simulated again.
        crew: Who computes them; absent: this process.
        progress: Called with how many simulations are done and how many there are.

    Returns:
        What was found, by name; less than the budget where the user has stopped it.

    Raises:
        InputError: A range is not acceptable, or a scenario does not fit its robot.
    """
    crew = crew or Crew()
    parsed = Cost.parse(budget.cost)
    every = {name: gains_of(scenario) for name, scenario in scenarios.items()}
    chosen = with_ranges(every, budget.over, scenarios)
    searches = {
        name: Search(
            scenario=scenario.replace({"seed": training_seed(scenario.seed)}),
            entry=name,
            gains=chosen[name],
            cost=parsed,
            budget=budget.simulations if chosen[name] else 1,
            trials=(),
            known={_key(trial.gains): trial for trial in known.get(name, ())},
        )
        for name, scenario in scenarios.items()
    }
    total = sum(search.budget for search in searches.values())
    found: dict[str, dict[int, Trial]] = {name: {} for name in searches}
    tasks = [
        _Candidate(search=search, number=number)
        for search in searches.values()
        for number in range(search.first)
    ]

    def took(k: int, value: Trial | Lost | None) -> None:
        if isinstance(value, Trial):
            found[tasks[k].search.entry][tasks[k].number] = value
        elif value is None:
            raise KeyboardInterrupt

    def report(done: float, _: float) -> None:
        if progress is not None:
            progress(done, total)

    going = crew.gather(tasks, took, report)
    for name, trials in found.items():
        ordered = tuple(trials[number] for number in sorted(trials))
        searches[name] = dc.replace(searches[name], trials=ordered)
    if going:
        _go_downhill(searches, total, crew, progress)
    return {
        name: Tuning(
            entry=name,
            gains=search.gains,
            cost=parsed.text,
            budget=budget.simulations,
            seed=search.scenario.seed,
            trials=search.trials,
        )
        for name, search in searches.items()
        if search.trials
    }


def _go_downhill(
    searches: dict[str, Search],
    total: int,
    crew: Crew,
    progress: Progress | None,
) -> None:
    """Spend what is left of each budget, one search a task."""
    tasks = [search for search in searches.values() if 0 < len(search.trials) < search.budget]
    done = total - sum(search.budget - len(search.trials) for search in tasks)

    def took(k: int, value: tuple[Trial, ...] | Lost) -> None:
        if not isinstance(value, Lost):
            searches[tasks[k].entry] = dc.replace(tasks[k], trials=value)
            if len(value) < tasks[k].budget:
                raise KeyboardInterrupt

    def report(fraction: float, count: float) -> None:
        if progress is not None:
            progress(done + (total - done) * fraction / count, total)

    crew.gather(tasks, took, report)


@dc.dataclass(frozen=True, kw_only=True)
class Search:
    """The search for the gains of one controller; as a task, its local part."""

    scenario: Scenario
    entry: str
    gains: tuple[Gain, ...]
    cost: Cost
    budget: int
    trials: tuple[Trial, ...]
    """What was tried so far."""
    known: Mapping[Any, Trial]
    """Trials of an earlier search, by their gains."""

    @property
    def first(self) -> int:
        """How many simulations the card and the Sobol sequence get: half of them, and the odd."""
        return 1 + (self.budget - 1) // 2

    def candidate(self, number: int) -> dict[str, float]:
        """Return the gains of the card, number 0, or of a point of the Sobol sequence."""
        if number == 0:
            return {gain.path: gain.value for gain in self.gains}
        from scipy.stats import qmc

        size = max(1, math.ceil(math.log2(max(self.first, number))))
        sequence = qmc.Sobol(len(self.gains), seed=np.random.default_rng(self.scenario.seed))
        return self.at(sequence.random_base2(size)[number - 1])

    def at(self, place: Array) -> dict[str, float]:
        """Return the gains at a point of the unit cube, whose axes are their logarithms."""
        return {
            gain.path: _rounded(gain.low * (gain.high / gain.low) ** float(x))
            for gain, x in zip(self.gains, np.clip(place, 0.0, 1.0), strict=True)
        }

    def place(self, gains: Mapping[str, float]) -> Array:
        """Return the point of the unit cube at which these gains lie."""
        return np.array(
            [
                math.log(gains[gain.path] / gain.low) / math.log(gain.high / gain.low)
                for gain in self.gains
            ]
        )

    def attempt(self, gains: Mapping[str, float], stage: Stage, watch: Watch) -> Trial | None:
        """Simulate with these gains; None where the user has stopped it."""
        known = self.known.get(_key(gains))
        if known is not None:
            return known._replace(stage=stage)
        try:
            scenario = self.scenario.replace(gains)
        except InputError as error:  # these gains do not go together
            return Trial(dict(gains), math.inf, 0.0, str(error), stage)
        strict = stage == "card"
        run = Run(scenario=scenario, entry=self.entry, curves=False, strict=strict)
        outcome: Outcome = run(watch)
        if outcome.stopped:
            return None
        cost = self.cost.of(outcome.metrics) if outcome.completed else math.inf
        reached = outcome.reached / scenario.timing.duration
        cost = cost if math.isfinite(cost) else math.inf
        return Trial(dict(gains), cost, reached, outcome.status, stage)

    def __call__(self, watch: Watch) -> tuple[Trial, ...]:
        """Spend what is left of the budget around the best so far."""
        from scipy.optimize import minimize

        trials = list(self.trials)
        tried = {_key(trial.gains): trial for trial in trials}
        left = self.budget - len(trials)

        def attempt(gains: dict[str, float], stage: Stage) -> Trial:
            done = left - (self.budget - len(trials))
            trial = tried.get(_key(gains)) or self.attempt(
                gains, stage, lambda part: watch((done + part) / left)
            )
            if trial is None:
                raise _Ended
            tried[_key(gains)] = trial
            trials.append(trial._replace(stage=stage))
            if len(trials) == self.budget:
                raise _Ended
            return trial

        def height(place: Array) -> float:
            gains = self.at(place)
            trial = tried.get(_key(gains)) or attempt(gains, "simplex")
            return min(trial.cost, FAILED * (2.0 - trial.reached))

        size, further = SIMPLEX, self.first
        try:
            while True:
                spent = len(trials)
                best = min(trials, key=lambda trial: trial.rank)
                corner = np.clip(self.place(best.gains), 0.0, 1.0)
                edges = np.where(corner + size <= 1.0, size, -size)
                simplex = np.vstack([corner, corner + np.diag(edges)])
                minimize(
                    height,
                    corner,
                    method="Nelder-Mead",
                    bounds=[(0.0, 1.0)] * len(corner),
                    options={"initial_simplex": simplex, "xatol": CONVERGED, "fatol": math.inf},
                )
                size *= SHRINK
                if len(trials) == spent or size < 2.0 * CONVERGED:  # nothing new is near
                    attempt(self.candidate(further), "sobol")
                    size, further = SIMPLEX, further + 1
        except _Ended:
            return tuple(trials)


class _Ended(Exception):
    """A search has nothing left to do."""


@dc.dataclass(frozen=True, kw_only=True)
class _Candidate:
    """One trial of the first part of a search, as a task."""

    search: Search
    number: int

    def __call__(self, watch: Watch) -> Trial | None:
        stage: Stage = "sobol" if self.number else "card"
        return self.search.attempt(self.search.candidate(self.number), stage, watch)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _key(gains: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple(sorted(gains.items()))
