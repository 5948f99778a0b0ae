"""The average cost of a gain, and of what it is made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.core.number_text import number
from ukctrl.reports.plot import panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ukctrl.control.fuzzy_uncertainty import FuzzyGain


@style.styled
def fuzzy_gain(found: FuzzyGain) -> Figure:
    r"""Draw $J(\kappa)$ with its transient, its steady part, its effort and its minimum.

    Args:
        found: The cost and its optimal gain.
    """
    kappa = found.curve()
    parts = dict(zip(("transient", "steady", "effort"), found.parts(kappa), strict=True))
    keys = [panels.Key("J", style.INK, "-")]
    keys += [
        panels.Key(name, style.PALETTE[k], style.DASHES[k + 1]) for k, name in enumerate(parts)
    ]
    keys.append(panels.Key(f"minimum, kappa = {number(found.kappa, 4)} 1/s", style.INK, "", "*"))

    def draw(axes: Axes, room: float) -> None:
        panels.log_scale(axes, kappa, axis="x")
        for key, values in zip(keys[1:], parts.values(), strict=False):
            axes.plot(kappa, values, key.dash, color=key.color)
        cost = found.cost(kappa)
        axes.plot(kappa, cost, color=style.INK, linewidth=1.8)
        axes.plot([found.kappa], [found.cost(found.kappa)], "*", color=style.INK, markersize=12.0)
        panels.log_scale(axes, cost)
        low = float(found.cost(found.kappa))
        axes.set_ylim(0.03 * low, 1.2 * float(cost.max()))
        axes.set_xlim(kappa[0], kappa[-1])
        axes.set_ylabel("average cost [error² s]")

    panel = panels.Panel("what a gain costs on average", draw, columns=2)
    return panels.grid([panel], height=2.8, x_label="kappa [1/s]", keys=keys)
