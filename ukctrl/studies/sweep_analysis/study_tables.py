"""The tables of a study, for its page and for the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ukctrl.core.number_text import number, unit_text
from ukctrl.core.statistics import Estimate
from ukctrl.reports.report_table import (
    Mark,
    ReportTable,
    TableCell,
    TableColumn,
    metric_description,
)
from ukctrl.studies.sweep_analysis.metric_summary import TABLE_PERCENTILES
from ukctrl.studies.sweep_analysis.sweep_analysis import SweepAnalysis

SHORT_PERCENTILES = (0.5, 0.95, 0.99)
"""Percentiles in the short table."""
MAX_REASONS = 12
"""Different messages of failed samples that the page lists."""


def metric_table(insight: SweepAnalysis) -> ReportTable:
    """Return one line a metric, those of single servo blocks only where there are several."""
    blocks = {name.partition(".")[2] for name in insight.runs.metrics} - {""}
    one_block = len(blocks) < 2
    summaries = [one for one in insight.summaries if not (one_block and "." in one.metric)]
    if insight.cost.text not in insight.runs.metrics:
        summaries.insert(0, insight.overall)
    percentiles = (f"{100.0 * level:g} %" for level in TABLE_PERCENTILES)
    columns = map(TableColumn, ("samples", "mean", "sd", *percentiles, "worst"))
    rows: list[list[TableCell | str]] = []
    for one in summaries:
        rows.append([TableCell(one.metric, note=unit_text(insight.unit_of(one.metric)))])
        rows[-1] += [str(one.known), number(one.mean), number(one.deviation)]
        rows[-1] += [_percentile(one.percentile(level)) for level in TABLE_PERCENTILES]
        rows[-1] += [TableCell(number(one.worst), note=f"sample {one.worst_sample}")]
    meanings = (metric_description(one.metric) for one in summaries)
    return ReportTable.from_rows([TableColumn("metric", "name"), *columns], rows, meanings)


def short_metric_table(insight: SweepAnalysis, names: Sequence[str]) -> ReportTable:
    """Return the cost and the metrics of these names by percentiles alone."""
    by_metric = {one.metric: one for one in insight.summaries if one.metric != insight.cost.text}
    summaries = insight.overall, *(by_metric[name] for name in names if name in by_metric)
    rows: list[list[TableCell | str]] = []
    for one in (one for one in summaries if one.known):
        cells = (_percentile(one.percentile(at), 4) for at in SHORT_PERCENTILES)
        rows.append([one.metric, unit_text(insight.unit_of(one.metric))])
        rows[-1] += [*(cell._replace(note="") for cell in cells), number(one.worst, 4)]
    heads = *(f"{100.0 * level:g} %" for level in SHORT_PERCENTILES), "worst"
    names_and_units = TableColumn("metric", "name"), TableColumn("", "unit")
    return ReportTable.from_rows([*names_and_units, *map(TableColumn, heads)], rows)


def _percentile(at: Estimate, digits: int = 3) -> TableCell:
    mark: Mark = "faint" if math.isinf(at.value) else ""
    return TableCell(_value(at.value, digits), mark, _interval(at))


def _value(value: float, digits: int = 3) -> str:
    return "failed" if math.isinf(value) else number(value, digits)


def _interval(at: Estimate) -> str:
    """Return an interval; an end that nothing bounds is left open."""
    nothing = math.isnan(at.low) and math.isnan(at.high)
    if nothing or (math.isinf(at.value) and not math.isfinite(at.low)):
        return ""
    low, high = ("…" if math.isnan(end) else _value(end, 2) for end in (at.low, at.high))
    return f"{low} to {high}"


def reason_table(insight: SweepAnalysis) -> ReportTable:
    """Return why samples failed, the commonest first."""
    heads = TableColumn("status", "text"), TableColumn("samples")
    return ReportTable.from_rows(
        [*heads, TableColumn("why, of the first", "meaning")],
        (
            [TableCell(one.status, "bad"), str(one.samples), f"{one.message} (sample {one.sample})"]
            for one in insight.reasons[:MAX_REASONS]
        ),
    )


def factor_table(insight: SweepAnalysis) -> ReportTable:
    """Return what was varied, and what each factor has to do with the cost and with failing."""
    separations = {one.path: one for one in insight.separations}
    rows: list[list[TableCell | str]] = []
    for factor, axis in zip(insight.study.factors, insight.runs.axes, strict=True):
        one = separations.get(axis.path)
        succeeded = ""
        if one is not None and one.clear and one.split is not None:
            below, above = one.split.below.share, one.split.above.share
            at = number(one.split.threshold)
            succeeded = f"{_share(below)} up to {at}, {_share(above)} above"
        elif one is not None and one.clear:
            succeeded = ", ".join(f"{_share(rate.share)} of {rate.label}" for rate in one.rates)
        rho = insight.correlations[axis.path]
        bounded = math.isfinite(rho.low) and insight.runs.design == "random"
        interval = f"{number(rho.low, 2)} to {number(rho.high, 2)}" if bounded else ""
        correlation = TableCell(number(rho.value, 2), note=interval)
        rows.append([axis.path, distribution_text(factor.to_dict()), correlation, succeeded])
    correlation_head = TableColumn(f"rank correlation with {insight.cost.text}")
    where = TableColumn("samples that succeeded, where it separates", "text")
    names = TableColumn("factor", "name"), TableColumn("varied", "text")
    return ReportTable.from_rows([*names, correlation_head, where], rows)


def distribution_text(spread: dict[str, Any]) -> str:
    """Return how a factor varies, in words."""
    count = spread.get("count")
    steps = f", {count} values" if isinstance(count, int) else ""
    match spread["kind"]:
        case "list":
            listed = [_plain(value) for value in spread["values"]]
            more = f", and {len(listed) - 8} more" if len(listed) > 8 else ""
            return f"{', '.join(listed[:8])}{more}"
        case "normal":
            return f"normal, mean {_plain(spread['mean'])}, sd {_plain(spread['sd'])}{steps}"
        case "log":
            return f"{_plain(spread['low'])} to {_plain(spread['high'])}, by decades{steps}"
        case "whole":
            return f"whole numbers, {_plain(spread['low'])} to {_plain(spread['high'])}{steps}"
        case _:
            return f"{_plain(spread['low'])} to {_plain(spread['high'])}{steps}"


def dependence_table(insight: SweepAnalysis) -> ReportTable:
    """Return the shares of every metric's rank by factor, the largest of a line marked."""
    paths = [axis.path for axis in insight.runs.varied]
    rows: list[list[TableCell | str]] = []
    for name, one in insight.dependence.items():
        if "." in name and name != insight.cost.text:
            continue
        strength = one.strength
        largest = max(strength.values())
        texts = {path: f"{max(0.0, 100.0 * strength[path]):.0f} %" for path in paths}
        best = [path for path in paths if strength[path] == largest > 0.05]
        rows.append([name, *(TableCell(texts[p], "best" if p in best else "") for p in paths)])
    return ReportTable.from_rows([TableColumn("metric", "name"), *map(TableColumn, paths)], rows)


