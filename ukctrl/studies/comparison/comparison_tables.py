"""The tables of a comparison, of its page and of the terminal."""

from __future__ import annotations

import math

import numpy as np

from ukctrl.core.number_text import number, percent, plus_minus, span, unit_text
from ukctrl.reports.table import Cell, Column, Mark, Table, meaning
from ukctrl.studies.comparison.comparison import Comparison
from ukctrl.studies.comparison.ranking import AtLevel, Row, rounding


def metric_table(comparison: Comparison, *, short: bool = False) -> Table:
    """Return the metrics that some run has, one column a controller, with the best marked.

    Args:
        comparison: What is compared.
        short: Whether metrics of single servo blocks are left out, and the median and the worst
            over repeats but for the error; numbers then have a digit more.
    """
    digits = 4 if short else 3
    alone = len(comparison.first.labels.blocks) < 2  # whose metrics are those of all rows
    kept = comparison.first.labels.keep_blocks
    known = [
        row
        for row in comparison.rows
        if row.known
        and (
            "." not in row.metric
            or not (short or (alone and row.metric.partition(".")[2] not in kept))
        )
    ]
    order = list(dict.fromkeys(row.metric.partition(".")[0] for row in known))
    shown = sorted(known, key=lambda row: order.index(row.metric.partition(".")[0]))
    names = list(comparison.results)
    rows = [[Cell("status"), Cell(""), *(_status(comparison, name) for name in names)]]
    beliefs = [comparison.belief(name) for name in names]
    if any(each.verdict != "ok" for each in beliefs):
        rows.append([Cell("verdict"), Cell(""), *(Cell(b.verdict, b.level) for b in beliefs)])
    if comparison.at_border:
        at_end, ended = Cell("at a border", "warning"), comparison.at_border
        marks = (at_end if name in ended else Cell("") for name in names)
        rows.append([Cell("gains"), Cell(""), *marks])
    rows += [
        [
            Cell(row.metric, aside="median · worst" if spread else "", kind="name"),
            Cell(unit_text(row.unit)),
            *(_cell(comparison, row, name, digits=digits, spread=spread) for name in row.values),
        ]
        for row in shown
        for spread in (comparison.repeats > 1 and (not short or row.metric == comparison.error),)
    ]
    meanings = [""] * (len(rows) - len(shown)) + [meaning(row.metric) for row in shown]
    return Table(columns_of("metric", comparison), rows, meanings)


def luck_table(comparison: Comparison) -> Table | None:
    """Return how far searches for gains are apart; None where there is one of each."""
    if not any(tuning.others for tuning in comparison.tunings.values()):
        return None
    error = comparison.error
    found: dict[str, list[Cell]] = {"cost": [], error: [], "luck": [], "at a border": []}
    for name in comparison.results:
        searches = comparison.tunings[name].every
        runs = comparison.runs[name]
        means = [
            float(np.mean([r.metrics.get(error, math.nan) for r in runs if r.search == k]))
            for k in range(len(searches))
        ]
        share = float(np.std(means, ddof=1) / np.mean(means)) if len(means) > 1 else math.nan
        ends = sum(bool(search.at_border) for search in searches)
        found["cost"].append(Cell(span([search.after for search in searches])))
        found[error].append(Cell(span(means)))
        found["luck"].append(Cell(percent(share) if math.isfinite(share) else "–"))
        mark: Mark = "warning" if ends else ""
        found["at a border"].append(Cell(f"{ends} of {len(searches)}", mark))
    meanings = (
        "Lowest cost of each search, on the plants that it was tuned on: from the lowest to the "
        "highest.",
        "Mean over the repeats, none of which a search saw, with the gains of each search.",
        "Standard deviation of these means between searches, as a part of their mean.",
        "Searches that left a gain at an end of its range.",
    )
    rows = [[Cell(head), Cell(""), *cells] for head, cells in found.items()]
    return Table(columns_of("", comparison), rows, meanings)


def robustness_table(comparison: Comparison) -> Table | None:
    """Return the median errors at each level of mismatch; None where it was not asked for."""
    robustness = comparison.robustness
    if robustness is None:
        return None
    rows = [
        [
            Cell(f"{number(100.0 * level)} %"),
            Cell(unit_text(robustness.unit)),
            *(_level(at[k], name in row.marked) for name, at in robustness.entries.items()),
        ]
        for k, (level, row) in enumerate(zip(robustness.levels, robustness.rows, strict=True))
    ]
    columns = columns_of("mismatch", comparison)
    heads = [column._replace(head=comparison.shown(column.head)) for column in columns]
    return Table(heads, rows)


def share_completed(comparison: Comparison, name: str) -> str:
    """Return how many repeats completed, where that is not all of them."""
    every = comparison.runs[name]
    done = sum(run.completed for run in every)
    return f"{done} of {len(every)}" if len(every) > 1 and done < len(every) else ""


def columns_of(head: str, comparison: Comparison) -> list[Column]:
    """Return a column a controller, behind those of a row's name and unit."""
    names = [Column(name, series=place) for place, name in enumerate(comparison.results)]
    return [Column(head, "text"), Column("unit", "unit"), *names]


def _status(comparison: Comparison, name: str) -> Cell:
    result = comparison.results[name]
    share = share_completed(comparison, name)
    return Cell(result.status, result.status_level, share, aside_failed=bool(share))


def _cell(comparison: Comparison, row: Row, name: str, *, digits: int, spread: bool) -> Cell:
    """Return a value with its interval; the median and the worst below it, where asked for."""
    value, over = row.values[name], row.spreads[name]
    runs = len({run.repeat for run in comparison.runs[name]})
    ranked = name in comparison.ranked
    half = over.high - over.mean
    text = plus_minus(value, half) if math.isfinite(half) else number(value, digits)
    if row.metric.partition(".")[0] == "settling_time" and math.isnan(value):
        text = "not settled"
    elif ranked and over.repeats < runs:
        text = f"{text} ({over.repeats} of {runs})"
    elif not ranked and not math.isnan(value):
        text = f"[{text}]" if runs > 1 else f"({text})"
    differ = spread and math.isfinite(over.median) and over.median != over.worst
    aside = f"{number(over.median)} · {number(over.worst)}" if differ else ""
    counts = ranked and not value <= rounding(row.metric)
    return Cell(text, "best" if name in row.marked else "" if counts else "faint", aside)


def _level(at: AtLevel, best: bool) -> Cell:
    failed = at.completed < at.runs
    aside = f"{at.completed} of {at.runs} completed" if failed else ""
    if not failed and at.low != at.high:
        aside = f"{number(at.low)} to {number(at.high)}"
    return Cell(number(at.median), "best" if best else "", aside, aside_failed=failed)
