"""The lines and cells of the tables on a study's page."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.core.number_text import number, sentence, unit_text
from ukctrl.core.statistics import Estimate
from ukctrl.simulation.result.metrics import METRICS
from ukctrl.studies.insight.command import command_of
from ukctrl.studies.insight.summary import Summary

if TYPE_CHECKING:
    from ukctrl.studies.insight.insight import Insight

SHOWN = (0.05, 0.5, 0.95, 0.99)
"""Percentiles in the table; `summary.json` has all."""
MOST_REASONS = 12
"""Different messages of failed samples that the page lists."""
Row = dict[str, object]


def metric_heads() -> list[str]:
    """Return the heads of the columns that percentiles have."""
    return [f"{100.0 * level:g} %" for level in SHOWN]


def metric_lines(insight: Insight) -> list[Row]:
    """Return one line a metric; those of single servo blocks only where there are several."""
    blocks = {name.partition(".")[2] for name in insight.runs.metrics} - {""}
    rows = []
    for one in insight.summaries:
        base, _, block = one.metric.partition(".")
        if block and len(blocks) < 2:
            continue
        meaning = METRICS[base].description if base in METRICS else ""
        rows.append(_line(one, insight.unit_of(one.metric), meaning))
    if insight.cost.text not in insight.runs.metrics:
        rows.insert(0, _line(insight.overall, "", "the cost"))
    return rows


def _line(one: Summary, unit: str, meaning: str) -> Row:
    return {
        "name": one.metric,
        "unit": unit_text(unit),
        "meaning": sentence(meaning.replace("`", "")),
        "mean": number(one.mean),
        "deviation": number(one.deviation),
        "known": one.known,
        "percentiles": [
            {"text": _value(entry.at.value), "aside": _aside(entry.at), "failed": _out(entry.at)}
            for entry in one.percentiles
            if entry.level in SHOWN
        ],
        "worst": number(one.worst),
        "worst_sample": one.worst_sample,
    }


def _out(at: Estimate) -> bool:
    return math.isinf(at.value)


def _value(value: float, digits: int = 3) -> str:
    return "failed" if math.isinf(value) else number(value, digits)


def _aside(at: Estimate) -> str:
    """Return an interval; an end that nothing bounds is left open."""
    if math.isnan(at.low) and math.isnan(at.high):
        return ""
    if math.isinf(at.value) and not math.isfinite(at.low):
        return ""
    low, high = ("…" if math.isnan(end) else _value(end, 2) for end in (at.low, at.high))
    return f"{low} to {high}"


def reason_lines(insight: Insight) -> list[Row]:
    """Return why samples failed, the commonest first."""
    return [
        {
            "status": reason.status,
            "samples": reason.samples,
            "sample": reason.sample,
            "message": reason.message,
        }
        for reason in insight.reasons[:MOST_REASONS]
    ]


def factor_lines(insight: Insight) -> list[Row]:
    """Return what was varied, and what each factor has to do with the cost and with failing."""
    separations = {one.path: one for one in insight.separations}
    rows: list[Row] = []
    for factor, axis in zip(insight.study.factors, insight.runs.axes, strict=True):
        one = separations.get(axis.path)
        split = ""
        if one is not None and one.clear and one.split is not None:
            split = (
                f"{_share(one.split.below.share)} up to {number(one.split.at)}, "
                f"{_share(one.split.above.share)} above"
            )
        elif one is not None and one.clear:
            split = ", ".join(f"{_share(rate.share)} of {rate.label}" for rate in one.rates)
        rho = insight.correlations[axis.path]
        rows.append(
            {
                "path": axis.path,
                "varied": factor_words(factor.to_dict()),
                "correlation": number(rho.value, 2),
                "correlation_aside": (
                    f"{number(rho.low, 2)} to {number(rho.high, 2)}"
                    if math.isfinite(rho.low) and insight.runs.design == "random"
                    else ""
                ),
                "split": split,
            }
        )
    return rows


def factor_words(told: dict[str, object]) -> str:
    """Return how a factor varies, in words."""
    count = told.get("count")
    steps = f", {count} values" if isinstance(count, int) else ""
    match told["kind"]:
        case "list":
            values = told["values"]
            listed = [_plain(value) for value in values] if isinstance(values, list) else []
            more = f", and {len(listed) - 8} more" if len(listed) > 8 else ""
            return f"{', '.join(listed[:8])}{more}"
        case "normal":
            return f"normal, mean {_plain(told['mean'])}, sd {_plain(told['sd'])}{steps}"
        case "log":
            return f"{_plain(told['low'])} to {_plain(told['high'])}, by decades{steps}"
        case "whole":
            return f"whole numbers, {_plain(told['low'])} to {_plain(told['high'])}{steps}"
        case _:
            return f"{_plain(told['low'])} to {_plain(told['high'])}{steps}"


def dependence_lines(insight: Insight) -> list[Row]:
    """Return the shares of every metric's rank by factor, the largest of a line marked."""
    rows: list[Row] = []
    for name, one in insight.dependence.items():
        if "." in name and name != insight.cost.text:
            continue
        strength = one.strength
        largest = max(strength.values())
        rows.append(
            {
                "name": name,
                "cells": [
                    {
                        "text": f"{max(0.0, 100.0 * strength[axis.path]):.0f} %",
                        "best": strength[axis.path] == largest > 0.05,
                    }
                    for axis in insight.runs.varied
                ],
            }
        )
    return rows


def sample_lines(insight: Insight, places: tuple[int, ...], folder: Path) -> list[Row]:
    """Return single samples with what they were, and the commands that run them again."""
    runs = insight.runs
    return [
        {
            "sample": int(runs.number[place]),
            "status": runs.status[place],
            "message": runs.message[place],
            "reached": number(float(runs.reached[place])),
            "cost": number(float(insight.values[place]), 4),
            "values": [
                axis.names[round(float(axis.values[place]))]
                if axis.names
                else number(float(axis.values[place]), 4)
                for axis in runs.varied
            ],
            "command": command_of(insight.study, int(runs.number[place]), folder),
        }
        for place in places
    ]


def _share(share: Estimate) -> str:
    return f"{100.0 * share.value:.0f} %"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return number(float(value), 4) if isinstance(value, int | float) else str(value)
