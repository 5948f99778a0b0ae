"""What `compare` prints: one column a controller, and what its numbers support in a sentence."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import (
    Line,
    Part,
    clean,
    files,
    hanging,
    show,
    table_lines,
    verdict_lines,
    write_json,
)

if TYPE_CHECKING:
    from ukctrl.studies.comparison import Comparison

MOST_TRIED = 6
"""Gains of more than these are on the page alone."""


def show_comparison(comparison: Comparison, folder: Path, as_json: bool) -> None:
    """Print the table of metrics, one column a controller."""
    if as_json:
        write_json(comparison.to_dict())
        return
    from ukctrl.simulation.result.metrics import METRICS
    from ukctrl.studies.comparison.comparison_tables import metric_table, robustness_table

    lines: list[Line] = hanging("", comparison.title, text_style="bold")
    noteworthy = {
        "repeats": comparison.conditions.asked > 1,
        "gains": bool(comparison.tunings),
        "belief": False,
    }
    facts = {fact.subject: fact for fact in comparison.facts}
    for subject, always in noteworthy.items():
        if subject in facts and (always or not facts[subject].equal):
            lines += hanging(f"  {subject:<9}", facts[subject].text, text_style="dim")
    lines += table_lines(metric_table(comparison, short=True))
    robustness = robustness_table(comparison)
    if comparison.robustness is not None and robustness is not None:
        title = f"median {comparison.robustness.metric}"
        lines += ["", [Part(title, "bold")], *table_lines(robustness)]
    lines += _tunings(comparison)
    general = [verdict for verdict in comparison.verdicts if verdict.subject not in METRICS]
    lines += verdict_lines(general)
    written = [("report", "report.html"), ("data", "compare.csv")]
    if any(tuning.gains for tuning in comparison.tunings.values()):
        written.append(("cards", "tuned"))
    show([*lines, *files(folder, *written)])


def _tunings(comparison: Comparison) -> list[Line]:
    """Return what the search for gains has found, one line a controller."""
    from ukctrl.core.number_text import number

    lines: list[Line] = []
    for name, tuning in comparison.tunings.items():
        if not tuning.gains:
            continue
        gains = [
            f"{gain.path.removeprefix('controller.')} {number(tuning.best.gains[gain.path], 4)}"
            for gain in tuning.gains
        ]
        more = [f"and {len(gains) - MOST_TRIED} more"] if len(gains) > MOST_TRIED else []
        shown = ", ".join([*gains[:MOST_TRIED], *more])
        before = number(tuning.before, 4) if math.isfinite(tuning.before) else "failed"
        cost = f"{before} -> {number(tuning.after, 4)}"
        lines += hanging(f"  {clean(name)}: ", f"cost {cost} with {shown}")
    return ["", [Part("tuned", "bold")], *lines] if lines else []
