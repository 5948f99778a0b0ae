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
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ukctrl.core.errors import InputError
from ukctrl.core.notebook_repr import NotebookRepr
from ukctrl.core.verdict import Verdict
from ukctrl.reports.report_table import csv_text
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.atomic_files import attributes_of, finite_or_none
from ukctrl.simulation.result.column_files import csv_columns, data_frame
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.verdicts import SEVERITY, RunVerdict
from ukctrl.studies.batch.mismatch_level import MismatchLevel
from ukctrl.studies.batch.run_summary import RunSummary
from ukctrl.studies.comparison import comparison_verdicts
from ukctrl.studies.comparison.equal_bandwidth import LoopSummaries
from ukctrl.studies.comparison.fairness import (
    CompletedRepeats,
    FairnessCondition,
    RunConditions,
    fairness_conditions,
)
from ukctrl.studies.comparison.pareto_front import FrontDifference, Fronts
from ukctrl.studies.comparison.ranking import (
    MetricRanking,
    Robustness,
    completed_names,
    correct_rankings,
    mismatch_robustness,
    rank_metric,
    ranked_names,
)
from ukctrl.studies.tuning import GainSearch

if TYPE_CHECKING:
    import pandas as pd


class TestedResults(NamedTuple):
    """What is claimed of a comparison, corrected for all of it."""

    rows: tuple[MetricRanking, ...]
    robustness: Robustness | None
    duels: tuple[FrontDifference, ...]


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Comparison(NotebookRepr):
    """The results of several controllers on the same scenario, in order."""

    repr_module: ClassVar[str] = "ukctrl.studies.comparison.comparison_page"

    results: Mapping[str, Result]
    """Results of the first repeat by the names of their controllers; at least one."""
    outcomes: tuple[RunSummary, ...] = ()
    """What is kept of every run, the first repeats included."""
    tunings: Mapping[str, GainSearch] = dc.field(default_factory=dict)
    """How gains were found, by the names of the controllers; nothing where they were given."""
    conditions: RunConditions = dc.field(default_factory=RunConditions)
    """How the runs were made."""
    stands: LoopSummaries | None = None
    """How the loops stood before they ran; None: not known."""

    def __repr__(self) -> str:
        runs = ", ".join(f"{name!r} {run.status}" for name, run in self.results.items())
        return f"<Comparison of {runs}>"

    fronts: Fronts | None = None
    """What each law can do, whatever its gains; None: not asked for."""

    @staticmethod
    def of(results: Mapping[str, Result]) -> Comparison:
        """Compare results by the names of their controllers."""
        outcomes = tuple(
            RunSummary.of(result, name, keep=False) for name, result in results.items()
        )
        return Comparison(results=results, outcomes=outcomes)

    def __post_init__(self) -> None:
        if not self.results:
            raise InputError("a comparison must have at least one result; got none.")
        object.__setattr__(self, "results", MappingProxyType(dict(self.results)))
        object.__setattr__(self, "tunings", MappingProxyType(dict(self.tunings)))

    @functools.cached_property
    def first(self) -> Result:
        """The result that gives the comparison its title and its labels."""
        results = self.results.values()
        return next((run for run in results if len(run.samples)), next(iter(results)))

    @property
    def title(self) -> str:
        """The title of the scenario."""
        return self.first.title

    @functools.cached_property
    def runs(self) -> Mapping[str, tuple[RunSummary, ...]]:
        """The repeats of the scenario as it is, by controller and in their order."""
        return self._runs_at(None)

    def _runs_at(self, level: MismatchLevel | None) -> dict[str, tuple[RunSummary, ...]]:
        chosen = sorted(
            (run for run in self.outcomes if run.mismatch == level),
            key=lambda run: (run.repeat, run.search),
        )
        named = {name: [run for run in chosen if run.controller == name] for name in self.results}
        common = {run.repeat for run in chosen}
        if not self.conditions.whole:  # some lack repeats: only those that all have are paired
            repeat_sets = (self._complete_repeats(n, runs) for n, runs in named.items() if runs)
            common = common.intersection(*repeat_sets)
        return {
            name: tuple(run for run in runs if run.repeat in common) for name, runs in named.items()
        }

    def _complete_repeats(self, name: str, runs: Sequence[RunSummary]) -> set[int]:
        """Return the repeats that all searches of a controller have done."""
        searches = len(self.tunings[name].every) if name in self.tunings else 1
        done = Counter(run.repeat for run in runs)
        return {repeat for repeat, count in done.items() if count == searches}

    @property
    def repeats(self) -> int:
        """How many repeats of each controller are compared; each with the gains of every search."""
        return max(len({run.repeat for run in runs}) for runs in self.runs.values())

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

    def belief(self, name: str) -> RunVerdict:
        """Return the worst that is said of a controller's runs."""
        runs = self.runs[name] or (RunSummary.of(self.results[name], name, keep=False),)
        return max((run.validity for run in runs), key=lambda each: SEVERITY[each.verdict])

    @property
    def completed(self) -> tuple[str, ...]:
        """The controllers whose every run completed."""
        return completed_names(self.runs)

    @property
    def ranked(self) -> tuple[str, ...]:
        """The controllers that are ranked: those of them that crossed no limit, where there are."""
        return ranked_names(self.runs)

    @functools.cached_property
    def rows(self) -> tuple[MetricRanking, ...]:
        """Every metric that some result has, with the best controllers marked."""
        return self._tested.rows

    @property
    def error(self) -> str:
        """The metric that stands for the error: `rms_phi`, or `rms_beta` without any `phi`."""
        values = (run.metrics.get("rms_phi", math.nan) for one in self.runs.values() for run in one)
        return "rms_phi" if any(map(math.isfinite, values)) else "rms_beta"

    @property
    def robustness(self) -> Robustness | None:
        """Errors against the mismatch between the true robot and the file; None: not asked for."""
        return self._tested.robustness

    @property
    def duels(self) -> tuple[FrontDifference, ...]:
        """Every two laws along their fronts, with what is claimed; nothing without fronts."""
        return self._tested.duels

    @functools.cached_property
    def _tested(self) -> TestedResults:
        """Every row, those at other levels of mismatch, and fronts, with what is claimed of all."""
        names = dict.fromkeys(name for run in self.results.values() for name in run.metrics)
        labels, robustness = self.first.labels, None
        rows = [rank_metric(name, metrics.unit_in(name, labels), self.runs) for name in names]
        levels = {run.mismatch for run in self.outcomes if run.mismatch is not None}
        if levels:
            runs = {0.0: self.runs, **{level: self._runs_at(level) for level in levels}}
            robustness = mismatch_robustness(runs, self.error, labels)
            rows += robustness.rows[1:]
        front_p = [duel.p for duel in self.fronts.duels] if self.fronts else []
        tested_rows, p = correct_rankings(rows, self.error, front_p)
        if self.at_border:
            tested_rows = tuple(row._replace(withheld=True) for row in tested_rows)
        nominal_rows = tested_rows[: len(names)]
        if robustness is not None:
            nominal = {row.metric: row for row in nominal_rows}
            first = nominal.get(self.error, robustness.rows[0])
            robustness = robustness._replace(rows=(first, *tested_rows[len(names) :]))
        duels = self.fronts.decided(p) if self.fronts else ()
        return TestedResults(nominal_rows, robustness, duels)

    @functools.cached_property
    def facts(self) -> tuple[FairnessCondition, ...]:
        """What was equal for all controllers and what was not, and where the gains come from."""
        loops = () if self.stands is None else (self.stands.bandwidth_condition(),)
        repeats = self.conditions.repeats(self._completed_repeats)
        return (*fairness_conditions(self.results, self.tunings), *loops, repeats)

    @functools.cached_property
    def _completed_repeats(self) -> CompletedRepeats:
        levels = {
            level: min(len({run.repeat for run in runs}) for runs in self._runs_at(level).values())
            for level in self.conditions.levels
        }
        groups = filter(None, self.runs.values())
        seeds = {tuple({run.repeat: run.seed for run in runs}.values()) for runs in groups}
        return CompletedRepeats(self.repeats, levels, self.seeds, len(seeds) <= 1)

    @functools.cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The comparison in plain words: the overall picture first, then metric by metric."""
        words, beliefs = comparison_verdicts, {name: self.belief(name) for name in self.completed}
        error = next((row for row in self.rows if row.metric == self.error), None)
        return (
            words.overall_verdict(self.rows, self.runs, beliefs),
            *(self.fronts.verdicts(self.duels) if self.fronts else ()),
            *words.failure_verdicts(self.runs),
            *words.validity_verdicts(beliefs),
            *words.caution_verdicts(
                self.conditions, self._completed_repeats, self.facts, self.tunings
            ),
            *words.exact_model_verdicts(error, self.facts),
            *words.ignored_settings_verdicts(self.conditions.dropped),
            *(self.stands.warnings(bool(self.tunings)) if self.stands else ()),
            *([words.mismatch_verdict(self.robustness)] if self.robustness is not None else []),
            *(
                words.metric_verdict(row, self.runs)
                for row in self.rows
                if "." not in row.metric and row.known
            ),
        )

    def folders(self) -> dict[str, str]:
        """Return the name of each controller's folder, which is that of its card as well."""
        used_names: set[str] = set()
        return {name: _folder_name(name, used_names) for name in self.results}

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
            **attributes_of(run, "status", "message"),
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
            head += ["repeats", "completed", *(f"{n}:{one}" for n in names for one in statistics)]
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

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per run, as `runs_csv` does.

        Raises:
            InputError: pandas is not installed.
        """
        return data_frame("Comparison.to_pandas", csv_columns(self.runs_csv()))

    def runs_csv(self) -> str:
        """Return one line per run: whose, its conditions, how it ended and every metric."""
        names = [row.metric for row in self.rows]
        several = any(run.search for run in self.outcomes)
        head = ["controller", "repeat", "seed", "mismatch", "status", "verdict", *names]
        lines: list[list[object]] = []
        for run in self.outcomes:
            lines.append([run.controller, run.repeat, run.seed, run.mismatch, run.status])
            metrics_of_run = [run.metrics.get(name, math.nan) for name in names]
            lines[-1] += [run.validity.verdict, *metrics_of_run, *([run.search] * several)]
        return csv_text([*head, *(["search"] * several)], lines)


def _folder_name(controller: str, used_names: set[str]) -> str:
    """Return the controller's name without what a path may not hold, and add it to the taken."""
    stem = re.sub(r"[^\w.+-]+", "_", controller).strip("._") or "controller"
    name = next(n for n in (stem, *(f"{stem}-{k}" for k in range(2, 999))) if n not in used_names)
    used_names.add(name)
    return name
