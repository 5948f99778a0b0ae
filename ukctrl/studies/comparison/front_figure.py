"""Fronts of several laws as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.core.number_text import unit_text
from ukctrl.reports.plot import panels, style
from ukctrl.reports.plot.overlay import BAND_ALPHA, keys_of
from ukctrl.studies.comparison.comparison_figures import MARKERS
from ukctrl.studies.comparison.pareto_front import Fronts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.styled
def draw_fronts(fronts: Fronts) -> Figure:
    """Draw each law's front with the intervals of its points, and faintly what it beats itself."""
    keys = [
        key._replace(marker=MARKERS[index % len(MARKERS)])
        for index, key in enumerate(keys_of(fronts.laws))
    ]
    error, cost = fronts.metrics
    y_unit, x_unit = (unit_text(unit) or "1" for unit in fronts.units)
    ends: list[Any] = [[p.spreads for p in law.front] for law in fronts.laws.values() if law.front]

    def draw(axes: Axes, width: float) -> None:
        shown = np.array([s[:4] for group in ends for pair in group for s in pair])
        y, x = (shown[at::2, 1:4] if len(shown) else np.zeros(0) for at in (0, 1))
        x, y = x[np.isfinite(x)], y[np.isfinite(y)]
        if panels.spans_decades(x):
            panels.log_scale(axes, x, beside=x[x > 0.0], axis="x")
        elif x.size:
            width = 0.04 * max(float(np.ptp(x)), 1e-3 * float(abs(x).max()), 1e-12)
            axes.set_xlim(float(x.min()) - width, float(x.max()) + width)
        if panels.spans_decades(y):
            panels.log_scale(axes, y, beside=y[y > 0.0])
        else:
            panels.fit_y_axis(axes, y)
        for key, law in zip(keys, fronts.laws.values(), strict=True):
            look: dict[str, Any] = {"color": key.color, "marker": key.marker}
            means = [p.means for p in law.points if p.completed]
            tried: dict[str, Any] = {"linestyle": "", "alpha": 0.25, "markersize": 3.0, "zorder": 1}
            axes.plot([m[1] for m in means], [m[0] for m in means], **look, **tried)
            front = law.front
            if not front:
                continue
            below, across = (np.array([p.spreads[at][1:4] for p in front]) for at in (0, 1))
            axes.plot(across[:, 0], below[:, 0], linestyle=key.dash, markersize=4.0, **look)
            if np.isfinite(below).all():
                axes.fill_between(
                    across[:, 0], below[:, 1], below[:, 2],
                    color=key.color, alpha=BAND_ALPHA, linewidth=0.0,
                )  # fmt: skip
            for (_, left, right), (at, *_) in zip(across, below, strict=True):
                axes.plot([left, right], [at, at], color=key.color, linewidth=1.0)
        axes.set_ylabel(f"{panels.shorten(error)} [{y_unit}]")

    panel = panels.Panel("what each law can do, whatever its gains", draw, columns=2)
    x_label = f"{panels.shorten(cost, 40)} [{x_unit}]"
    return panels.grid([panel], height=3.2, x_label=x_label, keys=keys)
