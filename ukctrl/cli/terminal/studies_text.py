"""What `compare`, `sweep`, `tune` and `learn` print: tables, and what these support in words."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ukctrl.cli.terminal.lines import (
    BEST_MARK,
    LEVEL_LABELS,
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
    from ukctrl.studies.learning.learning_result import LearningResult
    from ukctrl.studies.study_report import Report
    from ukctrl.studies.sweep_analysis import SampleReplay, SweepAnalysis
    from ukctrl.studies.tuning import Tuned
    from ukctrl.studies.tuning.fuzzy_gain_design import FuzzyGainDesign


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
    named = [f"{LEVEL_LABELS.get(v.level, '')}{v.subject}" for v in report.page_verdicts]
    if named:
        text = f", also on {', '.join(dict.fromkeys(named))}"
        files[0] = [*files[0], StyledText(text, "dim")]
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


def learning_lines(practice: LearningResult, card: Path) -> list[Line]:
    """Return what trials were worth, and where the card is."""
    from ukctrl.studies.learning.learning_page import next_commands, trial_table

    learning = practice.learning
    text = f"gain {learning.gain:g}, cutoff {learning.cutoff:g} Hz, lead {learning.lead} ticks"
    lines: list[Line] = hanging_lines("", practice.scenario.title, text_style="bold")
    lines += hanging_lines(f"  {'learning':<9}", text, text_style="dim")
    lines += table_lines(trial_table(practice))
    lines += verdict_lines(practice.verdicts)
    lines += file_lines(
        card.parent, ("report", "learn.html"), ("data", "trials.csv"), ("card", card.name)
    )
    for _, command in next_commands(practice, card)[-1:]:
        lines.append([StyledText("next    ", "bold"), sanitise(command)])
    return lines


def fuzzy_lines(choice: FuzzyGainDesign, folder: Path) -> list[Line]:
    """Return the optimal gain of a fuzzy uncertainty, and what other prices would give."""
    from ukctrl.core.number_text import number
    from ukctrl.reports.report_table import ReportTable, TableCell, TableColumn

    card_kappa, optimal_kappa = number(choice.card_kappa, 4), number(choice.kappa, 4)
    lines: list[Line] = hanging_lines("", choice.scenario.title, text_style="bold")
    lines += hanging_lines(
        f"  {'kappa':<8}", f"{optimal_kappa} 1/s in closed form; the card's is {card_kappa}"
    )
    lines += hanging_lines(f"  {'for':<8}", choice.uncertainty, text_style="dim")
    heads = ("price", "kappa", "cost", "transient", "steady", "effort")
    chosen = choice.fuzzy_gain.price
    rows = [
        [
            TableCell(number(line[head], 4), "strong" if line["price"] == chosen else "")
            for head in heads
        ]
        for line in choice.to_dict()["prices"]
    ]
    lines += table_lines(ReportTable([TableColumn(head) for head in heads], rows))
    written = [("curve", "fuzzy_gain.csv"), ("figure", "fuzzy_gain.png")]
    return [*lines, *file_lines(folder, *written, ("card", f"{choice.name}.toml"))]
