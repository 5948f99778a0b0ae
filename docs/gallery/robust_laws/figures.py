"""The figures of the page: errors beside their bounds, and what the laws are good for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import plants
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter
from tables import CONTROLLERS, helix

from ukctrl import plot

SHOWN = 40
"""How many of the robots are drawn."""


def decades(ax: Axes, low: float, high: float) -> None:
    """Make the scale logarithmic."""
    ax.set_yscale("log")
    ax.set_ylim(low, high)
    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: plot.panels.decade(y)))


def bounds() -> Figure:
    """Return the errors of many robots under three laws, with what was promised."""
    figure = Figure(figsize=(9.0, 3.0), dpi=110, facecolor="white", layout="constrained")
    axes = figure.subplots(1, 3)
    laws = ("sliding, cubic", "chen_robust", "adaptive_robust")
    for ax, law in zip(axes, laws, strict=True):
        off = 0.0 if law.startswith("sliding") else plants.OFF
        for seed in range(SHOWN):
            run = plants.run(law, plants.drawn(seed), off)
            ax.plot(run.time, run["position_error"], color=plot.style.PALETTE[0], lw=0.5, alpha=0.5)
        ax.plot(run.time, run["position_bound"], color="black", lw=1.5, label="promised")
        ax.plot([], [], color=plot.style.PALETTE[0], label=f"{SHOWN} robots")
        ax.set_title(law)
        ax.set_xlabel("time [s]")
    axes[0].set_ylabel("error / box")
    axes[0].set_ylim(0.0, 1.15)
    for ax in axes[1:]:
        decades(ax, 1e-5, 1e-1)
        ax.set_ylabel("position error [m]")
    axes[0].legend(loc="lower right")
    return figure


def use() -> Figure:
    """Return the errors with a model that is too light, and the inputs under noise."""
    figure = Figure(figsize=(9.0, 3.2), dpi=110, facecolor="white", layout="constrained")
    light, noisy = figure.subplots(1, 2)
    for controller, color in zip(CONTROLLERS, plot.style.PALETTE, strict=False):
        run = helix(controller, "the model is 30 % too light")
        error = 1e3 * np.linalg.norm(run["phi"][:, :3], axis=1)
        light.plot(run.time, np.maximum(error, 1e-3), color=color, label=controller)
    decades(light, 1e-2, 2e3)
    light.set_title("model 30 % too light")
    light.set_ylabel("error of the tool [mm]")
    light.legend(loc="upper right", ncols=2)
    for controller, color in (
        (CONTROLLERS[3], plot.style.PALETTE[3]),
        (CONTROLLERS[0], plot.style.PALETTE[0]),
    ):
        run = helix(controller, "the model is right, held for 1 ms, noise")
        part = run.time <= 1.0
        noisy.plot(run.time[part], run["u"][part, 3], color=color, lw=0.8, label=controller)
    noisy.set_title("model right, 1 ms hold, sensor noise")
    noisy.set_ylabel("force u4 [N]")
    noisy.set_ylim(0.0, 11.0)
    noisy.legend(loc="upper right")
    for ax in (light, noisy):
        ax.set_xlabel("time [s]")
    return figure


def draw(folder: Path) -> None:
    """Write the figures as PNG files."""
    with plot.style.report_style():
        for name, figure in (("bounds", bounds()), ("use", use())):
            target = folder / f"robust-laws-{name}.png"
            figure.savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
            print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
