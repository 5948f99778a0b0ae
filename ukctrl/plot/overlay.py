"""Several results of one scenario over each other, one colour and dash for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ukctrl import measures, metrics
from ukctrl.plot import panels, style
from ukctrl.pretty import unit_text
from ukctrl.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]

MOST_ACTUATORS = 8
"""With more actuators than this, their common norm is drawn instead of each."""
MOST_BLOCKS = 4
"""With more servo blocks than this, only the norm of all rows is drawn."""


@style.styled
def errors(results: Mapping[str, Result]) -> Figure:
    """Draw the error norms of every result on log scales, and those of each servo block."""
    first = next(iter(results.values()))
    blocks: list[str | None] = [None]
    if 2 <= len(first.labels.blocks) <= MOST_BLOCKS:
        blocks += first.labels.blocks
    keys = {key.name: key for key in _keys(results)}
    drawn = []
    for block in blocks:
        for name, symbol in (("phi", "φ"), ("beta", "β")):
            curves = {
                key: (result.time, measures.error_norm(result.samples, name, block))
                for key, result in results.items()
                if block is None or block in result.labels.blocks
            }
            if any(np.isfinite(norm).any() for _, norm in curves.values()):
                full = f"rms_{name}" if block is None else f"rms_{name}.{block}"
                unit = unit_text(metrics.unit_in(full, first.labels)) or "1"
                title = (
                    f"|{symbol}| of {panels.short(block)}" if block else f"|{symbol}| of all rows"
                )
                drawn.append(_curves(title, f"error [{unit}]", curves, keys, log=True))
    return panels.grid(drawn, keys=_keys(results))


@style.styled
def inputs(results: Mapping[str, Result]) -> Figure:
    """Draw each input of every result, or their norm when there are many."""
    labels = next(iter(results.values())).labels
    fair = [key for key, result in results.items() if result.status == "completed"]
    keys = {key.name: key for key in _keys(results)}
    drawn = []
    if len(labels.actuators) <= MOST_ACTUATORS:
        for k, name in enumerate(labels.actuators):
            curves = {
                key: (result.time, result["u"][:, k])
                for key, result in results.items()
                if name in result.labels.actuators
            }
            unit = unit_text(labels.actuator_units[k]) or "1"
            drawn.append(_curves(panels.short(name), f"u [{unit}]", curves, keys, fit_to=fair))
    else:
        curves = {
            key: (result.time, np.linalg.norm(panels.drawable(result["u"]), axis=1))
            for key, result in results.items()
        }
        drawn.append(_curves("|u|, all actuators", "|u|", curves, keys, fit_to=fair))
    if len(drawn) == 1:
        drawn = [drawn[0]._replace(columns=2)]
    return panels.grid(drawn, height=1.7, keys=_keys(results))


@style.styled
def tradeoff(results: Mapping[str, Result]) -> Figure:
    """Draw error against effort: the lower left corner is where one wants to be."""
    labels = next(iter(results.values())).labels
    error = "rms_phi"
    if not any(np.isfinite(result.metric(error)) for result in results.values()):
        error = "rms_beta"

    def draw(axes: Axes, room: float) -> None:
        values = np.array([(run.metric("effort"), run.metric(error)) for run in results.values()])
        finite = values[:, 0][np.isfinite(values[:, 0])]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        span = max(high - low, 0.02 * abs(high), 1e-12)
        axes.set_xlim(low - 0.12 * span, high + 0.3 * span)
        axes.set_ylabel(f"rms error [{unit_text(metrics.unit_in(error, labels)) or '1'}]")
        _decades(axes, values[:, 1])
        taken: list[tuple[float, float]] = []
        for place, (name, run) in enumerate(results.items()):
            if np.isfinite(values[place]).all():
                at = (float(values[place, 0]), max(float(values[place, 1]), axes.get_ylim()[0]))
                hollow = run.status != "completed"
                text = f"{panels.short(name)} ({run.status})" if hollow else panels.short(name)
                _point(axes, at, _color(place), text, taken, hollow=hollow)

    unit = unit_text(metrics.unit_in("effort", labels))
    panel = panels.Panel("error against effort", draw, columns=2)
    return panels.grid([panel], height=2.5, x_label=f"effort [{unit}]")


def _point(
    axes: Axes,
    at: tuple[float, float],
    color: str,
    text: str,
    taken: list[tuple[float, float]],
    *,
    hollow: bool,
) -> None:
    """Draw a dot and its name, the name where no earlier one stands."""
    face = "none" if hollow else color
    size = max(5.0, 11.0 - 2.5 * len(taken))  # dots at one place stay visible as rings
    axes.plot([at[0]], [at[1]], "o", color=color, markerfacecolor=face, markersize=size)
    x, y = (float(v) * 72.0 / style.DPI for v in axes.transData.transform(at))  # in points
    choices = [6.0, -12.0, 18.0, -24.0, 30.0, -36.0]
    free = [
        c for c in choices if all(abs(x - a) > 110.0 or abs(y + c - b) > 11.0 for a, b in taken)
    ]
    shift = free[0] if free else choices[0]
    taken.append((x, y + shift))
    axes.annotate(
        text,
        at,
        (9.0, shift),
        textcoords="offset points",
        color=color,
        fontweight="bold",
        annotation_clip=False,
    )


def _decades(axes: Axes, values: Array) -> None:
    """Give the y axis whole decades around the values, two of them at least."""
    panels.log_scale(axes, values)
    if axes.get_yscale() == "log":
        low, high = axes.get_ylim()
        axes.set_ylim(low / (3.0 if high / low < 50.0 else 1.0), high)


def _color(place: int) -> str:
    return style.PALETTE[place % len(style.PALETTE)]


def _keys(results: Mapping[str, Result]) -> list[panels.Key]:
    # Overlapping curves stay visible through the gaps of the later ones.
    return [
        panels.Key(name, _color(place), style.DASHES[place % len(style.DASHES)])
        for place, name in enumerate(results)
    ]


def _curves(
    title: str,
    label: str,
    curves: Mapping[str, tuple[Array, Array]],
    keys: Mapping[str, panels.Key],
    *,
    log: bool = False,
    fit_to: Sequence[str] = (),
) -> panels.Panel:
    def draw(axes: Axes, room: float) -> None:
        shown = {key: panels.drawable(values) for key, (_, values) in curves.items()}
        if log:
            panels.log_scale(axes, np.concatenate([np.ravel(y) for y in shown.values()]))
        for key, (time, _) in curves.items():
            values = np.where(shown[key] > 0.0, shown[key], 1e-300) if log else shown[key]
            x, y = panels.thin(time, values)
            axes.plot(x, y, keys[key].dash, color=keys[key].color)
        if not log:
            chosen = [shown[key] for key in fit_to if key in shown] or list(shown.values())
            panels.fit(axes, np.concatenate([np.ravel(y) for y in chosen]))
        axes.set_ylabel(label)

    return panels.Panel(title, draw)
