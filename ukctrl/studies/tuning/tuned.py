"""One controller, tuned: the search, what it is worth elsewhere, before and after, as files."""

from __future__ import annotations

import dataclasses as dc
import functools
import json
from collections.abc import Mapping
from typing import Any

from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result.plain_files import finite_or_none
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.tuning import tuning_verdicts
from ukctrl.studies.tuning.card import tuned_card
from ukctrl.studies.tuning.held_out import HeldOut
from ukctrl.studies.tuning.history import history_csv
from ukctrl.studies.tuning.plants import Plants
from ukctrl.studies.tuning.tuning_record import Tuning


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
        return tuple(tuning_verdicts.verdicts(self.tuning, self.held_out, self.stopped))

    def card(self) -> str:
        """Return the tuned controller as the text of a card."""
        table = self.best.to_table().get("controller", {})
        name = self.scenario.name or self.scenario.title
        return tuned_card(
            table if isinstance(table, Mapping) else {"use": table}, self.tuning, name
        )

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
        """Return [`to_dict`][ukctrl.Tuned.to_dict] as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def history_csv(self) -> str:
        """Return one line per candidate: number, stage, gains, cost, violation, how far it got."""
        return history_csv(self.tuning)
