"""Several controllers on one scenario, compared fairly: what was equal, who is best at what.

Only runs that completed are ranked: one that ended early has spent less of everything. Lower
is better for every metric.
"""

from __future__ import annotations

import csv
import dataclasses as dc
import functools
import io
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from ukctrl import metrics
from ukctrl.comparison.fairness import Fact, facts, quoted_list
from ukctrl.errors import InputError
from ukctrl.pretty import number, sentence, si
from ukctrl.result import Result
from ukctrl.storage import finite_or_none
from ukctrl.verdicts import Verdict

__all__ = ["Comparison", "Fact", "Row"]

TIE_RTOL = 0.01
"""Values this close, relatively, are called equal."""
TIE_ATOL: Mapping[str, float] = MappingProxyType({"phi": 1e-9, "beta": 1e-9, "passive_phi": 1e-9})
"""Errors below this [m, rad and per second] are rounding, and equal; by unit of the metric."""


class Row(NamedTuple):
    """One metric of every controller."""

    metric: str
    unit: str
    values: dict[str, float]
    best: tuple[str, ...]
    """The controllers that tie for the lowest value; none when nothing sets them apart."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """The results of several controllers on the same scenario, in order."""

    results: Mapping[str, Result]
    """Results by the names of their controllers; at least one."""

    @staticmethod
    def of(results: Mapping[str, Result]) -> Comparison:
        """Compare results by the names of their controllers."""
        return Comparison(results=results)

    def __post_init__(self) -> None:
        if not self.results:
            raise InputError("a comparison must have at least one result; got none.")
        object.__setattr__(self, "results", MappingProxyType(dict(self.results)))

    @property
    def first(self) -> Result:
        """The result that gives the comparison its title and its labels."""
        return next(iter(self.results.values()))

    @property
    def title(self) -> str:
        """The title of the scenario."""
        return self.first.title

    @property
    def completed(self) -> tuple[str, ...]:
        """The controllers that are ranked: those whose run completed."""
        return tuple(name for name, run in self.results.items() if run.status == "completed")

    @functools.cached_property
    def rows(self) -> tuple[Row, ...]:
        """Every metric that some result has, with the best controllers marked."""
        names = dict.fromkeys(name for run in self.results.values() for name in run.metrics)
        found = []
        for name in names:
            values = {key: run.metrics.get(name, math.nan) for key, run in self.results.items()}
            unit = metrics.unit_in(name, self.first.labels)
            found.append(Row(name, unit, values, self._best(name, values)))
        return tuple(found)

    def _best(self, name: str, values: Mapping[str, float]) -> tuple[str, ...]:
        ranked = {key: values[key] for key in self.completed if math.isfinite(values[key])}
        metric = metrics.describe(name)
        if len(self.completed) < 2 or not ranked or not metric.about_controller:
            return ()
        lowest = min(ranked.values())
        bound = lowest + max(TIE_RTOL * abs(lowest), TIE_ATOL.get(metric.unit, 0.0))
        best = tuple(key for key, value in ranked.items() if value <= bound)
        return best if len(best) < len(self.completed) else ()

    @functools.cached_property
    def facts(self) -> tuple[Fact, ...]:
        """What was equal for all controllers and what was not, and where the gains come from."""
        return facts(self.results)

    @functools.cached_property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The comparison in plain words: the overall picture first, then metric by metric."""
        found = [self._overall()]
        for name, run in self.results.items():
            if run.status != "completed":
                ended = number(float(run.time[-1]), 3) if len(run.samples) else "0"
                text = f"'{name}' {run.status} at t = {ended} s and is not ranked."
                why = f"{text} {sentence(run.message)}".strip()
                found.append(Verdict("bad", run.status, why))
        unequal = [fact.subject for fact in self.facts if not fact.equal]
        if unequal:
            text = (
                f"Not equal for all: {', '.join(unequal)}. The ranking mixes these with the laws."
            )
            found.append(Verdict("warning", "fairness", text))
        for row in self.rows:
            if "." not in row.metric and any(map(math.isfinite, row.values.values())):
                found.append(Verdict("note", row.metric, self._sentence(row)))
        return tuple(found)

    def _overall(self) -> Verdict:
        if len(self.completed) < 2:
            count = f"{len(self.completed)} of {len(self.results)}"
            return Verdict(
                "warning", "overall", f"{count} runs completed: there is nothing to rank."
            )
        table = {row.metric: row for row in self.rows}
        error = next((n for n in ("rms_phi", "rms_beta") if table[n].best), "rms_phi")
        precise, thrifty = table[error].best, table["effort"].best
        if not precise and not thrifty:
            text = "All controllers that completed keep to the task equally well at equal effort."
        elif precise and not thrifty:
            text = f"At equal effort, {quoted_list(precise)} {_has(precise)} the smallest error."
        elif thrifty and not precise:
            text = f"At equal error, {quoted_list(thrifty)} {_spends(thrifty)} the least effort."
        elif set(precise) & set(thrifty):
            both = tuple(name for name in precise if name in thrifty)
            text = f"{quoted_list(both)} {_has(both)} both the smallest error and the least effort."
        else:
            text = (
                f"A trade-off: {quoted_list(precise)} {_has(precise)} the smallest error, "
                f"{quoted_list(thrifty)} {_spends(thrifty)} the least effort."
            )
        return Verdict("good", "overall", text)

    def _sentence(self, row: Row) -> str:
        ranked = {key: row.values[key] for key in self.completed}
        if not row.best:
            finite = [value for value in ranked.values() if math.isfinite(value)]
            shown = f" (at most {si(max(finite), row.unit)})" if finite else ""
            if not metrics.describe(row.metric).about_controller:
                return f"Judges the integration, not the controllers{shown}."
            return f"Nothing sets the controllers apart{shown}."
        lowest = min(ranked[name] for name in row.best)
        parts = [f"{quoted_list(row.best)} {_is(row.best)} best with {si(lowest, row.unit)}"]
        for name, value in ranked.items():
            if name not in row.best:
                parts.append(f"'{name}' {_against(value, lowest, row.unit)}")
        return f"{'; '.join(parts)}."

    def to_dict(self) -> dict[str, Any]:
        """Return the whole comparison as JSON-able data; numbers that are not finite are None."""
        names = self.first.names
        return {
            "scenario": names["scenario"] or self.first.title,
            "robot": names["robot"],
            "controllers": [
                {
                    "name": name,
                    "status": run.status,
                    "message": run.message,
                    "gains": str(run.provenance.get("gains", "given")),
                    "metrics": finite_or_none(run.metrics),
                }
                for name, run in self.results.items()
            ],
            "units": {row.metric: row.unit for row in self.rows},
            "best": {row.metric: list(row.best) for row in self.rows},
            "conditions": {
                fact.subject: {"equal": fact.equal, "text": fact.text} for fact in self.facts
            },
            "verdicts": [{"subject": v.subject, "text": v.text} for v in self.verdicts],
        }

    def save(self, directory: str | Path) -> Path:
        """Write the page `report.html` with its figures, `compare.json`, `compare.csv`, and each
        result in a folder of its own.

        Returns:
            The directory, which is made when it does not exist.

        Raises:
            InputError: The directory cannot be written to.
        """
        from ukctrl.comparison import page

        folder = Path(directory)
        taken: set[str] = set()
        for name, run in self.results.items():
            run.save(folder / _folder_name(name, taken))
        page.write(self, folder)
        return folder

    def to_json(self) -> str:
        """Return [`to_dict`][ukctrl.comparison.Comparison.to_dict] as text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def to_csv(self) -> str:
        """Return one line per controller: its name, its status and every metric."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["controller", "status", *(row.metric for row in self.rows)])
        for name, run in self.results.items():
            values = (row.values[name] for row in self.rows)
            texts = (repr(value) if math.isfinite(value) else "" for value in values)
            writer.writerow([name, run.status, *texts])
        return stream.getvalue()


def _folder_name(controller: str, taken: set[str]) -> str:
    """Return the controller's name without what a path may not hold, and add it to the taken."""
    wanted = re.sub(r"[^\w.+-]+", "_", controller).strip("._") or "controller"
    name = next(n for n in (wanted, *(f"{wanted}-{k}" for k in range(2, 999))) if n not in taken)
    taken.add(name)
    return name


def _against(value: float, lowest: float, unit: str) -> str:
    if not math.isfinite(value):
        return "has none"
    if lowest <= 0.0 or value / lowest > 1e6:
        return f"has {si(value, unit)}"
    ratio = value / lowest
    if ratio < 2.0:
        return f"is {number(100.0 * (ratio - 1.0), 2)} % above"
    return f"has {number(ratio, 2)} times as much"


def _has(names: tuple[str, ...]) -> str:
    return "has" if len(names) == 1 else "have"


def _spends(names: tuple[str, ...]) -> str:
    return "spends" if len(names) == 1 else "spend"


def _is(names: tuple[str, ...]) -> str:
    return "is" if len(names) == 1 else "are"
