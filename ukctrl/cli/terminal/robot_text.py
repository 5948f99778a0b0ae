"""What `check` prints of a robot: its parts, what its file lacks and gets wrong, and what next."""

from __future__ import annotations

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
    from ukctrl.analysis.check.robot_check import RobotCheck

STYLES = {"error": "red", "warning": "yellow"}


def robot_lines(robot: RobotCheck, folder: Path | None = None) -> list[Line]:
    """Return what was found of a robot."""
    doubtful = any(finding.level != "note" for finding in robot.findings)
    verdict = (
        StyledText("warnings", "bold yellow")
        if doubtful
        else StyledText("nothing odd", "bold green")
    )
    lines: list[Line] = [[StyledText(sanitise(robot.robot), "bold"), ": ", verdict]]
    for finding in robot.findings:
        if finding.level != "note":
            label, style = f"{finding.level}: ", STYLES[finding.level]
            lines += hanging_lines(label, finding.message, style)
    lines.append([""])
    from ukctrl.analysis.check.robot_tables import facts, joint_table

    for name, value in facts(robot):
        lines += hanging_lines(f"  {name:<10}", value, "cyan")
    lines += ["", *table_lines(joint_table(robot)), ""]
    for text in robot.missing:
        lines += hanging_lines("missing: ", text, "yellow")
    for finding in robot.findings:
        if finding.level == "note":
            lines += hanging_lines("note: ", finding.message, "bold")
    lines += [
        "",
        [StyledText("Next: ", "bold"), "save this as first.toml, then ukctrl check first.toml"],
    ]
    lines += ["", *([f"    {sanitise(line)}"] for line in robot.scenario.splitlines())]
    if folder is not None:
        lines += [[""], *file_lines(folder, ("report", "report.html"), ("data", "check.json"))]
    return lines
