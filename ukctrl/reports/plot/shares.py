"""Figures of shares: what a metric depends on, where samples succeed, and maps of both."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ukctrl.core.statistics import Estimate
from ukctrl.reports.plot import panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_BARS = 12
"""Factors with bars of their own; of more, the strongest."""
MOST_LETTERS = 68
"""Letters below a panel, side by side."""


class Bar(NamedTuple):
    """What depends on one factor."""

    factor: str
    first: Estimate
    """What it does alone."""
    total: Estimate | None
    """What it does alone and together with others, where that is known."""


class Rates(NamedTuple):
    """The shares of success along one factor."""

    factor: str
    labels: tuple[str, ...]
    shares: tuple[Estimate, ...]
    intervals: bool
    """Whether the samples were drawn, so that their shares are uncertain."""


@style.styled
def bars(panels_of: Sequence[tuple[str, Sequence[Bar]]]) -> Figure:
    """Draw the shares of variance of each factor, with their confidence intervals.

    Args:
        panels_of: Title of each panel, and its bars, the strongest first.
    """
    most = max(min(len(entries), MOST_BARS) for _, entries in panels_of)
    columns = 2 if len(panels_of) == 1 else 1
    drawn = [panels.Panel(title, _Bars(entries), columns) for title, entries in panels_of]
    both = any(bar.total is not None for _, entries in panels_of for bar in entries)
    keys = [panels.Key("alone (first order)", style.PALETTE[0], "-")]
    keys += [panels.Key("with others too (total)", style.PALETTE[4], "-")] if both else []
    height = 0.25 + 0.42 * most
    return panels.grid(drawn, height=height, x_label="share of the variance [%]", keys=keys)


@dc.dataclass(frozen=True)
class _Bars:
    """Draws one panel."""

    entries: Sequence[Bar]

    def __call__(self, axes: Axes, room: float) -> None:
        shown = self.entries[:MOST_BARS]
        for place, bar in enumerate(shown):
            pairs = [(bar.first, style.PALETTE[0]), (bar.total, style.PALETTE[4])]
            pairs = [pair for pair in pairs if pair[0] is not None]
            for k, (estimate, color) in enumerate(pairs):
                y = place + (0.06 + 0.25 * k if len(pairs) > 1 else 0.18)
                _bar(axes, y, estimate, color)
            axes.annotate(
                panels.short(bar.factor, 52),
                (0.0, place - 0.18),
                (3, 0),
                textcoords="offset points",
                fontsize=7.5,
                va="center",
                color=style.INK,
            )
        axes.set_ylim(len(shown) - 0.45, -0.5)
        axes.set_yticks([])
        axes.set_xlim(-4.0, 104.0)
        axes.axvline(0.0, color=style.FAINT, linewidth=0.8)
        axes.grid(visible=False, axis="y")


def _bar(axes: Axes, y: float, estimate: Estimate | None, color: str) -> None:
    if estimate is None or not np.isfinite(estimate.value):
        return
    axes.barh(y, 100.0 * estimate.value, height=0.2, color=color, linewidth=0.0, alpha=0.85)
    if np.isfinite([estimate.low, estimate.high]).all() and estimate.high > estimate.low:
        ends = [100.0 * max(estimate.low, -0.04), 100.0 * min(estimate.high, 1.04)]
        axes.plot(ends, [y, y], color=style.INK, linewidth=1.1)


@style.styled
def rates(every: Sequence[Rates]) -> Figure:
    """Draw the share of samples that succeeded over the ranges of each factor.

    Args:
        every: The factors.
    """
    drawn = [panels.Panel(panels.short(one.factor, 46), _Rates(one)) for one in every]
    if len(drawn) == 1:
        drawn = [drawn[0]._replace(columns=2)]
    return panels.grid(drawn, height=1.6, x_label="")


@dc.dataclass(frozen=True)
class _Rates:
    """Draws one panel."""

    one: Rates

    def __call__(self, axes: Axes, room: float) -> None:
        _, labels, shares, intervals = self.one
        for place, share in enumerate(shares):
            if not np.isfinite(share.value):
                continue
            color = style.PALETTE[0]
            ends = [100.0 * share.low, 100.0 * share.high]
            axes.bar(place, 100.0 * share.value, width=0.72, color=color, alpha=0.35, linewidth=0.0)
            if intervals:
                axes.plot([place, place], ends, color=style.INK, linewidth=1.1)
            axes.plot([place], [100.0 * share.value], "o", color=style.INK, markersize=3.5)
        size = 7.0 if max(map(len, labels)) * len(labels) > 60 else 8.0
        texts = [panels.short(label.replace(" to ", "\n"), 16) for label in labels]
        if any(" to " in label for label in labels):
            texts = [label.replace(" to ", "\n") for label in labels]
        longest = max(len(line) for text in texts for line in text.split("\n"))
        if longest * len(texts) > MOST_LETTERS:  # such as 1.01×10⁻⁶: they would run into each other
            texts = [text if place % 2 == 0 else "" for place, text in enumerate(texts)]
        axes.set_xticks(range(len(labels)), texts, fontsize=size)
        axes.set_xlim(-0.6, len(labels) - 0.4)
        axes.set_ylim(0.0, 104.0)
        axes.set_ylabel("succeeded [%]")
        axes.grid(visible=False, axis="x")
