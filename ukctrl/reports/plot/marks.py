"""What is marked on a panel over time: switches, limits and what is beyond, commands, rounding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import number
from ukctrl.reports.plot import line_labels, panels, style
from ukctrl.simulation.result import sample_measures
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.verdicts.error_floor import ErrorFloor

if TYPE_CHECKING:
    from matplotlib.axes import Axes


NEAR_SIZE, NEAR_END = 1.6, 0.15
"""A limit is near where it is at most so many times the largest value, or where so much of the
range between both limits is left."""
DASH = 4.0
"""Length of the dashes of a limit, in line widths."""
MIN_VISIBLE_SHARE = 0.02
"""A smaller part of a linear axis cannot be seen."""
MOST_SWITCHES = 12
"""More switches of the law than this would hide the curves."""
LOG_DASHES = (0, (2.2, 1.4))
LOG_MARGIN = 0.05
"""Part of a panel's height that is left beside the log."""
MAX_HIDDEN_NAMES = 3
"""So many lines that are not seen are named."""


def draw_switches(axes: Axes, result: Result) -> None:
    """Draw a thin line at every time at which the law switched, while they can be told apart."""
    moments = result.switches
    for moment in moments if len(moments) <= MOST_SWITCHES else ():
        axes.axvline(moment, color=style.MUTED, linewidth=0.8, linestyle="--", zorder=0.5)


def mark_limits(
    axes: Axes, values: Array, ends: Sequence[tuple[float, float]], names: Sequence[str]
) -> None:
    """Draw the limits that lines come near or pass, each in its line's colour and with its name.

    Lines that share a limit share its dashes.

    Args:
        axes: Where; its y axis is set so that they show.
        values: What the lines are, a column each.
        ends: The lowest and the highest allowed of each; infinite where there is none.
        names: Of the lines.
    """
    lines: dict[float, list[int]] = {}
    for k, pair in enumerate(ends):
        for end in _near(values[:, k], *pair):
            lines.setdefault(end, []).append(k)
    if not lines or len(names) > line_labels.FULL_LEGEND:
        return
    low, high = panels.extent(values)
    margin = 0.07 * (max(high, *lines) - min(low, *lines))  # for the names, outside of the limits
    panels.fit_y_axis(axes, values, [end + margin * np.sign(end) for end in lines])
    height = abs(axes.get_ylim()[1] - axes.get_ylim()[0])
    last, start = -np.inf, 0.01
    for end in sorted(lines):
        of = lines[end]
        for index, k in enumerate(of):
            dashes = (DASH * 1.5 * index, (DASH, DASH * (1.5 * len(of) - 1.0)))
            axes.axhline(end, color=style.PALETTE[k], linestyle=dashes, linewidth=1.1)
        text = ", ".join(panels.shorten(names[k], 16) for k in of)
        text = f"limit of {text if len(of) < len(names) or len(of) <= 3 else 'each'}"
        start = start if abs(end - last) < 0.08 * height else 0.01
        axes.annotate(
            text,
            (start, end),
            (0, 2.5 if end >= 0.0 else -2.5),
            xycoords=axes.get_yaxis_transform(),
            textcoords="offset points",
            color=style.PALETTE[of[0]] if len(of) == 1 else style.MUTED,
            fontsize=7.0,
            verticalalignment="bottom" if end >= 0.0 else "top",
        )
        last, start = end, start + 0.02 + 0.016 * len(text)


def _near(values: Array, low: float, high: float) -> Iterator[float]:
    """Yield the limits of one line that it comes near, or passes."""
    lowest, highest = panels.extent(values)
    if np.isfinite(low) and np.isfinite(high) and low != -high:
        near = NEAR_END * (high - low)  # of a range, such as that of a joint
        lower, upper = lowest - low < near, high - highest < near
    else:
        size = max(abs(lowest), abs(highest))
        upper = 0.0 < high <= NEAR_SIZE * size
        lower = -NEAR_SIZE * size <= low < 0.0 and lowest <= 0.5 * low
    if lower and np.isfinite(low):
        yield low
    if upper and np.isfinite(high):
        yield high


