"""Figures of linear analysis: poles, Bode, Nyquist, root locus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ukctrl.core.arrays import Array, Complex
from ukctrl.core.tie_breaking import max_abs
from ukctrl.reports.plot import line_labels, panels, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


MAX_CURVES = 8
"""Motors beyond these share no figure with the others."""
NYQUIST_EXTENT = 3.0
"""How far the Nyquist plot shows, in units of the distance from 0 to -1."""
CIRCLE_POINTS = 2000
"""Points of the unit circle, so that it is round in a zoom as well."""
POLE_GAP = 4.0
"""Poles that are faster than others by this factor are left out of the zoom on the slow ones."""
SMALLEST_ZOOM = 1e-4
"""Half the side of the smallest zoom; what is slower than that stays as it is."""
LABEL_MERGE, MAX_LABELS = 0.02, 10
"""Poles nearer than this part of a zoom's side share a text, of which there are at most so many."""
LABEL_HEIGHT = 0.05
"""Height of such a text in parts of the zoom's."""
MARGIN_DISK = 0.5
"""The disk margin whose forbidden disk is drawn."""


class LoopCurve(NamedTuple):
    """The loop transfer function at a motor along the frequencies."""

    name: str
    frequencies: Array
    """[rad/s], increasing."""
    values: Complex
    crossing: float
    """Where its gain is one and its phase margin least [rad/s]; NaN where it never is."""


class RootLocus(NamedTuple):
    """The poles of the closed loop over a factor of the loop's gain at a motor."""

    name: str
    gains: Array
    """Factors, increasing."""
    poles: Complex
    """Shape ``(gains, n)``; each column is one branch. One of the gains is 1."""
    nominal: Complex
    """Poles at factor one."""


@style.styled
def bode(curves: Sequence[LoopCurve], nyquist_frequency: float | None) -> Figure:
    """Draw size and phase of loop transfer functions over frequency."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    figure = Figure(figsize=(style.width(), 5.2), dpi=style.DPI, layout="constrained")
    size, phase = figure.subplots(2, 1, sharex=True)
    curves = curves[:MAX_CURVES]
    decibels = [20.0 * np.log10(np.maximum(np.abs(curve.values), 1e-300)) for curve in curves]
    near = -90.0  # the first begins within half a turn of it, the others of where that begins
    for index, (curve, magnitude) in enumerate(zip(curves, decibels, strict=True)):
        color, dash = _line_style(index)
        angle = _continuous_phase(curve.values, near)
        near = angle[0] if index == 0 and angle.size else near
        name = panels.shorten(curve.name)
        size.semilogx(curve.frequencies, magnitude, dash, color=color, label=name)
        phase.semilogx(curve.frequencies, angle, dash, color=color)
        if np.isfinite(curve.crossing):
            at = float(np.interp(curve.crossing, curve.frequencies, angle))
            size.plot([curve.crossing], [0.0], "o", color=color, markersize=4)
            phase.plot([curve.crossing], [at], "o", color=color, markersize=4)
    shown = np.concatenate(decibels)
    inside = shown[np.isfinite(shown)]
    if inside.size:
        size.set_ylim(max(-80.0, float(inside.min()) - 5.0), min(100.0, float(inside.max()) + 5.0))
    size.axhline(0.0, color=style.MUTED, linewidth=0.8)
    low, high = phase.get_ylim()
    for turn in range(-1440, 1441, 360):  # where a gain of one is too much
        if low < turn - 180.0 < high:
            phase.axhline(turn - 180.0, color=style.ALERT, linewidth=0.8, linestyle=":")
    _degree_ticks(phase)
    for axes in (size, phase):
        if nyquist_frequency is not None:
            axes.axvline(nyquist_frequency, color=style.MUTED, linewidth=0.8, linestyle="--")
    size.set_ylabel("|L| [dB]")
    phase.set_ylabel("phase [deg]")
    phase.set_xlabel("frequency [rad/s]")
    phase.xaxis.set_major_formatter(FuncFormatter(lambda value, _: panels.decade(value)))
    figure.legend(loc="outside upper center", ncols=min(len(curves), int(style.width() // 1.1)))
    return figure


@style.styled
def nyquist(curves: Sequence[LoopCurve]) -> Figure:
    """Draw loop transfer functions in the plane, near the point that they must keep away from."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Circle

    figure = Figure(figsize=(style.width(), 5.6), dpi=style.DPI, layout="constrained")
    axes = figure.subplots()
    for index, curve in enumerate(curves[:MAX_CURVES]):
        color, dash = _line_style(index)
        name = panels.shorten(curve.name)
        axes.plot(curve.values.real, curve.values.imag, dash, color=color, label=name)
        axes.plot(curve.values.real, -curve.values.imag, dash, color=color, linewidth=0.6)
    axes.add_patch(Circle((0.0, 0.0), 1.0, fill=False, edgecolor=style.FAINT, linestyle="--"))
    # A disk margin alpha keeps L out of the disk through -1/gamma and -gamma.
    gamma = (2.0 + MARGIN_DISK) / (2.0 - MARGIN_DISK)
    middle, radius = -0.5 * (gamma + 1.0 / gamma), 0.5 * (gamma - 1.0 / gamma)
    disk = Circle((middle, 0.0), radius, facecolor=style.ALERT, alpha=0.12, edgecolor="none")
    axes.add_patch(disk)
    axes.plot([-1.0], [0.0], "x", color=style.ALERT, markersize=7, markeredgewidth=1.6)
    axes.set_xlim(-NYQUIST_EXTENT, 0.6 * NYQUIST_EXTENT)
    axes.set_ylim(-0.7 * NYQUIST_EXTENT, 0.7 * NYQUIST_EXTENT)
    axes.set_aspect("equal")
    axes.set_xlabel("real part")
    axes.set_ylabel("imaginary part")
    axes.legend(loc="upper right")
    return figure


