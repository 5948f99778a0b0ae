"""The figures of the page: the turn-over of the quadrotor, and the feet of the quadruped."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tables import LEGS, eight, run, squat

from ukctrl import Result, plot

COLORS = plot.style.PALETTE


SPREAD = 1.6
"""Bodies at successive moments are drawn this far apart [m/s]."""


def bodies(axes: Axes, result: Result, until: float) -> None:
    """Draw the body from the side, at successive moments beside each other, with its z axis."""
    for k in np.flatnonzero(result.time <= until)[::9]:
        x, y, z, w = result["q"][k, 3:]
        along = np.array([1 - 2 * (x * x + z * z), 2 * (y * z + w * x)])
        up = np.array([2 * (y * z - w * x), 1 - 2 * (x * x + y * y)])
        p = np.array([SPREAD * result.time[k], result["q"][k, 2]])
        axes.plot(*np.array([p - 0.03 * along, p + 0.03 * along]).T, color=COLORS[0], lw=3)
        arrow = {"color": COLORS[1], "width": 0.5, "headwidth": 4, "headlength": 4}
        axes.annotate("", p + 0.07 * up, p, arrowprops=arrow)
    moments = np.arange(0.0, until + 0.01, 0.1)
    axes.set_xticks(SPREAD * moments, [f"{moment:.1f}" for moment in moments])
    axes.set(xlabel="time [s]", ylabel="height [m]", title="on its head: how it turns, and falls")
    axes.set_aspect("equal")


def quadrotor() -> Figure:
    """Return the flight of the eight, the turn-over and its thrusts."""
    figure = Figure(figsize=(9.6, 5.6), dpi=110, facecolor="white", layout="constrained")
    (path, thrusts), (over, heights) = figure.subplots(2, 2)
    fast = eight(3.0, "acceleration")
    path.plot(*fast["frame_reference"][:, 0, :2].T, color=COLORS[2], lw=1)
    path.plot(*fast["q"][:, :2].T, color=COLORS[0], ls="--", lw=1)
    path.set(xlabel="x [m]", ylabel="y [m]", title="figure of eight in 3 s, from above")
    path.set_aspect("equal")
    shown = (fast.time > 6.0) & (fast.time < 9.0)
    for i in range(4):
        thrusts.plot(fast.time[shown], fast["u"][shown, i], color=COLORS[i], label=f"thrust{i + 1}")
    thrusts.axhline(0.0, color="black", lw=0.6)
    thrusts.set(xlabel="time [s]", ylabel="thrust [N]", title="its thrusts: none pulls")
    thrusts.legend(fontsize=7, ncols=2)
    turning = run("quadrotor-upside-down")
    bodies(over, turning, 0.45)
    heights.plot(turning.time, turning["q"][:, 2], color=COLORS[0], label="height [m]")
    heights.plot(
        turning.time, turning["u"].sum(axis=1) / 10.0, color=COLORS[1], label="all thrust [10 N]"
    )
    heights.set(xlabel="time [s]", title="it falls, turns and climbs back")
    heights.legend(fontsize=7)
    return figure


def quadruped() -> Figure:
    """Return the forces of the ground in a squat, a jump, and on three feet."""
    figure = Figure(figsize=(9.6, 3.2), dpi=110, facecolor="white", layout="constrained")
    axes = figure.subplots(1, 3)
    for ax, result, legs, title in (
        (axes[0], squat(0.5), LEGS, "squat, 0.5 Hz"),
        (axes[1], squat(3.0), LEGS, "squat, 3 Hz: a jump"),
        (axes[2], run("a1-three-feet"), LEGS[1:], "one foot waves"),
    ):
        for leg, normal in zip(legs, result["reaction"][:, ::3].T, strict=True):
            place = LEGS.index(leg)
            ax.plot(
                result.time, normal, color=COLORS[place], label=leg, ls="-" if place < 2 else "--"
            )
        low, high = min(-5.0, 1.4 * float(result["reaction"][:, ::3].min())), ax.get_ylim()[1]
        ax.axhspan(low, 0.0, color=COLORS[1], alpha=0.12, lw=0)
        ax.set_ylim(low, high)
        ax.set(xlabel="time [s]", title=title)
        ax.legend(fontsize=7, ncols=2)
    axes[0].set_ylabel("force of the ground [N]")
    axes[1].set_xlim(0.0, 0.7)
    return figure


def draw(folder: Path) -> None:
    """Write the figures as PNG files."""
    with plot.style.report_style():
        for name, figure in (("quadrotor", quadrotor), ("quadruped", quadruped)):
            target = folder / f"floating-bases-{name}.png"
            figure().savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
            print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