def mark_exceeded(
    axes: Axes, time: Array, values: Array, ends: Sequence[tuple[float, float]], when: bool = True
) -> None:
    """Draw in bold what of a line is beyond its limits, and shade when that is.

    Args:
        axes: Where.
        time: When.
        values: What the lines are, a column each.
        ends: The lowest and the highest allowed of each.
        when: Whether to shade.
    """
    outside = np.zeros(len(time), dtype=np.bool_)
    for k, (low, high) in enumerate(ends):
        slack = sample_measures.LIMIT_RTOL * max(
            1.0, *(abs(end) for end in (low, high) if np.isfinite(end)), 0.0
        )
        violations = (values[:, k] < low - slack) | (values[:, k] > high + slack)
        if violations.any():
            x, y = panels.thin(time, panels.finite_on_paper(values[:, k]))
            for end in (low, high):
                x, y = _with_crossings(x, y, end)
            y = np.where((y <= low) | (y >= high), y, np.nan)
            color = style.PALETTE[k % len(style.PALETTE)]
            axes.plot(x, y, color=color, linewidth=3.4, solid_capstyle="round", zorder=2.5)
            outside |= violations
    if when:
        shade(axes, time, outside)


def input_limits(result: Result, columns: Sequence[int]) -> list[tuple[float, float]]:
    """Return what is the least and the most of some inputs; infinite where nothing limits one.

    That is what the run recorded, such as the limits of a saturation, where that stays the same;
    else what the motors can give.
    """
    sizes = [result.labels.effort_limit[k] for k in columns]
    ends = [(-size, size) if size > 0.0 else (-np.inf, np.inf) for size in sizes]
    if "u_upper" not in result.samples or not len(result.time):
        return ends
    low, high = (result[name][:, columns] for name in ("u_lower", "u_upper"))
    stay = ((low == low[0]) & (high == high[0])).all(axis=0)
    return [
        (max(float(low[0, k]), lower), min(float(high[0, k]), upper)) if stay[k] else (lower, upper)
        for k, (lower, upper) in enumerate(ends)
    ]


def joint_limits(result: Result, name: str, columns: Sequence[int]) -> list[tuple[float, float]]:
    """Return what is the lowest and the highest allowed of some coordinates or velocities.

    Infinite where the robot has no limit or the result, which may be a stranger's, tells none.

    Args:
        result: Whose.
        name: ``q`` or ``v``.
        columns: Which.
    """
    limits = result.provenance.get("joint_limits")
    table = limits.get(name) if isinstance(limits, Mapping) else None
    names = result.labels.coordinates if name == "q" else result.labels.dofs
    ends = [table.get(names[k]) if isinstance(table, Mapping) else None for k in columns]
    return [_ends(pair) for pair in ends]


def _ends(pair: object) -> tuple[float, float]:
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        return -np.inf, np.inf
    low, high = (
        float(end) if isinstance(end, int | float) and abs(end) < panels.LARGEST else None
        for end in pair
    )
    return -np.inf if low is None else low, np.inf if high is None else high


def draw_commands(axes: Axes, result: Result, columns: Sequence[int]) -> None:
    """Show what the law commanded, where something else was applied."""
    if "u_commanded" in result.samples and len(columns) <= line_labels.FULL_LEGEND:
        for k in columns:
            x, y = panels.thin(result.time, panels.finite_on_paper(result["u_commanded"][:, k]))
            axes.plot(x, y, color=style.FAINT, linewidth=0.7)


def draw_log(axes: Axes, time: Array, values: Array | None, scale: float = 1.0) -> None:
    """Draw what was logged of the lines of a panel, dashed in their colours; it must show, too.

    Args:
        axes: Where, with its lines and limits.
        time: When.
        values: A column for each line; None: there is no log.
        scale: By what the lines are multiplied.
    """
    if values is None or not np.isfinite(values).any():
        return
    coloured = values.shape[1] <= line_labels.FULL_LEGEND
    for k, column in enumerate(values.T):
        color = style.PALETTE[k % len(style.PALETTE)] if coloured else style.FAINT
        x, y = panels.thin(time, scale * panels.finite_on_paper(column))
        axes.plot(x, y, color=color, linewidth=1.0, linestyle=LOG_DASHES, zorder=1.8)
    low, high = axes.get_ylim()
    lowest, highest = (scale * end for end in panels.extent(values))
    if axes.get_yscale() == "log":  # dips are as deep as noise happens to cross zero
        axes.set_ylim(low, max(high, highest))
    else:
        margin = LOG_MARGIN * (high - low)
        axes.set_ylim(min(low, lowest - margin), max(high, highest + margin))


