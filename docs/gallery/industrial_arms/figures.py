"""The figure of the page: paths of the tools, torques, and the shift of the joints."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from tables import NULL_SPACES, RUNS, run, two_rounds

from ukctrl import Robot, plot

COLORS = plot.style.PALETTE


def skeleton(robot: str, q: np.ndarray) -> np.ndarray:
    """Return the places of an arm's joints and tool, in a row."""
    arm = Robot.load(robot)
    snapshot = arm.snapshot(q)
    frames = [
        frame for frame in arm.frames if frame not in ("world", "hand", "fingers", "universe")
    ]
    return np.array([snapshot.frame(frame).position for frame in frames])


def motion() -> Figure:
    """Return arm and path, and torques as a share of the limits, for both arms."""
    figure = Figure(figsize=(9.6, 6.4), dpi=110, facecolor="white", layout="constrained")
    for row, (name, (robot, tool)) in enumerate(RUNS.items()):
        result, arm = run(name), Robot.load(robot)
        space = figure.add_subplot(2, 2, 2 * row + 1, projection="3d")
        path = np.array([tool(q)[:3, 3] for q in result["q"]])
        for k, alpha in ((0, 1.0), (len(result.time) // 3, 0.35)):
            space.plot(*skeleton(robot, result["q"][k]).T, "-o", color=COLORS[0], ms=3, alpha=alpha)
        space.plot(*path.T, color=COLORS[1])
        space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", title=f"{name}: arm and path")
        space.set_aspect("equal")
        space.locator_params(axis="y", nbins=4)
        space.view_init(25, -50)
        share = figure.add_subplot(2, 2, 2 * row + 2)
        for i, joint in enumerate(arm.dofs):
            share.plot(
                result.time, 100 * result["u"][:, i] / arm.effort_limit[i], label=joint,
                color=COLORS[i % len(COLORS)], ls="-" if i < len(COLORS) else "--",
            )  # fmt: skip
        share.set(xlabel="time [s]", ylabel="torque [% of limit]", title="torques")
        share.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def null_space() -> Figure:
    """Return the third joint of the Panda over two rounds."""
    figure = Figure(figsize=(9.0, 3.2), dpi=110, facecolor="white", layout="constrained")
    left, right = figure.subplots(1, 2)
    for color, name in zip(COLORS, NULL_SPACES, strict=False):
        result = two_rounds(name)
        words = name.replace("`", "")
        left.plot(result.time, np.rad2deg(result["q"][:, 2]), color=color, label=words)
        right.plot(result.time, result["v"][:, 2], color=color)
    left.set(xlabel="time [s]", ylabel="joint3 [deg]", title="the elbow over two rounds")
    right.set(xlabel="time [s]", ylabel="speed of joint3 [rad/s]", title="and its speed")
    left.set_ylim(-18, 25)
    left.legend(fontsize=7, loc="upper center", ncols=3, columnspacing=1.0)
    return figure


def draw(folder: Path) -> None:
    """Write the figures as PNG files."""
    with plot.style.report_style():
        for name, figure in (("motion", motion()), ("null-space", null_space())):
            target = folder / f"industrial-arms-{name}.png"
            figure.savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
            print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
