"""The figure of `check`: singular values along the motion, and how much of each limit it uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.analysis.check import Check
from ukctrl.analysis.check.check_tables import ZERO_SHARE
from ukctrl.core.errors import InputError
from ukctrl.core.number_text import unit_text
from ukctrl.reports.plot import line_labels, marks, panels, style
from ukctrl.reports.plot.limit_margins import LimitSeries, margin_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MIN_SIGMA = 1e-7
"""Smaller singular values are drawn here: they are zero."""
LIMIT_KINDS = ("inputs", "velocities", "positions")


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
        panels.Panel(
            "Singular values along the motion, the smallest in colour",
            _draw_singular_values(check),
            2,
        )
    ]
    if np.isfinite(check.motion.loads.used).any():
        drawn.append(
            panels.Panel("Largest share of a limit that is used", _draw_limit_usage(check), 2)
        )
    drawn.extend(_input_panels(check))
    return panels.grid(drawn, height=2.1)


def slack_figure(check: Check) -> Figure:
    """Draw what the exact task leaves of what the law keeps, shaded where it binds and no input
    keeps all beside the task.

    Raises:
        InputError: The law keeps nothing, or no motion was worked out.
    """
    slack_curves, curves = check.motion.left, check.motion.curves
    if slack_curves is None or curves is None:
        raise InputError(
            f"scenario '{check.scenario}' must have [[keep]] and a motion for a figure of what the "
            "task leaves."
        )
    columns = np.flatnonzero(~np.isnan(slack_curves.slack).all(axis=0)).tolist()
    block_of = dict(zip(slack_curves.names, slack_curves.blocks, strict=True))
    shaded = np.zeros((len(curves.t), len(columns)), dtype=bool)
    for stretch in check.motion.kept.stretches if check.motion.kept is not None else ():
        binding = {block_of[name] for name in stretch.limits} or set(slack_curves.blocks)
        where = (curves.t >= stretch.start) & (curves.t <= stretch.stop)
        shaded |= where[:, None] & np.array([slack_curves.blocks[i] in binding for i in columns])
    of_rows = (
        [labels[i] for i in columns]
        for labels in (slack_curves.names, slack_curves.blocks, slack_curves.units)
    )
    names, blocks, units = map(tuple, of_rows)
    return margin_figure(
        LimitSeries(
            time=curves.t,
            left=slack_curves.slack[:, columns],
            shaded=shaded,
            names=names,
            blocks=blocks,
            units=units,
            margins=tuple(slack_curves.margins[i] for i in columns),
        )
    )


def _draw_singular_values(check: Check) -> Callable[[Axes, float], None]:
    curves, ranks = check.motion.curves, check.motion.ranks
    assert curves is not None
    assert ranks is not None

    def draw(axes: Axes, free_width: float) -> None:
        sigmas, marked = [np.zeros((0, 0))], []
        for k in range(ranks.servo.highest - 1):
            axes.plot(curves.t, curves.servo[:, k], color=style.FAINT, linewidth=0.7)
            sigmas.append(curves.servo[:, k])
        for rank, values, name, width, alpha, color in (
            (ranks.servo, curves.servo, "servo rows A", 3.5, 0.6, style.PALETTE[5]),
            (ranks.grip, curves.grip, "grip H = A G", 1.3, 1.0, style.PALETTE[1]),
            (ranks.passive, curves.passive[:, None], "passive rows", 1.3, 1.0, style.PALETTE[2]),
        ):
            if not rank.highest:
                continue
            last = np.maximum(values[:, min(rank.highest, values.shape[1]) - 1], MIN_SIGMA)
            axes.plot(curves.t, last, color=color, linewidth=width, alpha=alpha, label=name)
            at = max(rank.worst, MIN_SIGMA)
            axes.plot([rank.worst_at], [at], "o", color=style.INK, markersize=4, clip_on=False)
            sigmas.append(last)
            marked.append(at)
        drawn = np.concatenate([values.ravel() for values in sigmas])
        if not drawn.size:
            text = "nothing is held by motors or constraints"
            axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", color=style.MUTED)
        panels.log_scale(axes, drawn, beside=marked)
        line_labels.legend(axes, free_width)
        _mark_motion_end(axes, check)

    return draw


def _mark_motion_end(axes: Axes, check: Check) -> None:
    """Show the whole run, and where the motion ends before it."""
    trajectory = check.motion.way
    axes.set_xlim(trajectory.start, trajectory.end)
    if trajectory.stop is not None:
        axes.axvspan(
            trajectory.reached, trajectory.end, color=style.ALERT, alpha=0.08, linewidth=0.0
        )


def _draw_limit_usage(check: Check) -> Callable[[Axes, float], None]:
    curves, loads = check.motion.curves, check.motion.loads
    assert curves is not None
    assert loads is not None

    def draw(axes: Axes, free_width: float) -> None:
        columns = [i for i in range(len(LIMIT_KINDS)) if np.isfinite(loads.used[:, i]).any()]
        values = 100.0 * loads.used[:, columns]
        panels.lines(axes, curves.t, values, [LIMIT_KINDS[i] for i in columns], free_width)
        axes.axhline(100.0, color=style.ALERT, linewidth=0.9, linestyle="--")
        axes.set_ylim(0.0, max(110.0, 1.08 * panels.extent(values)[1]))  # a limit of 0: infinite
        axes.set_ylabel("%")
        _mark_motion_end(axes, check)

    return draw


def _input_panels(check: Check) -> list[panels.Panel]:
    """Return a panel for the inputs of each unit."""
    curves, loads, demands = check.motion.curves, check.motion.loads, check.motion.feasibility
    assert curves is not None
    assert loads is not None
    assert demands is not None
    uses = demands.inputs or demands.law
    inputs = loads.needed if demands.inputs else loads.law
    values = np.where(np.abs(inputs) > ZERO_SHARE, inputs, 0.0)
    title = "Smallest input that makes the motion" if demands.inputs else "Input of the law"
    drawn = []
    for unit in dict.fromkeys(use.unit for use in uses):
        for at in line_labels.split_columns([i for i, use in enumerate(uses) if use.unit == unit]):

            def draw(axes: Axes, free_width: float, at: list[int] = at, unit: str = unit) -> None:
                names = [uses[i].name for i in at]
                sizes = [np.inf if (end := uses[i].limit) is None else abs(end) for i in at]
                ends = [(-size, size) for size in sizes]
                panels.lines(axes, curves.t, values[:, at], names, free_width)
                panels.fit_y_axis(axes, values[:, at])
                marks.mark_limits(axes, values[:, at], ends, names)
                marks.mark_exceeded(axes, curves.t, values[:, at], ends)
                axes.set_ylabel(f"u [{unit_text(unit)}]")
                _mark_motion_end(axes, check)

            drawn.append(panels.Panel(title, draw, 2))
    return drawn
