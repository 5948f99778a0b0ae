"""One controller, tuned: the search, what it is worth elsewhere, before and after, as files."""

from __future__ import annotations

import dataclasses as dc
import functools
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.storage import finite_or_none
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.tuning import tuning_verdicts
from ukctrl.studies.tuning.card import tuned_card
from ukctrl.studies.tuning.plants import Plants
from ukctrl.studies.tuning.tuning_record import Trial, Tuning

__all__ = ["HeldOut", "Tuned"]


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


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Tuned:
    """A controller whose gains were searched for."""

    scenario: Scenario
    """What it was tuned on, with the card's gains."""
    tuning: Tuning
    """The search."""
    plants: Plants
    """On what every candidate was simulated."""
    held_out: HeldOut | None = None
    """What card and tuned gains are worth on other plants; None: not asked for."""
    results: Mapping[str, Result] = dc.field(default_factory=dict)
    """The scenario as its file has it, with the gains of the ``card`` and ``tuned``; nothing where
    the user has stopped the search."""

    @property
    def title(self) -> str:
        """The title of the scenario."""
        return self.scenario.title

    @property
    def stopped(self) -> bool:
        """Whether the user has stopped it before its end."""
        return not self.results

    @property
    def ok(self) -> bool:
        """Whether the search came to its end, with gains that keep to the constraints."""
        return not self.stopped and self.tuning.best.feasible

    @functools.cached_property
    def best(self) -> Scenario:
        """The scenario with the tuned gains."""
        return self.scenario.replace(self.tuning.best.gains)

    @functools.cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What was found in plain words, the outcome first."""
        return tuple(tuning_verdicts.verdicts(self))

    def card(self) -> str:
        """Return the tuned controller as the text of a card."""
        table = self.best.to_table().get("controller", {})
        name = self.scenario.name or self.scenario.title
        return tuned_card(table if isinstance(table, Mapping) else {"use": table},
                         self.tuning, name)  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON-able data; numbers that are not finite are None."""
        runs = {
            name: {
                "status": run.status,
                "metrics": finite_or_none(dict(run.metrics)),
            }
            for name, run in self.results.items()
        }
        return {
            "scenario": self.scenario.name or self.scenario.title,
            "controller": self.tuning.entry,
            "finished": not self.stopped,
            "feasible": self.tuning.best.feasible,
            **self.tuning.to_dict(),
            **{key: value for key, value in self.plants.to_dict().items() if key != "held_out"},
            "held_out": self.held_out.to_dict() if self.held_out else None,
            "runs": runs,
            "verdicts": [{"subject": v.subject, "text": v.text} for v in self.verdicts],
        }

    def to_json(self) -> str:
        """Return [`to_dict`][ukctrl.studies.tuning.Tuned.to_dict] as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def history_csv(self) -> str:
        """Return one line per candidate: number, stage, gains, cost, violation, how far it got."""
        from ukctrl.studies.tuning.history import history_csv

        return history_csv(self.tuning)

    def save(self, directory: str | Path) -> Path:
        """Write the card, its history, the figures and the page `tune.html`.

        Returns:
            The directory, which is made when it does not exist.

        Raises:
            InputError: The directory cannot be written to.
        """
        from ukctrl.studies.tuning import tuning_page

        tuning_page.write(self, Path(directory))
        return Path(directory)
