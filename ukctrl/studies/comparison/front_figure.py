"""Fronts of several laws as a figure, and as a table of levels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.core.number_text import number, plus_minus, unit_text
from ukctrl.core.statistics import spread
from ukctrl.reports.plot import panels, style
from ukctrl.reports.plot.overlay import BAND_ALPHA, keys_of
from ukctrl.reports.table import Cell, Column, Table
from ukctrl.studies.comparison.comparison_figures import MARKERS
from ukctrl.studies.comparison.fronts import Duel, Fronts
from ukctrl.studies.comparison.law_front import LawFront
from ukctrl.studies.comparison.ranking import crossed, rounding

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.styled
def front(fronts: Fronts) -> Figure:
    """Draw each law's front with the intervals of its points, and faintly what it beats itself."""
    keys = [
        key._replace(marker=MARKERS[place % len(MARKERS)])
        for place, key in enumerate(keys_of(fronts.laws))
    ]
    error, cost = fronts.metrics
    y_unit, x_unit = (unit_text(unit) or "1" for unit in fronts.units)
    ends: list[Any] = [[p.spreads for p in law.front] for law in fronts.laws.values() if law.front]

    def draw(axes: Axes, room: float) -> None:
        shown = np.array([s[:4] for every in ends for pair in every for s in pair])
        y, x = (shown[at::2, 1:4] if len(shown) else np.zeros(0) for at in (0, 1))
        x, y = x[np.isfinite(x)], y[np.isfinite(y)]
        if panels.far_apart(x):
            panels.log_scale(axes, x, beside=x[x > 0.0], axis="x")
        elif x.size:
            room = 0.04 * max(float(np.ptp(x)), 1e-3 * float(abs(x).max()), 1e-12)
            axes.set_xlim(float(x.min()) - room, float(x.max()) + room)
        if panels.far_apart(y):
            panels.log_scale(axes, y, beside=y[y > 0.0])
        else:
            panels.fit(axes, y)
        for key, law in zip(keys, fronts.laws.values(), strict=True):
            look: dict[str, Any] = {"color": key.color, "marker": key.marker}
            others = [p.means for p in law.points if p.completed]
            tried: dict[str, Any] = {"linestyle": "", "alpha": 0.25, "markersize": 3.0, "zorder": 1}
            axes.plot([m[1] for m in others], [m[0] for m in others], **look, **tried)
            found = law.front
            if not found:
                continue
            below, across = (np.array([p.spreads[at][1:4] for p in found]) for at in (0, 1))
            axes.plot(across[:, 0], below[:, 0], linestyle=key.dash, markersize=4.0, **look)
            if np.isfinite(below).all():
                axes.fill_between(
                    across[:, 0], below[:, 1], below[:, 2],
                    color=key.color, alpha=BAND_ALPHA, linewidth=0.0,
                )  # fmt: skip
            for (_, left, right), (at, *_) in zip(across, below, strict=True):
                axes.plot([left, right], [at, at], color=key.color, linewidth=1.0)
        axes.set_ylabel(f"{panels.short(error)} [{y_unit}]")

    panel = panels.Panel("what each law can do, whatever its gains", draw, columns=2)
    x_label = f"{panels.short(cost, 40)} [{x_unit}]"
    return panels.grid([panel], height=3.2, x_label=x_label, keys=keys)


def front_table(fronts: Fronts, duels: Sequence[Duel]) -> Table:
    """Return what each law has of the first metric at equal levels of the second.

    Marked are those that no other beats there, where a test tells any two apart.
    """
    of_error, of_cost = (unit_text(unit) for unit in fronts.units)
    names = [Column(name, series=place) for place, name in enumerate(fronts.laws)]
    columns = [Column(fronts.metrics[1], "text"), Column("unit", "unit"), *names]
    counts = [(f"{len(law.front)} of {len(law.points)}", law) for law in fronts.laws.values()]
    rows = [[Cell("on the front"), Cell(""), *(Cell(text, "", _why(law)) for text, law in counts)]]
    for level in fronts.levels:
        here = [duel for duel in duels if duel.level == level and duel.supported]
        beaten = {duel.higher for duel in here}
        cells = [
            _cell(law, level, rounding(fronts.metrics[0]), best=bool(here) and name not in beaten)
            for name, law in fronts.laws.items()
        ]
        rows.append([Cell(f"{number(level)} {of_cost}".rstrip()), Cell(of_error), *cells])
    return Table(columns, rows)


def _why(law: LawFront) -> str:
    """Return of how many settings there is nothing to draw, and why."""
    refused = sum(bool(point.refused) for point in law.points)
    beyond = sum(any(crossed(run.metrics) for run in point.runs) for point in law.points)
    failed = sum(not point.completed for point in law.points) - refused - beyond
    counts = (refused, "refused"), (beyond, "crossed a limit"), (failed, "failed")
    parts = [f"{n} {what}" for n, what in counts if n]
    terms = next((", ".join(point.gains) for point in law.points), "")
    over = "" if "bandwidth" in terms or not terms else "over its own gains"
    return ", ".join([*parts, *([over] if over else [])])


def _cell(law: LawFront, level: float, floor: float, *, best: bool) -> Cell:
    """Return what a law has at a level, with its interval."""
    found = law.at(level, floor)
    if found is None:
        return Cell("not reached", "faint")
    over = spread(np.exp(found[0]))
    half = over.high - over.mean
    text = plus_minus(over.mean, half) if math.isfinite(half) else number(over.mean)
    return Cell(text, "best" if best else "")
