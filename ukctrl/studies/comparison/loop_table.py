"""The loops of a comparison as a table: how stiff they are, and what they stand."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from ukctrl.analysis.linear.loop_terms import LoopTerms
from ukctrl.control.regulators.riccati import written_pole
from ukctrl.core.number_text import number, unit_text
from ukctrl.reports.table import Cell, Column, Table
from ukctrl.studies.comparison.equal_terms import Stands

_LOOP: Mapping[str, tuple[str, str, Callable[[LoopTerms], str]]] = {
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


def loop_table(stands: Stands | None, columns: Sequence[Column]) -> Table | None:
    """Return what each loop is at the start; None where none is known.

    Args:
        stands: The loops.
        columns: What is told, its unit, and a column for each controller, by its name.
    """
    if stands is None or not stands.loops:
        return None
    rows = [
        [
            Cell(head),
            Cell(unit_text(unit)),
            *(
                Cell(tell(stands.loops[name])) if name in stands.loops else Cell("not known")
                for name in (column.head for column in columns[2:])
            ),
        ]
        for head, (unit, _, tell) in _LOOP.items()
    ]
    return Table(columns, rows, [meaning for _, meaning, _ in _LOOP.values()])


def _span(values: Sequence[float]) -> str:
    known = [value for value in values if not math.isnan(value)]
    if not known:
        return "no row reached"
    low, high = number(min(known)), number(max(known))
    return low if low == high else f"{low} to {high}"


def _pole(poles: Sequence[complex], place: int) -> str:
    return written_pole(poles[place]) if poles else "none"
