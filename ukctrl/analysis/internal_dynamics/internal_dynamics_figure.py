"""The figure of internal dynamics: how it moves, what becomes of a push, and its poles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from ukctrl.analysis.internal_dynamics import InternalDynamics
from ukctrl.analysis.internal_dynamics.internal_motion import PERTURBATION, InternalMotion
from ukctrl.analysis.internal_dynamics.local_dynamics import LocalDynamics
from ukctrl.core.errors import InputError
from ukctrl.core.number_text import unit_text
from ukctrl.core.tie_breaking import max_abs
from ukctrl.reports.plot import line_labels, panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MAX_EQUILIBRIA = 4
"""States of rest whose poles are drawn."""


@style.styled
def internal_dynamics_figure(result: InternalDynamics) -> Figure:
    """Draw what a task leaves to itself.

    Raises:
        InputError: Nothing is left, or nothing of it is known.
    """
    drawn = [*_motion(result.motion), *_poles(result)] if result.dimension else []
    if not drawn:
        raise InputError(
            f"scenario '{result.scenario}' must have internal dynamics for a figure of it; "
            f"{result.verdict}"
        )
    return panels.grid(drawn, height=2.1)


def drawable(result: InternalDynamics) -> bool:
    """Tell whether there is something to draw."""
    return bool(result.dimension and (_equilibria(result) or _has_motion(result.motion)))


def _has_motion(run: InternalMotion | None) -> TypeGuard[InternalMotion]:
    return run is not None and len(run.times) > 1


def _equilibria(result: InternalDynamics) -> list[LocalDynamics]:
    """Return the nearest states of rest that have poles."""
    return [near for near in result.rests[:MAX_EQUILIBRIA] if len(near.modes.poles)]


def _motion(run: InternalMotion | None) -> list[panels.Panel]:
    if not _has_motion(run):
        return []
    drawn = []
    for unit in dict.fromkeys(run.units):
        of_unit = [k for k, run_unit in enumerate(run.units) if run_unit == unit]
        for at in line_labels.split_columns(of_unit):
            dotted = at if len(at) <= line_labels.FULL_LEGEND else []

            def moved(
                axes: Axes,
                free_width: float,
                at: list[int] = at,
                dotted: list[int] = dotted,
                unit: str = unit,
            ) -> None:
                names = [run.coordinates[k] for k in at]
                panels.lines(axes, run.times, run.moved[:, at], names, free_width)
                for index, k in enumerate(dotted):
                    color = style.PALETTE[index % len(style.PALETTE)]
                    axes.plot(run.times, run.pushed[:, k], ":", color=color, linewidth=1.0)
                panels.fit_y_axis(axes, np.hstack([run.moved[:, at], run.pushed[:, at]]))
                axes.set_ylabel(f"since the start [{unit_text(unit) or '1'}]")

            suffix = f"; dotted: pushed by {PERTURBATION:g} {unit_text(unit)}" if dotted else ""
            drawn.append(panels.Panel(f"Internal motion{suffix}", moved, 2))

    def apart(axes: Axes, free_width: float) -> None:
        axes.plot(run.times, run.deviation, color=style.PALETTE[0])
        panels.log_scale(axes, run.deviation)
        axes.axhline(1.0, color=style.FAINT, linewidth=0.9)
        axes.set_ylabel("times the push")

    drawn.append(panels.Panel("Response to the push", apart, 1))
    return drawn


def _poles(result: InternalDynamics) -> list[panels.Panel]:
    rests = _equilibria(result)
    if not rests:
        return []
    return [panels.Panel("Poles about states of rest, the nearest first", _plane(rests), 1)]


def _plane(rests: list[LocalDynamics]) -> Callable[[Axes, float], None]:
    def draw(axes: Axes, free_width: float) -> None:
        axes.axvline(0.0, color=style.INK, linewidth=0.8)
        reach = max(max_abs(near.modes.poles) for near in rests) or 1.0
        for k, near in enumerate(rests):
            poles = near.modes.poles
            color = style.PALETTE[k % len(style.PALETTE)]
            axes.plot(poles.real, poles.imag, "x", color=color, markersize=7 - k, clip_on=False)
        axes.set_xlim(-1.15 * reach, 1.15 * reach)
        axes.set_ylim(-1.15 * reach, 1.15 * reach)
        axes.axvspan(0.0, 1.15 * reach, color=style.ALERT, alpha=0.06, linewidth=0.0)
        axes.set_xlabel("real part [rad/s]", labelpad=3)
        axes.set_ylabel("imaginary part [rad/s]")

    return draw
