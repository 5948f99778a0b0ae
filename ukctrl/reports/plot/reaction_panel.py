"""What passive constraints transmit over time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import unit_text
from ukctrl.reports.plot import panels
from ukctrl.simulation.result import measures
from ukctrl.simulation.result.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def drawn(result: Result) -> Iterator[panels.Panel]:
    """Yield a panel for each unit: the length of every constraint's reaction in that unit."""
    sizes = measures.reaction_sizes(result.samples)
    for unit in dict.fromkeys(unit for _, unit in sizes):
        named = {block: size for (block, of), size in sizes.items() if of == unit}

        def draw(
            axes: Axes, room: float, named: dict[str, Array] = named, unit: str = unit
        ) -> None:
            values = panels.drawable(np.column_stack(list(named.values())))
            panels.lines(axes, result.time, values, list(named), room)
            panels.fit(axes, values)
            axes.set_ylabel(f"|λ| [{unit_text(unit)}]")

        yield panels.Panel("reactions", draw, columns=2)
