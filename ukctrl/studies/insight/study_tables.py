"""The tables of a study, for its page and for the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ukctrl.core.number_text import number, unit_text
from ukctrl.core.statistics import Estimate
from ukctrl.reports.table import Cell, Column, Mark, Table, meaning
from ukctrl.studies.insight.insight import Insight
from ukctrl.studies.insight.summary import SHOWN

SHOWN_SHORT = (0.5, 0.95, 0.99)
"""Percentiles in the short table."""
MOST_REASONS = 12
"""Different messages of failed samples that the page lists."""


def metric_table(insight: Insight) -> Table:
    """Return one line a metric, those of single servo blocks only where there are several."""
    blocks = {name.partition(".")[2] for name in insight.runs.metrics} - {""}
    one_block = len(blocks) < 2
    summaries = [one for one in insight.summaries if not (one_block and "." in one.metric)]
    if insight.cost.text not in insight.runs.metrics:
        summaries.insert(0, insight.overall)
    heads = ["samples", "mean", "sd", *(f"{100.0 * level:g} %" for level in SHOWN), "worst"]
    return Table.of(
        [Column("metric", "name"), *map(Column, heads)],
        (
            [
                Cell(one.metric, aside=unit_text(insight.unit_of(one.metric))),
                *(str(one.known), number(one.mean), number(one.deviation)),
                *(_percentile(one.percentile(level)) for level in SHOWN),
                Cell(number(one.worst), aside=f"sample {one.worst_sample}"),
            ]
            for one in summaries
        ),
        (meaning(one.metric) for one in summaries),
    )


def short_metric_table(insight: Insight, names: Sequence[str]) -> Table:
    """Return the cost and the metrics of these names by percentiles alone."""
    known = {one.metric: one for one in insight.summaries}
    summaries = [known[name] for name in names if name in known and name != insight.cost.text]
    heads = [*(f"{100.0 * level:g} %" for level in SHOWN_SHORT), "worst"]
    return Table.of(
        [Column("metric", "name"), Column("", "unit"), *map(Column, heads)],
        (
            [
                one.metric,
                unit_text(insight.unit_of(one.metric)),
                *(_percentile(one.percentile(at), 4)._replace(aside="") for at in SHOWN_SHORT),
                number(one.worst, 4),
            ]
            for one in (insight.overall, *summaries)
            if one.known
        ),
    )


def _percentile(at: Estimate, digits: int = 3) -> Cell:
    mark: Mark = "faint" if math.isinf(at.value) else ""
    return Cell(_value(at.value, digits), mark, _interval(at))


def _value(value: float, digits: int = 3) -> str:
    return "failed" if math.isinf(value) else number(value, digits)


def _interval(at: Estimate) -> str:
    """Return an interval; an end that nothing bounds is left open."""
    if math.isnan(at.low) and math.isnan(at.high):
        return ""
    if math.isinf(at.value) and not math.isfinite(at.low):
        return ""
    low, high = ("…" if math.isnan(end) else _value(end, 2) for end in (at.low, at.high))
    return f"{low} to {high}"


def reason_table(insight: Insight) -> Table:
    """Return why samples failed, the commonest first."""
    return Table.of(
        [Column("status", "text"), Column("samples"), Column("why, of the first", "meaning")],
        (
            [Cell(one.status, "bad"), str(one.samples), f"{one.message} (sample {one.sample})"]
            for one in insight.reasons[:MOST_REASONS]
        ),
    )


def factor_table(insight: Insight) -> Table:
    """Return what was varied, and what each factor has to do with the cost and with failing."""
    separations = {one.path: one for one in insight.separations}
    rows: list[list[Cell | str]] = []
    for factor, axis in zip(insight.study.factors, insight.runs.axes, strict=True):
        one = separations.get(axis.path)
        succeeded = ""
        if one is not None and one.clear and one.split is not None:
            below, above = one.split.below.share, one.split.above.share
            at = number(one.split.at)
            succeeded = f"{_share(below)} up to {at}, {_share(above)} above"
        elif one is not None and one.clear:
            succeeded = ", ".join(f"{_share(rate.share)} of {rate.label}" for rate in one.rates)
        rho = insight.correlations[axis.path]
        bounded = math.isfinite(rho.low) and insight.runs.design == "random"
        interval = f"{number(rho.low, 2)} to {number(rho.high, 2)}" if bounded else ""
        correlation = Cell(number(rho.value, 2), aside=interval)
        rows.append([axis.path, factor_words(factor.to_dict()), correlation, succeeded])
    columns = [
        Column("factor", "name"),
        Column("varied", "text"),
        Column(f"rank correlation with {insight.cost.text}"),
        Column("samples that succeeded, where it separates", "text"),
    ]
    return Table.of(columns, rows)


def factor_words(spread: dict[str, Any]) -> str:
    """Return how a factor varies, in words."""
    count = spread.get("count")
    steps = f", {count} values" if isinstance(count, int) else ""
    match spread["kind"]:
        case "list":
            values = spread["values"]
            listed = [_plain(value) for value in values] if isinstance(values, list) else []
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


def dependence_table(insight: Insight) -> Table:
    """Return the shares of every metric's rank by factor, the largest of a line marked."""
    paths = [axis.path for axis in insight.runs.varied]
    rows: list[list[Cell | str]] = []
    for name, one in insight.dependence.items():
        if "." in name and name != insight.cost.text:
            continue
        strength = one.strength
        largest = max(strength.values())
        shares = [
            Cell(
                f"{max(0.0, 100.0 * strength[path]):.0f} %",
                "best" if strength[path] == largest > 0.05 else "",
            )
            for path in paths
        ]
        rows.append([name, *shares])
    return Table.of([Column("metric", "name"), *map(Column, paths)], rows)


def worst_table(insight: Insight) -> Table:
    """Return the completed samples with the highest cost."""
    rows: Iterator[list[Cell | str]] = (
        [
            str(insight.runs.number[place]),
            Cell(number(float(insight.values[place]), 4), "strong"),
            *_varied(insight, place),
        ]
        for place in insight.worst
    )
    return Table.of(_sample_columns(insight, Column(insight.cost.text)), rows)


def failed_table(insight: Insight) -> Table:
    """Return the first samples that did not complete."""
    runs = insight.runs
    rows: Iterator[list[Cell | str]] = (
        [
            str(runs.number[place]),
            Cell(runs.status[place], "bad"),
            number(float(runs.reached[place])),
            *_varied(insight, place),
            runs.message[place],
        ]
        for place in insight.failed
    )
    between = Column("status", "text"), Column("reached [s]")
    return Table.of([*_sample_columns(insight, *between), Column("why", "meaning")], rows)


def _sample_columns(insight: Insight, *between: Column) -> list[Column]:
    varied = [Column(axis.path) for axis in insight.runs.varied]
    return [Column("sample"), *between, *varied]


def _varied(insight: Insight, place: int) -> list[str]:
    """Return the values of the factors in a sample."""
    values = ((axis.names, float(axis.values[place])) for axis in insight.runs.varied)
    return [names[round(value)] if names else number(value, 4) for names, value in values]


def _share(share: Estimate) -> str:
    return f"{100.0 * share.value:.0f} %"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return number(float(value), 4) if isinstance(value, int | float) else str(value)
