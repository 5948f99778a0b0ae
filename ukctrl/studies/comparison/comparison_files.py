"""A comparison for programs: JSON and CSV."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ukctrl.simulation.result.storage import finite_or_none

if TYPE_CHECKING:
    from ukctrl.studies.comparison.comparison import Comparison
    from ukctrl.studies.comparison.ranking import Row


def to_dict(comparison: Comparison) -> dict[str, Any]:
    """Return the whole comparison as JSON-able data; numbers that are not finite are None."""
    names = comparison.first.names
    rows = comparison.rows
    several = comparison.repeats > 1
    data: dict[str, Any] = {
        "scenario": names["scenario"] or comparison.first.title,
        "robot": names["robot"],
        "controllers": [_controller(comparison, name) for name in comparison.results],
        "units": {row.metric: row.unit for row in rows},
        "best": {row.metric: list(row.best) for row in rows},
        "conditions": {
            fact.subject: {"equal": fact.equal, "text": fact.text} for fact in comparison.facts
        },
        "verdicts": [{"subject": v.subject, "text": v.text} for v in comparison.verdicts],
        "repeats": {
            "count": comparison.repeats,
            "asked": comparison.conditions.asked,
            "seeds": list(comparison.seeds),
            "random": comparison.conditions.random,
        },
    }
    if several:
        data["differences"] = {row.metric: _differences(row) for row in rows if row.pairs}
    if comparison.robustness is not None:
        data["mismatch"] = comparison.robustness.to_dict()
    if comparison.tunings:
        data["tuning"] = {name: found.to_dict() for name, found in comparison.tunings.items()}
    return data


def _controller(comparison: Comparison, name: str) -> dict[str, Any]:
    run = comparison.results[name]
    outcomes = comparison.runs[name]
    entry: dict[str, Any] = {
        "name": name,
        "status": run.status,
        "message": run.message,
        "gains": str(run.provenance.get("gains", "given")),
        "metrics": finite_or_none({row.metric: row.values[name] for row in comparison.rows}),
        "believed": run.scenario.get("believed"),
        "completed": sum(outcome.completed for outcome in outcomes),
    }
    if comparison.repeats > 1:
        entry["statistics"] = {
            row.metric: finite_or_none(row.spreads[name]._asdict()) for row in comparison.rows
        }
    return entry


def _differences(row: Row) -> list[dict[str, Any]]:
    return [
        {
            "lower": pair.lower,
            "higher": pair.higher,
            **{
                key: finite_or_none(value)
                for key, value in pair.difference._asdict().items()
                if key != "p"
            },
            "p": finite_or_none(pair.difference.p),
            "p_corrected": finite_or_none(pair.p),
            "supported": pair.supported,
        }
        for pair in row.pairs
    ]


def to_csv(comparison: Comparison) -> str:
    """Return one line per controller: its name, its status and every metric.

    Of several repeats, the metric's column is the mean; behind them stand how many repeats
    completed, and for each metric the interval of the mean, the median and the worst.
    """
    rows = comparison.rows
    head = ["controller", "status", *(row.metric for row in rows)]
    several = comparison.repeats > 1
    if several:
        head += ["repeats", "completed"]
        head += [f"{row.metric}:{what}" for row in rows for what in _STATISTICS]
    lines: list[Sequence[str]] = [head]
    for name, run in comparison.results.items():
        line = [name, run.status, *_texts(row.values[name] for row in rows)]
        if several:
            outcomes = comparison.runs[name]
            line += [str(len(outcomes)), str(sum(outcome.completed for outcome in outcomes))]
            for row in rows:
                found = row.spreads[name]
                line += _texts((found.low, found.high, found.median, found.worst))
        lines.append(line)
    return _written(lines)


_STATISTICS = ("ci_low", "ci_high", "median", "worst")


def runs_csv(comparison: Comparison) -> str:
    """Return one line per run: whose, which repeat, seed, mismatch, status and every metric."""
    names = [row.metric for row in comparison.rows]
    lines: list[Sequence[str]] = [["controller", "repeat", "seed", "mismatch", "status", *names]]
    for run in comparison.outcomes:
        level = "" if run.level is None else repr(run.level)
        values = _texts(run.metrics.get(name, math.nan) for name in names)
        lines.append([run.entry, str(run.repeat), str(run.seed), level, run.status, *values])
    return _written(lines)


def _texts(values: Iterable[float]) -> list[str]:
    return [repr(value) if math.isfinite(value) else "" for value in values]


def _written(lines: Sequence[Sequence[str]]) -> str:
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(lines)
    return stream.getvalue()
