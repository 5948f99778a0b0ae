"""The figures of the page: costs on robots that were held out, and how each search went."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import searches
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from ukctrl import plot


def others() -> Figure:
    """Return the cost of every gain set on each of the held-out robots."""
    figure = Figure(figsize=(9.0, 3.0), dpi=110, facecolor="white", layout="constrained")
    axes = figure.subplots()
    first = searches.on("nominal").held_out
    assert first is not None
    groups = {"card": first.card.each}
    for how in ("nominal", "average", "worst"):
        held = searches.on(how).held_out
        assert held is not None
        groups[f"tuned: {how}"] = held.tuned.each
    rng = np.random.default_rng(0)
    for k, (name, costs) in enumerate(groups.items()):
        y = k + rng.uniform(-0.22, 0.22, len(costs))
        axes.plot(1e3 * np.array(costs), y, "o", ms=3.5, alpha=0.7, color=plot.style.PALETTE[k])
        axes.plot([1e3 * max(costs)], [k], "|", ms=22, mew=1.6, color=plot.style.INK)
        axes.text(1e3 * min(costs), k + 0.32, name, fontsize=8.5)
    axes.set_xscale("log")
    _ticks(axes.xaxis, (0.3, 1.0, 3.0, 10.0, 30.0, 100.0))
    axes.set_yticks([])
    axes.set_ylim(-0.5, len(groups) - 0.2)
    axes.set_xlabel(
        "cost on each of 40 robots that nobody was tuned on, in thousandths; bar: worst"
    )
    return figure


def ways() -> Figure:
    """Return the lowest cost so far of each way of searching, over its seeds."""
    figure = Figure(figsize=(9.0, 3.0), dpi=110, facecolor="white", layout="constrained")
    axes = figure.subplots()
    for k, way in enumerate(searches.WAYS):
        found = [searches.searched(way, seed).tuning for seed in searches.SEEDS]
        curves = 1e3 * np.array([tuning.history() for tuning in found])
        spent = searches.PLANTS * np.arange(1, curves.shape[1] + 1)
        color = plot.style.PALETTE[k]
        axes.fill_between(spent, curves.min(0), curves.max(0), step="post", color=color, alpha=0.13)
        axes.step(spent, np.median(curves, axis=0), where="post", color=color, label=way)
    axes.set_yscale("log")
    _ticks(axes.yaxis, (0.6, 1.0, 2.0, 4.0))
    axes.set_xlabel("simulations")
    axes.set_ylabel("lowest cost, thousandths")
    axes.legend(loc="upper right")
    return figure


def _ticks(axis: Axis, values: Sequence[float]) -> None:
    axis.set_ticks(values, [f"{value:g}" for value in values])
    axis.set_minor_locator(NullLocator())


def draw(folder: Path) -> None:
    """Write the figures as PNG files."""
    with plot.style.report_style():
        for name, make in (("others", others), ("ways", ways)):
            target = folder / f"tuned-gains-{name}.png"
            make().savefig(target, metadata={"Software": None}, pil_kwargs={"optimize": True})
            print(f"{target.name:40s}{target.stat().st_size / 1000:4.0f} kB")
