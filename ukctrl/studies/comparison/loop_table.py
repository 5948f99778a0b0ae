"""The loops of a comparison as a table: how stiff they are, and what they stand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ukctrl.analysis.linear.performance import LoopPerformance
from ukctrl.control.regulators.riccati import pole_text
from ukctrl.core.number_text import number, unit_text
from ukctrl.reports.report_table import ReportTable, TableCell, TableColumn
from ukctrl.studies.comparison.equal_bandwidth import LoopSummaries

_QUANTITIES: Mapping[str, tuple[str, str, Callable[[LoopPerformance], str]]] = {
    "bandwidth": (
        "rad/s",
        "Of the servo rows, from the least to the largest: below it the loop takes away more than "
        "3 dB of what disturbs the row.",
        lambda loop: _span(loop.bandwidth),
    ),
    "slowest pole": ("1/s", "Of those that decay.", lambda loop: _pole(loop.decaying, 0)),
    "fastest pole": ("1/s", "Of those that decay.", lambda loop: _pole(loop.decaying, -1)),
    "disk margin": ("", "The least of all motors; 2 is the most.", lambda loop: number(loop.disk)),
    "delay margin": (
        "s",
        "The shortest delay at a motor that is too much.",
        lambda loop: number(loop.delay),
    ),
    "noise of positions": (
        "N m/rad",
        "What the input does at once where a position is measured wrong by a unit.",
        lambda loop: number(loop.position_noise),
    ),
    "noise of speeds": (
        "N m s/rad",
        "What the input does at once where a speed is measured wrong by a unit.",
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
    rows = [
        [
            TableCell(head),
            TableCell(unit_text(unit)),
            *(
                TableCell(tell(stands.loops[name]))
                if name in stands.loops
                else TableCell("not known")
                for name in (column.head for column in columns[2:])
            ),
        ]
        for head, (unit, _, tell) in _QUANTITIES.items()
    ]
    return ReportTable(columns, rows, [meaning for _, meaning, _ in _QUANTITIES.values()])


def _span(values: Sequence[float]) -> str:
    finite = [value for value in values if not math.isnan(value)]
    if not finite:
        return "no row reached"
    low, high = number(min(finite)), number(max(finite))
    return low if low == high else f"{low} to {high}"


def _pole(poles: Sequence[complex], index: int) -> str:
    return pole_text(poles[index]) if poles else "none"
