"""The results of several controllers on one scenario, side by side."""

from __future__ import annotations

import dataclasses as dc
import functools
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ukctrl.core.errors import InputError
from ukctrl.core.number_text import number
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.verdicts import Verdict
from ukctrl.studies.batch import Outcome
from ukctrl.studies.comparison import comparison_files, comparison_verdicts
from ukctrl.studies.comparison.fairness import Fact, belief_alone_differs, facts
from ukctrl.studies.comparison.ranking import Row, completed_names, rank
from ukctrl.studies.comparison.robustness import Robustness, robustness
from ukctrl.studies.tuning import Tuning


class Conditions(NamedTuple):
    """How the runs were made, as far as it is not seen in them."""

    random: bool | None = None
    """Whether a seed changes anything; None: not known."""
    asked: int = 1
    """How many repeats were asked for; one that changes nothing is not run."""
    stopped: bool = False
    """Whether the user has stopped it, so that runs are missing."""
    levels: tuple[float, ...] = ()
    """The levels of mismatch that were asked for, without 0."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """The results of several controllers on the same scenario, in order."""

    results: Mapping[str, Result]
    """Results of the first repeat by the names of their controllers; at least one."""
    outcomes: tuple[Outcome, ...] = ()
    """What is kept of every run, the first repeats included."""
    tunings: Mapping[str, Tuning] = dc.field(default_factory=dict)
    """How gains were found, by the names of the controllers; nothing where they were given."""
    conditions: Conditions = dc.field(default_factory=Conditions)
    """How the runs were made."""

    @staticmethod
    def of(results: Mapping[str, Result]) -> Comparison:
        """Compare results by the names of their controllers."""
        outcomes = tuple(Outcome.of(result, name, keep=False) for name, result in results.items())
        return Comparison(results=results, outcomes=outcomes)

    def __post_init__(self) -> None:
        if not self.results:
            raise InputError("a comparison must have at least one result; got none.")
        object.__setattr__(self, "results", MappingProxyType(dict(self.results)))
        object.__setattr__(self, "tunings", MappingProxyType(dict(self.tunings)))

    @functools.cached_property
    def first(self) -> Result:
        """The result that gives the comparison its title and its labels."""
        every = self.results.values()
        return next((run for run in every if len(run.samples)), next(iter(every)))

    @property
    def title(self) -> str:
        """The title of the scenario."""
        return self.first.title

    @functools.cached_property
    def runs(self) -> Mapping[str, tuple[Outcome, ...]]:
        """The repeats of the scenario as it is, by controller and in their order."""
        return self._at(None)

    def _at(self, level: float | None) -> dict[str, tuple[Outcome, ...]]:
        chosen = sorted(
            (run for run in self.outcomes if run.level == level), key=lambda run: run.repeat
        )
        # After a stop some controllers lack repeats: only those that all have are paired.
        named = {name: [run for run in chosen if run.entry == name] for name in self.results}
        counts = [len(every) for every in named.values()]
        common = min(filter(None, counts), default=0) if self.conditions.stopped else max(counts)
        return {name: tuple(every[:common]) for name, every in named.items()}

    @property
    def repeats(self) -> int:
        """How many runs of each controller are compared."""
        return max(len(every) for every in self.runs.values())

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the repeats, the same for every controller."""
        longest = max(self.runs.values(), key=len)
        return tuple(run.seed for run in longest)

    @property
    def completed(self) -> tuple[str, ...]:
        """The controllers that are ranked: those whose every run completed."""
        return completed_names(self.runs)

    @functools.cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every metric that some result has, with the best controllers marked."""
        names = dict.fromkeys(name for run in self.results.values() for name in run.metrics)
        labels = self.first.labels
        return tuple(rank(name, metrics.unit_in(name, labels), self.runs) for name in names)

    @property
    def error(self) -> str:
        """The metric that stands for the error: `rms_phi`, or `rms_beta` without any `phi`."""
        row = next((row for row in self.rows if row.metric == "rms_phi"), None)
        has_phi = row is not None and any(map(math.isfinite, row.values.values()))
        return "rms_phi" if has_phi else "rms_beta"

    @functools.cached_property
    def robustness(self) -> Robustness | None:
        """Errors against the mismatch between the true robot and the file; None: not asked for."""
        levels = {run.level for run in self.outcomes if run.level is not None}
        if not levels:
            return None
        runs = {0.0: self.runs} | {level: self._at(level) for level in levels}
        return robustness(runs, self.error, self.first.labels)

    @functools.cached_property
    def facts(self) -> tuple[Fact, ...]:
        """What was equal for all controllers and what was not, and where the gains come from."""
        repeats = Fact("repeats", self._same_seeds(), self._repeats_text())
        return (*facts(self.results, self.tunings), repeats)

    def _same_seeds(self) -> bool:
        seeds = {tuple(run.seed for run in every) for every in self.runs.values() if every}
        return len(seeds) <= 1

    def _repeats_text(self) -> str:
        count, asked = self.repeats, self.conditions.asked
        if self.conditions.random is False:
            if self.conditions.levels:
                return (
                    "one run each of the scenario as it is, where nothing is random; with a "
                    f"mismatch {self._count(max(map(self._repeats_at, self.conditions.levels)))}"
                )
            told = "nothing in the scenario is random: repeats change nothing, and each ran once"
            return told if asked > 1 else "one run each; nothing in the scenario is random"
        if count == 1:
            return "one run each" + (f" ({asked} were asked for)" if asked > 1 else "")
        listed = ", ".join(map(str, self.seeds[:4])) + (", ..." if count > 4 else "")
        return f"{self._count(count)}, paired: the same seeds for all, {listed}"

    def _count(self, count: int) -> str:
        asked = self.conditions.asked
        return f"{count} of each" + (f" ({asked} were asked for)" if count < asked else "")

    def _repeats_at(self, level: float) -> int:
        return min((len(every) for every in self._at(level).values()), default=0)

    def _stopped_text(self) -> str:
        """Say how many of the asked-for repeats all controllers have."""
        asked, levels = self.conditions.asked, self.conditions.levels
        parts = []
        if asked > 1 and self.conditions.random is not False:
            parts.append(f"{self.repeats} of {asked} repeats")
        if levels:
            done = {level: self._repeats_at(level) for level in levels}
            told = [f"{count} at {number(100.0 * level)} %" for level, count in done.items()]
            parts.append(f"of {asked} with a mismatch {', '.join(told)}")
        after = f"; all controllers have {', and '.join(parts)}" if parts else ""
        return f"Stopped by the user{after}. What was done until then is compared."

    @functools.cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The comparison in plain words: the overall picture first, then metric by metric."""
        found = [
            comparison_verdicts.overall(self.rows, self.runs),
            *comparison_verdicts.failures(self.runs),
        ]
        found += self._warnings()
        if self.robustness is not None:
            found += comparison_verdicts.about_mismatch(self.robustness)
        for row in self.rows:
            if "." not in row.metric and any(map(math.isfinite, row.values.values())):
                found.append(Verdict("note", row.metric, comparison_verdicts.about(row, self.runs)))
        return tuple(found)

    def _warnings(self) -> list[Verdict]:
        found = []
        if self.conditions.stopped:
            found.append(Verdict("warning", "stopped", self._stopped_text()))
        if belief_alone_differs(self.facts):
            text = "Not all believe the same: the ranking is of each law with its belief."
            found.append(Verdict("note", "belief", text))
        unequal = [f.subject for f in self.facts if not f.equal and f.subject != "belief"]
        if unequal:
            text = (
                f"Not equal for all: {', '.join(unequal)}. The ranking mixes these with the laws."
            )
            found.append(Verdict("warning", "fairness", text))
        if self.conditions.random and self.repeats == 1:
            text = "One draw of what is random: the ranking holds for it alone. Ask for repeats."
            found.append(Verdict("warning", "chance", text))
        at_border = [
            f"{', '.join(path.removeprefix('controller.') for path in tuned.at_border)} of '{name}'"
            for name, tuned in self.tunings.items()
            if tuned.at_border
        ]
        if at_border:
            text = (
                f"Tuned to an end of their range: {'; '.join(at_border)}. A better value may lie "
                "beyond, or the cost leaves out what such a gain costs."
            )
            found.append(Verdict("warning", "tuning", text))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return the whole comparison as JSON-able data; numbers that are not finite are None."""
        return comparison_files.to_dict(self)

    def save(self, directory: str | Path) -> Path:
        """Write the page `report.html` with its figures, `compare.json`, `compare.csv`,
        `runs.csv`, each result in a folder of its own, and each tuned controller as a card.

        Returns:
            The directory, which is made when it does not exist.

        Raises:
            InputError: The directory cannot be written to.
        """
        from ukctrl.studies.comparison import comparison_page

        folder = Path(directory)
        for name, run in self.folders().items():
            self.results[name].save(folder / run)
        comparison_page.write(self, folder)
        return folder

    def folders(self) -> dict[str, str]:
        """Return the name of each controller's folder, which is that of its card as well."""
        taken: set[str] = set()
        return {name: _folder_name(name, taken) for name in self.results}

    def to_json(self) -> str:
        """Return [`to_dict`][ukctrl.studies.comparison.Comparison.to_dict] as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def to_csv(self) -> str:
        """Return one line per controller: its name, its status and every metric, over repeats."""
        return comparison_files.to_csv(self)

    def runs_csv(self) -> str:
        """Return one line per run."""
        return comparison_files.runs_csv(self)


def _folder_name(controller: str, taken: set[str]) -> str:
    """Return the controller's name without what a path may not hold, and add it to the taken."""
    wanted = re.sub(r"[^\w.+-]+", "_", controller).strip("._") or "controller"
    name = next(n for n in (wanted, *(f"{wanted}-{k}" for k in range(2, 999))) if n not in taken)
    taken.add(name)
    return name
