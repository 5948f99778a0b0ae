"""The lines and cells of the tables on a comparison's page."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ukctrl.core.number_text import number, plus_minus, sentence, unit_text
from ukctrl.simulation.result.metrics import METRICS

if TYPE_CHECKING:
    from ukctrl.studies.comparison.comparison import Comparison
    from ukctrl.studies.comparison.ranking import Row
    from ukctrl.studies.comparison.robustness import AtLevel


def metric_lines(comparison: Comparison) -> list[dict[str, object]]:
    """Return the lines of metrics that some run has, with the cells of the best marked."""
    table: list[dict[str, object]] = []
    for row in comparison.rows:
        if not any(map(math.isfinite, row.values.values())):
            continue
        base, _, block = row.metric.partition(".")
        if block and len(comparison.first.labels.blocks) < 2:
            continue
        cells = [
            {
                "text": _cell(
                    base,
                    row,
                    name,
                    completed=name in comparison.completed,
                    runs=len(comparison.runs[name]),
                ),
                "aside": _aside(row, name) if comparison.repeats > 1 else "",
                "best": name in row.best,
                "ranked": name in comparison.completed,
            }
            for name in row.values
        ]
        table.append(
            {
                "name": row.metric,
                "unit": unit_text(row.unit),
                "meaning": sentence(METRICS[base].description.replace("`", "")),
                "cells": cells,
            }
        )
    return table


def _cell(metric: str, row: Row, name: str, *, completed: bool, runs: int) -> str:
    value, found = row.values[name], row.spreads[name]
    if metric == "settling_time" and math.isnan(value):
        return "not settled"
    half = found.high - found.mean
    text = plus_minus(value, half) if math.isfinite(half) else number(value)
    if found.repeats < runs and completed:
        text = f"{text} ({found.repeats} of {runs})"
    if completed or text == "–":
        return text
    return f"[{text}]" if runs > 1 else f"({text})"


def _aside(row: Row, name: str) -> str:
    found = row.spreads[name]
    if not math.isfinite(found.median) or found.median == found.worst:
        return ""
    return f"{number(found.median)} · {number(found.worst)}"


def robustness_lines(comparison: Comparison) -> list[dict[str, object]]:
    """Return the lines of the table of robustness."""
    found = comparison.robustness
    if found is None:
        return []
    return [
        {
            "level": f"{number(100.0 * level)} %",
            "cells": [_level_cell(every[place], name in row.best) for name, every in entries],
            "unit": unit_text(found.unit),
        }
        for entries in (list(found.entries.items()),)
        for place, (level, row) in enumerate(zip(found.levels, found.rows, strict=True))
    ]


def _level_cell(at: AtLevel, best: bool) -> dict[str, object]:
    failed = at.completed < at.runs
    aside = f"{at.completed} of {at.runs} completed" if failed else ""
    if not failed and at.low != at.high:
        aside = f"{number(at.low)} to {number(at.high)}"
    return {"text": number(at.median), "aside": aside, "best": best, "failed": failed}
