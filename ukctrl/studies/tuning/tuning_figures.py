"""Figures of a search for gains: how the cost fell, and where in the ranges it was low."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import number
from ukctrl.reports.plot import panels, style
from ukctrl.studies.tuning.cost import Limit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ukctrl.studies.tuning.gain_search import GainSearch
    from ukctrl.studies.tuning.gains import Gain


FEASIBLE_COLOR, INFEASIBLE_COLOR, FAILED_COLOR = style.PALETTE[0], style.PALETTE[1], style.ALERT
MAX_GAINS = 8
"""Gains of more than these are in the history alone."""
LOG_VIOLATION = 200.0
"""Violations beyond this need a log scale [%]."""


class _CandidatePlot:
    """The candidates of a search, as they are drawn."""

    def __init__(self, tuning: GainSearch) -> None:
        trials = tuning.trials
        self.simulation_counts = tuning.plants * np.arange(1.0, len(trials) + 1.0)
        self.cost = np.array([trial.cost for trial in trials])
        self.violation = np.array([trial.violation for trial in trials])
        self.feasible = np.array([trial.feasible for trial in trials])
        self.failed = ~np.isfinite(self.cost)
        self.infeasible = ~self.feasible & ~self.failed
        self.best = trials.index(tuning.best)

    def keys(self) -> list[panels.LegendEntry]:
        """Return what the legend says."""
        entry, best = panels.LegendEntry, "best" if self.feasible.any() else "nearest"
        groups = [
            (self.feasible, entry("candidate", FEASIBLE_COLOR, "", "o")),
            (self.infeasible, entry("beyond a constraint", INFEASIBLE_COLOR, "", "o", True)),
            (self.failed, entry("did not complete", FAILED_COLOR, "", "x")),
        ]
        ends = entry("card", style.INK, "", "D", True), entry(best, style.INK, "", "*")
        return [*(key for group, key in groups if group.any()), *ends]

    def scale(self, axes: Axes) -> Array:
        """Scale the axis of costs, and return where to draw each candidate on it."""
        finite = self.cost[~self.failed]
        if not finite.size:
            axes.set_ylim(0.0, 1.0)
            return np.ones(len(self.cost))
        if panels.spans_decades(finite):
            panels.log_scale(axes, finite)
            axes.set_ylim(0.6 * finite.min(), 1.4 * finite.max())
        else:
            panels.fit_y_axis(axes, finite)
        top = axes.get_ylim()[1]
        return np.where(self.failed, top, self.cost)

    def draw(self, axes: Axes, x: Array, y: Array) -> None:
        """Draw every candidate, the card and the best marked."""
        ends: dict[str, Any] = {"color": style.INK, "clip_on": False}
        marks: list[tuple[Any, str, dict[str, Any]]] = [
            (self.feasible, "o", {"color": FEASIBLE_COLOR, "markersize": 3.5, "alpha": 0.7}),
            (
                self.infeasible,
                "o",
                {"color": INFEASIBLE_COLOR, "markersize": 4.0, "fillstyle": "none"},
            ),
            (self.failed, "x", {"color": FAILED_COLOR, "markersize": 4.5, "clip_on": False}),
            ([0], "D", {"markersize": 7.0, "fillstyle": "none", **ends}),
            ([self.best], "*", {"markersize": 11.0, "zorder": 4, **ends}),
        ]
        for selection, symbol, look in marks:
            axes.plot(x[selection], y[selection], symbol, **look)


@style.styled
def search_figure(tuning: GainSearch) -> Figure:
    """Draw the cost of every candidate, the lowest so far, and how far constraints were broken."""
    points = _CandidatePlot(tuning)

    def costs(axes: Axes, width: float) -> None:
        y = points.scale(axes)
        history = tuning.history()
        shown = np.where(np.isfinite(history), history, np.nan)
        axes.step(points.simulation_counts, shown, where="post", color=style.INK, linewidth=1.1)
        points.draw(axes, points.simulation_counts, y)
        _integer_axis(axes)
        axes.set_ylabel("cost")

    def violations(axes: Axes, width: float) -> None:
        from matplotlib.ticker import FuncFormatter

        # Of a bound that is zero there is no fraction: how far beyond it counts as it is.
        scale = 100.0 if all(Limit.parse(text).bound for text in tuning.limits) else 1.0
        shown = np.where(points.failed, np.nan, scale * points.violation)
        high = float(np.nanmax(shown, initial=0.0))
        wide = high > LOG_VIOLATION and scale != 1.0
        if wide:
            axes.set_yscale("symlog", linthresh=1.0)
            axes.yaxis.set_major_formatter(
                FuncFormatter(lambda value, _: panels.decade(value) if value > 0.0 else "0")
            )
        axes.set_ylim(0.0, (2.0 if wide else 1.08) * high or 1.0)
        y = np.where(points.failed, axes.get_ylim()[1], shown)
        points.draw(axes, points.simulation_counts, y)
        _integer_axis(axes)
        axes.set_ylabel("beyond [% of the bounds]" if scale != 1.0 else "beyond, added up")

    drawn = [panels.Panel(f"cost: {panels.shorten(tuning.cost, 70)}", costs, columns=2)]
    if tuning.limits:
        title = f"constraints: {panels.shorten(', '.join(tuning.limits), 70)}"
        drawn.append(panels.Panel(title, violations, columns=2))
    keys = points.keys()
    if points.feasible.any():
        keys.append(panels.LegendEntry("lowest so far", style.INK, "-"))
    return panels.grid(drawn, height=2.2, x_label="simulations", keys=keys)


@style.styled
def gain_figure(tuning: GainSearch) -> Figure:
    """Draw the cost of every candidate against each of its gains."""
    points = _CandidatePlot(tuning)

    def panel(gain: Gain) -> panels.Panel:
        def draw(axes: Axes, width: float) -> None:
            x = np.array([trial.gains[gain.path] for trial in tuning.trials])
            y = points.scale(axes)
            low, high = min(gain.low, np.nanmin(x)), max(gain.high, np.nanmax(x))
            if gain.scale == "log":
                axes.set_xscale("log")
                axes.set_xlim(low / (high / low) ** 0.04, high * (high / low) ** 0.04)
            else:
                axes.set_xlim(low - 0.04 * (high - low), high + 0.04 * (high - low))
            for end in (gain.low, gain.high):
                axes.axvline(end, color=style.FAINT, linewidth=1.0, zorder=1)
            _range_ticks(axes, gain)
            points.draw(axes, x, y)
            axes.set_ylabel("cost")

        return panels.Panel(panels.shorten(gain.path.removeprefix("controller."), 40), draw)

    drawn = panels.widen_single(map(panel, tuning.gains[:MAX_GAINS]))
    return panels.grid(
        drawn, height=1.9, x_label="value; grey: ends of the range", keys=points.keys()
    )


def _range_ticks(axes: Axes, gain: Gain) -> None:
    """Label the ends of the range, and what lies evenly between them."""
    from matplotlib.ticker import NullLocator

    ticks = [gain.at(x) for x in (0.0, 0.25, 0.5, 0.75, 1.0)]
    axes.set_xticks(ticks, [number(value) for value in ticks])
    axes.xaxis.set_minor_locator(NullLocator())


def _integer_axis(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    left, right = axes.get_xlim()
    axes.set_xlim(min(left, 0.5), right + 0.015 * (right - left))
