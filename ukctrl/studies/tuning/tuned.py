"""One controller, tuned: the search, what it is worth elsewhere, before and after, as files."""

from __future__ import annotations

import dataclasses as dc
import functools
import json
import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ukctrl.core.verdict import Verdict
from ukctrl.reports.report_table import csv_text
from ukctrl.simulation.result.atomic_files import card_text, finite_or_none
from ukctrl.simulation.result.column_files import csv_columns, data_frame
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.tuning import tuning_verdicts
from ukctrl.studies.tuning.gain_search import GainSearch, HeldOut
from ukctrl.studies.tuning.plants import Plants

if TYPE_CHECKING:
    import pandas as pd

_TITLE_SUFFIX, _SOURCE_SUFFIX = (
    re.compile(r", tuned for .*$"),
    re.compile(r"; gains from \d+ simulations.*$"),
)
"""What an earlier search has written."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Tuned:
    """A controller whose gains were searched for."""

    scenario: Scenario
    """What it was tuned on, with the card's gains."""
    tuning: GainSearch
    """The search."""
    plants: Plants
    """On what every candidate was simulated."""
    held_out: HeldOut | None = None
    """What card and tuned gains are worth on other plants; None: not asked for."""
    results: Mapping[str, Result] = dc.field(default_factory=dict)
    """The scenario as its file has it, with the gains of the ``card`` and ``tuned``; nothing where
    the user has stopped the search."""

    def __repr__(self) -> str:
        said = self.verdicts[0].text if self.verdicts else ""
        return f"<Tuned on {self.scenario.name or self.title!r}: {said}>"

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
        return self.scenario.replace(self.tuning.best.changes)

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
            name: {"status": run.status, "metrics": finite_or_none(dict(run.metrics))}
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

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per candidate, as `history_csv` does.

        Raises:
            InputError: pandas is not installed.
        """
        return data_frame("Tuned.to_pandas", csv_columns(self.history_csv()))

    def history_csv(self) -> str:
        """Return one line per candidate, in the order in which they were tried.

        Columns: `candidate`, `simulations` until then, `stage`, the gains by their paths, `cost`,
        `violation`, `reached`, `status`, `lowest` cost so far of those that keep to the
        constraints, how far each is broken, `beyond:peak_u <= 40`, and the cost on each plant,
        `cost:0`, where there are several.
        """
        plants, paths = self.tuning.plants, [gain.path for gain in self.tuning.gains]
        plant_columns = [f"cost:{k}" for k in range(plants)] if plants > 1 else []
        limit_columns = [f"beyond:{limit}" for limit in self.tuning.limits]
        head = ["candidate", "simulations", "stage", *paths, "cost", "violation", "reached"]
        history = zip(self.tuning.trials, self.tuning.history().tolist(), strict=True)
        return csv_text(
            [*head, "status", "lowest", *limit_columns, *plant_columns],
            (
                [
                    *(k, (k + 1) * plants, trial.stage, *(trial.gains[path] for path in paths)),
                    *(trial.cost, trial.violation, trial.reached, trial.status, lowest),
                    *(trial.beyond or [math.inf] * len(limit_columns)),
                    *trial.each,
                ]
                for k, (trial, lowest) in enumerate(history)
            ),
        )


def tuned_card(controller: Mapping[str, Any], tuning: GainSearch, scenario: str) -> str:
    """Return the text of a card with tuned gains."""
    title = _TITLE_SUFFIX.sub("", str(controller.get("title") or tuning.entry))
    source = _SOURCE_SUFFIX.sub("", str(controller.get("source") or "ukctrl"))
    limits = f", subject to {', '.join(tuning.limits)}" if tuning.limits else ""
    plants = f" on {tuning.plants} plants ({tuning.aggregate})" if tuning.plants > 1 else ""
    spent = f"gains from {tuning.simulations} simulations of {scenario}{plants}, seed {tuning.seed}"
    return card_text(
        controller, title=f"{title}, tuned for {tuning.cost}{limits}", source=f"{source}; {spent}"
    )
