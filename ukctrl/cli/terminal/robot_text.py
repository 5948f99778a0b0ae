"""What `check` prints of a robot: its parts, what its file lacks and gets wrong, and what next."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import Line, Part, clean, files, hanging, table_lines

if TYPE_CHECKING:
    from ukctrl.analysis.check.robot_check import RobotCheck

STYLES = {"error": "red", "warning": "yellow"}


def robot_lines(robot: RobotCheck, folder: Path | None = None) -> list[Line]:
    """Return what was found of a robot."""
    doubtful = any(finding.level != "note" for finding in robot.findings)
    verdict = Part("warnings", "bold yellow") if doubtful else Part("nothing odd", "bold green")
    lines: list[Line] = [[Part(clean(robot.robot), "bold"), ": ", verdict]]
    for finding in robot.findings:
        if finding.level != "note":
            label, style = f"{finding.level}: ", STYLES[finding.level]
            lines += hanging(label, finding.message, style)
    lines.append([""])
    from ukctrl.analysis.check.robot_tables import facts, joint_table

    for name, value in facts(robot):
        lines += hanging(f"  {name:<10}", value, "cyan")
    lines += ["", *table_lines(joint_table(robot)), ""]
    for text in robot.missing:
        lines += hanging("missing: ", text, "yellow")
    for finding in robot.findings:
        if finding.level == "note":
            lines += hanging("note: ", finding.message, "bold")
    lines += ["", [Part("Next: ", "bold"), "save this as first.toml, then ukctrl check first.toml"]]
    lines += ["", *([f"    {clean(line)}"] for line in robot.scenario.splitlines())]
    if folder is not None:
        lines += [[""], *files(folder, ("report", "report.html"), ("data", "check.json"))]
    return lines
