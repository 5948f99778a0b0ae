"""The path of the frames: in space, from above and from the side, with equal axes.

The view in space is a parallel projection drawn on plain axes: lengths along one direction
compare, nothing is cut off, and it renders several times faster than matplotlib's own.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.reports.plot import line_labels, panels, style
from ukctrl.reports.plot.marks import LOG_DASHES
from ukctrl.simulation.result.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


HEIGHT = 3.7
"""Height of a row of views [in]."""
SIDE_BY_SIDE = (
    (0.01, 0.035, 0.345, 0.845),
    (0.425, 0.125, 0.245, 0.755),
    (0.745, 0.125, 0.245, 0.755),
)
STACKED = ((0.01, 0.69, 0.98, 0.27), (0.2, 0.38, 0.76, 0.24), (0.2, 0.055, 0.76, 0.24))
"""Where the three views are, in parts of the figure: left, bottom, width, height."""
SMALLEST_BOX = 1e-3
"""The axes never show less than this [m], so that rest does not look like motion."""
RESOLUTION = 1e-9
"""Nor less than this fraction of how far away it all is: an axis needs numbers that differ."""
AZIMUTH, ELEVATION = np.deg2rad(-56.0), np.deg2rad(24.0)
"""Where the eye is, as seen from the path."""

_RIGHT = np.array([-np.sin(AZIMUTH), np.cos(AZIMUTH), 0.0])
_UP = np.array(
    [
        -np.sin(ELEVATION) * np.cos(AZIMUTH),
        -np.sin(ELEVATION) * np.sin(AZIMUTH),
        np.cos(ELEVATION),
    ]
)
PROJECTION = np.stack([_RIGHT, _UP], axis=1)
"""World to picture, shape (3, 2)."""


@style.styled
def path(result: Result) -> Figure:
    """Draw where the frames went and where they should have gone.

    Three views with equal axes: in space, from above (x, y), and from the side that shows more
    (x, z or y, z). A wide pale band is the reference, the thin line the motion, a ring the start
    and a dot the end.
    """
    from matplotlib.figure import Figure

    frames, colors = result.labels.frames, style.PALETTE
    named = frames[: line_labels.MOST_NAMED] if len(frames) > 1 else ()
    keys = [panels.LegendEntry(name, colors[k % len(colors)], "-") for k, name in enumerate(named)]
    if surplus := len(frames) - len(named) if named else 0:
        keys.append(panels.LegendEntry(f"+{surplus}", style.FAINT, "-"))
    columns, above = panels.legend_size(keys)
    stacked = style.width() < style.NARROW
    height, layout = (3.0 * HEIGHT, STACKED) if stacked else (HEIGHT, SIDE_BY_SIDE)
    share = height / (height + above)
    size = style.width(), height + above
    figure = Figure(figsize=size, dpi=style.DPI, facecolor="white")
    if keys:
        panels.common_legend(figure, keys, columns, 0.02)
    spots = [(x, y * share, w, h * share) for x, y, w, h in layout]
    position = result["frame_position"]
    reference: Array = np.broadcast_to(np.nan, position.shape)
    if "frame_reference" in result.samples:
        reference = result["frame_reference"]
    logged = reference if result.logged is None else result.logged["frame_position"]
    low, high = _box(position, reference, logged)
    shown = np.r_[0 : len(position) : 1 + len(position) // panels.MOST_POINTS, len(position) - 1]
    position, reference, logged = (
        panels.finite_on_paper(points[shown]) for points in (position, reference, logged)
    )
    side = 0 if high[0] - low[0] >= high[1] - low[1] else 1
    views: list[tuple[Axes, Array]] = [(_space(figure, spots[0], position, low, high), PROJECTION)]
    for spot, name, (i, j) in (
        (spots[1], "from above", (0, 1)),
        (spots[2], "from the side", (side, 2)),
    ):
        axes = figure.add_axes(spot)
        panels.heading(axes, name)
        axes.set_xlabel(f"{'xyz'[i]} [m]", labelpad=3)
        axes.set_ylabel(f"{'xyz'[j]} [m]", labelpad=2)
        axes.locator_params(nbins=5)
        _equal_limits(axes, (low[i], high[i]), (low[j], high[j]))
        views.append((axes, np.eye(3)[:, [i, j]]))
    for k, frame in enumerate(result.labels.frames):
        color = style.PALETTE[k % len(style.PALETTE)]
        for axes, projection in views:
            moved, target = position[:, k] @ projection, reference[:, k] @ projection
            _trace(axes, moved, target, color, panels.shorten(frame))
            if result.logged is not None:
                x, y = (logged[:, k] @ projection).T
                axes.plot(x, y, color=style.INK, linewidth=1.0, linestyle=LOG_DASHES, zorder=2.1)
    return figure


def _box(*points: Array) -> tuple[Array, Array]:
    """Return the smallest and largest corner of everything drawn."""
    corners = panels.bounding_box(points)
    if corners is None:
        return np.full(3, -0.5), np.full(3, 0.5)
    low, high = corners
    far = float(np.abs([low, high]).max())
    smallest = max(SMALLEST_BOX, RESOLUTION * far, 0.02 * float((high - low).max()))
    lacking = smallest - (high - low)
    return low - 0.5 * np.maximum(lacking, 0.0), high + 0.5 * np.maximum(lacking, 0.0)


def _space(
    figure: Figure,
    bounds: tuple[float, float, float, float],
    position: Array,
    low: Array,
    high: Array,
) -> Axes:
    """Add the view in space: a floor with a grid, two walls, and the path's shadow."""
    axes = figure.add_axes(bounds)
    panels.heading(axes, "in space")
    axes.set_axis_off()
    width, height = figure.get_size_inches() * bounds[2:]
    extent = float((high - low).max())
    lacking = np.maximum(0.3 * extent - (high - low), 0.0)  # a thin box has no room for numbers
    low, high = low - 0.5 * lacking - 0.04 * extent, high + 0.5 * lacking + 0.04 * extent
    corners = np.array(list(itertools.product(*zip(low, high, strict=True)))) @ PROJECTION
    left, bottom = corners.min(axis=0)
    right, top = corners.max(axis=0)
    # Room for the numbers: left of the box and below it [in].
    scale = max((right - left) / (width - 0.75), (top - bottom) / (height - 0.5))
    x0 = 0.5 * (left + right) - 0.5 * scale * width - 0.18 * scale
    y0 = 0.5 * (bottom + top) - 0.5 * scale * height - 0.16 * scale
    axes.set_xlim(x0, x0 + scale * width)
    axes.set_ylim(y0, y0 + scale * height)
    _walls(axes, low, high, scale)
    for k in range(position.shape[1]):
        floor = np.concatenate([position[:, k, :2], np.full((len(position), 1), low[2])], axis=1)
        shadow = (floor @ PROJECTION)[:-1]
        axes.plot(*shadow.T, color=style.GRID, linewidth=2.0, zorder=1.1)
    return axes


