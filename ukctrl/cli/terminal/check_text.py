"""What `check` prints of a scenario or a robot: the verdict first, then what it rests on."""

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
    from ukctrl.analysis.check.robot_check import RobotCheck

MAX_ROWS, MAX_USAGES = 20, 10
"""Servo rows and limits of more than these are on the page and in `check --json` alone."""
LEVEL_STYLE = {"problem": "red", "error": "red", "warning": "yellow", "missing": "yellow"}
LABELS = {"bad": "problem", "warning": "warning", "note": "note", "good": "note"}
VERDICTS = {
    "ready": StyledText("ready", "bold green"),
    "warnings": StyledText("ready, with warnings", "bold yellow"),
    "not ready": StyledText("not ready", "bold red"),
}
FILES = ("report", "report.html"), ("data", "check.json")


def check_lines(check: Check, folder: Path | None = None, whole: bool = False) -> list[Line]:
    """Return what `check` found, and where its figure is.

    Args:
        check: What it found.
        folder: Where it was written.
        whole: Whether to show what follows from a cause, and not only how much.
    """
    from ukctrl.analysis.check.check_report import facts

    lines: list[Line] = [
        [StyledText(sanitise(check.scenario), "bold"), ": ", VERDICTS[check.verdict]],
        *_causes((cause for cause in check.causes if cause.level != "note"), whole),
        [""],
        *_facts(facts(check), 14),
        *_rows(check),
    ]
    lines += _limit_usage(check.motion.feasibility) if check.motion.feasibility is not None else []
    audit = sorted(check.findings, key=lambda text: text.startswith("note"))
    notes = [cause for cause in check.causes if cause.level == "note"]
    lines += [[""]] if audit or notes else []
    for finding in audit:
        level, _, text = finding.partition(": ")
        lines += _labelled(level, text)
    lines += _causes(notes, whole)
    return lines + ([[""], *file_lines(folder, *FILES)] if folder is not None else [])


def robot_lines(robot: RobotCheck, folder: Path | None = None) -> list[Line]:
    """Return what was found of a robot: parts, what its file lacks and gets wrong, what next."""
    from ukctrl.analysis.check.robot_report import facts, joint_table

    odd = [finding for finding in robot.findings if finding.level != "note"]
    verdict = ("warnings", "bold yellow") if odd else ("nothing odd", "bold green")
    lines: list[Line] = [[StyledText(sanitise(robot.robot), "bold"), ": ", StyledText(*verdict)]]
    for finding in odd:
        lines += _labelled(finding.level, finding.message)
    lines += [[""], *_facts(facts(robot), 10), "", *table_lines(joint_table(robot)), ""]
    for text in robot.missing:
        lines += _labelled("missing", text)
    for finding in robot.findings:
        if finding.level == "note":
            lines += _labelled("note", finding.message)
    command = "save this as first.toml, then ukctrl check first.toml"
    lines += ["", [StyledText("Next: ", "bold"), command], ""]
    lines += ([f"    {sanitise(line)}"] for line in robot.scenario.splitlines())
    return lines + ([[""], *file_lines(folder, *FILES)] if folder is not None else [])


def _labelled(label: str, text: str, indent: str = "") -> list[Line]:
    return hanging_lines(f"{indent}{label}: ", text, LEVEL_STYLE.get(label.split()[-1], "bold"))


def _facts(facts: Iterable[tuple[str, str]], size: int) -> Iterator[Line]:
    for name, value in facts:
        yield from hanging_lines(f"  {name:<{size}}", value, "cyan")


def _causes(causes: Iterable[RootCause], whole: bool) -> Iterator[Line]:
    """Yield causes, each with what helps, and what follows from it."""
    for cause in causes:
        yield from _labelled(LABELS[cause.level], cause.text)
        yield from _labelled("do", cause.cure, "  ") if cause.cure else ()
        if whole:
            for effect in cause.follows:
                yield from _labelled(f"so {LABELS[effect.level]}", effect.text, "  ")
        elif cause.follows:
            count = len(cause.follows)
            things = "1 consequence" if count == 1 else f"{count} consequences"
            yield [StyledText(f"  {things}: see --all", "dim")]


def _rows(check: Check) -> list[Line]:
    """Return the servo rows at the start."""
    from ukctrl.analysis.check.check_report import row_table

    rows = check.start.rows
    if not rows:
        return []
    table = row_table(rows, check.start.servo.dependent, MAX_ROWS)
    return ["", *table_lines(table), *_count_line(len(rows) - MAX_ROWS)]


def _limit_usage(demands: Feasibility) -> list[Line]:
    """Return what the motion takes, nearest to a limit first."""
    from ukctrl.analysis.check.check_report import use_table

    table, count = use_table(demands, MAX_USAGES)
    return ["", *table_lines(table), *_count_line(count - MAX_USAGES)] if count else []


def _count_line(count: int) -> list[Line]:
    return [[f"  and {count} more that --json lists"]] if count > 0 else []
