"""Every line has its name: in a legend above the panel where all fit, else at the lines' ends."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.arrays import Array
from ukctrl.reports.plot import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FULL_LEGEND = 8
"""More lines than this in a panel cannot be told apart; they go into several panels."""
MOST_NAMED = 48
"""Of more lines than this not all are named: those that move most are, the others are counted."""
TWO_ROWS = 4
"""More names than this are easier to find at the lines than in two rows."""
ROW = 0.125
"""Height of a name at a line's end [in]."""
LETTER, LEADER_WIDTH = 0.066, 0.26
"""Width of a letter, and of what leads from a line to its name [in]."""


def split_columns(columns: Sequence[int]) -> list[list[int]]:
    """Return columns in groups of about one size, none with more than one panel can name."""
    count = -(-len(columns) // FULL_LEGEND) if len(columns) <= MOST_NAMED else 1
    edges = np.linspace(0, len(columns), count + 1).round().astype(int)
    return [list(columns[start:end]) for start, end in itertools.pairwise(edges)]


def legend(axes: Axes, legend_width: float, hidden: int = 0) -> None:
    """Name the lines above the upper right corner, where all names fit there.

    Where they do not, `label_line_ends` has to follow, once the panel is drawn.

    Args:
        axes: Where; the labels of its lines are the names.
        legend_width: Free width there [in].
        hidden: How many lines are drawn without a name.
    """
    handles, labels = axes.get_legend_handles_labels()
    if not any(labels):
        return
    if hidden:
        handles += axes.plot([], [], color=style.FAINT, linewidth=0.8, label=f"+{hidden}")
        labels.append(f"+{hidden}")
    columns = _columns(labels, legend_width)
    if not columns:
        return
    axes.legend(
        handles,
        labels,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.1,
        borderpad=0.2,
        columnspacing=1.0,
        handlelength=1.3,
        handletextpad=0.45,
        labelspacing=0.25,
        labelcolor=style.MUTED,
        ncols=columns,
    )


def _columns(labels: Sequence[str], legend_width: float) -> int:
    """Return in how many columns a legend of that width [in] names all; 0 where it cannot."""
    for rows in (1, 2) if len(labels) <= TWO_ROWS else (1,):
        columns = [labels[i : i + rows] for i in range(0, len(labels), rows)]
        if sum(0.33 + 0.068 * max(map(len, column)) for column in columns) <= legend_width:
            return len(columns)
    return 1 if len(labels) == 1 else 0


def label_line_ends(axes: Axes, width: float, height: float) -> None:
    """Name the lines of a panel without a legend at their right ends, in their colours.

    The panel becomes narrower by the names, which keep clear of each other.

    Args:
        axes: What is drawn, with its final limits.
        width: Of the panel [in].
        height: Of the panel [in].
    """
    handles, labels = axes.get_legend_handles_labels()
    if axes.get_legend() is not None or not any(labels):
        return
    box = axes.get_position()
    share = 1.0 - (LEADER_WIDTH + LETTER * max(map(len, labels))) / width
    axes.set_position((box.x0, box.y0, box.width * share, box.height))
    ends = [_end(axes, handle) for handle in handles]
    inside = width * share
    artist: Any
    for artist, name, end, at in zip(
        handles, labels, ends, spread_labels(ends, ROW / height), strict=True
    ):
        color: Any = artist.get_color()
        axes.annotate(
            name,
            (1.0, end),
            (1.0 + (LEADER_WIDTH - 0.06) / inside, at),
            xycoords="axes fraction",
            textcoords="axes fraction",
            fontsize=8.0,
            color=color if color != style.FAINT else style.MUTED,
            verticalalignment="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": color,
                "linewidth": 0.7,
                "shrinkA": 0.0,
                "shrinkB": 0.0,
                "relpos": (0.0, 0.5),
            },
        )


def _end(axes: Axes, line: Any) -> float:
    """Return how high a line ends, from 0 at the bottom of the panel to 1 at its top."""
    y = np.asarray(line.get_ydata(), dtype=np.float64)
    y = y[np.isfinite(y)]
    if not y.size:
        return 0.0
    end = axes.transAxes.inverted().transform(axes.transData.transform((0.0, y[-1])))[1]
    return float(np.clip(end, 0.0, 1.0))


def spread_labels(positions: ArrayLike, gap: float) -> Array:
    """Return the nearest places between 0 and 1 that are that far apart, in the same order."""
    targets = np.asarray(positions, dtype=np.float64)
    order, steps = np.argsort(targets, kind="stable"), gap * np.arange(targets.size)
    near = _isotonic(targets[order] - steps)
    solution = np.empty_like(targets)
    solution[order] = np.clip(near, 0.0, max(0.0, 1.0 - steps.max(initial=0.0))) + steps
    return solution


def _isotonic(y: Array) -> Array:
    """Return the nearest numbers in the sense of least squares that never fall.

    Neighbours that fall become their mean, as in `scipy.optimize.isotonic_regression`, whose
    import takes a tenth of a run.
    """
    means: list[float] = []
    sizes: list[int] = []
    for value in y:
        means.append(float(value))
        sizes.append(1)
        while len(means) > 1 and means[-2] >= means[-1]:
            mean, size = means.pop(), sizes.pop()
            means[-1] += (mean - means[-1]) * size / (size + sizes[-1])
            sizes[-1] += size
    return np.repeat(means, sizes)
