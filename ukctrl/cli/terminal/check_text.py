"""What `check` prints: the verdict first, then what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import (
    Line,
    StyledText,
    file_lines,
    hanging_lines,
    sanitise,
    table_lines,
)

if TYPE_CHECKING:
    from ukctrl.analysis.check import Check
    from ukctrl.analysis.check.check_result import RootCause
    from ukctrl.analysis.check.input_feasibility import Feasibility

MAX_ROWS, MAX_USAGES = 20, 10
"""Servo rows and limits of more than these are on the page and in `check --json` alone."""
LEVEL_STYLE = {"problem": "red", "error": "red", "warning": "yellow"}
LABELS = {"bad": "problem", "warning": "warning", "note": "note", "good": "note"}
VERDICTS = {
    "ready": StyledText("ready", "bold green"),
    "warnings": StyledText("ready, with warnings", "bold yellow"),
    "not ready": StyledText("not ready", "bold red"),
}


def check_lines(check: Check, folder: Path | None = None, whole: bool = False) -> list[Line]:
    """Return what `check` found, and where its figure is.

    Args:
        check: What it found.
        folder: Where it was written.
        whole: Whether to show what follows from a cause, and not only how much.
    """
    from ukctrl.analysis.check.check_tables import facts

    lines: list[Line] = [
        [StyledText(sanitise(check.scenario), "bold"), ": ", VERDICTS[check.verdict]]
    ]
    lines += _causes((cause for cause in check.causes if cause.level != "note"), whole)
    lines.append([""])
    for name, value in facts(check):
        lines += hanging_lines(f"  {name:<14}", value, "cyan")
    lines += _rows(check)
    lines += _limit_usage(check.motion.feasibility) if check.motion.feasibility is not None else []
    audit = sorted(check.findings, key=lambda text: text.startswith("note"))
    notes = [cause for cause in check.causes if cause.level == "note"]
    lines += [[""]] if audit or notes else []
    for finding in audit:
        level, _, text = finding.partition(": ")
        lines += hanging_lines(f"{level}: ", text, LEVEL_STYLE.get(level, "bold"))
    lines += _causes(notes, whole)
    if folder is not None:
        lines += [[""], *file_lines(folder, ("report", "report.html"), ("data", "check.json"))]
    return lines


def _causes(causes: Iterable[RootCause], whole: bool) -> Iterator[Line]:
    """Yield causes, each with what helps, and what follows from it."""
    for cause in causes:
        label = LABELS[cause.level]
        style = LEVEL_STYLE.get(label, "bold")
        yield from hanging_lines(f"{label}: ", cause.text, style)
        if cause.cure:
            yield from hanging_lines("  do: ", cause.cure, "bold")
        if whole:
            for effect in cause.follows:
                label = LABELS[effect.level]
                yield from hanging_lines(
                    f"  so {label}: ", effect.text, LEVEL_STYLE.get(label, "bold")
                )
        elif cause.follows:
            count = len(cause.follows)
            things = "1 thing follows" if count == 1 else f"{count} things follow"
            yield [StyledText(f"  {things} from that: --all shows what", "dim")]


def _rows(check: Check) -> list[Line]:
    """Return the servo rows at the start."""
    from ukctrl.analysis.check.check_tables import row_table

    rows = check.start.rows
    if not rows:
        return []
    table = row_table(rows, check.start.servo.dependent, MAX_ROWS)
    return ["", *table_lines(table), *_count_line(len(rows) - MAX_ROWS)]


def _limit_usage(demands: Feasibility) -> list[Line]:
    """Return what the motion takes, nearest to a limit first."""
    from ukctrl.analysis.check.check_tables import use_table

    table, count = use_table(demands, MAX_USAGES)
    return ["", *table_lines(table), *_count_line(count - MAX_USAGES)] if count else []


def _count_line(count: int) -> list[Line]:
    return [[f"  and {count} more that --json lists"]] if count > 0 else []
