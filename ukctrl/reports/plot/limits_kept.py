"""What is left of the limits that the law keeps, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.number_text import unit_text
from ukctrl.reports.plot import marks, panels, style
from ukctrl.simulation.result.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHOWN = 5
"""Quantities of one panel: those that bound longest, then those that came nearest."""


@style.styled
def kept(result: Result) -> Figure:
    """Draw what is left of every block, with its zero, its margins and the times at which it bound.

    A panel is of one unit.
    """
    labels, drawn = result.labels, []
    for block in labels.keep_blocks:
        own = labels.kept_rows(block)
        for unit in dict.fromkeys(labels.keep_row_units[i] for i in own):
            of_unit = [int(i) for i in own if labels.keep_row_units[i] == unit]
            drawn.append(_panel(result, block, unit, of_unit))
    return panels.grid(panels.alone_wide(drawn), height=2.2)


def _panel(result: Result, block: str, unit: str, rows: list[int]) -> panels.Panel:
    labels = result.labels
    bound = result["keep_binding"][:, rows] > 0.0
    least = np.fmin.reduce(result["keep"][:, rows], axis=0)
    order = np.lexsort((least, -bound.sum(axis=0)))[:SHOWN]
    shown = [rows[k] for k in sorted(order)]
    count = f" ({len(shown)} of {len(rows)})" if len(shown) < len(rows) else ""

    def draw(axes: Axes, room: float) -> None:
        values = result["keep"][:, shown]
        names = [labels.keep_rows[i].removeprefix(f"{block}.") for i in shown]
        margins = {labels.keep_row_margins[i] for i in shown} - {0.0}
        marks.shade(axes, result.time, np.logical_or.reduce(bound, axis=1))
        axes.axhline(0.0, color=style.INK, linewidth=1.2, zorder=1.5)
        for margin in margins:
            axes.axhline(margin, color=style.MUTED, linewidth=1.0, linestyle="--", zorder=1.5)
        panels.lines(axes, result.time, values, names, room)
        axes.set_ylabel(f"h [{unit_text(unit)}]" if unit else "h")
        panels.fit(axes, values, [0.0, *margins])
        marks.switches(axes, result)

    return panels.Panel(f"{panels.short(block)}{count}", draw)
