"""A map over two factors: the median of a metric, and the share of samples that succeeded."""

from __future__ import annotations

import dataclasses as dc
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import number, unit_text
from ukctrl.reports.plot import panels, style
from ukctrl.reports.plot.samples import spread_over_decades, tick_decades

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


FAILURE, SUCCESS = "#c8352b", "#0072b2"
"""Ends of the scale of success: told apart by the colour-blind, and the alert of every page."""
SEAMLESS: dict[str, Any] = {"edgecolors": "face", "linewidth": 0.3}
"""Without edges of their own, neighbouring cells let the page shine through between them."""
MOST_NUMBERS = 10
"""Cells along a side up to which their counts are written into them."""


class Ticks(NamedTuple):
    """One side of a map."""

    factor: str
    edges: Array
    """Ends of ranges, shape `(m + 1,)`; of single values, the values, shape `(m,)`."""
    labels: tuple[str, ...]
    single: bool
    """Whether every cell is one value."""
    named: bool
    """Whether the values are names."""
    log: bool


class Cells(NamedTuple):
    """What is drawn of a map, each of shape `(ny, nx)`."""

    middle: Array
    """Infinite where half of the samples failed, NaN where there is none."""
    share: Array
    samples: NDArray[np.intp]


@style.styled
def chart(metric: str, unit: str, x: Ticks, y: Ticks, cells: Cells) -> Figure:
    """Draw a map.

    Args:
        metric: What the metric is.
        unit: Its unit.
        x: The factor to the right.
        y: The factor upwards.
        cells: What stands in its cells.
    """
    label = f"{panels.short(metric, 20)}{f' [{unit_text(unit)}]' if unit_text(unit) else ''}"
    drawn = [
        panels.Panel(f"median {label}", _Metric(x, y, cells)),
        panels.Panel("succeeded [%]", _Success(x, y, cells)),
    ]
    return panels.grid(drawn, height=3.1, x_label=panels.short(x.factor, 52))


@dc.dataclass(frozen=True)
class _Metric:
    """Draws the panel of the metric."""

    x: Ticks
    y: Ticks
    cells: Cells

    def __call__(self, axes: Axes, room: float) -> None:
        from matplotlib.colors import LogNorm, Normalize

        values = self.cells.middle
        known = values[np.isfinite(values)]
        _frame(axes, self.x, self.y)
        _paint_failures(axes, self.x, self.y, values)
        if not known.size:
            return
        low, high = float(known.min()), float(known.max())
        log = spread_over_decades(known)
        norm = LogNorm(low, high) if log else Normalize(low, high if high > low else low + 1.0)
        shown = np.ma.masked_invalid(values)
        mesh = axes.pcolormesh(
            _edges(self.x), _edges(self.y), shown, cmap=_colors("viridis_r"), norm=norm, **SEAMLESS
        )
        _scale(axes, mesh, [low, high] if high > low else [low])


@dc.dataclass(frozen=True)
class _Success:
    """Draws the panel of success."""

    x: Ticks
    y: Ticks
    cells: Cells

    def __call__(self, axes: Axes, room: float) -> None:
        from matplotlib.colors import LinearSegmentedColormap

        colors = LinearSegmentedColormap.from_list("success", [FAILURE, "#f3e3c2", SUCCESS], 60)
        _frame(axes, self.x, self.y)
        share = np.ma.masked_invalid(100.0 * self.cells.share)
        mesh = axes.pcolormesh(
            _edges(self.x), _edges(self.y), share, cmap=colors, vmin=0.0, vmax=100.0, **SEAMLESS
        )
        _scale(axes, mesh, [0.0, 50.0, 100.0])
        samples = self.cells.samples
        if max(samples.shape) <= MOST_NUMBERS and samples.max() > 1:
            _counts(axes, self.x, self.y, self.cells)


def _colors(name: str) -> Any:
    """Return a scale with so few colours that its legend stays small."""
    import matplotlib

    return matplotlib.colormaps[name].resampled(60)


