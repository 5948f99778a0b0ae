"""What `compare`, `sweep` and `tune` print: tables, and what these support in words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ukctrl.cli.terminal.lines import (
    BEST_MARK,
    LEVEL_STYLES,
    Line,
    StyledText,
    file_lines,
    hanging_lines,
    sanitise,
    table_lines,
    verdict_lines,
)

if TYPE_CHECKING:
    from ukctrl.studies.study_report import Report
    from ukctrl.studies.sweep_analysis import SampleReplay, SweepAnalysis
    from ukctrl.studies.tuning import Tuned


def report_lines(report: Report, folder: Path, size: int = 0) -> list[Line]:
    """Return what the terminal shows of a study whose files are in a folder.

    Args:
        report: What is shown.
        folder: Where its files are.
        size: Room for the subjects of verdicts; 0: none.
    """
    lines: list[Line] = hanging_lines("", report.title, text_style="bold")
    if report.status:
        style = f"bold {LEVEL_STYLES[report.status_level].split()[-1]}"
        title = StyledText(sanitise(report.title), "bold")
        lines = [[title, ": ", StyledText(report.status, style)]]
    for name, text in report.facts:
        lines += hanging_lines(f"  {name:<9}", text, text_style="dim")
    for section in report.sections:
        lines += ["", [StyledText(section.heading, "bold")]] if section.heading else []
        lines += table_lines(section.table, section.max_rows)
        if any(cell.mark == "best" for row in section.table.rows for cell in row):
            lines += hanging_lines("  ", f"{BEST_MARK} best, by a test", text_style="dim")
    lines += verdict_lines(report.verdicts, size)
    files = file_lines(folder, *report.files)
    told = {(v.level in ("bad", "warning"), v.subject) for v in report.page_verdicts}
    warnings = sum(grave for grave, _ in told)
    counts = [(warnings, "warning"), (len(told) - warnings, "note")]
    texts = [f"{n} {noun}{'s' if n > 1 else ''}" for n, noun in counts if n]
    if texts:
        files[0] = [*files[0], StyledText(f", with {' and '.join(texts)}", "dim")]
    return [*lines, *files, *([[report.advice]] if report.advice else [])]


def study_data(
    insight: SweepAnalysis, folder: Path, replays: Sequence[SampleReplay] | None
) -> dict[str, Any]:
    """Return what a study shows for programs, with where its files are."""
    from ukctrl.studies.sweep_analysis.summary_json import to_dict

    record = to_dict(insight, replays or (), folder)
    return {"folder": str(folder), "finished": insight.study.finished, **record}


def tuned_lines(tuned: Tuned, scenario: str, folder: Path) -> list[Line]:
    """Return what a search has found, and the command that runs it."""
    from ukctrl.studies.tuning.tuning_page import card_name, report

    lines = report_lines(report(tuned), folder)
    if tuned.ok:
        card = shlex.quote(str(folder / f"{card_name(tuned)}.toml"))
        command = f"ukctrl run {shlex.quote(scenario)} -c {card}"
        lines.append([StyledText("next    ", "bold"), sanitise(command)])
    return lines
