"""Figures of a result: where it went, how it moved, what it cost, how well it kept to the task.

`plot.errors(result)` and its neighbours return a `matplotlib.figure.Figure`, and `plot.available`
says which of them have something to show.

In order: ``style`` (one look), ``column_layout`` (the column of a paper), ``figure_files`` (PNG,
PDF, SVG); ``line_labels`` (every line by its name), ``panels`` (grids of curves) and ``marks`` (on
them); ``series`` (all that is over time), ``limit_margins`` (what is left of limits),
``path_views`` (paths) and ``overlay`` (several results). The figures of a run are `FIGURES`, here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ukctrl.core.errors import unknown_name
from ukctrl.reports.plot import figure_files, overlay, panels, style
from ukctrl.reports.plot.limit_margins import inequality_margins
from ukctrl.reports.plot.path_views import path
from ukctrl.reports.plot.series import (
    energy,
    errors,
    estimated,
    grip,
    inputs,
    measured,
    motion,
    passive,
    signals,
)
from ukctrl.simulation.result.logged_channels import is_logged
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.verdicts.error_floor import NEGLIGIBLE

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "FIGURES",
    "FigureSpec",
    "available",
    "draw",
    "energy",
    "errors",
    "estimated",
    "figure_files",
    "grip",
    "inequality_margins",
    "inputs",
    "measured",
    "motion",
    "overlay",
    "panels",
    "passive",
    "path",
    "signals",
    "style",
]

_NEARLY_SINGULAR = 1e-3
"""A smallest singular value that falls to this fraction of its largest is worth a figure."""


class FigureSpec(NamedTuple):
    """How to draw one figure, and what it is of."""

    title: str
    caption: str
    figure: Callable[[Result], Figure]
    wanted: Callable[[Result], bool]
    """Whether a result has something to show in it."""


def _known(result: Result, name: str) -> bool:
    return name in result.samples and bool(np.isfinite(result[name]).any())


def _noteworthy_grip(result: Result) -> bool:
    count = len(result.labels.rows)
    if _known(result, "rank") and np.nanmin(result["rank"]) < count:
        return True
    if _known(result, "reach") and np.nanmax(result["reach"]) > NEGLIGIBLE:
        return True
    if not _known(result, "sigma_min"):
        return False
    return bool(np.nanmin(result["sigma_min"]) < _NEARLY_SINGULAR * np.nanmax(result["sigma_min"]))


FIGURES: Mapping[str, FigureSpec] = MappingProxyType(
    {
        "path": FigureSpec(
            "Path",
            "The thin line is the path of the frame, the wide pale band its reference. A ring "
            "marks the start, a dot the end; all axes have one scale.",
            path,
            lambda result: _known(result, "frame_position"),
        ),
        "errors": FigureSpec(
            "Errors",
            "Above: the norm of each servo block's error on a log scale. Below: each row on a "
            "linear scale; the axis names the unit. Grey marks errors below the integrator's "
            "tolerance, or below rounding.",
            errors,
            lambda result: _known(result, "phi") or _known(result, "beta"),
        ),
        "kept": FigureSpec(
            "Limits kept",
            "Distance to the limits that the law keeps: zero at the black line; dashed lines are "
            "margins. Red shade marks the time in which a limit changed the input.",
            inequality_margins,
            lambda result: _known(result, "keep"),
        ),
        "inputs": FigureSpec(
            "Inputs",
            "The input of each actuator. A dashed line is the limit of an input that comes near "
            "it, in the same colour; red shade marks the time at a limit, a bold line an input "
            "beyond it. Where effects change the input, a thin grey line is the law's command.",
            inputs,
            lambda result: _known(result, "u") and bool(result["u"].any()),
        ),
        "motion": FigureSpec(
            "Motion",
            "Configuration on the left, velocity on the right; each unit has its own panels. "
            "Dashed lines are limits that a joint comes near; beyond a limit the line is bold "
            "and the time shaded.",
            motion,
            lambda result: _known(result, "q"),
        ),
        "measured": FigureSpec(
            "Measurement",
            "Error of the law's last measurement. Between two ticks the robot moves and the "
            "measurement is constant.",
            measured,
            lambda result: _known(result, "q_measured"),
        ),
        "estimated": FigureSpec(
            "Estimation",
            "Error of the observer's estimate at its last tick, and the estimated disturbance. "
            "Squared errors over the observer's covariance are 1 on average if the covariance is "
            "right.",
            estimated,
            lambda result: _known(result, "q_estimate_error"),
        ),
        "signals": FigureSpec(
            "Signals",
            "Recorded signals beside the standard quantities.",
            signals,
            lambda result: any(
                _known(result, name) for name in result.samples.signals if not is_logged(name)
            ),
        ),
        "passive": FigureSpec(
            "Passive constraints",
            "Position and velocity errors: the drift of the integration, zero in exact physics. "
            "Beside them, the reaction of each constraint.",
            passive,
            lambda result: _known(result, "passive_phi") or _known(result, "passive_beta"),
        ),
        "energy": FigureSpec(
            "Energy",
            "Total energy, and the energy fed in by inputs and outside forces. Their difference, "
            "the unaccounted energy, judges the integration, not the controller.",
            energy,
            lambda result: _known(result, "energy"),
        ),
        "grip": FigureSpec(
            "Grip",
            "Authority of the actuators over the servo rows: rank and smallest singular value of "
            "H = A G, and the demand out of reach.",
            grip,
            _noteworthy_grip,
        ),
    }
)
"""Every figure by the name of its file, in the order in which the report shows them."""


def available(result: Result) -> tuple[str, ...]:
    """Return the names of the figures that have something to show for this result."""
    if len(result.samples) == 0:
        return ()
    return tuple(name for name, recipe in FIGURES.items() if recipe.wanted(result))


def draw(result: Result, name: str, width: str | None = None) -> Figure:
    """Draw one of [`FIGURES`][ukctrl.plot.FIGURES].

    For a paper: `plot.figure_files.save(plot.draw(result, "errors", "column"), "errors.pdf")`.

    Args:
        result: Of what.
        name: Which.
        width: ``column`` (85 mm) or ``page`` (178 mm) of a paper; None: as it is at present.

    Raises:
        UnknownName: There is no such figure, or no such width.
    """
    if name not in FIGURES:
        raise unknown_name("figure", name, FIGURES)
    with style.figure_width(width) if width else contextlib.nullcontext():
        return FIGURES[name].figure(result)
