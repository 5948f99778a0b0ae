"""Figures of a comparison: error against effort, against mismatch, and how gains were found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import unit_text
from ukctrl.reports.plot import panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
MANY_DECADES = 20.0
"""Efforts further apart than by this factor go on a log scale."""


class Point(NamedTuple):
    """One controller in the plane of effort and error."""

    effort: float
    error: float
    effort_interval: tuple[float, float]
    """Confidence interval of the mean; NaN where there are no repeats."""
    error_interval: tuple[float, float]
    note: str = ""
    """Why it is not ranked; empty where it is."""


class Course(NamedTuple):
    """One quantity of one controller along an axis, with a band and a share of completed runs."""

    middle: Array
    low: Array
    high: Array
    completed: Array
    """Fraction of the runs that completed."""


def color_of(place: int) -> str:
    """Return the colour of the controller in that place."""
    return style.PALETTE[place % len(style.PALETTE)]


def keys_of(names: Iterable[str]) -> list[panels.Key]:
    """Return what a legend says of controllers in their order."""
    # Overlapping curves stay visible through the gaps of the later ones.
    return [
        panels.Key(name, color_of(place), style.DASHES[place % len(style.DASHES)])
        for place, name in enumerate(names)
    ]


def pareto_front(points: Mapping[str, Point]) -> list[str]:
    """Return who is ranked and beaten by nobody in both effort and error, by rising effort."""
    ranked = {name: p for name, p in points.items() if not p.note and np.isfinite(p[:2]).all()}
    front = [
        name
        for name, p in ranked.items()
        if not any(
            o.effort <= p.effort and o.error <= p.error and o[:2] != p[:2] for o in ranked.values()
        )
    ]
    return sorted(front, key=lambda name: ranked[name].effort)


@style.styled
def tradeoff(points: Mapping[str, Point], error_unit: str, effort_unit: str) -> Figure:
    """Draw error against effort: the lower left corner is where one wants to be.

    Args:
        points: By the names of their controllers.
        error_unit: Unit of the error.
        effort_unit: Unit of the effort.
    """
    keys = [
        key._replace(
            dash="",
            marker=MARKERS[place % len(MARKERS)],
            hollow=bool(point.note),
            name=f"{panels.short(key.name)} ({point.note})" if point.note else key.name,
        )
        for place, (key, point) in enumerate(zip(keys_of(points), points.values(), strict=True))
    ]

    def draw(axes: Axes, room: float) -> None:
        ranked = [p for p in points.values() if not p.note] or list(points.values())
        efforts = _finite([v for p in ranked for v in (p.effort, *p.effort_interval)])
        errors = _finite([v for p in ranked for v in (p.error, *p.error_interval)])
        if efforts.size and efforts.min() > 0.0 and efforts.max() / efforts.min() > MANY_DECADES:
            panels.log_scale(axes, efforts, axis="x")
        else:
            low, high = (efforts.min(), efforts.max()) if efforts.size else (0.0, 1.0)
            span = max(float(high - low), 0.02 * abs(float(high)), 1e-12)
            axes.set_xlim(low - 0.12 * span, high + 0.12 * span)
        axes.set_ylabel(f"rms error [{unit_text(error_unit) or '1'}]")
        _decades(axes, errors)
        corner = (axes.get_xlim()[0], axes.get_ylim()[0])
        front = [points[name] for name in pareto_front(points)]
        for point in front:
            x, y = max(point.effort, corner[0]), max(point.error, corner[1])
            axes.plot([x], [y], "o", color=style.MUTED, fillstyle="none", markersize=14.0)
        if len(front) > 1:
            axes.step(
                [p.effort for p in front],
                [max(p.error, corner[1]) for p in front],
                where="post",
                color=style.FAINT,
                linewidth=1.0,
                zorder=1,
            )
        for key, point in zip(keys, points.values(), strict=True):
            if np.isfinite(point[:2]).all():
                _point(axes, point, key, corner)

    panel = panels.Panel("error against effort", draw, columns=2)
    x_label = f"effort [{unit_text(effort_unit)}]"
    return panels.grid([panel], height=2.7, x_label=x_label, keys=keys)


@style.styled
def mismatch(
    levels: Sequence[float], courses: Mapping[str, Course], metric: str, unit: str
) -> Figure:
    """Draw the error, and the share of runs that completed, against the mismatch.

    Args:
        levels: Largest relative change of the true robot's parameters.
        courses: By the names of their controllers.
        metric: What the error is.
        unit: Its unit.
    """
    x = 100.0 * np.array(levels)
    keys = [
        key._replace(marker=MARKERS[place % len(MARKERS)])
        for place, key in enumerate(keys_of(courses))
    ]

    def errors(axes: Axes, room: float) -> None:
        every = np.concatenate([np.concatenate(course[:3]) for course in courses.values()])
        panels.log_scale(axes, every)
        for key, course in zip(keys, courses.values(), strict=True):
            axes.fill_between(
                x, course.low, course.high, color=key.color, alpha=0.14, linewidth=0.0
            )
            axes.plot(
                x, course.middle, key.dash, color=key.color, marker=key.marker, markersize=4.0
            )
        axes.set_ylabel(f"{metric} [{unit_text(unit) or '1'}]")
        _room(axes, x)

    def shares(axes: Axes, room: float) -> None:
        for key, course in zip(keys, courses.values(), strict=True):
            share = 100.0 * course.completed
            axes.plot(x, share, key.dash, color=key.color, marker=key.marker, markersize=4.0)
        axes.set_ylim(-5.0, 105.0)
        axes.set_ylabel("runs completed [%]")
        _room(axes, x)

    drawn = [panels.Panel("error", errors), panels.Panel("completed", shares)]
    x_label = "mismatch of the true robot [%]"
    return panels.grid(drawn, height=2.4, x_label=x_label, keys=keys)


@style.styled
def tuning(histories: Mapping[str, Array], cost: str) -> Figure:
    """Draw the lowest cost after each simulation of a search.

    Args:
        histories: By the names of the controllers.
        cost: What was made small.
    """
    keys = keys_of(histories)

    def draw(axes: Axes, room: float) -> None:
        from matplotlib.ticker import MaxNLocator

        every = _finite(np.concatenate(list(histories.values())).tolist())
        if every.size and every.min() > 0.0 and every.max() / every.min() > MANY_DECADES:
            panels.log_scale(axes, every)
        else:
            panels.fit(axes, every)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        for key, history in zip(keys, histories.values(), strict=True):
            number = np.arange(1, len(history) + 1)
            marker = "o" if len(history) == 1 else None
            axes.step(number, history, key.dash, where="post", color=key.color, marker=marker)
        axes.set_ylabel("lowest cost")

    panel = panels.Panel(f"cost: {panels.short(cost, 60)}", draw, columns=2)
    return panels.grid([panel], height=2.2, x_label="simulation", keys=keys)


def _point(axes: Axes, point: Point, key: panels.Key, corner: tuple[float, float]) -> None:
    """Draw a marker with the cross of its intervals."""
    x, y = max(point.effort, corner[0]), max(point.error, corner[1])
    (left, right), (low, high) = point.effort_interval, point.error_interval
    if not point.note and np.isfinite([left, right, low, high]).all():
        axes.plot([left, right], [y, y], color=key.color, linewidth=1.1, zorder=2)
        axes.plot([x, x], [max(low, corner[1]), high], color=key.color, linewidth=1.1, zorder=2)
    face = "none" if key.hollow else key.color
    axes.plot(
        [x],
        [y],
        key.marker,
        color=key.color,
        markerfacecolor=face,
        markersize=7.0,
        zorder=3,
        alpha=0.85,
    )


def _decades(axes: Axes, values: Array) -> None:
    """Give the y axis whole decades around the values, two of them at least."""
    panels.log_scale(axes, values)
    if axes.get_yscale() == "log":
        low, high = axes.get_ylim()
        axes.set_ylim(low / (3.0 if high / low < 50.0 else 1.0), high)


def _room(axes: Axes, x: Array) -> None:
    span = max(float(np.ptp(x)), 1.0)
    axes.set_xlim(float(x.min()) - 0.04 * span, float(x.max()) + 0.04 * span)
    axes.set_xticks(x)


def _finite(values: Sequence[float]) -> Array:
    array = np.array(values, dtype=np.float64)
    return array[np.isfinite(array)]