def _frame(axes: Axes, x: Ticks, y: Ticks) -> None:
    axes.grid(visible=False)
    axes.set_ylabel(panels.short(y.factor, 44))
    for ticks, side in ((x, "x"), (y, "y")):
        edges = _edges(ticks)
        log = ticks.log and not ticks.named and bool((edges > 0.0).all())
        set_scale, set_limits, set_ticks = (
            (axes.set_xscale, axes.set_xlim, axes.set_xticks)
            if side == "x"
            else (axes.set_yscale, axes.set_ylim, axes.set_yticks)
        )
        if log:
            set_scale("log")
        set_limits(float(edges[0]), float(edges[-1]))
        if ticks.named:
            names = [panels.short(label, max(8, 56 // len(ticks.labels))) for label in ticks.labels]
            options: dict[str, Any] = {"rotation": 90, "va": "center"} if side == "y" else {}
            set_ticks(range(len(names)), names, **options)
        elif log:
            tick_decades(axes, side)
        elif ticks.single and len(ticks.edges) <= panels.FULL_LEGEND:
            set_ticks(ticks.edges, ticks.labels)


def _edges(ticks: Ticks) -> Array:
    """Return the ends of the cells; those of single values lie half-way to their neighbours."""
    if not ticks.single:
        return ticks.edges
    log = ticks.log and not ticks.named and bool((ticks.edges > 0.0).all())
    at = np.log(ticks.edges) if log else ticks.edges
    if len(at) == 1:
        edges = np.array([at[0] - 0.5, at[0] + 0.5])
    else:
        half = 0.5 * np.diff(at)
        edges = np.concatenate([at[:1] - half[:1], at[:-1] + half, at[-1:] + half[-1:]])
    return np.exp(edges) if log else edges


def _paint_failures(axes: Axes, x: Ticks, y: Ticks, values: Array) -> None:
    """Paint the cells in which half of the samples failed."""
    from matplotlib.colors import ListedColormap

    failed = np.isinf(values)
    if failed.any():
        shown = np.ma.masked_where(~failed, np.ones_like(values))
        axes.pcolormesh(_edges(x), _edges(y), shown, cmap=ListedColormap([FAILURE]), **SEAMLESS)


def _scale(axes: Axes, mesh: Any, ticks: list[float]) -> None:
    """Draw a small scale of colours above the panel, to the right."""
    place = axes.inset_axes((0.6, 1.035, 0.4, 0.03))
    bar = axes.figure.colorbar(mesh, cax=place, orientation="horizontal")
    if bar.solids is not None:  # many colours would become an image, which pages do not show
        bar.solids.set_rasterized(False)
        bar.solids.set_edgecolor("face")
    bar.set_ticks(ticks, labels=[number(value, 2) for value in ticks])
    bar.minorticks_off()
    place.xaxis.set_ticks_position("top")
    place.tick_params(labelsize=7.0, pad=1.0, length=2.0)
    bar.outline.set_visible(False)


def _counts(axes: Axes, x: Ticks, y: Ticks, cells: Cells) -> None:
    """Write how many samples each cell has."""
    across, up = _middles(axes, x, "x"), _middles(axes, y, "y")
    for i, j in zip(*np.nonzero(cells.samples), strict=True):
        share = cells.share[i, j]
        axes.text(
            across[j],
            up[i],
            str(cells.samples[i, j]),
            ha="center",
            va="center",
            fontsize=6.5,
            color="white" if share < 0.2 or share > 0.8 else style.INK,
        )


def _middles(axes: Axes, ticks: Ticks, side: str) -> Array:
    edges = _edges(ticks)
    log = (axes.get_xscale() if side == "x" else axes.get_yscale()) == "log"
    middle: Array = np.sqrt(edges[:-1] * edges[1:]) if log else 0.5 * (edges[:-1] + edges[1:])
    return middle
