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
            "The thin line is where the frame went; a wide pale band is where the task wants it. "
            "A ring marks the start, a dot the end; the axes are equal.",
            path,
            lambda result: _known(result, "frame_position"),
        ),
        "errors": FigureSpec(
            "Errors",
            "Above: the norm of each servo block's error on a log scale. Below: each row on a "
            "linear scale; mind the unit on the axis. Grey is what the integrator does not "
            "promise to see.",
            errors,
            lambda result: _known(result, "phi") or _known(result, "beta"),
        ),
        "kept": FigureSpec(
            "Limits kept",
            "What is left of the limits that the law keeps: at the black line nothing, dashed the "
            "margins. A red shade marks the time in which one of them changed the input.",
            inequality_margins,
            lambda result: _known(result, "keep"),
        ),
        "inputs": FigureSpec(
            "Inputs",
            "What the actuators do. Dashed lines are limits that the inputs come near, in the "
            "colour of their input; a red shade marks the time spent at one, and what is beyond "
            "is bold. "
            "Where effects change the input, a thin grey line "
            "is what the law commanded.",
            inputs,
            lambda result: _known(result, "u") and bool(result["u"].any()),
        ),
        "motion": FigureSpec(
            "Motion",
            "Configuration on the left, velocity on the right; each unit has panels of its own. "
            "Dashed lines are limits that a joint comes near; what is beyond is bold, and its time "
            "shaded.",
            motion,
            lambda result: _known(result, "q"),
        ),
        "measured": FigureSpec(
            "Measurement",
            "By how much the law's last measurement is off the true state. Between two ticks the "
            "robot moves on while the measurement stays.",
            measured,
            lambda result: _known(result, "q_measured"),
        ),
        "estimated": FigureSpec(
            "Estimation",
            "By how much the true state is off the observer's estimate at its last tick, and what "
            "force it takes for unexplained. Squares of errors over the covariance that the "
            "observer promises are 1 on average where it is right.",
            estimated,
            lambda result: _known(result, "q_estimate_error"),
        ),
        "signals": FigureSpec(
            "Signals",
            "What was recorded beside the standard quantities.",
            signals,
            lambda result: any(_known(result, name) for name in result.samples.signals),
        ),
        "passive": FigureSpec(
            "Passive constraints",
            "Physics holds the errors at zero; what is seen of them is the drift of the "
            "integration. Beside them, what each constraint transmits.",
            passive,
            lambda result: _known(result, "passive_phi") or _known(result, "passive_beta"),
        ),
        "energy": FigureSpec(
            "Energy",
            "Total energy against what inputs and outside forces fed in. What remains "
            "unaccounted for measures the integration, not the controller.",
            energy,
            lambda result: _known(result, "energy"),
        ),
        "grip": FigureSpec(
            "Grip",
            "What the actuators can do about the servo rows at each moment.",
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
