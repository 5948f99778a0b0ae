"""The page of a linear analysis: verdict, margins, poles, Bode, Nyquist and root locus.

The facts and the table of margins are the terminal's as well.
"""

from __future__ import annotations

import cmath
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.analysis.linear import (
    Equilibrium,
    HiddenMode,
    LinearAnalysis,
    frequencies,
    linear_figures,
    response_at,
)
from ukctrl.analysis.linear.linear_loop import LinearLoop, snap_zero_rates
from ukctrl.analysis.linear.margins import Margins
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import number, sentence
from ukctrl.core.tie_breaking import tie_ranks
from ukctrl.core.verdict import Level
from ukctrl.reports import html_page
from ukctrl.reports.report_table import ReportTable, TableColumn

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIN_LOCUS_GAIN, MAX_LOCUS_GAIN = 0.02, 50.0
"""Factors of the gain between which the root locus goes."""
LOCUS_POINTS = 500
MAX_ENTRIES = 12
"""Poles, modes and margins of more than these are in the files alone."""
POLE_RTOL = 2e-3
"""Poles that differ by less than this fraction are printed as one."""
LEVELS: Mapping[str | None, Level] = {
    "stable": "good",
    "neutral": "warning",
    "unstable": "bad",
    None: "note",
}
TITLES = {"poles": "Poles and zeros", "bode": "Bode", "nyquist": "Nyquist", "root_locus": ""}
CAPTIONS = {
    "poles": "Crosses are poles, rings invariant zeros from the motors to the servo rows. Modes "
    "right of the red line grow.",
    "bode": "The loop transfer function at each motor, the other loops closed. A dot marks the "
    "gain crossover with the least phase margin, a dashed line half the sampling rate.",
    "nyquist": "The loop transfer function in the complex plane; thin lines are negative "
    "frequencies. A disk margin of 0.5 keeps the curve outside the red disk around -1: a gain "
    "factor of 1.67, or 28 deg.",
    "root_locus": "Poles of the closed loop while the gain of one motor goes from "
    f"{MIN_LOCUS_GAIN:g} to {MAX_LOCUS_GAIN:g} times its value; crosses are the poles at the "
    "present gain, with their values in the zoom. The red line is the stability limit.",
}


def write_analysis(analysis: LinearAnalysis, data: Mapping[str, Any], directory: AnyPath) -> Path:
    """Write ``analysis.html``, ``analysis.json`` and the figures as PNG files.

    Args:
        analysis: The analysis.
        data: What ``analysis.json`` holds.
        directory: Where; it is made where it does not exist.

    Raises:
        InputError: The directory cannot be written to.
    """
    images, text = draw_figures(analysis), json.dumps(data, indent=2, allow_nan=False)
    texts = {"analysis.json": f"{text}\n", "analysis.html": _html(analysis, images)}
    return html_page.write_page("the analysis", Path(directory), texts, images, CAPTIONS)


def draw_figures(analysis: LinearAnalysis) -> list[html_page.PageFigure]:
    """Draw every figure that has something to show."""
    loop, plant = analysis.loop, analysis.plant
    closed = None if loop is None else loop.rates()
    period = None if loop is None else loop.period
    drawn: dict[str, Callable[[], Figure]] = {
        "poles": lambda: linear_figures.pole_map(plant.poles(), analysis.zeros, closed, period)
    }
    titles = dict(TITLES)
    if loop is not None:
        curves = [_curve(analysis, loop, motor) for motor in _worst_motors(analysis, loop)]
        half = None if period is None else math.pi / period
        worst = _worst_motors(analysis, loop)[0]
        locus = _locus(loop, worst)
        drawn["bode"] = lambda: linear_figures.bode(curves, half)
        drawn["nyquist"] = lambda: linear_figures.nyquist(curves)
        drawn["root_locus"] = lambda: linear_figures.root_locus(locus, period)
        titles["root_locus"] = f"Root locus at {loop.inputs[worst]}"
    return [
        html_page.page_figure(name, titles[name], CAPTIONS[name], draw)
        for name, draw in drawn.items()
    ]


def _worst_motors(analysis: LinearAnalysis, loop: LinearLoop) -> list[int]:
    """Return the motors with the least margins, the least first."""
    if not analysis.margins:
        return list(range(min(len(loop.inputs), linear_figures.MAX_CURVES)))
    rank = tie_ranks(margin.disk for margin in analysis.margins)
    return sorted(range(len(rank)), key=lambda k: rank[k])[: linear_figures.MAX_CURVES]


def _curve(analysis: LinearAnalysis, loop: LinearLoop, motor: int) -> linear_figures.LoopCurve:
    grid = frequencies(loop, motor)
    values = response_at(loop, motor).at_frequencies(grid)[:, 0, 0]
    crossing = analysis.margins[motor].phase_frequency if analysis.margins else math.nan
    return linear_figures.LoopCurve(loop.inputs[motor], grid, values, crossing)


def _locus(loop: LinearLoop, motor: int) -> linear_figures.RootLocus:
    from scipy.optimize import linear_sum_assignment

    A, b, c = loop.broken_at(motor)
    gains = np.unique(np.append(np.geomspace(MIN_LOCUS_GAIN, MAX_LOCUS_GAIN, LOCUS_POINTS), 1.0))
    poles = [np.linalg.eigvals(A - k * np.outer(b, c)).astype(np.complex128) for k in gains]
    for k in range(1, len(poles)):  # each branch goes on where it is nearest
        _, order = linear_sum_assignment(np.abs(poles[k - 1][:, None] - poles[k][None]))
        poles[k] = poles[k][order]
    return linear_figures.RootLocus(loop.inputs[motor], gains, np.array(poles), loop.poles())


