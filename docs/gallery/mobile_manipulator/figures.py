"""The figure of the page: the vehicle and its arm from above and from the side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from tables import heading, run, tool

from ukctrl import Robot, plot

COLORS = plot.style.PALETTE
LINKS = ("shoulder", "upper_arm", "forearm", "wrist_1_link", "wrist_2_link", "wrist_3_link")


def motion() -> Figure:
    """Return three moments, from above and from the side, and the torques of the wheels."""
    figure = Figure(figsize=(9.6, 5.6), dpi=110, facecolor="white", layout="constrained")
    above, side = figure.subplots(2, 1, sharex=True)
    robot, result = Robot.load("mobile_ur5"), run()
    box = np.array([[-0.35, -0.25], [0.35, -0.25], [0.35, 0.25], [-0.35, 0.25], [-0.35, -0.25]])
    for k, alpha in ((0, 0.35), (300, 0.6), (600, 1.0)):
        q = result["q"][k]
        c, s = np.cos(heading(q)), np.sin(heading(q))
        corners = box @ np.array([[c, s], [-s, c]]) + q[:2]
        above.plot(*corners.T, color=COLORS[2], alpha=alpha)
        for y in (-0.25, 0.25):
            wheel = np.array([[-0.1, y], [0.1, y]]) @ np.array([[c, s], [-s, c]]) + q[:2]
            above.plot(*wheel.T, color=plot.style.INK, lw=4, alpha=alpha, solid_capstyle="butt")
        snapshot = robot.snapshot(q)
        arm = np.array([snapshot.frame(f"arm_{link}").position for link in LINKS])
        arm = np.vstack([arm, tool(q)[:3, 3]])
        above.plot(arm[:, 0], arm[:, 1], "-o", color=COLORS[0], ms=3, alpha=alpha)
        side.plot(arm[:, 0], arm[:, 2], "-o", color=COLORS[0], ms=3, alpha=alpha)
        side.plot(
            corners[[0, 1, 1, 0, 0], 0], [0.1, 0.1, 0.3, 0.3, 0.1], color=COLORS[2], alpha=alpha
        )
        turn = np.linspace(0.0, 2 * np.pi, 40)
        side.plot(
            q[0] + 0.1 * np.cos(turn), 0.1 + 0.1 * np.sin(turn), color=plot.style.INK, alpha=alpha
        )
    path = np.array([tool(q)[:3, 3] for q in result["q"]])
    above.plot(path[:, 0], path[:, 1], color=COLORS[1], label="tool")
    above.plot(
        *result["q"][:, :2].T, color=plot.style.INK, lw=0.8, ls="--", label="middle of the axle"
    )
    side.plot(path[:, 0], path[:, 2], color=COLORS[1])
    above.set(ylabel="y [m]", title="from above, at 0, 3 and 6 s")
    side.set(xlabel="x [m]", ylabel="z [m]", title="from the side")
    above.legend(fontsize=8, loc="upper left")
    for ax in (above, side):
        ax.set_aspect("equal")
    return figure


def draw(folder: Path) -> None:
    """Write the figure as a PNG file."""
    with plot.style.report_style():
        target = folder / "mobile-manipulator-motion.png"
        motion().savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
        print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
