"""What a search has tried, and what it found."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.storage import finite_or_none
from ukctrl.tuning.gains import Gain

Stage = Literal["card", "sobol", "simplex"]
METHOD = "the card's gains, a Sobol sequence over the ranges, then the simplex of Nelder and Mead"


class Trial(NamedTuple):
    """One simulation of a search."""

    gains: Mapping[str, float]
    """Values by path."""
    cost: float
    """Infinite where the run did not complete, or lacks a metric of the cost."""
    reached: float
    """Fraction of the run that was reached."""
    status: str
    stage: Stage

    @property
    def rank(self) -> tuple[float, float]:
        """What trials are ordered by: the cost, and of those that failed, who got further."""
        return (self.cost, -self.reached)


@dc.dataclass(frozen=True, kw_only=True)
class Tuning:
    """One controller, tuned."""

    entry: str
    """Whose gains these are."""
    gains: tuple[Gain, ...]
    """What was searched over; nothing where the controller has no gains."""
    cost: str
    """What was to be made small."""
    budget: int
    """How many simulations the search was granted, the same for all."""
    seed: int
    """Seed of the scenario that it was tuned on; no repeat is judged on it."""
    trials: tuple[Trial, ...]
    """All that was tried, in order; the first is the card."""

    @property
    def finished(self) -> bool:
        """Whether the budget is spent; without gains the card alone is tried."""
        return len(self.trials) >= (self.budget if self.gains else 1)

    @property
    def best(self) -> Trial:
        """The first of the best trials."""
        return min(self.trials, key=lambda trial: trial.rank)

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
        """The tuned gains that lie within 2 % of an end of their range, in its logarithm."""
        found = []
        for gain in self.gains:
            place = math.log(self.best.gains[gain.path] / gain.low) / math.log(gain.high / gain.low)
            if not 0.02 < place < 0.98:
                found.append(gain.path)
        return tuple(found)

    def history(self) -> NDArray[np.float64]:
        """Return the lowest cost after each simulation."""
        return np.minimum.accumulate(np.array([trial.cost for trial in self.trials]))

    def to_dict(self) -> dict[str, Any]:
        """Return the search as JSON-able data."""
        data: dict[str, Any] = {
            "cost": self.cost,
            "budget": self.budget,
            "simulations": len(self.trials),
            "method": METHOD,
            "training_seed": self.seed,
            "before": self.before,
            "after": self.after,
            "gains": [
                {**gain._asdict(), "tuned": self.best.gains[gain.path]} for gain in self.gains
            ],
            "at_border": list(self.at_border),
            "trials": [{**trial._asdict(), "gains": dict(trial.gains)} for trial in self.trials],
        }
        return {key: finite_or_none(value) for key, value in data.items()}

    @staticmethod
    def trials_from(data: Mapping[str, Any]) -> tuple[Trial, ...]:
        """Read the trials of [`to_dict`][ukctrl.tuning.Tuning.to_dict] back, to go on from them."""
        return tuple(
            Trial(
                gains=dict(entry["gains"]),
                cost=math.inf if entry["cost"] is None else float(entry["cost"]),
                reached=float(entry["reached"]),
                status=str(entry["status"]),
                stage=entry["stage"],
            )
            for entry in data["trials"]
        )
