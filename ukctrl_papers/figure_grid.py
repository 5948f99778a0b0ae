"""The sheet on which a paper's figures are drawn again."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ukctrl.reports.plot import panels, style


def figure_grid(
    rows: int, columns: int, height: float, *titles: str
) -> tuple[Figure, NDArray[Any]]:
    """Return a figure with a grid of axes; the last row has the time below it, the first titles."""
    figure = Figure(figsize=(9.0, height), dpi=110, facecolor="white", layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes[-1]:
        ax.set_xlabel("time [s]")
    for ax, title in zip(axes[0], titles, strict=False):
        ax.set_title(title)
    return figure, axes


def plot_reference(ax: Axes, x: Any, y: Any, label: str = "") -> None:
    """Draw what should be: a thin dashed line."""
    ax.plot(x, y, color=style.INK, lw=0.9, ls="--", label=label or None)


def power_of_ten_ticks(ax: Axes) -> None:
    """Write powers of ten at a logarithmic axis upwards as letters, not as a formula."""
    from matplotlib.ticker import FuncFormatter

    ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: panels.decade(y)))