def shade_saturation(axes: Axes, result: Result, columns: Sequence[int]) -> None:
    """Shade the times at which an input is at a limit."""
    shade(
        axes,
        result.time,
        np.any(sample_measures.inputs_at_limit(result.samples)[:, columns], axis=1),
    )


def shade(axes: Axes, time: Array, where: NDArray[np.bool_]) -> None:
    """Shade the times at which something holds."""
    if not where.any():
        return
    if len(time) > panels.MOST_POINTS:  # what is shorter than a line's width shows all the same
        bins = np.linspace(0, len(time), panels.MOST_POINTS, endpoint=False).astype(int)
        time, where = time[bins], np.logical_or.reduceat(where, bins)
    axes.fill_between(
        time,
        0.0,
        1.0,
        where=where.tolist(),
        step="mid",
        transform=axes.get_xaxis_transform(),
        color=style.ALERT,
        alpha=0.08,
        linewidth=0.0,
    )


def grey_floor(axes: Axes, promise: ErrorFloor, scale: float = 1.0) -> None:
    """Grey what of the lines is smaller than the integrator promises, and say so.

    Args:
        axes: Where, with its lines and final limits.
        promise: Smaller sizes are rounding.
        scale: By what the lines are multiplied.
    """
    size, log = scale * promise.size, axes.get_yscale() == "log"
    low, high = axes.get_ylim()
    if size <= (low if log else MIN_VISIBLE_SHARE * high):
        return
    small = False
    for line in list(axes.lines):
        along, up = (np.asarray(side, dtype=np.float64) for side in line.get_data())
        x, y = _with_crossings(along, up, size, log=log)
        x, y = (x, y) if log else _with_crossings(x, y, -size)
        inside = np.abs(y) <= size
        small = small or bool(inside.any())
        line.set_data(x, np.ma.masked_where(np.abs(y) < size, y))  # its name stands at its true end
        look: dict[str, Any] = {"linewidth": 0.9, "zorder": 1.9, "marker": line.get_marker()}
        axes.plot(x, np.where(inside, y, np.nan), color=style.FAINT, **look)
    if small:
        shade_floor(axes, promise, scale)


def shade_floor(axes: Axes, promise: ErrorFloor, scale: float = 1.0) -> None:
    """Shade what is smaller than the integrator promises, and say so."""
    size, (low, high) = scale * promise.size, axes.get_ylim()
    log = axes.get_yscale() == "log"
    bottom, space = low if log else -size, "\n" if style.width() < style.NARROW else " "
    axes.axhspan(bottom, size, color=style.GRID, alpha=0.5, linewidth=0.0, zorder=0.4)
    axes.annotate(
        f"grey: below {number(promise.size, 1)},{space}{promise.words}",
        (0.0, min(size, high)),
        (4, -2.5),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        color=style.MUTED,
        fontsize=7.0,
        verticalalignment="top",
        zorder=3.0,
    )


def name_hidden_lines(axes: Axes, names: Sequence[str], promise: ErrorFloor) -> None:
    """Name the lines that are not seen, as all of them is below what the integrator promises."""
    labels = [panels.shorten(name) for name in names[:MAX_HIDDEN_NAMES]]
    more = f" and {len(names) - MAX_HIDDEN_NAMES} more" if len(names) > MAX_HIDDEN_NAMES else ""
    axes.annotate(
        f"below: {', '.join(labels)}{more}",
        (1.0, max(promise.size, axes.get_ylim()[0])),
        (-4, 3),
        xycoords=axes.get_yaxis_transform(),
        textcoords="offset points",
        color=style.MUTED,
        fontsize=7.0,
        horizontalalignment="right",
        verticalalignment="bottom",
        zorder=3.0,
    )


def _with_crossings(x: Array, y: Array, end: float, *, log: bool = False) -> tuple[Array, Array]:
    """Return a line with points where it crosses a value, straight on its linear or log axis."""
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.log(y / end) if log else y - end
        at = np.flatnonzero(level[:-1] * level[1:] < 0.0)
        share = level[at] / (level[at] - level[at + 1])
    return np.insert(x, at + 1, x[at] + share * np.diff(x)[at]), np.insert(y, at + 1, end)


def largest(values: Array) -> float:
    """Return the largest size of the values that are finite; 0 where none is."""
    return max(map(abs, panels.extent(values)))