def _walls(axes: Axes, low: Array, high: Array, scale: float) -> None:
    """Draw the floor's grid, the edges of the two far walls, and numbers on the near edges."""
    near = (high[0], low[1], low[2])  # the eye looks over this corner
    segments = []
    for axis, base, push in (
        (0, near, (-0.06, -0.13)),
        (1, near, (0.08, -0.12)),
        (2, low, (-0.1, 0)),
    ):
        ends = [np.array(base, dtype=np.float64) for _ in range(2)]
        ends[0][axis], ends[1][axis] = low[axis], high[axis]
        length = float(np.linalg.norm((ends[1] - ends[0]) @ PROJECTION)) / scale
        for tick in _ticks(low[axis], high[axis], length):
            on_edge = ends[0].copy()
            on_edge[axis] = tick
            across = on_edge.copy()
            cross_axis = {0: 1, 1: 0, 2: 1}[axis]
            across[cross_axis] = low[cross_axis] + high[cross_axis] - on_edge[cross_axis]
            segments.append(np.stack([on_edge, across]) @ PROJECTION)
            if axis == 2:
                behind = across.copy()
                behind[0] = high[0]
                segments.append(np.stack([across, behind]) @ PROJECTION)
            at = on_edge @ PROJECTION + scale * np.array(push)
            side = {0: "right", 1: "left", 2: "right"}[axis]
            text = f"{tick:.6g}".replace("-", "\u2212")
            axes.text(at[0], at[1], text, ha=side, va="center", fontsize=7.0, color=style.MUTED)
        anchor = ends[1] if axis == 2 else 0.5 * (ends[0] + ends[1])
        push = {0: (-0.3, -0.28), 1: (0.36, -0.26), 2: (0.0, 0.12)}[axis]
        at = anchor @ PROJECTION + scale * np.array(push)
        axes.text(at[0], at[1], f"{'xyz'[axis]} [m]", ha="center", va="center", color=style.MUTED)
        axes.plot(*(np.stack(ends) @ PROJECTION).T, color=style.FAINT, linewidth=0.8, zorder=0.9)
    far = np.array([low[0], high[1], low[2]])
    for axis in range(3):
        end = far.copy()
        end[axis] = low[axis] + high[axis] - far[axis]
        segments.append(np.stack([far, end]) @ PROJECTION)
    for segment in segments:
        axes.plot(*segment.T, color=style.GRID, linewidth=0.7, zorder=0.8)


def _ticks(low: float, high: float, length: float) -> list[float]:
    """Return round numbers for an edge that is that long on paper [in]."""
    from matplotlib.ticker import MaxNLocator

    values = MaxNLocator(nbins=int(np.clip(length / 0.34, 2, 6))).tick_values(low, high)
    margin = 0.02 * (high - low)
    inside = [float(v) for v in values if low + margin <= v <= high - margin]
    return [0.0 if abs(v) < 1e-9 * (high - low) else v for v in inside]


def _equal_limits(axes: Axes, x: tuple[float, float], y: tuple[float, float]) -> None:
    """Set limits of one scale that fill the panel and hold both ranges."""
    box = axes.get_position()
    figure = axes.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches() * (box.width, box.height)
    scale = 1.1 * max((x[1] - x[0]) / width, (y[1] - y[0]) / height)
    for setter, (low, high), length in ((axes.set_xlim, x, width), (axes.set_ylim, y, height)):
        middle = 0.5 * (low + high)
        setter(middle - 0.5 * scale * length, middle + 0.5 * scale * length)


def _trace(axes: Axes, moved: Array, target: Array, color: str, name: str) -> None:
    if np.isfinite(target).any():
        axes.plot(*target[:-1].T, color=color, alpha=0.28, linewidth=5.0, zorder=1.5)
    axes.plot(*moved.T, color=color, linewidth=1.3, label=name, zorder=2)
    points = moved[np.isfinite(moved).all(axis=1)]
    if len(points):
        axes.plot(*points[0], "o", color=color, markersize=7.0, markerfacecolor="none", zorder=3)
        axes.plot(*points[-1], "o", color=color, markersize=5.0, zorder=3)
