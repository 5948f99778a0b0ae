"""The results of several controllers on one scenario, side by side."""

from __future__ import annotations

import dataclasses as dc
import functools
import json
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from ukctrl.core.errors import InputError
from ukctrl.core.shown import Shown
from ukctrl.core.verdict import Verdict
from ukctrl.reports.table import csv_text
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.plain_files import finite_or_none
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.verdicts import SEVERITY, Belief
from ukctrl.studies.batch.run_outcome import Outcome
from ukctrl.studies.comparison import comparison_verdicts
from ukctrl.studies.comparison.equal_terms import Stands
from ukctrl.studies.comparison.fairness import Conditions, Done, Fact, facts
from ukctrl.studies.comparison.fronts import Duel, Fronts
from ukctrl.studies.comparison.ranking import (
    Robustness,
    Row,
    completed_names,
    decided,
    rank,
    ranked_names,
    robustness,
)
from ukctrl.studies.tuning import Tuning


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Comparison(Shown):
    """The results of several controllers on the same scenario, in order."""

    shown_by: ClassVar[str] = "studies.comparison.comparison_card"

    results: Mapping[str, Result]
    """Results of the first repeat by the names of their controllers; at least one."""
    outcomes: tuple[Outcome, ...] = ()
    """What is kept of every run, the first repeats included."""
    tunings: Mapping[str, Tuning] = dc.field(default_factory=dict)
    """How gains were found, by the names of the controllers; nothing where they were given."""
    conditions: Conditions = dc.field(default_factory=Conditions)
    """How the runs were made."""
    stands: Stands | None = None
    """How the loops stood before they ran; None: not known."""
    fronts: Fronts | None = None
    """What each law can do, whatever its gains; None: not asked for."""

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
            (run for run in self.outcomes if run.level == level),
            key=lambda run: (run.repeat, run.search),
        )
        named = {name: [run for run in chosen if run.entry == name] for name in self.results}
        if not self.conditions.whole:  # some lack repeats: only those that all have are paired
            there = [self._whole_repeats(name, every) for name, every in named.items() if every]
            common = set[int]().union(*there).intersection(*there)
            named = {
                name: [run for run in every if run.repeat in common]
                for name, every in named.items()
            }
        return {name: tuple(every) for name, every in named.items()}

    def _whole_repeats(self, name: str, runs: Sequence[Outcome]) -> set[int]:
        """Return the repeats that all searches of a controller have done."""
        searches = len(self.tunings[name].every) if name in self.tunings else 1
        done = Counter(run.repeat for run in runs)
        return {repeat for repeat, count in done.items() if count == searches}

    @property
    def repeats(self) -> int:
        """How many repeats of each controller are compared; each with the gains of every search."""
        return max(len({run.repeat for run in every}) for every in self.runs.values())

    @functools.cached_property
    def at_border(self) -> tuple[str, ...]:
        """Whose gains a search has left at an end of their range: nobody is called best then."""
        return tuple(name for name, tuned in self.tunings.items() if tuned.borders)

    def shown(self, name: str) -> str:
        """Return a controller's name as figures have it: marked where it ended at a border."""
        return f"{name} (at a border)" if name in self.at_border else name

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds of the repeats, the same for every controller."""
        longest = max(self.runs.values(), key=len)
        return tuple({run.repeat: run.seed for run in longest}.values())

    def belief(self, name: str) -> Belief:
        """Return the worst that is said of a controller's runs."""
        runs = self.runs[name] or (Outcome.of(self.results[name], name, keep=False),)
        return max((run.belief for run in runs), key=lambda each: SEVERITY[each.verdict])

    @property
    def completed(self) -> tuple[str, ...]:
        """The controllers whose every run completed."""
        return completed_names(self.runs)

    @property
    def ranked(self) -> tuple[str, ...]:
        """The controllers that are ranked: those of them that crossed no limit, where there are."""
        return ranked_names(self.runs)

    @functools.cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every metric that some result has, with the best controllers marked."""
        return self._claimed[0]

    @property
    def error(self) -> str:
        """The metric that stands for the error: `rms_phi`, or `rms_beta` without any `phi`."""
        every = (
            run.metrics.get("rms_phi", math.nan) for runs in self.runs.values() for run in runs
        )
        return "rms_phi" if any(map(math.isfinite, every)) else "rms_beta"

    @property
    def robustness(self) -> Robustness | None:
        """Errors against the mismatch between the true robot and the file; None: not asked for."""
        return self._claimed[1]

    @property
    def duels(self) -> tuple[Duel, ...]:
        """Every two laws along their fronts, with what is claimed; nothing without fronts."""
        return self._claimed[2]

    @functools.cached_property
    def _claimed(self) -> tuple[tuple[Row, ...], Robustness | None, tuple[Duel, ...]]:
        """Every row, those at other levels of mismatch, and fronts, with what is claimed of all."""
        names = dict.fromkeys(name for run in self.results.values() for name in run.metrics)
        labels, found = self.first.labels, None
        rows = [rank(name, metrics.unit_in(name, labels), self.runs) for name in names]
        levels = {run.level for run in self.outcomes if run.level is not None}
        if levels:
            runs = {0.0: self.runs} | {level: self._at(level) for level in levels}
            found = robustness(runs, self.error, labels)
            rows += found.rows[1:]
        beside = [duel.p for duel in self.fronts.duels] if self.fronts else []
        every, p = decided(rows, self.error, beside)
        if self.at_border:
            every = tuple(row._replace(withheld=True) for row in every)
        own = every[: len(names)]
        if found is not None:
            first = next((row for row in own if row.metric == self.error), found.rows[0])
            found = found._replace(rows=(first, *every[len(names) :]))
        return own, found, self.fronts.decided(p) if self.fronts else ()

    @functools.cached_property
    def facts(self) -> tuple[Fact, ...]:
        """What was equal for all controllers and what was not, and where the gains come from."""
        loops = () if self.stands is None else (self.stands.fact(),)
        repeats = self.conditions.repeats(self._done)
        return (*facts(self.results, self.tunings), *loops, repeats)

    @functools.cached_property
    def _done(self) -> Done:
        levels = {
            level: min(
                (len({run.repeat for run in every}) for every in self._at(level).values()),
                default=0,
            )
            for level in self.conditions.levels
        }
        seeds = {
            tuple({run.repeat: run.seed for run in every}.values())
            for every in self.runs.values()
            if every
        }
        return Done(self.repeats, levels, self.seeds, len(seeds) <= 1)

    @functools.cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The comparison in plain words: the overall picture first, then metric by metric."""
        words, beliefs = comparison_verdicts, {name: self.belief(name) for name in self.completed}
        error = next((row for row in self.rows if row.metric == self.error), None)
        return (
            words.overall(self.rows, self.runs, beliefs),
            *(self.fronts.verdicts(self.duels) if self.fronts else ()),
            *words.failures(self.runs),
            *words.disbeliefs(beliefs),
            *words.cautions(self.conditions, self._done, self.facts, self.tunings),
            *words.about_exactness(error, self.facts),
            *words.about_dropped(self.conditions.dropped),
            *(self.stands.warnings() if self.stands else ()),
            *([words.about_mismatch(self.robustness)] if self.robustness is not None else []),
            *(
                words.about(row, self.runs)
                for row in self.rows
                if "." not in row.metric and row.known
            ),
        )

    def folders(self) -> dict[str, str]:
        """Return the name of each controller's folder, which is that of its card as well."""
        taken: set[str] = set()
        return {name: _folder_name(name, taken) for name in self.results}

    def to_dict(self) -> dict[str, Any]:
        """Return the whole comparison as JSON-able data; numbers that are not finite are None."""
        names, rows = self.first.names, self.rows
        table: dict[str, Any] = {
            "scenario": names["scenario"] or self.first.title,
            "robot": names["robot"],
            "controllers": [self._controller(name) for name in self.results],
            "units": {row.metric: row.unit for row in rows},
            "best": {row.metric: list(row.marked) for row in rows},
            "lowest": {row.metric: list(row.best) for row in rows},
            "conditions": {f.subject: {"equal": f.equal, "text": f.text} for f in self.facts},
            "verdicts": [{"subject": v.subject, "text": v.text} for v in self.verdicts],
            "repeats": {
                "count": self.repeats,
                "asked": self.conditions.asked,
                "seeds": list(self.seeds),
                "random": self.conditions.random,
            },
        }
        if self.stands is not None:
            table["loops"] = self.stands.to_dict()
        if self.repeats > 1:
            table["differences"] = {
                row.metric: [pair.to_dict() for pair in row.pairs] for row in rows if row.pairs
            }
        if self.robustness is not None:
            table["mismatch"] = self.robustness.to_dict()
        if self.fronts is not None:
            table["fronts"] = self.fronts.to_dict(self.duels)
        if self.tunings:
            table["tuning"] = {name: tuned.to_dict() for name, tuned in self.tunings.items()}
        return table

    def _controller(self, name: str) -> dict[str, Any]:
        run, rows = self.results[name], self.rows
        entry: dict[str, Any] = {
            "name": name,
            "status": run.status,
            "message": run.message,
            "verdict": self.belief(name).verdict,
            "verdict_reasons": [reason._asdict() for reason in self.belief(name).reasons],
            "gains": str(run.provenance.get("gains", "given")),
            "metrics": finite_or_none({row.metric: row.values[name] for row in rows}),
            "believed": run.scenario.get("believed"),
            "completed": sum(outcome.completed for outcome in self.runs[name]),
        }
        if self.repeats > 1:
            spreads = {row.metric: finite_or_none(row.spreads[name]._asdict()) for row in rows}
            entry["statistics"] = spreads
        return entry

    def to_json(self) -> str:
        """Return [`to_dict`][ukctrl.Comparison.to_dict] as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def to_csv(self) -> str:
        """Return one line per controller: its name, its status, its verdict and every metric.

        Of several repeats, the metric's column is the mean; behind them stand how many repeats
        completed, and for each metric the interval of the mean, the median and the worst.
        """
        names, several = [row.metric for row in self.rows], self.repeats > 1
        head = ["controller", "status", "verdict", *names]
        if several:
            statistics = ("ci_low", "ci_high", "median", "worst")
            head += ["repeats", "completed", *(f"{n}:{what}" for n in names for what in statistics)]
        lines: list[list[object]] = []
        for name, run in self.results.items():
            verdict = self.belief(name).verdict
            lines.append([name, run.status, verdict, *(row.values[name] for row in self.rows)])
            if several:
                outcomes = self.runs[name]
                lines[-1] += [len(outcomes), sum(outcome.completed for outcome in outcomes)]
                for spread in (row.spreads[name] for row in self.rows):
                    lines[-1] += [spread.low, spread.high, spread.median, spread.worst]
        return csv_text(head, lines)

    def runs_csv(self) -> str:
        """Return one line per run: whose, its conditions, how it ended and every metric."""
        names = [row.metric for row in self.rows]
        several = any(run.search for run in self.outcomes)
        head = ["controller", "repeat", "seed", "mismatch", "status", "verdict", *names]
        return csv_text(
            [*head, *(["search"] if several else [])],
            (
                [run.entry, run.repeat, run.seed, run.level, run.status, run.belief.verdict]
                + [run.metrics.get(name, math.nan) for name in names]
                + ([run.search] if several else [])
                for run in self.outcomes
            ),
        )


def _folder_name(controller: str, taken: set[str]) -> str:
    """Return the controller's name without what a path may not hold, and add it to the taken."""
    wanted = re.sub(r"[^\w.+-]+", "_", controller).strip("._") or "controller"
    name = next(n for n in (wanted, *(f"{wanted}-{k}" for k in range(2, 999))) if n not in taken)
    taken.add(name)
    return name