@style.styled
def pole_map(
    plant: Complex, zeros: Complex, closed: Complex | None, period: float | None
) -> Figure:
    """Draw poles and zeros of the plant beside the poles of the loop, as rates."""
    from matplotlib.figure import Figure

    stacked = style.width() < style.NARROW
    size = style.width(), 7.0 if stacked else 3.9
    figure = Figure(figsize=size, dpi=style.DPI, layout="constrained")
    left, right = figure.subplots(*((2, 1) if stacked else (1, 2)))
    left.plot(plant.real, plant.imag, "x", color=style.PALETTE[0], label="poles of the plant")
    if zeros.size:
        left.plot(
            zeros.real, zeros.imag, "o", color=style.PALETTE[1], fillstyle="none", label="zeros"
        )
    if closed is not None:
        name = "poles of the loop" if period is None else "poles of the loop, log(z)/T"
        right.plot(closed.real, closed.imag, "x", color=style.PALETTE[2], label=name)
    for axes, values in ((left, np.concatenate([plant, zeros])), (right, closed)):
        _half_plane(axes, values if values is not None else plant)
        axes.set_xlabel("real part [1/s]")
        axes.set_ylabel("imaginary part [rad/s]")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(loc="best")
    if closed is None:
        right.set_axis_off()
    return figure


@style.styled
def root_locus(locus: RootLocus, period: float | None) -> Figure:
    """Draw how the poles of the closed loop move with the loop's gain at one motor.

    Beside the whole, with the border of stability, a zoom on the slow poles: most lie together.
    """
    from matplotlib.figure import Figure

    stacked = style.width() < style.NARROW
    size = style.width(), 8.0 if stacked else 4.6
    figure = Figure(figsize=size, dpi=style.DPI, layout="constrained")
    whole, near = figure.subplots(*((2, 1) if stacked else (1, 2)))
    for axes in (whole, near):
        _branches(axes, locus)
        if period is None:
            axes.axvline(0.0, color=style.ALERT, linewidth=0.9)
            axes.set_xlabel("real part [1/s]")
            axes.set_ylabel("imaginary part [rad/s]")
        else:
            angle = np.linspace(-np.pi, np.pi, CIRCLE_POINTS)
            axes.plot(np.cos(angle), np.sin(angle), color=style.ALERT, linewidth=0.9)
            axes.set_xlabel("real part of z")
            axes.set_ylabel("imaginary part of z")
    if period is None:
        _half_plane_view(whole, locus)
        panels.heading(whole, "all poles")
    else:
        whole.set_xlim(-1.3, 1.3)
        whole.set_ylim(-1.3, 1.3)
        whole.set_aspect("equal")
        panels.heading(whole, "unit circle")
    near.set_aspect("equal")
    (left, right), (low, high) = _zoom(locus.nominal, 0.0 if period is None else 1.0)
    near.set_xlim(left, right)
    near.set_ylim(low, high)
    near.locator_params(nbins=5)
    x, y = [left, right, right, left, left], [low, low, high, high, low]
    whole.plot(x, y, color=style.MUTED, linewidth=0.9, linestyle=":")
    panels.heading(near, "zoom on the slow poles")
    _label_poles(near, locus.nominal, sampled=period is not None)
    figure.legend(*near.get_legend_handles_labels(), loc="outside upper center", ncols=3)
    return figure


def _branches(axes: Axes, locus: RootLocus) -> None:
    for mask, color, dash, name in (
        (locus.gains <= 1.0, style.PALETTE[0], "--", f"less gain, from {locus.gains[0]:.2g}"),
        (locus.gains >= 1.0, style.PALETTE[1], "-", f"more gain, up to {locus.gains[-1]:.2g}"),
    ):
        branches = locus.poles[mask]
        lines = axes.plot(branches.real, branches.imag, dash, color=color, linewidth=1.1)
        lines[0].set_label(name)
    axes.plot(locus.nominal.real, locus.nominal.imag, "x", color=style.INK, label="as it is")


