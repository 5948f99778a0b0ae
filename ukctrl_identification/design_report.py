"""What is told of an exciting motion: numbers for programs, and a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.number_text import unit_text
from ukctrl.reports.plot import panels, style
from ukctrl.simulation.result.atomic_files import finite_or_none
from ukctrl_identification.exciting_motion import ExcitingMotion
from ukctrl_identification.passive_motion import driven

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
        axes.margins(x=0.02)
        axes.set_ylabel("deviation / value")

    return panels.grid(
        [panels.Panel("expected deviations", draw, columns=2)],
        height=2.2, x_label="base parameter, in the order of the table", keys=keys,
    )  # fmt: skip
