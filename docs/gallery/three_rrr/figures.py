"""The figures of the page: the robot on its path, and its torques."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tables import needed, run

from ukctrl import Result, Robot, plot

BLUE, RED, GREEN = COLORS = plot.style.PALETTE[:3]
PALE = "#b9c3d0"


def robot(ax: Axes, result: Result, k: int, color: str) -> None:
    """Draw the robot at one sample."""
    snapshot = Robot.load("three_rrr").snapshot(result["q"][k])

    def place(frame: str) -> np.ndarray:
        return snapshot.frame(frame).position[:2]

    for leg in range(3):
        frames = (f"ground.A{leg}", f"upper{leg}.elbow", f"platform.B{leg}")
        ax.plot(*np.array([place(frame) for frame in frames]).T, "-o", color=color, lw=2, ms=4)
    corners = np.array([place(f"platform.B{leg % 3}") for leg in range(4)])
    ax.plot(*corners.T, "-", color=color, lw=2)
    ax.fill(*corners.T, color=color, alpha=0.15)


def motion() -> Figure:
    """The robot at two moments, and the path of the platform's centre."""
    figure = Figure(figsize=(9.0, 4.4), dpi=110, facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2)
    result = run()
    robot(left, result, 157, PALE)
    robot(left, result, 0, BLUE)
    path = result["frame_position"][:, result.labels.frames.index("platform")]
    left.plot(*path[:, :2].T, color=RED, lw=1.2)
    left.set(xlabel="x [m]", ylabel="y [m]", title="at t = 0 and (pale) t = π/2 s; red: the path")
    left.set_aspect("equal")
    right.plot(*path[:, :2].T, color=RED, label="centre of the platform")
    x, y = 0.05 * np.sin(2 * result.time), 0.03 * np.cos(3 * result.time) - 0.03
    right.plot(x, y, color=plot.style.INK, lw=0.9, ls="--", label="wanted")
    right.set(xlabel="x [m]", ylabel="y [m]", title="the path")
    right.set_aspect("equal")
    right.set_ylim(-0.075, 0.03)
    right.legend(fontsize=8, loc="upper center", ncols=2)
    return figure


def torques() -> Figure:
    """The torques of three motors and of six."""
    figure = Figure(figsize=(9.0, 3.6), dpi=110, facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    three, six = run(), run("three-rrr-redundant")
    for k, color in enumerate(COLORS):
        left.plot(three.time, three["u"][:, k], color=color, label=f"foot{k}")
        left.plot(three.time, needed()[:, k], color=plot.style.INK, lw=0.9, ls="--")
        right.plot(six.time, six["u"][:, 2 * k], color=color, label=f"foot{k}")
        right.plot(six.time, six["u"][:, 2 * k + 1], color=color, ls=":", label=f"elbow{k}")
    left.set(xlabel="time [s]", ylabel="torque [N m]",
             title="three motors; dashed: the platform's equation")  # fmt: skip
    right.set(xlabel="time [s]", title="six motors, least norm")
    left.legend(fontsize=8, ncols=3)
    right.legend(fontsize=8, ncols=3)
    return figure


FIGURES = {"three-rrr-motion": motion, "three-rrr-torques": torques}


def draw(folder: Path) -> None:
    """Write every figure as a PNG file."""
    for name, make in FIGURES.items():
        with plot.style.report_style():
            (folder / f"{name}.png").write_bytes(plot.style.png(make()))
