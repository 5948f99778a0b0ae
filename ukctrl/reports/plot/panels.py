"""Panels of curves: a grid of axes, lines with a legend that stays small, scales that fit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import number
from ukctrl.core.tie_breaking import tie_ranks
from ukctrl.reports.plot import line_labels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


TIME = "time [s]"
"""Label of an axis of time; a page's line of time goes through such panels."""
HIGHLIGHTED = 5
"""Of more lines than are named, so many are coloured and named."""
LEGEND_NAME = 34
"""Longest name in a legend above all panels, and of a panel."""
MANY_DECADES = 20.0
"""Values further apart than by this factor go on a log scale."""
QUANTILE_POINTS = 200_000
"""Of more values a part tells where the lowest hundredth begins."""
MOST_POINTS = 2400
"""Longer series are thinned to the smallest and largest value of each short interval."""
LARGEST = 1e100
"""Larger values have no place on paper."""
PANEL_POINTS = 24000
"""Points of all lines of one panel together; many lines are thinned further."""


_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Panel(NamedTuple):
    """One set of axes to fill: a title in words and a function that draws."""

    title: str
    draw: Callable[[Axes, float], None]
    """Gets the axes and their width [in] that the title leaves free for a legend."""
    columns: int = 1
    """How many of the two columns it takes."""


class LegendEntry(NamedTuple):
    """One entry of a legend that holds for all panels of a figure."""

    name: str
    color: str
    dash: str
    marker: str = ""
    hollow: bool = False


def grid(
    panels: Sequence[Panel],
    height: float = 1.95,
    x_label: str = TIME,
    keys: Sequence[LegendEntry] = (),
) -> Figure:
    """Lay panels out in two columns, row by row, and draw them.

    Args:
        panels: What to draw, in order.
        height: Height of every panel [in].
        x_label: Label of every horizontal axis.
        keys: A legend for all panels together, above them.
    """
    from matplotlib.figure import Figure

    wide = style.width()
    max_columns = 1 if wide < style.NARROW else 2
    cells, row, column = [], 0, 0
    for panel in panels:
        if column + min(panel.columns, max_columns) > max_columns:
            row, column = row + 1, 0
        cells.append((row, column))
        column += min(panel.columns, max_columns)
    left, right, bottom, gap_x, gap_y = 0.72, 0.12, 0.46, 0.78, 0.76
    columns, above = legend_size(keys)
    top = 0.42 + above
    rows = row + 1
    total = top + bottom + rows * height + (rows - 1) * gap_y
    figure = Figure(figsize=(wide, total), dpi=style.DPI, facecolor="white")
    if keys:
        common_legend(figure, keys, columns, left / wide)
    whole = wide - left - right
    single = whole if max_columns == 1 else (whole - gap_x) / 2
    for panel, (i, j) in zip(panels, cells, strict=True):
        width = single if panel.columns == 1 else whole
        x, y = left + j * (single + gap_x), bottom + (rows - 1 - i) * (height + gap_y)
        axes = figure.add_axes((x / wide, y / total, width / wide, height / total))
        heading(axes, panel.title)
        axes.set_xlabel(x_label, labelpad=3)
        axes.margins(x=0)
        panel.draw(axes, width - 0.085 * len(panel.title) - 0.1)
        if x_label == TIME:
            start, end = axes.get_xlim()
            bounds = (
                x / style.WIDTH,
                1.0 - (y + height) / total,
                width / style.WIDTH,
                height / total,
            )
            axes.set_gid(style.time_mark(bounds, start, end))
        line_labels.label_line_ends(axes, width, height)
        power = axes.yaxis.get_offset_text()  # beside the axis: above it stands the heading
        power.set(x=-0.1 / width, horizontalalignment="right")
    return figure


def widen_single(panels: Iterable[Panel]) -> list[Panel]:
    """Return panels of which one that is alone takes both columns."""
    drawn = list(panels)
    return [drawn[0]._replace(columns=2)] if len(drawn) == 1 else drawn


