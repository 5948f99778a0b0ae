"""The figure of the page: height and error over time under three laws."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from tables import LAWS, PICK, PLACE, miss, run

from ukctrl import plot

COLORS = plot.style.PALETTE


def motion() -> Figure:
    """Return the path, the tool's height, and the error under three laws."""
    figure = Figure(figsize=(9.6, 3.4), dpi=110, facecolor="white", layout="constrained")
    above, lift, error = figure.subplots(1, 3)
    result = run()
    tool = result["frame_position"][:, result.labels.frames.index("tool")]
    for k, alpha in ((0, 0.4), (190, 0.6), (310, 1.0)):
        a, b = result["q"][k, 0], result["q"][k, :2].sum()
        elbow = np.array([-0.2 * np.sin(a), 0.2 * np.cos(a)])
        wrist = elbow + np.array([-0.25 * np.sin(b), 0.25 * np.cos(b)])
        above.plot(*np.array([[0.0, 0.0], elbow, wrist]).T, "-o", color=COLORS[0], alpha=alpha)
    above.plot(*tool[:, :2].T, color=COLORS[1])
    above.set(xlabel="x [m]", ylabel="y [m]", title="from above")
    above.set_aspect("equal")
    lift.plot(result.time, tool[:, 2], color=COLORS[1])
    lift.set(xlabel="time [s]", ylabel="z [m]", title="height of the tool")
    for color, name in zip(COLORS, LAWS, strict=False):
        other = run(name)
        words = name.replace("`", "").replace("the same, b", "b").split(", the")[0]
        error.plot(other.time, 1e3 * miss(other), color=color, label=words)
    error.set(xlabel="time [s]", ylabel="distance [mm]", title="from the path", ylim=(0, 8))
    error.legend(fontsize=6.5, loc="upper left")
    for ax in (lift, error):
        ax.axvspan(PICK, PLACE, color=plot.style.INK, alpha=0.07, lw=0)
    return figure


def draw(folder: Path) -> None:
    """Write the figure as a PNG file."""
    with plot.style.report_style():
        target = folder / "pick-and-place-motion.png"
        motion().savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
        print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
