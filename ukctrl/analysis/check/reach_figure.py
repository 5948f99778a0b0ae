"""The figure of a reach map: where a frame comes, and why not elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ukctrl.analysis.check.reach_map import ReachMap
from ukctrl.analysis.check.reach_search import AWAY, FOUND
from ukctrl.reports.plot import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REACHED, BEYOND = "#cfe8de", "#eceff2"
SHOWN = 8
"""Reasons with a colour of their own; more share the last."""


@style.styled
def reach_figure(reach: ReachMap) -> Figure:
    """Draw which points a frame reaches, with a colour of every reason, its start and its path."""
    from matplotlib.colors import BoundaryNorm, ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    own = {FOUND: REACHED, AWAY: BEYOND}
    others = [reason for reason in reach.shares() if reason not in own]
    own |= {reason: style.PALETTE[min(k, SHOWN - 1)] for k, reason in enumerate(others)}
    colors = [own.get(reason, BEYOND) for reason in reach.reasons]
    width = style.width()
    figure = Figure(figsize=(width, 0.55 * width), dpi=style.DPI, layout="constrained")
    axes = figure.subplots()
    axes.pcolormesh(
        reach.first,
        reach.second,
        reach.cells,
        cmap=ListedColormap(colors),
        norm=BoundaryNorm(np.arange(len(colors) + 1) - 0.5, len(colors)),
        shading="nearest",
        edgecolors="face",
        linewidth=0.3,
    )
    if len(reach.path):
        axes.plot(*reach.path.T, color=style.INK, linewidth=1.4, label="path of the task")
    axes.plot(*reach.start, "o", color=style.INK, markersize=5, label="start")
    axes.set_xlabel(f"{reach.axes[0]} [m]")
    axes.set_ylabel(f"{reach.axes[1]} [m]")
    axes.set_aspect("equal")
    axes.grid(visible=False)
    shares = {reason: 100.0 * part for reason, part in reach.shares().items()}
    patches = [
        Patch(color=own[reason], label=f"{reason}, {part:.3g} %") for reason, part in shares.items()
    ]
    handles = [*patches, *axes.get_legend_handles_labels()[0]]
    axes.legend(handles=handles, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
