"""The figures of the page, drawn of what `study.py` has stored."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from study import load

from ukctrl import plot

MM = 1e3
SHOWN = (
    "servo-baumgarte",
    "servo-pid",
    "servo-sliding",
    "servo-chen-robust",
    "servo-adaptive-robust",
    "slotine-li",
    "slotine-li-adaptive",
    "lqi",
)
COLORS = dict(zip(SHOWN, plot.style.PALETTE, strict=True))


def _figure() -> tuple[Figure, np.ndarray]:
    figure = Figure(figsize=(9.0, 3.9), dpi=110, facecolor="white", layout="constrained")
    return figure, figure.subplots(1, 2, squeeze=False)[0]


@plot.style.styled
def robustness() -> Figure:
    """Draw the error over the mismatch, given gains beside tuned ones."""
    figure, axes = _figure()
    titles = {"robustness": "cards as they are", "robustness-tuned": "tuned for the right model"}
    lowest, highest = np.inf, 0.0
    for ax, (case, title) in zip(axes, titles.items(), strict=True):
        found = load()[case]["mismatch"]
        levels = 100.0 * np.array(found["levels"])
        for law in SHOWN:
            low, mid, high = (
                MM * np.array([at[key] for at in found["controllers"][law]], dtype=float)
                for key in ("low", "median", "high")
            )
            ax.semilogy(levels, mid, "o-", ms=3.0, color=COLORS[law], label=law)
            ax.fill_between(levels, low, high, color=COLORS[law], alpha=0.08, lw=0.0)
            lowest, highest = min(lowest, np.nanmin(low)), max(highest, np.nanmax(high))
        ax.set_title(f"error, {title} [mm, mrad]")
        ax.set_xlabel("masses and inertias are off by up to [%]")
    for ax in axes:
        ax.set_ylim(0.8 * lowest, 1.3 * highest)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


@plot.style.styled
def price() -> Figure:
    """Draw the error against what the motors must do for it, before and after tuning."""
    figure, axes = _figure()
    pairs = (
        (axes[0], "noise-given", "SCARA, model 30 % too light, cards as they are"),
        (axes[1], "noise-tuned", "the same, tuned with equal budgets"),
    )
    for ax, case, title in pairs:
        for law, entry in load()[case]["entries"].items():
            if entry["status"] != "completed" or law not in COLORS:
                continue
            at = entry["metrics"]
            ax.loglog(
                at["input_travel"], MM * at["rms_phi.tool"], "o", color=COLORS[law], label=law
            )
        ax.set_title(title)
        ax.set_xlabel("travel of the inputs [N m/s]: restless to the right")
        ax.set_ylabel("rms of the tool [mm]")
    limits = [(ax.get_xlim(), ax.get_ylim()) for ax in axes]
    for ax in axes:
        ax.set_xlim(min(x[0] for x, _ in limits), max(x[1] for x, _ in limits))
        ax.set_ylim(min(y[0] for _, y in limits), max(y[1] for _, y in limits))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    return figure


def draw(folder: Path) -> None:
    """Write every figure as a PNG file."""
    for name, make in (("robustness", robustness), ("price", price)):
        path = folder / f"which-controller-{name}.png"
        make().savefig(path, metadata={"Software": None})