def facts(
    analysis: LinearAnalysis, equilibria: Sequence[Equilibrium] = ()
) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of every fact, for page and terminal alike."""
    plant, loop = analysis.plant, analysis.loop
    poles = plant.poles()
    yield "robot", f"{analysis.robot}, controller {analysis.controller}"
    yield "point", plant.point.source + _equilibria_text(equilibria)
    sizes = len(plant.A), len(plant.inputs), len(plant.outputs)
    yield "plant", "states: {}, motors: {}, rows: {}".format(*sizes)
    yield "poles", poles_text(poles)
    if plant.inputs and plant.outputs:
        yield "zeros", poles_text(analysis.zeros, max(map(abs, poles.tolist()), default=0.0))
    if analysis.unreached:
        yield "uncontrollable", _modes(analysis.unreached)
    if analysis.unseen:
        yield "unobservable", _modes(analysis.unseen)
    if loop is not None:
        hold = "" if loop.period is None else f", held for {loop.period:g} s"
        late = f", {loop.delay:g} s late" if loop.delay else ""
        if loop.active.words:
            yield "active", loop.active.words
        yield "loop", f"{len(loop.A)} states{hold}{late}"
        yield "loop poles", poles_text(loop.rates())
    if analysis.disk is not None:
        yield "all motors", f"disk margin {analysis.disk:.3g}"


def _equilibria_text(equilibria: Sequence[Equilibrium]) -> str:
    if not equilibria:
        return ""
    first, *tail = equilibria
    family = f", one of a family of {first.family} directions" if first.family else ""
    return family + (f"; {len(tail)} more further away" if tail else "")


def poles_text(values: NDArray[np.complex128], min_scale: float = 0.0) -> str:
    """Return poles, those that grow most first, alike ones and conjugates together."""
    poles: list[complex] = snap_zero_rates(values).tolist()
    remaining = sorted(filter(cmath.isfinite, poles), key=lambda p: (-p.real, abs(p.imag)))
    over = len(poles) - len(remaining)
    scale = max((abs(p) for p in remaining), default=min_scale) or 1.0
    scale = max(scale, min_scale)
    texts = []
    while remaining:
        first = remaining[0]
        size = POLE_RTOL * max(abs(first), 1e-3 * scale)
        same = [
            p
            for p in remaining
            if cmath.isclose(_upper_half(p), _upper_half(first), rel_tol=0, abs_tol=size)
        ]
        remaining = [p for p in remaining if p not in same]
        texts.append(_pole(_upper_half(first), len(same), max(size, 1e-6 * scale)))
    if len(texts) > MAX_ENTRIES:
        texts = [*texts[:MAX_ENTRIES], f"and {len(texts) - MAX_ENTRIES} more"]
    parts = [f"{', '.join(texts)} 1/s"] if texts else []
    if over:
        parts.append(f"{over} deadbeat")
    return ", ".join(parts) or "none"


def _upper_half(pole: complex) -> complex:
    return complex(pole.real, abs(pole.imag))


def _pole(pole: complex, count: int, size: float) -> str:
    real = 0.0 if abs(pole.real) <= 1e-3 * size else pole.real
    if abs(pole.imag) <= size:
        return f"{real:.3g}" + (f" ({count} of them)" if count > 1 else "")
    pair = f"{real:.3g} +- {pole.imag:.3g}j"
    return pair + (f" ({count // 2} pairs)" if count > 3 else "")


def _modes(modes: Sequence[HiddenMode]) -> str:
    return "; ".join(
        f"{mode.number} with s = {_pole(_upper_half(mode.pole), 1, 1e-9)} 1/s, in {mode.states}"
        for mode in modes[:MAX_ENTRIES]
    )


def _html(analysis: LinearAnalysis, images: list[html_page.PageFigure]) -> str:
    plant = analysis.plant
    names = (("states", plant.states), ("motors", plant.inputs), ("rows", plant.outputs))
    contents = [("margins", "Margins")] if analysis.margins else []
    contents += [(image.name, image.title) for image in images]
    contents.append(("facts", "Facts"))
    context = {
        "title": analysis.scenario,
        "stability": analysis.stability or "no loop",
        "level": LEVELS[analysis.stability],
        "headline": sentence(analysis.verdict),
        "contents": contents,
        "margins": margin_table(analysis.margins) if analysis.margins else None,
        "figures": images,
        "notes": [sentence(note) for note in analysis.notes],
        "facts": [*facts(analysis), *((name, ", ".join(of) or "none") for name, of in names)],
    }
    return html_page.render("analyze.html.j2", context)


def margin_table(margins: Sequence[Margins]) -> ReportTable:
    """Return by how much gain, phase and delay may change at each motor, the others closed."""
    heads = ("gain", "phase [deg]", "at [rad/s]", "delay [ms]", "disk margin", "its gain")
    return ReportTable.from_rows(
        [TableColumn("motor", "name"), *map(TableColumn, (*heads, "its phase [deg]"))],
        (
            [
                margin.motor,
                f"{number(margin.gain_low)} to {number(margin.gain_high)}",
                number(margin.phase),
                number(margin.phase_frequency),
                number(1e3 * margin.delay),
                number(margin.disk),
                number(margin.disk_gain),
                number(margin.disk_phase),
            ]
            for margin in margins
        ),
    )
