"""What is marked on a panel over time: switches, limits, commands, saturation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.reports.plot import panels, style
from ukctrl.simulation.result import measures
from ukctrl.simulation.result.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


MOST_SWITCHES = 12
"""More switches of the law than this would hide the curves."""


def switches(axes: Axes, result: Result) -> None:
    """Draw a thin line at every time at which the law switched, while they can be told apart."""
    moments = result.switches
    for moment in moments if len(moments) <= MOST_SWITCHES else ():
        axes.axvline(moment, color=style.MUTED, linewidth=0.8, linestyle="--", zorder=0.5)


def limits_near(axes: Axes, values: Array, limits: Sequence[float]) -> None:
    """Show the limits that the inputs come near; the lower ones only where they come near those."""
    low, peak = panels.extent(values)[0], largest(values)
    near = [
        (k, limit)
        for k, limit in enumerate(limits)
        if np.isfinite(limit) and 0.0 < limit <= 1.6 * peak
    ]
    if not near or len(limits) > panels.FULL_LEGEND:
        return
    shown = []
    for k, limit in near:
        for end in (-limit, limit) if low <= -0.5 * limit else (limit,):
            axes.axhline(end, color=style.PALETTE[k], linestyle="--", linewidth=1.0)
            shown.append(end)
    panels.fit(axes, values, shown)


def commands(axes: Axes, result: Result, columns: list[int]) -> None:
    """Show what the law commanded, where something else was applied."""
    if "u_commanded" in result.samples and len(columns) <= panels.FULL_LEGEND:
        for k in columns:
            x, y = panels.thin(result.time, panels.drawable(result["u_commanded"][:, k]))
            axes.plot(x, y, color=style.FAINT, linewidth=0.7)


def saturation(axes: Axes, result: Result, columns: list[int]) -> None:
    """Shade the times at which an input is at a limit."""
    at_limit = np.any(measures.at_limit(result.samples)[:, columns], axis=1)
    if at_limit.any():
        time = result.time
        if len(time) > panels.MOST_POINTS:  # what is shorter than a line's width shows all the same
            bins = np.linspace(0, len(time), panels.MOST_POINTS, endpoint=False).astype(int)
            time, at_limit = time[bins], np.logical_or.reduceat(at_limit, bins)
        axes.fill_between(
            time,
            0.0,
            1.0,
            where=at_limit.tolist(),
            step="mid",
            transform=axes.get_xaxis_transform(),
            color=style.ALERT,
            alpha=0.08,
            linewidth=0.0,
        )


def largest(values: Array) -> float:
    """Return the largest size of the values that are finite; 0 where none is."""
    return max(map(abs, panels.extent(values)))
