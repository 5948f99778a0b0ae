"""The figure of the page: the arms at three moments, and the force in the bar."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from tables import VARIANTS, bar, run

from ukctrl import Robot, plot

COLORS = plot.style.PALETTE
LINKS = ("link0", "link1", "link2", "link3", "link4", "link5", "link6", "link7", "flange", "tool")


def motion() -> Figure:
    """Return both arms and the bar at three moments, and the force at the grip."""
    figure = Figure(figsize=(9.6, 4.2), dpi=110, facecolor="white", layout="constrained")
    space = figure.add_subplot(1, 2, 1, projection="3d")
    robot, result = Robot.load("two_pandas"), run()
    for k, alpha in ((0, 1.0), (75, 0.5), (150, 0.25)):
        snapshot = robot.snapshot(result["q"][k])
        for side, color in (("left_", COLORS[0]), ("right_", COLORS[2])):
            places = [snapshot.frame(side + link).position for link in LINKS]
            space.plot(*np.array(places).T, "-o", color=color, ms=2.5, alpha=alpha)
        ends = np.array([(bar(result["q"][k]) @ [0, y, 0, 1.0])[:3] for y in (-0.4, 0.4)])
        space.plot(*ends.T, color=COLORS[1], lw=4, alpha=alpha)
    path = np.array([bar(q)[:3, 3] for q in result["q"]])
    space.plot(*path.T, color=plot.style.INK, lw=0.8)
    space.set(xlabel="x [m]", ylabel="y [m]", zlabel="z [m]", title="at 0, 0.75 and 1.5 s")
    space.set_aspect("equal")
    space.locator_params(axis="x", nbins=4)
    space.view_init(22, -40)
    force = figure.add_subplot(1, 2, 2)
    for name, color in zip(VARIANTS, COLORS, strict=False):
        other = run(name)
        rows = list(other.labels.passive_rows)
        force.plot(other.time, other["reaction"][:, rows.index("grip.y")], color=color, label=name)
    force.set(xlabel="time [s]", ylabel="force on the right hand, outwards [N]", title="the bar is")
    force.legend(fontsize=8, loc="upper right", bbox_to_anchor=(1.0, 0.93))
    return figure


def draw(folder: Path) -> None:
    """Write the figure as a PNG file."""
    with plot.style.report_style():
        target = folder / "two-arms-carry-motion.png"
        motion().savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
        print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
