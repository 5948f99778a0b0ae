"""Several results of one scenario over each other, one colour and dash for each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.number_text import unit_text
from ukctrl.reports.plot import marks, panels, style
from ukctrl.simulation.result import metrics, sample_measures
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.verdicts.error_floor import ErrorFloor, error_floor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MOST_ACTUATORS = 8
"""With more actuators than this, their common norm is drawn instead of each."""
ROUNDING_SHARE = 1e-9
"""An input that never reaches this part of the largest of its unit is drawn as none."""
BAND_ALPHA = 0.16
MOST_BLOCKS = 4
"""With more servo blocks than this, only the norm of all rows is drawn."""


class QuantileBand(NamedTuple):
    """One quantity over time, over the repeats of a controller."""

    time: Array
    low: Array
    middle: Array
    high: Array


Bands = Mapping[str, Mapping[str, QuantileBand]]
"""By controller, and by the name of the error: ``phi``, ``beta.tool``."""


def keys_of(names: Iterable[str]) -> list[panels.LegendEntry]:
    """Return what a legend says of controllers in their order."""
    # Overlapping curves stay visible through the gaps of the later ones.
    colors, dashes = style.PALETTE, style.DASHES
    return [
        panels.LegendEntry(name, colors[index % len(colors)], dashes[index % len(dashes)])
        for index, name in enumerate(names)
    ]


@style.styled
def errors(results: Mapping[str, Result], bands: Bands = MappingProxyType({})) -> Figure:
    """Draw the error norms of every result on log scales, and those of each servo block.

    Args:
        results: By the names of their controllers.
        bands: What to draw instead of a result's own curve: the middle of its repeats, with a band.
    """
    first = next(iter(results.values()))
    blocks: list[str | None] = [None]
    if 2 <= len(first.labels.blocks) <= MOST_BLOCKS:
        blocks += first.labels.blocks
    keys = {key.name: key for key in keys_of(results)}
    drawn = []
    for block in blocks:
        for name, symbol in (("phi", "φ"), ("beta", "β")):
            curves = {
                key: (result.time, sample_measures.error_norm(result.samples, name, block))
                for key, result in results.items()
                if block is None or block in result.labels.blocks
            }
            if any(np.isfinite(norm).any() for _, norm in curves.values()):
                chosen = name if block is None else f"{name}.{block}"
                spans = {
                    key: block_bands[chosen]
                    for key, block_bands in bands.items()
                    if chosen in block_bands
                }
                curves |= {key: (band.time, band.middle) for key, band in spans.items()}
                full = f"rms_{name}" if block is None else f"rms_{name}.{block}"
                unit = unit_text(metrics.unit_in(full, first.labels)) or "1"
                title = (
                    f"|{symbol}| of {panels.shorten(block)}" if block else f"|{symbol}| of all rows"
                )
                label = f"error [{unit}]"
                promised = min(error_floor(result, name) for result in results.values())
                drawn.append(_curves(title, label, curves, keys, promised=promised, spans=spans))
    return panels.grid(drawn, keys=keys_of(results))


@style.styled
def inputs(results: Mapping[str, Result]) -> Figure:
    """Draw each input of every result, or their norm when there are many."""
    labels = next(iter(results.values())).labels
    fair = [key for key, result in results.items() if result.status == "completed"]
    keys = {key.name: key for key in keys_of(results)}
    drawn = []
    if len(labels.actuators) <= MOST_ACTUATORS:
        for k, name in enumerate(labels.actuators):
            curves = {
                key: (result.time, result["u"][:, k])
                for key, result in results.items()
                if name in result.labels.actuators
            }
            unit = labels.actuator_units[k]
            alike = [i for i, candidate in enumerate(labels.actuator_units) if candidate == unit]
            min_span = ROUNDING_SHARE * max(
                (marks.largest(run["u"][:, alike]) for run in results.values()), default=0.0
            )
            label = f"u [{unit_text(unit) or '1'}]"
            panel = _curves(panels.shorten(name), label, curves, keys, fit_to=fair, least=min_span)
            drawn.append(panel)
    else:
        curves = {
            key: (result.time, np.linalg.norm(panels.finite_on_paper(result["u"]), axis=1))
            for key, result in results.items()
        }
        drawn.append(_curves("|u|, all actuators", "|u|", curves, keys, fit_to=fair))
    return panels.grid(panels.widen_single(drawn), height=1.7, keys=keys_of(results))


def _curves(
    title: str,
    label: str,
    curves: Mapping[str, tuple[Array, Array]],
    keys: Mapping[str, panels.LegendEntry],
    *,
    promised: ErrorFloor | None = None,
    fit_to: Sequence[str] = (),
    least: float = 0.0,
    spans: Mapping[str, QuantileBand] = MappingProxyType({}),
) -> panels.Panel:
    def draw(axes: Axes, legend_width: float) -> None:
        for key, span in spans.items():
            low, high = (panels.finite_on_paper(edge) for edge in (span.low, span.high))
            axes.fill_between(
                span.time, low, high, color=keys[key].color, alpha=BAND_ALPHA, linewidth=0.0
            )
        shown = {key: panels.finite_on_paper(values) for key, (_, values) in curves.items()}
        if promised:
            all_values = np.concatenate([np.ravel(y) for y in shown.values()])
            panels.log_scale(axes, all_values, floor=promised.size)
        for key, (time, _) in curves.items():
            values = np.where(shown[key] <= 0.0, 1e-300, shown[key]) if promised else shown[key]
            x, y = panels.thin(time, values)
            axes.plot(x, y, keys[key].dash, color=keys[key].color)
        if promised:
            marks.grey_floor(axes, promised)
            tops = {key: float(np.nanmax(y, initial=0.0)) for key, y in shown.items()}
            hidden = [key for key, top in tops.items() if top < promised.size]
            if hidden and max(tops.values()) > promised.size:
                marks.name_hidden_lines(axes, hidden, promised)
        else:
            chosen = [shown[key] for key in fit_to if key in shown] or list(shown.values())
            values = np.concatenate([np.ravel(y) for y in chosen])
            panels.fit_y_axis(
                axes, values, [-least, least] if marks.largest(values) < least else []
            )
        axes.set_ylabel(label)

    return panels.Panel(title, draw)
