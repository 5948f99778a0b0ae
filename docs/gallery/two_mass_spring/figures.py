"""The figure of the page: positions, gap and force from three starts."""

from __future__ import annotations

from pathlib import Path

from matplotlib.figure import Figure
from tables import BACK, EXACT, OFF

from ukctrl import papers, plot

runs = papers.servo.runs

BLUE, RED, GREEN = plot.style.PALETTE[:3]


def motion() -> Figure:
    """Return positions, gap and force over time."""
    figure = Figure(figsize=(9.0, 3.0), dpi=110, facecolor="white", layout="constrained")
    places, gap, force = figure.subplots(1, 3)
    for changes, color, label in (
        (EXACT, BLUE, "on the constraint"),
        (OFF, RED, "off it, eq (47)"),
        (BACK, GREEN, "off it, with feedback"),
    ):
        run = runs.masses_run(changes)
        places.plot(run.time, run["q"][:, 0], color=color, ls="--")
        places.plot(run.time, run["q"][:, 1], color=color)
        gap.plot(run.time, run["phi"][:, 0], color=color, label=label)
        force.plot(run.time, run["u"][:, 0], color=color)
    places.set_title("x1 (dashed), x2")
    places.set_ylabel("position [m]")
    gap.set_title("gap error x2 − x1 − 2 l")
    gap.set_ylabel("error [m]")
    gap.legend(loc="lower left")
    force.set_title("force F")
    force.set_ylabel("force [N]")
    for ax in (places, gap, force):
        ax.set_xlabel("time [s]")
    return figure


def draw(folder: Path) -> None:
    """Write the figure as a PNG file."""
    with plot.style.report_style():
        target = folder / "two-mass-spring-motion.png"
        motion().savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
        print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
