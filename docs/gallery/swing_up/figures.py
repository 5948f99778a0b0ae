"""The figures of the page: angles, energy, input and mode of each robot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import study
from matplotlib.figure import Figure
from tables import ROBOTS

from ukctrl import plot

BLUE, RED = plot.style.PALETTE[:2]
SHOWN = {"cart-pole": 7.0, "acrobot": 9.0, "pendubot": 9.0, "furuta": 4.0}
"""How much of each run is drawn [s]."""


def angle(run: object, name: str) -> np.ndarray:
    """Return a joint's angle without jumps [rad], or its position [m]."""
    names = list(run.labels.coordinates)
    if name in names:
        return run["q"][:, names.index(name)]
    cos, sin = (run["q"][:, names.index(f"{name}_{part}")] for part in ("cos", "sin"))
    return np.unwrap(np.arctan2(sin, cos))


def motion() -> Figure:
    """Return four columns, one a robot."""
    figure = Figure(figsize=(11.0, 7.2), dpi=110, facecolor="white", layout="constrained")
    axes = figure.subplots(4, 4, sharex="col")
    for column, name in zip(axes.T, study.NAMES, strict=True):
        run = study.run(name)
        t, (joints, energy, force, cost) = run.time, column
        for dof, color in zip(run.labels.dofs, (BLUE, RED), strict=True):
            joints.plot(t, angle(run, dof), color=color, label=dof)
        joints.legend(loc="best", fontsize=8)
        joints.margins(y=0.3)
        joints.set_title(ROBOTS[name])
        energy.plot(t, run["energy_error"], color=BLUE)
        energy.axhline(0.0, color=plot.style.FAINT, lw=0.8)
        force.plot(t, run["u"][:, 0], color=BLUE)
        case = study.balance(name)
        cost.plot(t, np.log10(np.maximum(run["region_1"] / case.enter, 1e-12)), color=BLUE)
        cost.axhline(0.0, color=RED, lw=0.9, ls=":")
        cost.set_ylim(-6.0, 4.0)
        cost.set_xlabel("time [s]")
        unit = run.labels.actuator_units[0]
        for ax, label in zip(
            column,
            ("angle [rad], way [m]", "energy error [J]", f"input [{unit}]", "decades above enter"),
            strict=True,
        ):
            ax.axvline(run.switches[0], color=plot.style.MUTED, lw=0.8, ls="--")
            ax.set_xlim(0.0, SHOWN[name])
            if name == study.NAMES[0] or label.startswith("input"):
                ax.set_ylabel(label)
    return figure


def row() -> Figure:
    """Return the energy row alone: energy, rate, force and the cart's way."""
    figure = Figure(figsize=(11.0, 2.9), dpi=110, facecolor="white", layout="constrained")
    panels = figure.subplots(1, 4)
    for allocation, color, label in (
        ("damped", BLUE, "damped"),
        ("least_norm", RED, "least norm"),
    ):
        run = study.row(0.5, allocation)
        drawn = (run["beta"][:, 0], run["v"][:, 1], run["u"][:, 0], run["q"][:, 0])
        for ax, values in zip(panels, drawn, strict=True):
            ax.plot(run.time, values, color=color, label=label)
    titles = ("energy error [J]", "pole's rate [rad/s]", "force [N]", "cart's way [m]")
    for ax, title in zip(panels, titles, strict=True):
        ax.axvline(study.row(0.5, "least_norm").time[-1], color=plot.style.MUTED, lw=0.8, ls="--")
        ax.set_title(title)
        ax.set_xlim(0.0, 4.0)
        ax.set_xlabel("time [s]")
    panels[0].legend(loc="lower right")
    panels[1].set_ylim(0.0, 4.0)
    panels[3].set_ylim(-5.0, 35.0)
    return figure


def draw(folder: Path) -> None:
    """Write the figures as PNG files."""
    with plot.style.report_style():
        for name, figure in (("motion", motion()), ("row", row())):
            target = folder / f"swing-up-{name}.png"
            figure.savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
            print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
