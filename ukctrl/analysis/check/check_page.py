"""The page of `check`: the verdict in a sentence, its causes, the figures, and what it rests on.

What follows from a cause, notes and tables unfold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.analysis.check.check_figure import check_figure, left_figure
from ukctrl.analysis.check.check_tables import facts, row_table, use_table
from ukctrl.analysis.check.findings import Check, Readiness
from ukctrl.analysis.check.reach_figure import reach_figure
from ukctrl.analysis.internal_dynamics.internal_dynamics_figure import (
    drawable,
    internal_dynamics_figure,
)
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import first_sentence, sentence
from ukctrl.core.verdict import Level, Verdict
from ukctrl.reports import web_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS: Mapping[Readiness, Level] = {"ready": "good", "warnings": "warning", "not ready": "bad"}
BADGES: Mapping[Readiness, str] = {"warnings": "ready, with warnings"}
READY = "Nothing stands in the way of a run."
FIGURES: Mapping[str, tuple[str, str]] = {
    "check": (
        "Along the motion",
        "How well the rows are held, how much of each limit the motion uses, and the inputs that "
        "it takes. A dot marks the smallest singular value; a red shade is where no motion is.",
    ),
    "kept": (
        "Limits kept",
        "What the exact task leaves of what the law keeps; a dashed line is a margin. A red shade "
        "is where it leaves no input that serves the task.",
    ),
    "reach": (
        "Reach",
        "Where the frame comes in this plane, from the start's configuration and others that were "
        "drawn, its orientation left to itself; and elsewhere what is in the way first: the range "
        "of a joint, what the law keeps, a motor that cannot hold the robot there. The path of the "
        "task is seen along the third axis.",
    ),
    "internal": (
        "Internal dynamics",
        "What the servo rows leave to itself, and what becomes of a push.",
    ),
}
_AUDIT: Mapping[str, Level] = {"error": "bad", "warning": "warning"}


def write_check(found: Check, folder: AnyPath) -> Path:
    """Write `report.html`, `check.json` with the curves, and the figures, each atomically.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written to.
    """
    images = pictures(found)
    data = json.dumps(found.to_dict(curves=True), indent=1, allow_nan=False)
    texts = {"check.json": f"{data}\n", "report.html": html(found, images)}
    return web_page.write_page("the check", Path(folder), texts, images, FIGURES)


def pictures(found: Check) -> list[web_page.Picture]:
    """Draw what there is to show."""
    draw: dict[str, Callable[[], Figure]] = {}
    if found.motion.curves is not None:
        draw["check"] = lambda: check_figure(found)
    left = found.motion.left
    if left is not None and not np.isnan(left.h).all():
        draw["kept"] = lambda: left_figure(found)
    reach, internal = found.reach, found.internal
    if reach is not None:
        draw["reach"] = lambda: reach_figure(reach)
    if internal is not None and drawable(internal):
        draw["internal"] = lambda: internal_dynamics_figure(internal)
    return [web_page.picture(name, *FIGURES[name], drawing) for name, drawing in draw.items()]


def headline(found: Check) -> str:
    """Return the verdict in a sentence."""
    causes = [cause for cause in found.causes if cause.level != "note"]
    return sentence(first_sentence(causes[0].text)[0]) if causes else READY


def html(found: Check, images: Sequence[web_page.Picture]) -> str:
    """Return the page."""
    causes = [cause for cause in found.causes if cause.level != "note"]
    notes = [Verdict("note", "note", cause.text) for cause in found.causes if cause.level == "note"]
    audit = [
        Verdict(_AUDIT.get(level, "note"), level, sentence(text))
        for level, _, text in (finding.partition(": ") for finding in found.findings)
    ]
    demands, rows = found.motion.feasibility, found.start.rows
    uses, count = (None, 0) if demands is None else use_table(demands)
    contents = [("causes", "Verdict"), *((image.name, image.title) for image in images)]
    contents += [("limits", "Limits")] if count else []
    contents += [("facts", "Facts")]
    context = {
        "title": found.scenario,
        "robot": found.robot,
        "verdict": BADGES.get(found.verdict, found.verdict),
        "level": LEVELS[found.verdict],
        "headline": headline(found),
        "contents": contents,
        "causes": causes,
        "notes": notes,
        "figures": images,
        "uses": uses if count else None,
        "facts": list(facts(found)),
        "rows": row_table(rows, found.start.servo.dependent, len(rows)) if rows else None,
        "audit": audit,
    }
    return web_page.render("check.html.j2", context)
