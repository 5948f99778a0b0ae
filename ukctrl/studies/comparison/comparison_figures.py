"""Figures of a comparison: error against effort, against mismatch, and how gains were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import unit_text
from ukctrl.reports.plot import marks, panels, style
from ukctrl.reports.plot.overlay import QuantileBand, keys_of
from ukctrl.simulation.result import metrics
from ukctrl.simulation.result.verdicts.error_floor import error_floor
from ukctrl.studies.batch.mismatch_level import mismatch_text
from ukctrl.studies.batch.run_summary import RunSummary
from ukctrl.studies.comparison.comparison import Comparison
from ukctrl.studies.comparison.ranking import BAND_QUANTILES, Robustness
from ukctrl.studies.tuning import GainSearch

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


class TradeoffPoint(NamedTuple):
    """One controller in the plane of effort and error."""

    effort: float
    error: float
    effort_interval: tuple[float, float]
    """Confidence interval of the mean; NaN where there are no repeats."""
    error_interval: tuple[float, float]
    note: str = ""
    """Why it is not ranked; empty where it is."""


def error_bands(comparison: Comparison) -> dict[str, dict[str, QuantileBand]]:
    """Return the error curves of every controller over its repeats; nothing of a single one."""
    if comparison.repeats < 2:
        return {}
    return {name: _bands(runs) for name, runs in comparison.runs.items()}


def _bands(runs: Sequence[RunSummary]) -> dict[str, QuantileBand]:
    error_curves = [run.curves for run in runs if run.curves is not None]
    bands_by_key = {}
    for key in error_curves[0].norms if error_curves else ():
        values = np.array([curves.norms[key] for curves in error_curves])
        alive = np.isfinite(values).any(axis=0)
        edges = np.full((3, values.shape[1]), np.nan)
        if alive.any():
            edges[:, alive] = np.nanquantile(
                values[:, alive], [BAND_QUANTILES[0], 0.5, BAND_QUANTILES[1]], axis=0
            )
        bands_by_key[key] = QuantileBand(error_curves[0].time, *edges)
    return bands_by_key


def _points(comparison: Comparison) -> dict[str, TradeoffPoint]:
    """Return where every controller stands between effort and error."""
    table = {row.metric: row for row in comparison.rows}
    effort, error = table["effort"], table[comparison.error]
    points = {}
    for name in comparison.results:
        across, up = ((row.spreads[name].low, row.spreads[name].high) for row in (effort, error))
        note = "" if name in comparison.ranked else _note(comparison, name)
        points[name] = TradeoffPoint(effort.values[name], error.values[name], across, up, note)
    return points


def _note(comparison: Comparison, name: str) -> str:
    runs = comparison.runs[name]
    if name in comparison.completed:
        return "crossed a limit"
    if len(runs) < 2:
        return comparison.results[name].status
    return f"{sum(run.completed for run in runs)} of {len(runs)}"


def pareto_front(points: Mapping[str, TradeoffPoint]) -> list[str]:
    """Return who is ranked and beaten by nobody in both effort and error, by rising effort."""
    ranked = {name: p for name, p in points.items() if not p.note and np.isfinite(p[:2]).all()}

    def beaten(p: TradeoffPoint) -> bool:
        peers = (o for o in ranked.values() if o[:2] != p[:2])
        return any(o.effort <= p.effort and o.error <= p.error for o in peers)

    front = (name for name, p in ranked.items() if not beaten(p))
    return sorted(front, key=lambda name: ranked[name].effort)


@style.styled
def tradeoff_figure(comparison: Comparison) -> Figure:
    """Draw error against effort: the lower left corner is where one wants to be."""
    points, repeated = _points(comparison), comparison.repeats > 1
    runs, level = comparison.results.values(), comparison.error.removeprefix("rms_")
    promised = min(error_floor(run, level) for run in runs if len(run.samples))
    error_unit, effort_unit = (
        metrics.unit_in(name, comparison.first.labels) for name in (comparison.error, "effort")
    )
    keys = [
        key._replace(
            dash="",
            marker=MARKERS[index % len(MARKERS)],
            hollow=bool(point.note),
            name=f"{panels.shorten(key.name)} ({point.note})" if point.note else key.name,
        )
        for index, (key, point) in enumerate(
            zip(keys_of(map(comparison.shown, points)), points.values(), strict=True)
        )
    ]

    def draw(axes: Axes, width: float) -> None:
        ranked = [p for p in points.values() if not p.note] or list(points.values())
        efforts = _finite([v for p in ranked for v in (p.effort, *p.effort_interval)])
        errors = _finite([v for p in ranked for v in (p.error, *p.error_interval)])
        if panels.spans_decades(efforts):
            panels.log_scale(axes, efforts, beside=efforts, axis="x")
        else:
            low, high = (efforts.min(), efforts.max()) if efforts.size else (0.0, 1.0)
            # Differences that are ties shall not fill the panel.
            half = max(0.62 * float(high - low), 0.05 * abs(float(high)), 1e-12)
            axes.set_xlim(0.5 * (low + high) - half, 0.5 * (low + high) + half)
        axes.set_ylabel(f"rms error [{unit_text(error_unit) or '1'}]")
        rounded = any(p.error < promised.size for p in ranked)
        _set_decade_limits(axes, np.append(errors, promised.size) if rounded else errors)
        if rounded:
            marks.shade_floor(axes, promised)
        # Whoever is below what the integrator promises is as good as anybody else there.
        equal = {n: p._replace(error=max(p.error, promised.size)) for n, p in points.items()}
        front = [_clip_to_axes(axes, points[name]) for name in pareto_front(equal)]
        for x, y in front if repeated else ():  # no test stands behind single runs
            axes.plot([x], [y], "o", color=style.MUTED, fillstyle="none", markersize=14.0)
        if len(front) > 1:
            look: dict[str, Any] = {"color": style.FAINT, "linewidth": 1.0, "zorder": 1}
            axes.step(*zip(*front, strict=True), where="post", **look)
        for key, point in zip(keys, points.values(), strict=True):
            if np.isfinite(point[:2]).all():
                _point(axes, point, key)

    panel = panels.Panel("error against effort", draw, columns=2)
    x_label = f"effort [{unit_text(effort_unit)}]"
    return panels.grid([panel], height=2.7, x_label=x_label, keys=keys)


@style.styled
def mismatch_figure(robustness: Robustness) -> Figure:
    """Draw the error, and the share of runs that completed, against the mismatch."""
    levels = robustness.levels
    percent = [100.0 * level for level in levels if not isinstance(level, str)]
    # a fit has no place among fractions: then levels stand side by side
    names = () if len(percent) == len(levels) else [mismatch_text(level) for level in levels]
    x = np.array(range(len(names)) if names else percent, dtype=np.float64)
    keys = [
        key._replace(marker=MARKERS[index % len(MARKERS)])
        for index, key in enumerate(keys_of(robustness.entries))
    ]
    # Runs, completed, median, low, high and crossed of every controller, level by level.
    courses = [np.array(entries, dtype=np.float64).T for entries in robustness.entries.values()]

    def errors(axes: Axes, width: float) -> None:
        values = _finite(np.concatenate([course[2:5].ravel() for course in courses]).tolist())
        panels.log_scale(axes, values, beside=values[values > 0.0])
        for key, (_, _, median, low, high, _) in zip(keys, courses, strict=True):
            axes.fill_between(x, low, high, color=key.color, alpha=0.14, linewidth=0.0)
            axes.plot(x, median, key.dash, color=key.color, marker=key.marker, markersize=4.0)
        axes.set_ylabel(f"{robustness.metric} [{unit_text(robustness.unit) or '1'}]")
        _pad_x_axis(axes, x, names)

    def shares(axes: Axes, width: float) -> None:
        for key, (runs, completed, *_) in zip(keys, courses, strict=True):
            share = 100.0 * np.divide(completed, runs, out=np.full_like(x, np.nan), where=runs > 0)
            axes.plot(x, share, key.dash, color=key.color, marker=key.marker, markersize=4.0)
        axes.set_ylim(-5.0, 105.0)
        axes.set_ylabel("runs completed [%]")
        _pad_x_axis(axes, x, names)

    drawn = [panels.Panel("error", errors), panels.Panel("completed", shares)]
    x_label = f"mismatch of the true robot{'' if names else ' [%]'}"
    return panels.grid(drawn, height=2.4, x_label=x_label, keys=keys)


@style.styled
def tuning_figure(tunings: Mapping[str, GainSearch]) -> Figure:
    """Draw the lowest cost after each simulation of a search, by the names of the controllers."""
    histories = {name: [s.history() for s in tuning.every] for name, tuning in tunings.items()}
    named = (f"{name} (at a border)" if t.borders else name for name, t in tunings.items())
    keys, cost = keys_of(named), next(iter(tunings.values())).cost

    def draw(axes: Axes, width: float) -> None:
        from matplotlib.ticker import MaxNLocator

        values = _finite(
            np.concatenate([h for group in histories.values() for h in group]).tolist()
        )
        if panels.spans_decades(values):
            panels.log_scale(axes, values, beside=values)
        else:
            panels.fit_y_axis(axes, values)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        for key, searches in zip(keys, histories.values(), strict=True):
            for index, history in enumerate(searches):
                number = np.arange(1, len(history) + 1)
                marker = "o" if len(history) == 1 else None
                look: dict[str, Any] = {"color": key.color, "alpha": 0.4 if index else 1.0}
                axes.step(number, history, key.dash, where="post", marker=marker, **look)
        axes.set_ylabel("lowest cost")

    panel = panels.Panel(f"cost: {panels.shorten(cost, 60)}", draw, columns=2)
    return panels.grid([panel], height=2.2, x_label="simulation", keys=keys)


def _clip_to_axes(axes: Axes, point: TradeoffPoint) -> tuple[float, float]:
    """Return where a controller is drawn: what lies beyond an edge of the panel, on that edge."""
    x, y = np.clip(point.effort, *axes.get_xlim()), np.clip(point.error, *axes.get_ylim())
    return float(x), float(y)


def _point(axes: Axes, point: TradeoffPoint, key: panels.LegendEntry) -> None:
    """Draw a marker with the cross of its intervals."""
    x, y = _clip_to_axes(axes, point)
    (left, right), (low, high) = point.effort_interval, point.error_interval
    if not point.note and np.isfinite([left, right, low, high]).all():
        axes.plot([left, right], [y, y], color=key.color, linewidth=1.1)
        axes.plot([x, x], [max(low, axes.get_ylim()[0]), high], color=key.color, linewidth=1.1)
    look: dict[str, Any] = {"markersize": 7.0, "zorder": 3, "alpha": 0.85}
    fill = "none" if key.hollow else "full"
    axes.plot([x], [y], key.marker, color=key.color, fillstyle=fill, **look)


def _set_decade_limits(axes: Axes, values: Array) -> None:
    """Give the y axis whole decades around the values, two of them at least."""
    panels.log_scale(axes, values, beside=values[values > 0.0])
    if axes.get_yscale() == "log":
        low, high = axes.get_ylim()
        axes.set_ylim(low / (3.0 if high / low < 50.0 else 1.0), high)


def _pad_x_axis(axes: Axes, x: Array, names: Sequence[str]) -> None:
    """Leave room beside points, and name them where they are no numbers."""
    span, pad = max(float(np.ptp(x)), 1.0), 0.12 if names else 0.04
    axes.set_xlim(float(x.min()) - pad * span, float(x.max()) + pad * span)
    axes.set_xticks(x, [panels.shorten(name, 14) for name in names] or None)


def _finite(values: Sequence[float]) -> Array:
    array = np.array(values, dtype=np.float64)
    return array[np.isfinite(array)]