def worst_table(insight: SweepAnalysis) -> ReportTable:
    """Return the completed samples with the highest cost."""
    rows: list[list[TableCell | str]] = []
    for row in insight.worst:
        cost = TableCell(number(float(insight.values[row]), 4), "strong")
        rows.append([str(insight.runs.number[row]), cost, *_factor_values(insight, row)])
    return ReportTable.from_rows(_sample_columns(insight, TableColumn(insight.cost.text)), rows)


def failed_table(insight: SweepAnalysis) -> ReportTable:
    """Return the first samples that did not complete."""
    runs = insight.runs
    rows: list[list[TableCell | str]] = []
    for row in insight.failed:
        rows.append([str(runs.number[row]), TableCell(runs.status[row], "bad")])
        rows[-1] += [number(float(runs.reached[row])), *_factor_values(insight, row)]
        rows[-1].append(runs.message[row])
    between = TableColumn("status", "text"), TableColumn("reached [s]")
    return ReportTable.from_rows(
        [*_sample_columns(insight, *between), TableColumn("why", "meaning")], rows
    )


def _sample_columns(insight: SweepAnalysis, *between: TableColumn) -> list[TableColumn]:
    varied = [TableColumn(axis.path) for axis in insight.runs.varied]
    return [TableColumn("sample"), *between, *varied]


def _factor_values(insight: SweepAnalysis, row: int) -> list[str]:
    """Return the values of the factors in a sample."""
    values = ((axis.names, float(axis.values[row])) for axis in insight.runs.varied)
    return [names[round(value)] if names else number(value, 4) for names, value in values]


def _share(share: Estimate) -> str:
    return f"{100.0 * share.value:.0f} %"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return number(float(value), 4) if isinstance(value, int | float) else str(value)
