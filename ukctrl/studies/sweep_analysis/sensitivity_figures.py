"""Figures of shares: what a metric depends on, where samples succeed, and maps of both."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import number
from ukctrl.core.statistics import Estimate
from ukctrl.reports.plot import line_labels, panels, style
from ukctrl.studies.sweep_analysis.factor_maps import Map, MapAxis
from ukctrl.studies.sweep_analysis.factor_units import with_unit
from ukctrl.studies.sweep_analysis.failure_factors import FailureFactor
from ukctrl.studies.sweep_analysis.sample_figures import OFFSET, needs_log_scale, tick_decades
from ukctrl.studies.sweep_analysis.sensitivity import Sensitivity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_BARS = 12
"""Factors with bars of their own; of more, the strongest."""
MAX_LETTERS = 68
"""Letters below a panel, side by side."""
FAILURE, SUCCESS = "#c8352b", "#0072b2"
"""Ends of the scale of success: told apart by the colour-blind, and the alert of every page."""
CELL_STYLE: dict[str, Any] = {"edgecolors": "face", "linewidth": 0.3}
"""Without edges of their own, neighbouring cells let the page shine through between them."""
MAX_NUMBERED_CELLS = 10
"""Cells along a side up to which their counts are written into them."""


@style.styled
def sensitivity_figure(titled: Mapping[str, Sensitivity]) -> Figure:
    """Draw the shares of variance by factor, with confidence intervals, by the titles of panels."""
    max_bars = max(min(len(one.first), MAX_BARS) for one in titled.values())
    drawn = [panels.Panel(title, functools.partial(_bars, one)) for title, one in titled.items()]
    both = any(one.total for one in titled.values())
    keys = [panels.LegendEntry("alone (first order)", style.PALETTE[0], "-")]
    keys += [panels.LegendEntry("with others too (total)", style.PALETTE[4], "-")] if both else []
    height = 0.25 + 0.42 * max_bars
    drawn, label = panels.widen_single(drawn), "share of the variance [%]"
    return panels.grid(drawn, height=height, x_label=label, keys=keys)


def _bars(one: Sensitivity, axes: Axes, width: float) -> None:
    shown = one.ordered()[:MAX_BARS]
    colored = [(one.first, style.PALETTE[0]), (one.total, style.PALETTE[4])]
    for index, path in enumerate(shown):
        pairs = [(shares[path], color) for shares, color in colored if path in shares]
        for k, (estimate, color) in enumerate(pairs):
            y = index + (0.06 + 0.25 * k if len(pairs) > 1 else 0.18)
            _bar(axes, y, estimate, color)
        look: dict[str, Any] = {"fontsize": 7.5, "va": "center", "color": style.INK}
        axes.annotate(panels.shorten(path, 52), (0.0, index - 0.18), (3, 0), **look, **OFFSET)
    axes.set_ylim(len(shown) - 0.45, -0.5)
    axes.set_yticks([])
    axes.set_xlim(-4.0, 104.0)
    axes.axvline(0.0, color=style.FAINT, linewidth=0.8)
    axes.grid(visible=False, axis="y")


def _bar(axes: Axes, y: float, estimate: Estimate, color: str) -> None:
    if not np.isfinite(estimate.value):
        return
    axes.barh(y, 100.0 * estimate.value, height=0.2, color=color, linewidth=0.0, alpha=0.85)
    if np.isfinite([estimate.low, estimate.high]).all() and estimate.high > estimate.low:
        ends = [100.0 * max(estimate.low, -0.04), 100.0 * min(estimate.high, 1.04)]
        axes.plot(ends, [y, y], color=style.INK, linewidth=1.1)


@style.styled
def success_rate_figure(separations: Sequence[FailureFactor], *, intervals: bool) -> Figure:
    """Draw the share of samples that succeeded over the ranges of each factor.

    Args:
        separations: The factors.
        intervals: Whether the samples were drawn, so that their shares are uncertain.
    """
    drawn = [
        panels.Panel(_factor_label(one, 40), functools.partial(_rates, one, intervals))
        for one in separations
    ]
    return panels.grid(panels.widen_single(drawn), height=1.6, x_label="")


def _factor_label(factor: FailureFactor | MapAxis, size: int) -> str:
    return with_unit(panels.shorten(factor.path, size), factor.unit)


def _rates(one: FailureFactor, intervals: bool, axes: Axes, width: float) -> None:
    labels = [rate.label for rate in one.rates]
    for index, share in enumerate(rate.share for rate in one.rates):
        if not np.isfinite(share.value):
            continue
        color = style.PALETTE[0]
        ends = [100.0 * share.low, 100.0 * share.high]
        axes.bar(index, 100.0 * share.value, width=0.72, color=color, alpha=0.35, linewidth=0.0)
        if intervals:
            axes.plot([index, index], ends, color=style.INK, linewidth=1.1)
        axes.plot([index], [100.0 * share.value], "o", color=style.INK, markersize=3.5)
    size = 7.0 if max(map(len, labels)) * len(labels) > 60 else 8.0
    texts = [panels.shorten(label.replace(" to ", "\n"), 16) for label in labels]
    if any(" to " in label for label in labels):
        texts = [label.replace(" to ", "\n") for label in labels]
    longest = max(len(line) for text in texts for line in text.split("\n"))
    if longest * len(texts) > MAX_LETTERS:  # such as 1.01×10⁻⁶: they would run into each other
        texts = [text if index % 2 == 0 else "" for index, text in enumerate(texts)]
    axes.set_xticks(range(len(labels)), texts, fontsize=size)
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_ylim(0.0, 104.0)
    axes.set_ylabel("succeeded [%]")
    axes.grid(visible=False, axis="x")


@style.styled
def map_figure(metric: str, unit: str, cells: Map) -> Figure:
    """Draw a map."""
    label = with_unit(panels.shorten(metric, 20), unit)
    drawn = [
        panels.Panel(f"median {label}", functools.partial(_draw_medians, cells)),
        panels.Panel("succeeded [%]", functools.partial(_draw_success, cells)),
    ]
    return panels.grid(drawn, height=3.1, x_label=_factor_label(cells.x, 46))


def _draw_medians(cells: Map, axes: Axes, width: float) -> None:
    import matplotlib
    from matplotlib.colors import ListedColormap, LogNorm, Normalize

    x, y = _set_axes(axes, cells)
    failed = np.isinf(cells.middle)
    if failed.any():
        shown = np.ma.masked_where(~failed, np.ones_like(cells.middle))
        axes.pcolormesh(x, y, shown, cmap=ListedColormap([FAILURE]), **CELL_STYLE)
    finite = cells.middle[np.isfinite(cells.middle)]
    if not finite.size:
        return
    low, high = float(finite.min()), float(finite.max())
    log = needs_log_scale(finite)
    norm = LogNorm(low, high) if log else Normalize(low, high if high > low else low + 1.0)
    colors = matplotlib.colormaps["viridis_r"].resampled(60)  # so that its legend stays small
    shown = np.ma.masked_invalid(cells.middle)
    mesh = axes.pcolormesh(x, y, shown, cmap=colors, norm=norm, **CELL_STYLE)
    _color_bar(axes, mesh, [low, high] if high > low else [low])


def _draw_success(cells: Map, axes: Axes, width: float) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("success", [FAILURE, "#f3e3c2", SUCCESS], 60)
    x, y = _set_axes(axes, cells)
    share = np.ma.masked_invalid(100.0 * cells.share)
    mesh = axes.pcolormesh(x, y, share, cmap=colors, vmin=0.0, vmax=100.0, **CELL_STYLE)
    _color_bar(axes, mesh, [0.0, 50.0, 100.0])
    if max(cells.samples.shape) <= MAX_NUMBERED_CELLS and cells.samples.max() > 1:
        _counts(axes, cells)


def _set_axes(axes: Axes, cells: Map) -> tuple[Array, Array]:
    """Give both axes their scales and ticks, and return the ends of the cells along them."""
    axes.grid(visible=False)
    axes.set_ylabel(_factor_label(cells.y, 38))
    for side, name in ((cells.x, "x"), (cells.y, "y")):
        set_scale, set_limits, set_ticks = (
            (axes.set_xscale, axes.set_xlim, axes.set_xticks)
            if name == "x"
            else (axes.set_yscale, axes.set_ylim, axes.set_yticks)
        )
        log, ends = _is_log(side), _cell_edges(side)
        if log:
            set_scale("log")
        set_limits(float(ends[0]), float(ends[-1]))
        if side.categorical:
            names = [panels.shorten(label, max(8, 56 // len(side.labels))) for label in side.labels]
            options: dict[str, Any] = {"rotation": 90, "va": "center"} if name == "y" else {}
            set_ticks(range(len(names)), names, **options)
        elif log:
            tick_decades(axes, name)
        elif side.by_value and len(side.edges) <= line_labels.FULL_LEGEND:
            set_ticks(side.edges, side.labels)
    return _cell_edges(cells.x), _cell_edges(cells.y)


def _is_log(side: MapAxis) -> bool:
    return side.log and not side.categorical and bool((side.edges > 0.0).all())


def _cell_edges(side: MapAxis) -> Array:
    """Return the ends of the cells; those of single values lie half-way to their neighbours."""
    if not side.by_value:
        return side.edges
    at = np.log(side.edges) if _is_log(side) else side.edges
    if len(at) == 1:
        edges = np.array([at[0] - 0.5, at[0] + 0.5])
    else:
        half = 0.5 * np.diff(at)
        edges = np.concatenate([at[:1] - half[:1], at[:-1] + half, at[-1:] + half[-1:]])
    return np.exp(edges) if _is_log(side) else edges


def _color_bar(axes: Axes, mesh: Any, ticks: list[float]) -> None:
    """Draw a small scale of colours above the panel, to the right."""
    inset = axes.inset_axes((0.6, 1.035, 0.4, 0.03))
    bar = axes.figure.colorbar(mesh, cax=inset, orientation="horizontal")
    if bar.solids is not None:  # many colours would become an image, which pages do not show
        bar.solids.set_rasterized(False)
        bar.solids.set_edgecolor("face")
    bar.set_ticks(ticks, labels=[number(value, 2) for value in ticks])
    bar.minorticks_off()
    inset.xaxis.set_ticks_position("top")
    inset.tick_params(labelsize=7.0, pad=1.0, length=2.0)
    bar.outline.set_visible(False)


def _counts(axes: Axes, cells: Map) -> None:
    """Write how many samples each cell has."""
    across, up = _cell_centres(cells.x), _cell_centres(cells.y)
    for i, j in zip(*np.nonzero(cells.samples), strict=True):
        share = cells.share[i, j]
        color = "white" if share < 0.2 or share > 0.8 else style.INK
        look: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 6.5}
        axes.text(across[j], up[i], str(cells.samples[i, j]), color=color, **look)


def _cell_centres(side: MapAxis) -> Array:
    ends = _cell_edges(side)
    middle: Array = np.sqrt(ends[:-1] * ends[1:]) if _is_log(side) else 0.5 * (ends[:-1] + ends[1:])
    return middle
