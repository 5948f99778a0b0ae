"""The figures of the page: a crane that carries its load, and a chain whose last mass leads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from tables import run

from ukctrl import plot

BLUE, RED, GREEN = plot.style.PALETTE[:3]
EVERY = 40
"""Samples between two drawn ropes."""


def crane() -> Figure:
    """Return the planar crane: ropes along the way, angle and rope, inputs."""
    figure = Figure(figsize=(9.0, 3.2), dpi=110, facecolor="white", layout="constrained")
    way, states, inputs = figure.subplots(1, 3)
    found = run("crane-planar").data
    time, (s, rope, theta) = found["time"].values, found["q"].values.T
    x, z = s + rope * np.sin(theta), -rope * np.cos(theta)
    for k in range(0, len(time), EVERY):
        way.plot([s[k], x[k]], [0.0, z[k]], color="0.7", lw=0.8)
    way.plot(x, z, color=BLUE, label="load")
    way.plot(s[::EVERY], 0.0 * s[::EVERY], "s", color=RED, ms=4, label="trolley")
    way.set_xlabel("x [m]")
    way.set_ylabel("z [m]")
    way.set_ylim(-4.5, 1.0)
    way.set_title("rope every 0.4 s")
    way.legend(loc="upper left", ncols=2)
    states.plot(time, np.degrees(theta), color=BLUE)
    states.set_title("angle of the rope [deg]")
    force, winch = found["u"].values.T
    inputs.plot(time, force, color=RED, label="on the trolley")
    inputs.plot(time, winch, color=GREEN, label="winch")
    inputs.set_title("inputs [N]")
    inputs.legend(loc="center right")
    for ax in (states, inputs):
        ax.set_xlabel("time [s]")
    return figure


def chain() -> Figure:
    """Return the chain: places of the masses, and the force on the first."""
    figure = Figure(figsize=(9.0, 2.8), dpi=110, facecolor="white", layout="constrained")
    places, force = figure.subplots(1, 2)
    found = run("four-mass-chain").data
    time, q = found["time"].values, found["q"].values
    for i in range(3):
        places.plot(time, q[:, i], color="0.6", lw=0.9 + 0.3 * i)
    places.plot(time, q[:, 3], color=BLUE, label="last mass, on its path")
    places.plot([], [], color="0.6", label="the others")
    places.set_title("places [m]")
    places.legend(loc="lower right")
    force.plot(time, found["u"].values[:, 0], color=RED)
    force.set_title("force on the first mass [N]")
    for ax in (places, force):
        ax.set_xlabel("time [s]")
    return figure


def draw(folder: Path) -> None:
    """Write the figures as PNG files."""
    with plot.style.report_style():
        for name, figure in (("crane", crane()), ("chain", chain())):
            target = folder / f"high-relative-degree-{name}.png"
            figure.savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
            print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
