"""The figures of the page: two loops on their way, and what the rows are worth there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from tables import exact, run

from ukctrl import Dynamics, Robot, plot

BLUE, RED, GREEN = plot.style.PALETTE[:3]
PALE = "#b9c3d0"


def passing() -> Figure:
    """The linkage, the smallest singular value of its rows, and the angle's error."""
    figure = Figure(figsize=(9.0, 3.4), dpi=110, facecolor="white", layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    result = run(2)
    angles = result["q"][:, 2]
    for angle, color in ((np.pi / 2, BLUE), (np.pi / 4, PALE), (0.02, RED), (-np.pi / 3, PALE)):
        c, s = np.cos(angle), np.sin(angle)
        for foot in range(3):
            left.plot([foot, foot + c], [0.0, s], "-o", color=color, ms=3, lw=1.8)
        left.plot([c, 2 + c], [s, s], "-o", color=color, ms=3, lw=1.8)
    left.set_aspect("equal")
    left.set(xlabel="x [m]", ylabel="z [m]", title="start (blue), aligned (red)")
    dynamics = Dynamics(Robot.load("n_four_bar"))
    smallest = []
    for q in result["q"]:
        dynamics.snapshot.move(np.ascontiguousarray(q), np.zeros(dynamics.robot.nv))
        A = dynamics.passive.write(dynamics.snapshot).A
        smallest.append(np.linalg.svd(A, compute_uv=False)[-1])
    shown = result.time <= 4.0
    middle.semilogy(result.time[shown], np.array(smallest)[shown], color=BLUE)
    middle.set(xlabel="time [s]", title="smallest singular value of A")
    off = np.abs(angles - exact(result.time, 2))
    right.semilogy(result.time[5:], off[5:] + 1e-17, color=BLUE)
    right.set(xlabel="time [s]", title="θ to the closed form [rad]")
    for ax in (middle, right):
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: plot.panels.decade(y)))
        ax.minorticks_off()
    return figure


def draw(folder: Path) -> None:
    """Write the figure as a PNG file."""
    with plot.style.report_style():
        (folder / "n-four-bar-passing.png").write_bytes(plot.style.png(passing()))
