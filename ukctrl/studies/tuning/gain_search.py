"""What a search has tried, and what it found."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.error_dynamics_spec import ERROR_SPEC_FIELDS
from ukctrl.simulation.result.atomic_files import attributes_of, finite_or_none
from ukctrl.studies.tuning.gains import Gain

SearchStage = Literal["card", "sobol", "simplex", "evolution", "cma", "held out", "front"]
METHODS: Mapping[str, str] = MappingProxyType(
    {
        "simplex": "the card's gains, a Sobol sequence over the ranges, then the simplex of Nelder "
        "and Mead",
        "evolution": "the card's gains, then SciPy's differential evolution",
        "cma": "the card's gains, then CMA-ES from there",
    }
)
"""What each method does, in words."""


class TuningTrial(NamedTuple):
    """One candidate of a search: its gains, and what came of them on all plants."""

    gains: Mapping[str, float]
    """Values by path."""
    cost: float
    """Infinite where a run did not complete, or lacks a metric of the cost."""
    reached: float
    """Fraction of the run that was reached."""
    status: str
    stage: SearchStage
    violation: float = 0.0
    """How far it is beyond the constraints, as a fraction of their bounds; infinite where a run did
    not complete."""
    beyond: tuple[float, ...] = ()
    """The same, constraint by constraint."""
    each: tuple[float, ...] = ()
    """Cost on each plant, where there are several."""
    message: str = ""
    """Why a run ended early."""
    derived: Mapping[str, Any] | None = None
    """The gains that follow, where terms are searched for and not gains."""

    @property
    def changes(self) -> Mapping[str, Any]:
        """What of the scenario was changed."""
        return self.gains if self.derived is None else self.derived

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        lists = {"beyond": list(self.beyond), "each": list(self.each)}
        table = {**self._asdict(), "gains": dict(self.gains), **lists}
        return {key: value for key, value in table.items() if key != "derived" or value is not None}

    @property
    def feasible(self) -> bool:
        """Whether every run completed and keeps to the constraints."""
        return self.violation == 0.0 and math.isfinite(self.cost)

    @property
    def costs(self) -> tuple[float, ...]:
        """Cost on each plant."""
        return self.each or (self.cost,)

    @property
    def worst(self) -> float:
        """Highest cost on any plant; infinite where a run failed."""
        return max(self.costs)

    @property
    def average(self) -> float:
        """Average cost over the plants; infinite where a run failed."""
        return math.fsum(self.costs) / len(self.costs)

    @property
    def rank(self) -> tuple[float, float, float]:
        """What trials are ordered by, after Deb: who keeps to the constraints by the cost; behind
        them who does not, by how far; and behind these those that failed, by how far they got.
        """
        cost = self.cost if self.feasible else math.inf
        violation = self.violation if math.isfinite(self.cost) else math.inf
        return (cost, violation, -self.reached)


@dc.dataclass(frozen=True, kw_only=True)
class GainSearch:
    """One controller, tuned."""

    entry: str
    """Whose gains these are."""
    gains: tuple[Gain, ...]
    """What was searched over; nothing where the controller has no gains."""
    cost: str
    """What was to be made small."""
    limits: tuple[str, ...] = ()
    """What was to be kept to."""
    method: str = "simplex"
    """How it was searched."""
    budget: int
    """How many simulations the search was granted, the same for all."""
    plants: int = 1
    """On how many plants each candidate was simulated."""
    aggregate: str = "average"
    """What was made of the costs on several plants."""
    seed: int
    """Seed of the first plant that it was tuned on; no repeat is judged on it."""
    trials: tuple[TuningTrial, ...]
    """All that was tried, in order; the first is the card."""
    others: tuple[GainSearch, ...] = ()
    """Searches beside this one, each on plants and from points of its own; none found a lower cost
    on its plants."""

    @property
    def every(self) -> tuple[GainSearch, ...]:
        """This search and the others, the best first."""
        return (self, *self.others)

    @property
    def in_terms(self) -> bool:
        """Whether the gains follow from terms, and are not searched for by themselves."""
        return any(gain.path in ERROR_SPEC_FIELDS for gain in self.gains)

    @property
    def candidates(self) -> int:
        """How many candidates the budget allows."""
        return self.budget // self.plants

    @property
    def simulations(self) -> int:
        """How many simulations were spent."""
        return self.plants * len(self.trials)

    @property
    def finished(self) -> bool:
        """Whether the budget is spent; without gains the card alone is tried."""
        return len(self.trials) >= (self.candidates if self.gains else 1)

    @property
    def best(self) -> TuningTrial:
        """The first of the best trials."""
        return min(self.trials, key=lambda trial: trial.rank)

    @property
    def card(self) -> TuningTrial:
        """The card's gains, as they did."""
        return self.trials[0]

    @property
    def before(self) -> float:
        """Cost with the card's gains."""
        return self.trials[0].cost

    @property
    def after(self) -> float:
        """Cost with the tuned gains, on the training seed."""
        return self.best.cost

    @property
    def at_border(self) -> tuple[str, ...]:
        """The tuned gains that lie within 2 % of an end of their range, in its scale."""
        return tuple(gain.path for gain in self.gains if gain.at_end(self.best.gains[gain.path]))

    @property
    def borders(self) -> tuple[str, ...]:
        """The gains that any of the searches has left at an end of their range."""
        return tuple(dict.fromkeys(path for search in self.every for path in search.at_border))

    def history(self) -> NDArray[np.float64]:
        """Return the lowest cost of a feasible trial after each of them."""
        return np.minimum.accumulate(np.array([trial.rank[0] for trial in self.trials]))

    def to_dict(self) -> dict[str, Any]:
        """Return the search as JSON-able data."""
        data: dict[str, Any] = {
            **attributes_of(self, "cost", "budget", "simulations"),
            "method": METHODS[self.method],
            **({"constraints": list(self.limits)} if self.limits else {}),
            **({"plants": self.plants, "aggregate": self.aggregate} if self.plants > 1 else {}),
            "training_seed": self.seed,
            **attributes_of(self, "before", "after"),
            "gains": [{**one._asdict(), "tuned": self.best.gains[one.path]} for one in self.gains],
            "at_border": list(self.borders),
            **({"searches": [search._brief() for search in self.every]} if self.others else {}),
            "trials": [trial.to_dict() for trial in self.trials],
        }
        return {key: finite_or_none(value) for key, value in data.items()}

    def _brief(self) -> dict[str, Any]:
        gains = {"gains": dict(self.best.gains), "at_border": list(self.at_border)}
        return {"training_seed": self.seed, "after": self.after, **gains}


class HeldOut(NamedTuple):
    """What gains are worth on plants that they were not tuned on."""

    card: TuningTrial
    tuned: TuningTrial
    others: tuple[TuningTrial, ...] = ()
    """Of the other searches, in their order."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        both = {"card": _score_dict(self.card), "tuned": _score_dict(self.tuned)}
        return {**both, **({"others": [*map(_score_dict, self.others)]} if self.others else {})}


def _score_dict(trial: TuningTrial) -> dict[str, Any]:
    plain = attributes_of(trial, "cost", "worst", "violation", "status")
    data: dict[str, Any] = finite_or_none({**plain, "each": trial.costs})
    return data
