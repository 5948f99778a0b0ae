"""The page of `check`: the verdict in a sentence, its causes, the figures, and what it rests on.

What follows from a cause, notes and tables unfold.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.analysis.check.check_figure import check_figure, slack_figure
from ukctrl.analysis.check.check_result import Check, Readiness
from ukctrl.analysis.check.check_tables import facts, row_table, use_table
from ukctrl.analysis.internal_dynamics.internal_dynamics_figure import (
    drawable,
    internal_dynamics_figure,
)
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import first_sentence, sentence
from ukctrl.core.verdict import Level, Verdict
from ukctrl.reports import html_page

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS: Mapping[Readiness, Level] = {"ready": "good", "warnings": "warning", "not ready": "bad"}
BADGES: Mapping[Readiness, str] = {"warnings": "ready, with warnings"}
READY_TEXT = "Nothing stands in the way of a run."
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
    "internal": (
        "Internal dynamics",
        "What the servo rows leave to itself, and what becomes of a push.",
    ),
}
_AUDIT: Mapping[str, Level] = {"error": "bad", "warning": "warning"}


def write_check(check: Check, folder: AnyPath) -> Path:
    """Write `report.html`, `check.json` with the curves, and the figures, each atomically.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written to.
    """
    images = draw_figures(check)
    data = json.dumps(check.to_dict(curves=True), indent=1, allow_nan=False)
    texts = {"check.json": f"{data}\n", "report.html": html(check, images)}
    return html_page.write_page("the check", Path(folder), texts, images, FIGURES)


def draw_figures(check: Check) -> list[html_page.PageFigure]:
    """Draw what there is to show."""
    draw: dict[str, Callable[[], Figure]] = {}
    if check.motion.curves is not None:
        draw["check"] = lambda: check_figure(check)
    slack_curves = check.motion.left
    if slack_curves is not None and not np.isnan(slack_curves.slack).all():
        draw["kept"] = lambda: slack_figure(check)
    internal = check.internal
    if internal is not None and drawable(internal):
        draw["internal"] = lambda: internal_dynamics_figure(internal)
    return [html_page.page_figure(name, *FIGURES[name], drawing) for name, drawing in draw.items()]


def headline(check: Check) -> str:
    """Return the verdict in a sentence."""
    causes = [cause for cause in check.causes if cause.level != "note"]
    return sentence(first_sentence(causes[0].text)[0]) if causes else READY_TEXT


def html(check: Check, images: Sequence[html_page.PageFigure]) -> str:
    """Return the page."""
    causes = [cause for cause in check.causes if cause.level != "note"]
    notes = [Verdict("note", "note", cause.text) for cause in check.causes if cause.level == "note"]
    audit = [
        Verdict(_AUDIT.get(level, "note"), level, sentence(text))
        for level, _, text in (finding.partition(": ") for finding in check.findings)
    ]
    demands, rows = check.motion.feasibility, check.start.rows
    uses, count = (None, 0) if demands is None else use_table(demands)
    contents = [("causes", "Verdict"), *((image.name, image.title) for image in images)]
    contents += [("limits", "Limits")] if count else []
    contents += [("facts", "Facts")]
    context = {
        "title": check.scenario,
        "robot": check.robot,
        "verdict": BADGES.get(check.verdict, check.verdict),
        "level": LEVELS[check.verdict],
        "headline": headline(check),
        "contents": contents,
        "causes": causes,
        "notes": notes,
        "figures": images,
        "uses": uses if count else None,
        "facts": list(facts(check)),
        "rows": row_table(rows, check.start.servo.dependent, len(rows)) if rows else None,
        "audit": audit,
    }
    return html_page.render("check.html.j2", context)
