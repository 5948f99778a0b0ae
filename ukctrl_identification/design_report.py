"""What is told of an exciting motion: numbers for programs, and a page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.number_text import number, sentence, unit_text
from ukctrl.reports import html_page
from ukctrl.reports.plot import panels, style
from ukctrl.reports.report_table import ReportTable, TableColumn
from ukctrl.simulation.result.atomic_files import finite_or_none
from ukctrl.studies.sweep_analysis.sample_figures import tick_decades
from ukctrl_identification.exciting_motion import ExcitingMotion
from ukctrl_identification.passive_motion import driven

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CAPTIONS = {
    "motion": (
        "The motion",
        "One period: positions from the start, speeds, and the inputs that the model asks for.",
    ),
    "deviations": (
        "What it tells",
        "Expected standard deviation of each base parameter beside its value, from the samples of "
        "one period; of a motion by hand (a sine at each joint) and of a random one within the "
        "same limits, too. Below 1 a parameter is told from zero.",
    ),
}
POINTS = 1000
"""Instants at which the motion is drawn."""
QUANTITIES = {"y": "position from the start", "rate": "speed", "u": "input"}
"""What is drawn over the time."""


def design_numbers(motion: ExcitingMotion) -> dict[str, Any]:
    """Return a motion as plain data, for JSON.

    Deviations are expected standard deviations from the samples of one period, None where a motion
    tells nothing of a parameter.
    """
    options, robot, named = motion.options, motion.robot, motion.equations.regression.parameters
    pushed = np.flatnonzero(driven(robot))
    parameters = [
        {
            "formula": formula,
            "unit": named[k].unit,
            "model": float(motion.equations.values[j]),
            "deviation": float(motion.deviations[j]),
            **{one.name: float(one.deviations[j]) for one in motion.others},
        }
        for j, (k, formula) in enumerate(
            zip(motion.equations.base.independent, motion.formulas, strict=True)
        )
    ]
    numbers: dict[str, Any] = finite_or_none({
        "robot": robot.name,
        "joints": list(motion.joints.names),
        "duration": motion.series.period,
        "harmonics": options.harmonics,
        "criterion": options.criterion,
        "margin": options.margin,
        "seed": options.seed,
        "sample_period": options.sample_period,
        "noise": {robot.dofs[i]: float(motion.equations.noise[i]) for i in pushed},
        "condition": motion.condition,
        "ratios": {one.name: one.ratio for one in motion.others},
        "parameters": parameters,
        "limits": [one._asdict() for one in motion.usage],
    })  # fmt: skip
    return numbers


def design_page(motion: ExcitingMotion) -> tuple[str, list[html_page.PageFigure]]:
    """Return the page of a motion, and its figures."""
    draw = {"motion": design_figure, "deviations": deviation_figure}
    figures = [
        html_page.page_figure(name, *CAPTIONS[name], partial(make, motion))
        for name, make in draw.items()
    ]
    options, robot = motion.options, motion.robot
    noise = ", ".join(
        f"{robot.dofs[i]} {number(motion.equations.noise[i])}"
        for i in np.flatnonzero(driven(robot))
    )
    context = {
        "title": f"An exciting motion of {robot.title or robot.name}",
        "robot": robot.name,
        "headline": sentence(motion.sentence()),
        "limits": _limit_table(motion),
        "parameters": _parameter_table(motion),
        "figures": figures,
        "facts": [
            ("period", f"{motion.series.period:g} s, {options.harmonics} harmonics"),
            ("criterion", options.criterion),
            ("margin", f"{options.margin:g} of each limit stays unused"),
            ("noise of the efforts", noise),
            ("time between samples", f"{options.sample_period:g} s"),
            ("seed", str(options.seed)),
        ],
        "contents": [
            *((figure.name, figure.title) for figure in figures), ("limits", "Limits"),
            ("parameters", "Base parameters"), ("facts", "Facts"),
        ],
    }  # fmt: skip
    return html_page.render("design.html.j2", context), figures


def _limit_table(motion: ExcitingMotion) -> ReportTable:
    """Return a line a limit, the most used first."""
    columns = [
        TableColumn("limit", "name"), TableColumn("used"), TableColumn("may be"),
        TableColumn("at [s]"),
    ]  # fmt: skip

    def text(value: float, unit: str) -> str:
        return f"{number(value)} {unit}" if unit else f"{number(100.0 * value)} %"

    order = sorted(motion.usage, key=lambda one: (bool(one.unit), one.allowed - one.used))
    rows = [
        [one.limit, text(one.used, one.unit), text(one.allowed, one.unit), number(one.time)]
        for one in order
    ]
    return ReportTable.from_rows(columns, rows)


def _parameter_table(motion: ExcitingMotion) -> ReportTable:
    """Return a line a base parameter: its value, and what motions tell of it."""
    columns = [
        TableColumn("base parameter", "text"), TableColumn("unit", "unit"), TableColumn("model"),
        TableColumn("deviation"), *(TableColumn(one.name) for one in motion.others),
    ]  # fmt: skip
    named, base = motion.equations.regression.parameters, motion.equations.base
    rows = [
        [formula, named[k].unit, number(motion.equations.values[j]), number(motion.deviations[j]),
         *(number(one.deviations[j]) for one in motion.others)]
        for j, (k, formula) in enumerate(zip(base.independent, motion.formulas, strict=True))
    ]  # fmt: skip
    return ReportTable.from_rows(columns, rows)


@style.styled
def design_figure(motion: ExcitingMotion) -> Figure:
    """Draw a motion over one period."""
    time: Vector = np.linspace(0.0, motion.series.period, POINTS + 1)
    states = motion.states(time)
    curves = {"y": states.y, "rate": states.rate, "u": motion.equations.rows(states)[1]}
    robot, dofs = motion.robot, motion.joints.dofs
    units = {
        "y": [robot.dof_units[i].removesuffix("/s") for i in dofs],
        "rate": [robot.dof_units[i] for i in dofs],
        "u": list(robot.actuator_units),
    }
    names = {"y": motion.joints.names, "rate": motion.joints.names, "u": robot.actuators}
    drawn = [
        _curves(time, curves[what][:, some], [names[what][k] for k in some], title, unit)
        for what, title in QUANTITIES.items()
        for unit in dict.fromkeys(units[what])
        for some in [[k for k, own in enumerate(units[what]) if own == unit]]
    ]
    return panels.grid(panels.widen_single(drawn))


def _curves(
    time: Vector, values: Matrix, names: Sequence[str], title: str, unit: str
) -> panels.Panel:
    def draw(axes: Axes, width: float) -> None:
        panels.lines(axes, time, values, names, width)
        panels.fit_y_axis(axes, values)
        axes.set_ylabel(f"[{unit_text(unit)}]")

    return panels.Panel(title, draw)


@style.styled
def deviation_figure(motion: ExcitingMotion) -> Figure:
    """Draw the expected deviations of base parameters beside their values, and of other motions."""
    scale = motion.equations.scale()
    series = {"this motion": motion.deviations} | {
        one.name: one.deviations for one in motion.others
    }
    at = np.arange(1.0, len(scale) + 1.0)
    keys = [
        panels.LegendEntry(name, color, "", marker)
        for name, color, marker in zip(series, style.PALETTE, "osv", strict=False)
    ]

    def draw(axes: Axes, width: float) -> None:
        for key, deviations in zip(keys, series.values(), strict=True):
            share = np.where(np.isfinite(deviations), deviations / scale, np.nan)
            axes.plot(at, share, key.marker, color=key.color, markersize=3)
        axes.set_yscale("log")
        tick_decades(axes, "y")
        axes.margins(x=0.02)
        axes.set_ylabel("deviation / value")

    return panels.grid(
        [panels.Panel("expected deviations", draw, columns=2)],
        height=2.2, x_label="base parameter, in the order of the table", keys=keys,
    )  # fmt: skip
