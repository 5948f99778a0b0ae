"""What stands between the ideal loop and the bench: how far measurements are off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.number_text import prefixed
from ukctrl.reports.plot import panels, style
from ukctrl.simulation.result.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@style.styled
def measured(result: Result) -> Figure:
    """Draw by how much the measured state is off the true one, a panel for each unit.

    At output times between two ticks that is the measurement of the last tick. The end of the run
    is no tick and left out.
    """
    upto = max(len(result.time) - 1, 1)
    labels, drawn = result.labels, []
    for name, symbol, names, units in (
        ("q", "q", labels.coordinates, labels.coordinate_units),
        ("v", "v", labels.dofs, labels.dof_units),
    ):
        off = panels.drawable((result[f"{name}_measured"] - result[name])[:upto])
        for unit in dict.fromkeys(units):
            at = [i for i, each in enumerate(units) if each == unit]
            factor, text = prefixed(float(np.nanmax(np.abs(off[:, at]), initial=0.0)), unit)

            def draw(
                axes: Axes,
                room: float,
                values: np.ndarray[tuple[int, int], np.dtype[np.float64]] = factor * off[:, at],
                at: list[int] = at,
                label: str = f"{symbol} measured - true [{text or '1'}]",
                names: tuple[str, ...] = names,
            ) -> None:
                panels.lines(axes, result.time[:upto], values, [names[i] for i in at], room)
                axes.set_ylabel(label)
                panels.fit(axes, values)

            drawn.append(panels.Panel("measurement error", draw))
    return panels.grid(drawn)
