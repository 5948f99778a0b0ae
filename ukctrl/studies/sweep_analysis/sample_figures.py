"""Figures of many samples: how a metric spreads, and how it goes with a factor."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import number, unit_text
from ukctrl.reports.plot import line_labels, panels, style
from ukctrl.studies.sweep_analysis.factor_units import with_unit
from ukctrl.studies.sweep_analysis.metric_summary import TABLE_PERCENTILES, Percentile, Summary
from ukctrl.studies.sweep_analysis.study_arrays import Axis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_DOTS = 500
"""Samples that are drawn as dots in one panel; the line and the band are of all."""
MIN_EXTREMES = 25
"""Of these, how many are the largest and the smallest, which no thinning may lose."""
LOG_SCALE_RATIO = 30.0
"""Values further apart than by this factor go on a log scale."""
OFFSET: dict[str, Any] = {"textcoords": "offset points"}
MAX_BINS = 24
"""Ranges of a histogram, and of the line through dots."""


class MetricDistribution(NamedTuple):
    """One metric over the samples."""

    summary: Summary
    unit: str
    values: Array
    """Of those that have it."""


@style.styled
def histograms(amounts: Sequence[MetricDistribution]) -> Figure:
    """Draw how often each metric has which values, with its percentiles."""
    drawn = [
        panels.Panel(panels.shorten(one.summary.metric, 30), functools.partial(_histogram, one))
        for one in amounts
    ]
    return panels.grid(panels.widen_single(drawn), height=1.9, x_label="")


def _histogram(amount: MetricDistribution, axes: Axes, width: float) -> None:
    one, unit, values = amount
    name = one.metric
    x_label = with_unit(panels.shorten(name, 30), unit) if unit_text(unit) else name
    axes.set_xlabel(x_label, labelpad=3)
    axes.set_ylabel("samples")
    if not values.size:
        return
    log = needs_log_scale(values)
    low, high = float(values.min()), float(values.max())
    steps = int(np.clip(2.0 * len(values) ** (1.0 / 3.0), 5, MAX_BINS))
    edges = (np.geomspace if log else np.linspace)(low, high, steps + 1)
    if low == high:
        span = abs(low) or 1.0
        edges = np.linspace(low - 0.1 * span, high + 0.1 * span, 6)
    axes.hist(values, np.unique(edges).tolist(), color=style.PALETTE[0], alpha=0.55, linewidth=0.0)
    if log:
        axes.set_xscale("log")
        tick_decades(axes)
    marks = [mark for mark in one.percentiles if mark.level in TABLE_PERCENTILES]
    labels = [_percentile_label(mark) for mark in marks if np.isinf(mark.value.value)]
    reason = "failed" if one.failed else "none"
    reason = "failed or none" if one.failed and one.without else reason
    _failure_bar(axes, edges, one.failed + one.without, log, ", ".join([reason, *labels]))
    top = axes.get_ylim()[1]
    shown = [mark for mark in marks if np.isfinite(mark.value.value)]
    for mark in shown:
        axes.axvline(mark.value.value, color=style.INK, linewidth=1.0)
        if mark.level == 0.95 and np.isfinite(mark.value).all():
            axes.axvspan(mark.value.low, mark.value.high, color=style.INK, alpha=0.1, linewidth=0.0)
    _label_percentiles(axes, shown, top)


def _percentile_label(mark: Percentile) -> str:
    return f"{100.0 * mark.level:g} %"


def _failure_bar(axes: Axes, edges: Array, failed: int, log: bool, label: str) -> None:
    """Draw what failed as a bar of its own, beyond the largest value."""
    positions = np.log10(edges) if log else edges
    span = float(positions[-1] - positions[0])
    ends = np.array([positions[0] - 0.02 * span, positions[-1] + 0.02 * span])
    if failed:
        bar = positions[-1] + np.array([0.04, 0.09]) * span
        ends[1] = bar[1] + 0.02 * span
        left, right = 10.0**bar if log else bar
        axes.bar(left, failed, width=right - left, align="edge", color=style.ALERT, alpha=0.75)
        look: dict[str, Any] = {"ha": "right", "va": "bottom", "color": style.ALERT}
        axes.annotate(label, (right, failed), (0, 2), **look, **OFFSET, fontsize=7.5)
    axes.set_xlim(*(10.0**ends if log else ends))


def _label_percentiles(axes: Axes, marks: Sequence[Percentile], top: float) -> None:
    """Write the percentiles above their lines, leaving out what would lie on a neighbour."""
    axes.set_ylim(0.0, 1.14 * top)
    used = -1.0
    for mark in marks:
        at = axes.transData.transform((mark.value.value, 0.0))[0]
        where = float(axes.transAxes.inverted().transform((at, 0.0))[0])
        if where < used + 0.085:
            continue
        used = where
        look: dict[str, Any] = {"ha": "left", "va": "top", "color": style.INK, **OFFSET}
        corner = (mark.value.value, 1.14 * top)
        axes.annotate(_percentile_label(mark), corner, (2, -2), **look, fontsize=7.0)


@style.styled
def scatter_figure(name: str, unit: str, merit: Array, factors: Sequence[Axis]) -> Figure:
    """Draw a metric against each factor: dots, the median, and between what 90 % lie.

    Args:
        name: What the metric is.
        unit: Its unit.
        merit: Its values, infinite where a sample failed or has none, shape `(n,)`.
        factors: The factors.
    """
    finite = merit[np.isfinite(merit)]
    label = with_unit(panels.shorten(name, 24), unit) if unit_text(unit) else name
    log = needs_log_scale(finite)

    def panel(factor: Axis) -> panels.Panel:
        def draw(axes: Axes, width: float) -> None:
            axes.set_ylabel(label)
            axes.set_xlabel("")
            if log:
                axes.set_yscale("log")
            _scatter(axes, factor, merit)
            if log:
                tick_decades(axes, "y")

        return panels.Panel(with_unit(panels.shorten(factor.path, 40), factor.unit), draw)

    return panels.grid(panels.widen_single(map(panel, factors)), height=1.9, x_label="")


def _scatter(axes: Axes, factor: Axis, merit: Array) -> None:
    x, names, finite = factor.values, factor.names, np.isfinite(merit)
    log_x = factor.log and bool((x > 0.0).all())
    spread = np.log10(x) if log_x else x
    dots = _thin(np.flatnonzero(finite), merit)
    shift = np.zeros(len(x))
    if names:  # side by side instead of on each other
        shift = np.random.default_rng(0).uniform(-0.16, 0.16, len(x))
    look: dict[str, Any] = {"alpha": 0.3, "markersize": 3.0, "markeredgewidth": 0.0}
    axes.plot((x + shift)[dots], merit[dots], "o", color=style.PALETTE[0], **look)
    middles, low, half, high = _quantile_band(spread, merit, bool(names))
    positions = 10.0**middles if log_x else middles
    if names or len(np.unique(x)) <= line_labels.FULL_LEGEND:
        for k in range(len(positions)):
            axes.plot([positions[k]] * 2, [low[k], high[k]], color=style.INK, linewidth=1.0)
        axes.plot(positions, half, "o" if names else "o-", color=style.INK, markersize=4.5)
    else:
        axes.fill_between(positions, low, high, color=style.INK, alpha=0.12, linewidth=0.0)
        axes.plot(positions, half, color=style.INK)
    if log_x:
        axes.set_xscale("log")
        tick_decades(axes)
    span = float(np.ptp(spread)) or 1.0
    ends = np.array([spread.min() - 0.03 * span, spread.max() + 0.03 * span])
    if names:
        axes.set_xticks(
            range(len(names)), [panels.shorten(text, max(8, 64 // len(names))) for text in names]
        )
        ends = np.array([-0.5, len(names) - 0.5])
    axes.set_xlim(*(10.0**ends if log_x else ends))
    failed = (x + shift)[_thin(np.flatnonzero(~finite), merit)]
    if failed.size:  # marked along the upper edge
        rug: dict[str, Any] = {"markersize": 5.0, "markeredgewidth": 0.9, "alpha": 0.7}
        rug |= {"color": style.ALERT, "transform": axes.get_xaxis_transform(), "clip_on": False}
        axes.plot(failed, np.full(len(failed), 0.975), "|", **rug)


def _thin(indices: NDArray[np.intp], merit: Array) -> NDArray[np.intp]:
    """Return a few of many samples: those with the most extreme values, and others by chance."""
    if len(indices) <= MAX_DOTS:
        return indices
    order = indices[np.argsort(merit[indices], kind="stable")]
    inner = order[MIN_EXTREMES:-MIN_EXTREMES]
    chosen = np.random.default_rng(0).choice(inner, MAX_DOTS - 2 * MIN_EXTREMES, replace=False)
    return np.concatenate([order[:MIN_EXTREMES], np.sort(chosen), order[-MIN_EXTREMES:]])


def _quantile_band(x: Array, merit: Array, named: bool) -> tuple[Array, Array, Array, Array]:
    """Return places along a factor, and the 5, 50 and 95 % quantiles of the metric there.

    Failed samples are the worst; a quantile among them is not drawn.
    """
    levels = np.unique(x)
    if named or len(levels) <= line_labels.FULL_LEGEND:
        groups = [np.flatnonzero(x == level) for level in levels]
    else:
        count = int(np.clip(len(x) // 25, 1, MAX_BINS))
        groups = np.array_split(np.argsort(x, kind="stable"), count)
    middle = np.array([np.median(x[group]) for group in groups])
    rows = []
    for group in groups:
        ordered = np.sort(merit[group])
        percentiles = [ordered[round(level * (len(ordered) - 1))] for level in (0.05, 0.5, 0.95)]
        rows.append([value if np.isfinite(value) else np.nan for value in percentiles])
    low, half, high = np.array(rows).T
    # A band without an upper end goes on to the largest value that is known.
    finite = merit[np.isfinite(merit)]
    top = finite.max() if finite.size else np.nan
    return middle, low, half, np.where(np.isfinite(low) & np.isnan(high), top, high)


def needs_log_scale(values: Array) -> bool:
    """Return whether values are better seen on a log scale."""
    return panels.spans_decades(values, LOG_SCALE_RATIO)


def tick_decades(axes: Axes, side: str = "x") -> None:
    """Write powers of ten on a log axis, and what lies between where it is short."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis = axes.xaxis if side == "x" else axes.yaxis
    low, high = axes.get_xlim() if side == "x" else axes.get_ylim()
    short = high / low < 100.0
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if short else (1.0,), numticks=8))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))


def _tick(value: float) -> str:
    power = np.log10(value) if value > 0.0 else 0.5
    whole = abs(power - round(power)) < 1e-9
    return panels.decade(value) if whole and not -4 < power < 4 else number(value)
