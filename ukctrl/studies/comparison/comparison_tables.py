"""The tables of a comparison, of its page and of the terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ukctrl.analysis.linear.performance import LoopPerformance
from ukctrl.control.regulators.riccati import pole_text
from ukctrl.core.number_text import number, percent, plus_minus, range_text, unit_text
from ukctrl.core.statistics import spread
from ukctrl.reports.report_table import (
    Mark,
    ReportTable,
    TableCell,
    TableColumn,
    metric_description,
)
from ukctrl.studies.batch.mismatch_level import mismatch_text
from ukctrl.studies.comparison.comparison import Comparison
from ukctrl.studies.comparison.equal_bandwidth import LoopSummaries
from ukctrl.studies.comparison.pareto_front import FrontDifference, Fronts, LawFront
from ukctrl.studies.comparison.ranking import (
    MetricRanking,
    MismatchStatistics,
    rounding_floor,
    violates_limit,
)


def metric_table(comparison: Comparison, *, short: bool = False) -> ReportTable:
    """Return the metrics that some run has, one column a controller, with the best marked.

    Args:
        comparison: What is compared.
        short: Whether metrics of single servo blocks are left out, and the median and the worst
            over repeats but for the error; numbers then have a digit more.
    """
    digits = 4 if short else 3
    alone = len(comparison.first.labels.blocks) < 2  # whose metrics are those of all rows
    keep_blocks = comparison.first.labels.keep_blocks

    def stands(metric: str) -> bool:
        block = metric.partition(".")[2]
        return not block or not (short or (alone and block not in keep_blocks))

    metric_rows = [row for row in comparison.rows if row.known and stands(row.metric)]
    order = list(dict.fromkeys(row.metric.partition(".")[0] for row in metric_rows))
    shown = sorted(metric_rows, key=lambda row: order.index(row.metric.partition(".")[0]))
    names = list(comparison.results)
    rows: list[list[TableCell | str]] = [
        ["status", "", *(_status(comparison, name) for name in names)]
    ]
    beliefs = [comparison.belief(name) for name in names]
    if any(belief.verdict != "ok" for belief in beliefs):
        rows.append(["verdict", "", *(TableCell(b.verdict, b.level) for b in beliefs)])
    if comparison.at_border:
        at_end, ended = TableCell("at a border", "warning"), comparison.at_border
        rows.append(["gains", "", *(at_end if name in ended else "" for name in names)])
    for row in shown:
        spread = comparison.repeats > 1 and (not short or row.metric == comparison.error)
        head = TableCell(row.metric, note="median · worst" if spread else "", kind="name")
        cells = (_cell(comparison, row, n, digits=digits, spread=spread) for n in row.values)
        rows.append([head, unit_text(row.unit), *cells])
    meanings = [""] * (len(rows) - len(shown)) + [metric_description(row.metric) for row in shown]
    return ReportTable.from_rows(controller_columns("metric", comparison), rows, meanings)


def search_spread_table(comparison: Comparison) -> ReportTable | None:
    """Return how far searches for gains are apart; None where there is one of each."""
    if not any(tuning.others for tuning in comparison.tunings.values()):
        return None
    error = comparison.error
    cell_rows: dict[str, list[TableCell]] = {"cost": [], error: [], "luck": [], "at a border": []}
    for name in comparison.results:
        searches = comparison.tunings[name].every
        runs = comparison.runs[name]
        means = [
            float(np.mean([r.metrics.get(error, math.nan) for r in runs if r.search == k]))
            for k in range(len(searches))
        ]
        share = float(np.std(means, ddof=1) / np.mean(means)) if len(means) > 1 else math.nan
        ends = sum(bool(search.at_border) for search in searches)
        cell_rows["cost"].append(TableCell(range_text([search.after for search in searches])))
        cell_rows[error].append(TableCell(range_text(means)))
        cell_rows["luck"].append(TableCell(percent(share) if math.isfinite(share) else "–"))
        mark: Mark = "warning" if ends else ""
        cell_rows["at a border"].append(TableCell(f"{ends} of {len(searches)}", mark))
    meanings = (
        "Lowest cost of each search, on the plants that it was tuned on: from the lowest to the "
        "highest.",
        "Mean over the repeats, which no search used, with the gains of each search.",
        "Standard deviation of these means between searches, as a part of their mean.",
        "Searches that left a gain at an end of its range.",
    )
    rows = [[TableCell(head), TableCell(""), *cells] for head, cells in cell_rows.items()]
    return ReportTable(controller_columns("", comparison), rows, meanings)


def robustness_table(comparison: Comparison) -> ReportTable | None:
    """Return the median errors at each level of mismatch; None where it was not asked for."""
    robustness = comparison.robustness
    if robustness is None:
        return None
    unit = unit_text(robustness.unit)
    rows = [
        [mismatch_text(level), unit]
        + [_mismatch_cell(at[k], name in row.marked) for name, at in robustness.entries.items()]
        for k, (level, row) in enumerate(zip(robustness.levels, robustness.rows, strict=True))
    ]
    columns = controller_columns("mismatch", comparison)
    heads = [column._replace(head=comparison.shown(column.head)) for column in columns]
    return ReportTable.from_rows(heads, rows)


def share_completed(comparison: Comparison, name: str) -> str:
    """Return how many repeats completed, where that is not all of them."""
    runs = comparison.runs[name]
    done = sum(run.completed for run in runs)
    return f"{done} of {len(runs)}" if len(runs) > 1 and done < len(runs) else ""


def controller_columns(head: str, comparison: Comparison) -> list[TableColumn]:
    """Return a column a controller, behind those of a row's name and unit."""
    names = [TableColumn(name, series=index) for index, name in enumerate(comparison.results)]
    return [TableColumn(head, "text"), TableColumn("unit", "unit"), *names]


