"""What gains are worth on plants that they were not tuned on."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ukctrl.simulation.result.plain_files import finite_or_none
from ukctrl.studies.tuning.tuning_record import Trial


class HeldOut(NamedTuple):
    """What gains are worth on plants that they were not tuned on."""

    card: Trial
    tuned: Trial

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        data = {
            name: {
                "cost": trial.cost,
                "worst": worst_of(trial),
                "violation": trial.violation,
                "status": trial.status,
                "each": list(costs_of(trial)),
            }
            for name, trial in (("card", self.card), ("tuned", self.tuned))
        }
        return {key: finite_or_none(value) for key, value in data.items()}


def costs_of(trial: Trial) -> tuple[float, ...]:
    """Return the cost on each plant."""
    return trial.each or (trial.cost,)


def worst_of(trial: Trial) -> float:
    """Return the highest cost on any plant; infinite where a run failed."""
    return max(costs_of(trial))


def average_of(trial: Trial) -> float:
    """Return the average cost over the plants; infinite where a run failed."""
    return math.fsum(costs_of(trial)) / len(costs_of(trial))
