"""The page of a linear analysis: verdict, margins, poles, Bode, Nyquist and root locus.

The table of margins is the terminal's as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ukctrl.analysis.linear import LinearAnalysis, frequencies, linear_figures, response_at
from ukctrl.analysis.linear.linear_loop import LinearLoop
from ukctrl.analysis.linear.margins import Margins
from ukctrl.core.extremes import places
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import number, sentence
from ukctrl.core.verdict import Level
from ukctrl.reports import web_page
from ukctrl.reports.table import Column, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOWEST, HIGHEST = 0.02, 50.0
"""Factors of the gain between which the root locus goes."""
GAINS = 500
LEVELS: Mapping[str | None, Level] = {
    "stable": "good",
    "neutral": "warning",
    "unstable": "bad",
    None: "note",
}
TITLES = {"poles": "Poles and zeros", "bode": "Bode", "nyquist": "Nyquist", "root_locus": ""}
CAPTIONS = {
    "poles": "Crosses are poles, rings invariant zeros from the motors to the servo rows. Right of "
    "the red line modes grow.",
    "bode": "The loop transfer function at each motor, the others closed. A dot marks the crossing "
    "with the least phase margin; a dashed line half the rate of the hold.",
    "nyquist": "The same in the plane; thin lines are negative frequencies. The red disk around -1 "
    "is what a disk margin of 0.5 keeps free: a factor of 1.67 of gain, or 28 deg.",
    "root_locus": "Poles of the closed loop while the gain of one motor goes from "
    f"{LOWEST:g} to {HIGHEST:g} times what it is; crosses are the poles as they are, in the "
    "zoom with where they lie. The red line is the border of stability.",
}


def write_analysis(found: LinearAnalysis, data: Mapping[str, Any], directory: AnyPath) -> Path:
    """Write ``analysis.html``, ``analysis.json`` and the figures as PNG files.

    Args:
        found: The analysis.
        data: What ``analysis.json`` holds.
        directory: Where; it is made where it does not exist.

    Raises:
        InputError: The directory cannot be written to.
    """
    images, text = pictures(found), json.dumps(data, indent=2, allow_nan=False)
    texts = {"analysis.json": f"{text}\n", "analysis.html": _html(found, images)}
    return web_page.write_page("the analysis", Path(directory), texts, images, CAPTIONS)


def pictures(found: LinearAnalysis) -> list[web_page.Picture]:
    """Draw every figure that has something to show."""
    loop, plant = found.loop, found.plant
    closed = None if loop is None else loop.rates()
    period = None if loop is None else loop.period
    drawn: dict[str, Callable[[], Figure]] = {
        "poles": lambda: linear_figures.pole_map(plant.poles(), found.zeros, closed, period)
    }
    titles = dict(TITLES)
    if loop is not None:
        curves = [_curve(found, loop, motor) for motor in _shown(found, loop)]
        half = None if period is None else math.pi / period
        worst = _shown(found, loop)[0]
        locus = _locus(loop, worst)
        drawn["bode"] = lambda: linear_figures.bode(curves, half)
        drawn["nyquist"] = lambda: linear_figures.nyquist(curves)
        drawn["root_locus"] = lambda: linear_figures.root_locus(locus, period)
        titles["root_locus"] = f"Root locus at {loop.inputs[worst]}"
    return [
        web_page.picture(name, titles[name], CAPTIONS[name], draw) for name, draw in drawn.items()
    ]


def _shown(found: LinearAnalysis, loop: LinearLoop) -> list[int]:
    """Return the motors with the least margins, the least first."""
    if not found.margins:
        return list(range(min(len(loop.inputs), linear_figures.MOST_CURVES)))
    rank = places(each.disk for each in found.margins)
    return sorted(range(len(rank)), key=lambda k: rank[k])[: linear_figures.MOST_CURVES]


def _curve(found: LinearAnalysis, loop: LinearLoop, motor: int) -> linear_figures.Curve:
    grid = frequencies(loop, motor)
    values = response_at(loop, motor).along(grid)[:, 0, 0]
    crossing = found.margins[motor].phase_frequency if found.margins else math.nan
    return linear_figures.Curve(loop.inputs[motor], grid, values, crossing)


def _locus(loop: LinearLoop, motor: int) -> linear_figures.Locus:
    from scipy.optimize import linear_sum_assignment

    A, b, c = loop.broken_at(motor)
    gains = np.unique(np.append(np.geomspace(LOWEST, HIGHEST, GAINS), 1.0))
    poles = [np.linalg.eigvals(A - k * np.outer(b, c)).astype(np.complex128) for k in gains]
    for k in range(1, len(poles)):  # each branch goes on where it is nearest
        _, order = linear_sum_assignment(np.abs(poles[k - 1][:, None] - poles[k][None]))
        poles[k] = poles[k][order]
    return linear_figures.Locus(loop.inputs[motor], gains, np.array(poles), loop.poles())


def _html(found: LinearAnalysis, images: list[web_page.Picture]) -> str:
    plant, loop = found.plant, found.loop
    facts = [
        ("robot", found.robot),
        ("controller", found.controller),
        ("point", plant.point.source),
        ("states", ", ".join(plant.states)),
        ("motors", ", ".join(plant.inputs) or "none"),
        ("rows", ", ".join(plant.outputs) or "none"),
    ]
    if loop is not None and loop.period is not None:
        facts.append(("hold", f"{loop.period:g} s, {loop.delay:g} s late"))
    if loop is not None and loop.active.words:
        facts.append(("active", loop.active.words))
    if found.disk is not None:
        facts.append(("disk margin of all motors at once", number(found.disk)))
    contents = [("margins", "Margins")] if found.margins else []
    contents += [(image.name, image.title) for image in images]
    contents.append(("facts", "Facts"))
    context = {
        "title": found.scenario,
        "stability": found.stability or "no loop",
        "level": LEVELS[found.stability],
        "headline": sentence(found.verdict),
        "contents": contents,
        "margins": margin_table(found.margins) if found.margins else None,
        "figures": images,
        "notes": [sentence(note) for note in found.notes],
        "facts": facts,
    }
    return web_page.render("analyze.html.j2", context)


def margin_table(margins: Sequence[Margins]) -> Table:
    """Return by how much gain, phase and delay may change at each motor, the others closed."""
    heads = ("gain", "phase [deg]", "at [rad/s]", "delay [ms]", "disk margin", "its gain")
    return Table.of(
        [Column("motor", "name"), *map(Column, (*heads, "its phase [deg]"))],
        (
            [
                each.motor,
                f"{number(each.gain_low)} to {number(each.gain_high)}",
                number(each.phase),
                number(each.phase_frequency),
                number(1e3 * each.delay),
                number(each.disk),
                number(each.disk_gain),
                number(each.disk_phase),
            ]
            for each in margins
        ),
    )