def _status(comparison: Comparison, name: str) -> TableCell:
    result = comparison.results[name]
    share = share_completed(comparison, name)
    return TableCell(result.status, result.status_level, share, note_failed=bool(share))


def _cell(
    comparison: Comparison, row: MetricRanking, name: str, *, digits: int, spread: bool
) -> TableCell:
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
    counts = ranked and not value <= rounding_floor(row.metric)
    return TableCell(text, "best" if name in row.marked else "" if counts else "faint", aside)


def _mismatch_cell(at: MismatchStatistics, best: bool) -> TableCell:
    failed = at.completed < at.runs
    aside = f"{at.completed} of {at.runs} completed" if failed else ""
    if not failed and at.low != at.high:
        aside = f"{number(at.low)} to {number(at.high)}"
    return TableCell(number(at.median), "best" if best else "", aside, note_failed=failed)


_QUANTITIES: Mapping[str, tuple[str, str, Callable[[LoopPerformance], str]]] = {
    "bandwidth": (
        "rad/s",
        "Range over the servo rows: below this frequency the loop attenuates a disturbance of "
        "the row by more than 3 dB.",
        lambda loop: _span(loop.bandwidth),
    ),
    "slowest pole": ("1/s", "Of those that decay.", lambda loop: _pole(loop.decaying, 0)),
    "fastest pole": ("1/s", "Of those that decay.", lambda loop: _pole(loop.decaying, -1)),
    "disk margin": ("", "The least of all motors; 2 is the most.", lambda loop: number(loop.disk)),
    "delay margin": (
        "s",
        "The shortest delay at a motor that makes the loop unstable.",
        lambda loop: number(loop.delay),
    ),
    "noise of positions": (
        "N m/rad",
        "Immediate change of the input per unit of error in a measured position.",
        lambda loop: number(loop.position_noise),
    ),
    "noise of speeds": (
        "N m s/rad",
        "Immediate change of the input per unit of error in a measured speed.",
        lambda loop: number(loop.speed_noise),
    ),
}
"""What is told of a loop: unit, meaning, and the number."""


def loop_table(stands: LoopSummaries | None, columns: Sequence[TableColumn]) -> ReportTable | None:
    """Return what each loop is at the start; None where none is known.

    Args:
        stands: The loops.
        columns: What is told, its unit, and a column for each controller, by its name.
    """
    if stands is None or not stands.loops:
        return None
    loops = [stands.loops.get(column.head) for column in columns[2:]]
    rows = [
        [head, unit_text(unit), *(tell(loop) if loop else "not known" for loop in loops)]
        for head, (unit, _, tell) in _QUANTITIES.items()
    ]
    meanings = (meaning for _, meaning, _ in _QUANTITIES.values())
    return ReportTable.from_rows(columns, rows, meanings)


def _span(values: Sequence[float]) -> str:
    finite = [value for value in values if not math.isnan(value)]
    if not finite:
        return "no row reached"
    low, high = number(min(finite)), number(max(finite))
    return low if low == high else f"{low} to {high}"


def _pole(poles: Sequence[complex], index: int) -> str:
    return pole_text(poles[index]) if poles else "none"


def front_table(fronts: Fronts, duels: Sequence[FrontDifference]) -> ReportTable:
    """Return what each law has of the first metric at equal levels of the second.

    Marked are those that no other beats there, where a test tells any two apart.
    """
    of_error, of_cost = (unit_text(unit) for unit in fronts.units)
    names = [TableColumn(name, series=index) for index, name in enumerate(fronts.laws)]
    columns = [TableColumn(fronts.metrics[1], "text"), TableColumn("unit", "unit"), *names]
    counts = [
        TableCell(f"{len(law.front)} of {len(law.points)}", "", _rejection_text(law))
        for law in fronts.laws.values()
    ]
    rows: list[list[TableCell | str]] = [["on the front", "", *counts]]
    floor = rounding_floor(fronts.metrics[0])
    for level in fronts.levels:
        level_duels = [duel for duel in duels if duel.level == level and duel.supported]
        beaten = {duel.higher for duel in level_duels}
        best = {name for name in fronts.laws if level_duels and name not in beaten}
        laws = fronts.laws.items()
        cells = (_front_cell(law, level, floor, best=name in best) for name, law in laws)
        rows.append([f"{number(level)} {of_cost}".rstrip(), of_error, *cells])
    return ReportTable.from_rows(columns, rows)


def _rejection_text(law: LawFront) -> str:
    """Return of how many settings there is nothing to draw, and why."""
    refused = sum(bool(point.refused) for point in law.points)
    crossings = sum(any(violates_limit(run.metrics) for run in point.runs) for point in law.points)
    failed = sum(not point.completed for point in law.points) - refused - crossings
    counts = (refused, "refused"), (crossings, "crossed a limit"), (failed, "failed")
    clauses = [f"{n} {reason}" for n, reason in counts if n]
    terms = next((", ".join(point.gains) for point in law.points), "")
    over = "" if "bandwidth" in terms or not terms else "over its own gains"
    return ", ".join([*clauses, *([over] if over else [])])


def _front_cell(law: LawFront, level: float, floor: float, *, best: bool) -> TableCell:
    """Return what a law has at a level, with its interval."""
    estimate = law.at(level, floor)
    if estimate is None:
        return TableCell("not reached", "faint")
    over = spread(np.exp(estimate[0]))
    half = over.high - over.mean
    text = plus_minus(over.mean, half) if math.isfinite(half) else number(over.mean)
    return TableCell(text, "best" if best else "")
