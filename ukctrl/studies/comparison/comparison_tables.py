"""The tables of a comparison, for its page and for the terminal."""

from __future__ import annotations

import math

from ukctrl.core.number_text import number, plus_minus, unit_text
from ukctrl.reports.run_page import STATUS_LEVELS
from ukctrl.reports.table import Cell, Column, Table, meaning
from ukctrl.studies.comparison.comparison import Comparison
from ukctrl.studies.comparison.ranking import AtLevel, Row


def metric_table(comparison: Comparison, *, short: bool = False) -> Table:
    """Return the metrics that some run has, one column a controller, with the best marked.

    Args:
        comparison: What is compared.
        short: Whether metrics of single servo blocks are left out, and the median and the worst
            over repeats but for the error; numbers then have a digit more.
    """
    digits = 4 if short else 3
    blocks = not short and len(comparison.first.labels.blocks) > 1
    shown = [row for row in comparison.rows if row.known and (blocks or "." not in row.metric)]
    rows = [[Cell("status"), Cell(""), *(_status(comparison, name) for name in comparison.results)]]
    rows += [
        [
            Cell(row.metric, aside="median · worst" if spread else "", kind="name"),
            Cell(unit_text(row.unit)),
            *(_cell(comparison, row, name, digits=digits, spread=spread) for name in row.values),
        ]
        for row in shown
        for spread in (comparison.repeats > 1 and (not short or row.metric == comparison.error),)
    ]
    meanings = ["", *(meaning(row.metric) for row in shown)]
    return Table(_columns("metric", comparison), rows, meanings)


def robustness_table(comparison: Comparison) -> Table | None:
    """Return the median errors at each level of mismatch; None where it was not asked for."""
    robustness = comparison.robustness
    if robustness is None:
        return None
    rows = [
        [
            Cell(f"{number(100.0 * level)} %"),
            Cell(unit_text(robustness.unit)),
            *(_level(at[k], name in row.best) for name, at in robustness.entries.items()),
        ]
        for k, (level, row) in enumerate(zip(robustness.levels, robustness.rows, strict=True))
    ]
    return Table(_columns("mismatch", comparison), rows)


def share_completed(comparison: Comparison, name: str) -> str:
    """Return how many repeats completed, where that is not all of them."""
    every = comparison.runs[name]
    done = sum(run.completed for run in every)
    return f"{done} of {len(every)}" if len(every) > 1 and done < len(every) else ""


def _columns(head: str, comparison: Comparison) -> list[Column]:
    names = [Column(name, series=place) for place, name in enumerate(comparison.results)]
    return [Column(head, "text"), Column("unit", "unit"), *names]


def _status(comparison: Comparison, name: str) -> Cell:
    status = comparison.results[name].status
    share = share_completed(comparison, name)
    return Cell(status, STATUS_LEVELS.get(status, "bad"), share, aside_failed=bool(share))


def _cell(comparison: Comparison, row: Row, name: str, *, digits: int, spread: bool) -> Cell:
    """Return a value with its interval; the median and the worst below it, where asked for."""
    value, over, runs = row.values[name], row.spreads[name], len(comparison.runs[name])
    ranked = name in comparison.completed
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
    return Cell(text, "best" if name in row.best else "" if ranked else "faint", aside)


def _level(at: AtLevel, best: bool) -> Cell:
    failed = at.completed < at.runs
    aside = f"{at.completed} of {at.runs} completed" if failed else ""
    if not failed and at.low != at.high:
        aside = f"{number(at.low)} to {number(at.high)}"
    return Cell(number(at.median), "best" if best else "", aside, aside_failed=failed)
