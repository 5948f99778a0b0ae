"""The figure of `check`: singular values along the motion, and how much of each limit it uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.analysis.check import Check
from ukctrl.analysis.check.check_tables import SAME_SHARE
from ukctrl.core.errors import InputError
from ukctrl.core.number_text import unit_text
from ukctrl.reports.plot import marks, naming, panels, style
from ukctrl.reports.plot.limits_kept import Quantities, quantities_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FLOOR = 1e-7
"""Smaller singular values are drawn here: they are zero."""
KINDS = ("inputs", "velocities", "positions")


@style.styled
def check_figure(check: Check) -> Figure:
    """Draw singular values along the motion, limits in use, and the inputs.

    Raises:
        InputError: No motion was worked out, and so there are no curves.
    """
    if check.motion.curves is None or check.motion.loads is None or not len(check.motion.curves.t):
        raise InputError(
            f"scenario '{check.scenario}' must have a motion for a figure of its check; "
            f"{check.motion.way.why or 'there is none'}."
        )
    drawn = [
        panels.Panel("Singular values along the motion, the smallest in colour", _sigma(check), 2)
    ]
    if np.isfinite(check.motion.loads.used).any():
        drawn.append(panels.Panel("Largest share of a limit that is used", _limits(check), 2))
    drawn.extend(_inputs(check))
    return panels.grid(drawn, height=2.1)


def left_figure(check: Check) -> Figure:
    """Draw what the exact task leaves of what the law keeps, shaded where it binds and no input
    keeps all beside the task.

    Raises:
        InputError: The law keeps nothing, or no motion was worked out.
    """
    left, curves = check.motion.left, check.motion.curves
    if left is None or curves is None:
        raise InputError(
            f"scenario '{check.scenario}' must have [[keep]] and a motion for a figure of what the "
            "task leaves."
        )
    known = np.flatnonzero(~np.isnan(left.h).all(axis=0)).tolist()
    block_of = dict(zip(left.names, left.blocks, strict=True))
    shaded = np.zeros((len(curves.t), len(known)), dtype=bool)
    for stretch in check.motion.kept.stretches if check.motion.kept is not None else ():
        binding = {block_of[name] for name in stretch.limits} or set(left.blocks)
        where = (curves.t >= stretch.start) & (curves.t <= stretch.stop)
        shaded |= where[:, None] & np.array([left.blocks[i] in binding for i in known])
    of_rows = ([each[i] for i in known] for each in (left.names, left.blocks, left.units))
    names, blocks, units = map(tuple, of_rows)
    return quantities_figure(
        Quantities(
            time=curves.t,
            left=left.h[:, known],
            shaded=shaded,
            names=names,
            blocks=blocks,
            units=units,
            margins=tuple(left.margins[i] for i in known),
        )
    )


def _sigma(check: Check) -> Callable[[Axes, float], None]:
    curves, ranks = check.motion.curves, check.motion.ranks
    assert curves is not None
    assert ranks is not None

    def draw(axes: Axes, room: float) -> None:
        every, marked = [np.zeros((0, 0))], []
        for k in range(ranks.servo.highest - 1):
            axes.plot(curves.t, curves.servo[:, k], color=style.FAINT, linewidth=0.7)
            every.append(curves.servo[:, k])
        for rank, values, name, width, alpha, color in (
            (ranks.servo, curves.servo, "servo rows A", 3.5, 0.6, style.PALETTE[5]),
            (ranks.grip, curves.grip, "grip H = A G", 1.3, 1.0, style.PALETTE[1]),
            (ranks.passive, curves.passive[:, None], "passive rows", 1.3, 1.0, style.PALETTE[2]),
        ):
            if not rank.highest:
                continue
            last = np.maximum(values[:, min(rank.highest, values.shape[1]) - 1], FLOOR)
            axes.plot(curves.t, last, color=color, linewidth=width, alpha=alpha, label=name)
            at = max(rank.worst, FLOOR)
            axes.plot([rank.worst_at], [at], "o", color=style.INK, markersize=4, clip_on=False)
            every.append(last)
            marked.append(at)
        drawn = np.concatenate([values.ravel() for values in every])
        if not drawn.size:
            text = "nothing is held by motors or constraints"
            axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", color=style.MUTED)
        panels.log_scale(axes, drawn, beside=marked)
        naming.legend(axes, room)
        _span(axes, check)

    return draw


def _span(axes: Axes, check: Check) -> None:
    """Show the whole run, and where the motion ends before it."""
    way = check.motion.way
    axes.set_xlim(way.start, way.end)
    if way.stop is not None:
        axes.axvspan(way.reached, way.end, color=style.ALERT, alpha=0.08, linewidth=0.0)


def _limits(check: Check) -> Callable[[Axes, float], None]:
    curves, loads = check.motion.curves, check.motion.loads
    assert curves is not None
    assert loads is not None

    def draw(axes: Axes, room: float) -> None:
        known = [i for i in range(len(KINDS)) if np.isfinite(loads.used[:, i]).any()]
        values = 100.0 * loads.used[:, known]
        panels.lines(axes, curves.t, values, [KINDS[i] for i in known], room)
        axes.axhline(100.0, color=style.ALERT, linewidth=0.9, linestyle="--")
        axes.set_ylim(0.0, max(110.0, 1.08 * panels.extent(values)[1]))  # a limit of 0: infinite
        axes.set_ylabel("%")
        _span(axes, check)

    return draw


def _inputs(check: Check) -> list[panels.Panel]:
    """Return a panel for the inputs of each unit."""
    curves, loads, demands = check.motion.curves, check.motion.loads, check.motion.feasibility
    assert curves is not None
    assert loads is not None
    assert demands is not None
    uses = demands.inputs or demands.law
    found = loads.needed if demands.inputs else loads.law
    values = np.where(np.abs(found) > SAME_SHARE, found, 0.0)
    title = "Smallest input that makes the motion" if demands.inputs else "Input of the law"
    drawn = []
    for unit in dict.fromkeys(use.unit for use in uses):
        for at in naming.parted([i for i, use in enumerate(uses) if use.unit == unit]):

            def draw(axes: Axes, room: float, at: list[int] = at, unit: str = unit) -> None:
                names = [uses[i].name for i in at]
                sizes = [np.inf if (end := uses[i].limit) is None else abs(end) for i in at]
                ends = [(-size, size) for size in sizes]
                panels.lines(axes, curves.t, values[:, at], names, room)
                panels.fit(axes, values[:, at])
                marks.limits(axes, values[:, at], ends, names)
                marks.beyond(axes, curves.t, values[:, at], ends)
                axes.set_ylabel(f"u [{unit_text(unit)}]")
                _span(axes, check)

            drawn.append(panels.Panel(title, draw, 2))
    return drawn
