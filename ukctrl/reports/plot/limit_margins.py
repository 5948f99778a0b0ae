"""What is left of the limits that the law keeps, over time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ukctrl.core.arrays import Flags, Matrix, Vector
from ukctrl.core.number_text import unit_text
from ukctrl.reports.plot import marks, panels, style
from ukctrl.simulation.result.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANELS = 12
"""Panels of a figure, chosen as the quantities of one are."""
SHOWN = 5
"""Quantities of one panel: those that bound longest, then those that came nearest."""


class LimitSeries(NamedTuple):
    """What is kept, over time."""

    time: Vector
    left: Matrix
    """What is left of each, shape ``(k, n)``."""
    shaded: Flags
    """Where it is shaded for each, shape ``(k, n)``."""
    names: tuple[str, ...]
    blocks: tuple[str, ...]
    units: tuple[str, ...]
    margins: tuple[float, ...]


def inequality_margins(result: Result) -> Figure:
    """Draw what is left of every block, with its zero, its margins and the times at which it bound.

    A panel is of one unit.
    """
    labels = result.labels
    row_labels = (
        labels.keep_rows,
        labels.keep_row_blocks,
        labels.keep_row_units,
        labels.keep_row_margins,
    )
    bound = np.asarray(result["keep_binding"] > 0.0)
    return margin_figure(LimitSeries(result.time, result["keep"], bound, *row_labels), result)


@style.styled
def margin_figure(quantities: LimitSeries, result: Result | None = None) -> Figure:
    """Draw what is left of every block, a panel of each unit; of a run with its switches."""
    groups = dict[tuple[str, str], list[int]]()
    for row, panel in enumerate(zip(quantities.blocks, quantities.units, strict=True)):
        groups.setdefault(panel, []).append(row)
    bound = quantities.shaded.sum(axis=0)
    min_margin = np.fmin.reduce(quantities.left, axis=0)
    nearest = sorted(
        groups, key=lambda k: (-bound[groups[k]].max(), np.fmin.reduce(min_margin[groups[k]]))
    )
    drawn = [
        _panel(quantities, block, unit, rows, result)
        for (block, unit), rows in groups.items()
        if (block, unit) in nearest[:PANELS]
    ]
    if len(drawn) < len(groups):
        first = drawn[0]
        drawn[0] = first._replace(title=f"{first.title}, {PANELS} of {len(groups)} limits")
    return panels.grid(panels.widen_single(drawn), height=2.2)


def _panel(
    series: LimitSeries, block: str, unit: str, rows: list[int], result: Result | None
) -> panels.Panel:
    shaded = series.shaded[:, rows]
    min_margin = np.fmin.reduce(series.left[:, rows], axis=0)
    order = np.lexsort((min_margin, -shaded.sum(axis=0)))[:SHOWN]
    shown = [rows[k] for k in sorted(order)]
    count = f" ({len(shown)} of {len(rows)})" if len(shown) < len(rows) else ""

    def draw(axes: Axes, legend_width: float) -> None:
        values = series.left[:, shown]
        names = [series.names[i].removeprefix(f"{block}.") for i in shown]
        margins = {series.margins[i] for i in shown} - {0.0}
        marks.shade(axes, series.time, np.logical_or.reduce(shaded, axis=1))
        axes.axhline(0.0, color=style.INK, linewidth=1.2, zorder=1.5)
        for margin in margins:
            axes.axhline(margin, color=style.MUTED, linewidth=1.0, linestyle="--", zorder=1.5)
        panels.lines(axes, series.time, values, names, legend_width)
        axes.set_ylabel(f"h [{unit_text(unit)}]" if unit else "h")
        panels.fit_y_axis(axes, values, [0.0, *margins])
        if result is not None:
            marks.draw_switches(axes, result)

    return panels.Panel(f"{panels.shorten(block)}{count}", draw)
