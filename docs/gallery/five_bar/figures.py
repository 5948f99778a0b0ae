"""The figures of the page: the linkage and its swings, and the drift that stabilisation undoes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from tables import COARSE, KINDS, STARTS, error, run

from ukctrl import Scenario, plot, simulate

BLUE, RED, GREEN = plot.style.PALETTE[:3]
PALE = "#b9c3d0"
WORDS = {"none": "not stabilised", "baumgarte": "Baumgarte (default)", "projection": "projection"}


def linkage(ax: Axes, degrees: float, color: str) -> None:
    """Draw the linkage at an angle of its links."""
    c, s = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    for foot in (0.0, 1.0, 2.0):
        ax.plot([foot, foot + c], [0.0, s], "-o", color=color, ms=4, lw=2)
    ax.plot([c, 2.0 + c], [s, s], "-", color=color, lw=3)


def swing() -> Figure:
    """The linkage, and the angle of its links from every start."""
    figure = Figure(figsize=(9.0, 3.6), dpi=110, facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.0, 1.5))
    linkage(left, -135.0, PALE)
    linkage(left, -90.0, PALE)
    linkage(left, -45.0, BLUE)
    left.axhline(0.0, color=plot.style.INK, lw=0.8, zorder=0)
    left.set_aspect("equal")
    left.set(xlabel="x [m]", ylabel="z [m]", title="at the start, and on its way")
    for k, (degrees, rate) in enumerate(STARTS):
        result = run(degrees, rate)
        shown = result.time <= 6.0
        angle = np.degrees(result["q"][shown, 2])
        label = f"{degrees}°" + (f", {rate:g} rad/s" if rate else "")
        right.plot(
            result.time[shown], np.mod(angle + 270.0, 360.0) - 270.0 if rate else angle,
            "." if rate else "-", ms=2, color=plot.style.PALETTE[k], label=label.replace("-", "−"),
        )  # fmt: skip
    for aligned in (0.0, -180.0):
        right.axhline(aligned, color=plot.style.INK, lw=0.8, ls=":")
    right.set(xlabel="time [s]", ylabel="θ [deg]", title="θ; dotted: all links in one line")
    right.set_yticks([-270, -180, -90, 0, 90])
    right.legend(fontsize=7, ncols=3, loc="upper right")
    right.set_ylim(-280, 150)
    return figure


def drift() -> Figure:
    """The paper's Figure 2: position constraints without and with stabilisation."""
    figure = Figure(figsize=(9.0, 3.6), dpi=110, facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2)
    for kind, color in zip(KINDS, (RED, BLUE, GREEN), strict=True):
        changes = {**COARSE, "stabilisation": {"kind": kind}}
        result = simulate(Scenario.load("five-bar-drift", changes))
        opened = np.sum(result["passive_phi"] ** 2, axis=1)
        late = result.time > 0.1
        left.semilogy(result.time[late], opened[late] + 1e-34, color=color, label=WORDS[kind])
        off = error(result, -45)
        right.semilogy(result.time[late], off[late] + 1e-17, color=color)
    left.set(xlabel="time [s]", ylabel="Σ Ψ² [m²]", title="closures")
    right.set(xlabel="time [s]", ylabel="θ to the closed form [rad]", title="motion")
    for ax in (left, right):
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: plot.panels.decade(y)))
        ax.minorticks_off()
    left.set_ylim(1e-33, 1e-2)
    left.legend(fontsize=8, ncols=3, loc="upper left")
    return figure


FIGURES = {"five-bar-swing": swing, "five-bar-drift": drift}


def draw(folder: Path) -> None:
    """Write every figure as a PNG file."""
    for name, make in FIGURES.items():
        with plot.style.report_style():
            (folder / f"{name}.png").write_bytes(plot.style.png(make()))