def legend_size(keys: Sequence[LegendEntry]) -> tuple[int, float]:
    """Return the columns of a legend above all panels, and its height [in]."""
    letters = max((len(_label(key)) for key in keys), default=1)
    columns = max(1, int((style.width() - 1.1) // (0.55 + 0.07 * letters)))
    return columns, 0.2 * -(-len(keys) // columns)


def common_legend(figure: Figure, keys: Sequence[LegendEntry], columns: int, left: float) -> None:
    """Name what holds for all panels above them, from that part of the width on."""
    from matplotlib.lines import Line2D

    looks: list[dict[str, Any]] = [
        {
            "color": key.color,
            "linestyle": key.dash,
            "marker": key.marker,
            "markerfacecolor": "none" if key.hollow else key.color,
        }
        for key in keys
    ]
    handles = [Line2D([], [], linewidth=2.0, **look) for look in looks]
    layout: dict[str, Any] = {
        "loc": "upper left",
        "bbox_to_anchor": (left, 1.0),
        "ncols": min(columns, len(keys)),
        "borderaxespad": 0.2,
        "borderpad": 0.1,
        "columnspacing": 1.6,
        "handlelength": 2.2,
    }
    figure.legend(handles, [_label(key) for key in keys], **layout)


def _label(key: LegendEntry) -> str:
    return shorten(key.name, LEGEND_NAME)


def heading(axes: Axes, title: str) -> None:
    """Write a panel's title above its upper left corner."""
    axes.annotate(
        title,
        (0, 1),
        (0, 7),
        xycoords="axes fraction",
        textcoords="offset points",
        fontsize=9.0,
        fontweight="bold",
        annotation_clip=False,
    )


def lines(
    axes: Axes, time: Array, values: Array, names: Sequence[str], room: float, scale: float = 1.0
) -> None:
    """Draw the columns of `values`, times a scale, over time, each with its name.

    Of more lines than a panel can name, those that move most are coloured, and the others stay
    grey and are counted; `line_labels.split_columns` makes several panels instead.
    """
    count = values.shape[1]
    chosen = list(range(count))
    if count > line_labels.FULL_LEGEND:
        lively = tie_ranks(high - low for low, high in map(extent, values.T))
        chosen = sorted(sorted(chosen, key=lambda k: -lively[k])[:HIGHLIGHTED])
    marker = "o" if len(time) == 1 else None
    max_points = min(MOST_POINTS, max(400, PANEL_POINTS // max(count, 1)))
    for k in range(count):
        if k not in chosen:
            x, y = thin(time, scale * finite_on_paper(values[:, k]), max_points)
            axes.plot(x, y, color=style.FAINT, alpha=0.6, linewidth=0.7, marker=marker, zorder=1)
    for index, k in enumerate(chosen):
        x, y = thin(time, scale * finite_on_paper(values[:, k]), max_points)
        dash = style.DASHES[index // len(style.PALETTE) % len(style.DASHES)]
        color = style.PALETTE[index % len(style.PALETTE)]
        axes.plot(x, y, dash, color=color, marker=marker, label=shorten(names[k]))
    line_labels.legend(axes, room, hidden=count - len(chosen))


def fit_y_axis(axes: Axes, values: Array, extra: Sequence[float] = (), scale: float = 1.0) -> None:
    """Set the y axis so that all finite values show and a constant looks constant.

    Args:
        axes: Where.
        values: One or more columns.
        extra: Other values that must show.
        scale: By what the values are multiplied.
    """
    extremes = [scale * end for end in extent(values)]
    low, high = min((*extremes, *extra)), max((*extremes, *extra))
    middle = 0.5 * (low + high)
    span = max(high - low, 2e-3 * abs(middle), 1e-12)
    if low == high == 0.0:
        span = 1.0  # else the axis would count in 1e-13
    axes.set_ylim(middle - 0.56 * span, middle + 0.56 * span)


def log_scale(
    axes: Axes,
    values: Array,
    beside: ArrayLike = (),
    axis: Literal["x", "y"] = "y",
    floor: float = 0.0,
) -> None:
    """Give an axis decades, down to what the curves reach without their needle-thin dips.

    Args:
        axes: Where.
        values: What is drawn.
        beside: Positive values among them that must show, such as points that stand alone.
        axis: Which.
        floor: What is smaller is rounding, of which a decade is enough, or two where all is.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    positive = values[np.isfinite(values) & (values > 0.0)]
    limits, ticks = (
        (axes.set_ylim, axes.set_yticks) if axis == "y" else (axes.set_xlim, axes.set_xticks)
    )
    if positive.size == 0:
        limits(-0.5, 0.5)
        ticks([0.0], ["0"])
        return
    (axes.set_yscale if axis == "y" else axes.set_xscale)("log")
    high = float(positive.max())
    some = positive[:: 1 + positive.size // QUANTILE_POINTS]
    lower = np.min(beside, initial=float(np.quantile(some, 0.01)))
    low = max(float(lower), high * 1e-15)
    if high > floor > 0.0:
        low = max(low, 0.2 * floor)
    elif floor:
        low, high = max(low, min(1e-2 * floor, 0.1 * high)), floor
    limits(10.0 ** np.floor(np.log10(0.6 * low)), 10.0 ** np.ceil(np.log10(1.1 * high)))
    side = axes.yaxis if axis == "y" else axes.xaxis
    side.set_major_locator(LogLocator(numticks=7))
    side.set_major_formatter(FuncFormatter(lambda value, _: decade(value)))
    side.set_minor_locator(NullLocator())


def spans_decades(values: Array, factor: float = MANY_DECADES) -> bool:
    """Tell whether finite values are better seen on a log scale: positive, and that far apart."""
    low, high = values.min(initial=np.inf), values.max(initial=0.0)
    return bool(low > 0.0 and high / low > factor)


def decade(value: float) -> str:
    """Return `10⁻⁹` for 1e-9."""
    power = round(np.log10(value)) if value > 0.0 else 0
    return f"10{str(power).translate(_SUPERSCRIPTS)}" if power not in (0, 1) else number(value)


def extent(values: Array) -> tuple[float, float]:
    """Return the smallest and largest value that can be placed on paper; zeros where none can."""
    ends = []
    for column in values.T if values.ndim > 1 else values[None]:  # whole tables may be long
        finite = column[np.abs(column) < LARGEST]
        ends += [float(finite.min()), float(finite.max())] if finite.size else []
    return min(ends, default=0.0), max(ends, default=0.0)


def bounding_box(points: Iterable[Array], most: float = LARGEST) -> tuple[Array, Array] | None:
    """Return the corners of the box around all points with three such coordinates, if any has.

    Args:
        points: Arrays of shape `(n, k, 3)`.
        most: Points further away from the origin are left out [m].
    """
    ends = []
    for array in points:
        for start in range(0, len(array), MOST_POINTS):  # there may be more than memory holds
            chunk = array[start : start + MOST_POINTS]
            drawn = chunk[(np.abs(chunk) < most).all(axis=2)]
            ends += [drawn.min(axis=0), drawn.max(axis=0)] if len(drawn) else []
    return (np.min(ends, axis=0), np.max(ends, axis=0)) if ends else None


def finite_on_paper(values: Array) -> Array:
    """Return the values with NaN for what cannot be placed on paper."""
    return np.where(np.abs(values) < LARGEST, values, np.nan)


def thin(time: Array, values: Array, max_points: int = MOST_POINTS) -> tuple[Array, Array]:
    """Return about that many points of a series at most, keeping every peak."""
    n = len(time)
    if n <= max_points:
        return time, values
    bins = max_points // 2
    length = -(-n // bins)
    index = np.minimum(np.arange(bins * length), n - 1).reshape(bins, length)
    blocks = values[index]
    rows = np.arange(bins)
    lowest, highest = index[rows, blocks.argmin(axis=1)], index[rows, blocks.argmax(axis=1)]
    picked = np.unique(np.concatenate([[0, n - 1], lowest, highest]))
    return time[picked], values[picked]


def shorten(name: str, limit: int = 22) -> str:
    """Return a name on one line that fits into a legend, with no underscore in front to hide it."""
    text = " ".join(name.split())
    text = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return f"\u200b{text}" if text.startswith("_") else text