def _half_plane_view(axes: Axes, locus: RootLocus) -> None:
    """Show the half plane around the poles."""
    size = 2.5 * float(np.abs(np.concatenate([locus.nominal, locus.poles[0]])).max(initial=0.1))
    axes.set_xlim(-size, 0.4 * size)
    near = locus.poles[np.abs(locus.poles) < size]
    high = max(1.2 * max_abs(near.imag), 0.15 * size)
    axes.set_ylim(-high, high)


def _zoom(poles: Complex, rest_pole: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return a square around the slow poles: those on this side of the widest gap.

    Args:
        poles: All.
        rest_pole: The pole of what stays as it is: 0, or 1 of a sampled loop.
    """
    far = np.sort(np.abs(poles - rest_pole))
    far = far[far > SMALLEST_ZOOM]
    slow = poles
    if far.size > 1:
        steps = far[1:] / far[:-1]
        if steps.max() > POLE_GAP:
            slow = poles[np.abs(poles - rest_pole) < far[int(steps.argmax()) + 1]]
    x, y = np.append(slow.real, rest_pole), np.append(slow.imag, 0.0)
    half = max(0.65 * float(np.ptp(x)), 0.65 * float(np.ptp(y)), SMALLEST_ZOOM)
    middle = 0.5 * float(x.min() + x.max()), 0.5 * float(y.min() + y.max())
    return (middle[0] - half, middle[0] + half), (middle[1] - half, middle[1] + half)


def _label_poles(axes: Axes, poles: Complex, *, sampled: bool) -> None:
    """Say beside the picture where the poles in view are, a conjugate pair and equals once."""
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    inside = (left <= poles.real) & (poles.real <= right) & (poles.imag >= 0.0)
    shown = poles[inside & (poles.imag <= high)]
    slowness = np.abs(shown) if sampled else shown.real
    groups: list[list[complex]] = []
    for pole in shown[np.argsort(-np.round(slowness, 9), kind="stable")].tolist():
        near = (group for group in groups if abs(pole - group[0]) < LABEL_MERGE * (high - low))
        group = next(near, None)
        groups.append([pole]) if group is None else group.append(pole)
    label_poles = [group[0] for group in groups[:MAX_LABELS]]
    heights = [(pole.imag - low) / (high - low) for pole in label_poles]
    for group, pole, at in zip(
        groups, label_poles, line_labels.spread_labels(heights, LABEL_HEIGHT), strict=False
    ):
        size = f"|z| = {abs(pole):.4f}" if sampled else f"{pole.real:.3g}"
        paired = abs(pole.imag) > 1e-6 * abs(pole)
        size += f" ± {pole.imag:.2g}i" if paired and not sampled else ""
        axes.annotate(
            f"{size}, {len(group)}×" if len(group) > 1 else size,
            (pole.real, pole.imag),
            (1.04, at),
            textcoords="axes fraction",
            fontsize=7.0,
            color=style.INK,
            verticalalignment="center",
            arrowprops={
                "arrowstyle": "-", "color": style.FAINT, "linewidth": 0.7, "relpos": (0.0, 0.5),
                "shrinkA": 0.0, "shrinkB": 4.0,
            },
        )  # fmt: skip


def _line_style(index: int) -> tuple[str, str]:
    return style.PALETTE[index % len(style.PALETTE)], style.DASHES[index % len(style.DASHES)]


def _continuous_phase(values: Complex, near: float) -> Array:
    """Return the phase without jumps, where it begins within half a turn of ``near`` [deg]."""
    phase: Array = np.degrees(np.unwrap(np.angle(np.nan_to_num(values))))
    turns = (phase[:1] - near) / 360.0
    # half a turn, but for rounding, stays where it is
    return phase - 360.0 * np.sign(turns) * np.ceil(np.abs(turns) - 0.5 - 1e-9)


def _degree_ticks(axes: Axes) -> None:
    from matplotlib.ticker import MultipleLocator

    low, high = axes.get_ylim()
    wide = high - low
    axes.yaxis.set_major_locator(MultipleLocator(45.0 if wide < 400.0 else 90.0))


def _half_plane(axes: Axes, values: Complex) -> None:
    """Mark the imaginary axis, and leave room around points that lie on one line."""
    axes.axvline(0.0, color=style.ALERT, linewidth=0.9)
    finite = values[np.isfinite(values)]
    size = max_abs(finite) or 1.0
    real = np.concatenate([finite.real, [0.0]])
    high = max_abs(finite.imag)
    axes.set_xlim(float(real.min()) - 0.12 * size, float(real.max()) + 0.12 * size)
    axes.set_ylim(-max(high, 0.3 * size) * 1.15, max(high, 0.3 * size) * 1.15)
