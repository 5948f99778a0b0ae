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

SHOWN = 5
"""Quantities of one panel: those that bound longest, then those that came nearest."""


class Quantities(NamedTuple):
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


def kept(result: Result) -> Figure:
    """Draw what is left of every block, with its zero, its margins and the times at which it bound.

    A panel is of one unit.
    """
    labels = result.labels
    told = labels.keep_rows, labels.keep_row_blocks, labels.keep_row_units, labels.keep_row_margins
    bound = np.asarray(result["keep_binding"] > 0.0)
    return quantities_figure(Quantities(result.time, result["keep"], bound, *told), result)


@style.styled
def quantities_figure(quantities: Quantities, result: Result | None = None) -> Figure:
    """Draw what is left of every block, a panel of each unit; of a run with its switches."""
    drawn, units = [], np.array(quantities.units)
    for block in dict.fromkeys(quantities.blocks):
        own = np.array(quantities.blocks) == block
        for unit in dict.fromkeys(units[own].tolist()):
            rows = np.flatnonzero(own & (units == unit)).tolist()
            drawn.append(_panel(quantities, block, unit, rows, result))
    return panels.grid(panels.alone_wide(drawn), height=2.2)


def _panel(
    given: Quantities, block: str, unit: str, rows: list[int], result: Result | None
) -> panels.Panel:
    shaded = given.shaded[:, rows]
    least = np.fmin.reduce(given.left[:, rows], axis=0)
    order = np.lexsort((least, -shaded.sum(axis=0)))[:SHOWN]
    shown = [rows[k] for k in sorted(order)]
    count = f" ({len(shown)} of {len(rows)})" if len(shown) < len(rows) else ""

    def draw(axes: Axes, room: float) -> None:
        values = given.left[:, shown]
        names = [given.names[i].removeprefix(f"{block}.") for i in shown]
        margins = {given.margins[i] for i in shown} - {0.0}
        marks.shade(axes, given.time, np.logical_or.reduce(shaded, axis=1))
        axes.axhline(0.0, color=style.INK, linewidth=1.2, zorder=1.5)
        for margin in margins:
            axes.axhline(margin, color=style.MUTED, linewidth=1.0, linestyle="--", zorder=1.5)
        panels.lines(axes, given.time, values, names, room)
        axes.set_ylabel(f"h [{unit_text(unit)}]" if unit else "h")
        panels.fit(axes, values, [0.0, *margins])
        if result is not None:
            marks.switches(axes, result)

    return panels.Panel(f"{panels.short(block)}{count}", draw)
