"""What `check` prints of a robot: its parts, what its file lacks and gets wrong, and what next."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import Line, Part, clean, hanging, table_lines

if TYPE_CHECKING:
    from ukctrl.analysis.check.robot_check import Joint, RobotCheck

MOST_FRAMES = 12
"""Of more frames the last are named, where tools are."""
STYLES = {"error": "red", "warning": "yellow"}


def robot_lines(robot: RobotCheck) -> list[Line]:
    """Return what was found of a robot."""
    doubtful = any(finding.level != "note" for finding in robot.findings)
    verdict = Part("warnings", "bold yellow") if doubtful else Part("nothing odd", "bold green")
    lines: list[Line] = [[Part(clean(robot.robot), "bold"), ": ", verdict]]
    for finding in robot.findings:
        if finding.level != "note":
            label, style = f"{finding.level}: ", STYLES[finding.level]
            lines += hanging(label, finding.message, style)
    lines.append([""])
    for name, value in _facts(robot):
        lines += hanging(f"  {name:<10}", value, "cyan")
    lines += ["", *_joints(robot), ""]
    for text in robot.missing:
        lines += hanging("missing: ", text, "yellow")
    for finding in robot.findings:
        if finding.level == "note":
            lines += hanging("note: ", finding.message, "bold")
    lines += ["", [Part("Next: ", "bold"), "save this as first.toml, then ukctrl check first.toml"]]
    lines += ["", *([f"    {clean(line)}"] for line in robot.scenario.splitlines())]
    return lines


def _facts(robot: RobotCheck) -> Iterator[tuple[str, str]]:
    motors = list(dict.fromkeys(name for joint in robot.joints for name in joint.motors))
    yield (
        "freedoms",
        f"{robot.freedoms}, mobility {robot.mobility}, motors: {len(motors) or 'none'}",
    )
    if not math.isnan(robot.mass):
        yield "mass", f"{robot.mass:.4g} kg"
    frames = list(robot.frames)
    more = len(frames) - MOST_FRAMES
    frames[:more] = [f"{more} more, ..."] if more > 0 else []
    if frames:
        yield "frames", ", ".join(frames)


def _joints(robot: RobotCheck) -> list[Line]:
    from ukctrl.reports.table import Column, Table

    columns = [
        Column("joint", "name"),
        Column("range", "text"),
        Column("speed"),
        Column("motor", "text"),
        *map(Column, ("largest", "mass")),
        Column("moments of inertia", "text"),
    ]
    return table_lines(Table.of(columns, [_cells(joint) for joint in robot.joints]))


def _cells(joint: Joint) -> list[str]:
    unit = joint.unit.removesuffix("/s")
    effort = "N" if unit == "m" else "N m"
    ends = [f"{end:.4g}" if math.isfinite(end) else "..." for end in (joint.lower, joint.upper)]
    free = not any(map(math.isfinite, (joint.lower, joint.upper)))
    bodies = not math.isnan(joint.mass) and bool(joint.moments)
    return [
        joint.name,
        "free" if free else f"{' to '.join(ends)} {unit}",
        f"{joint.fastest:.4g} {joint.unit}" if math.isfinite(joint.fastest) else "-",
        ", ".join(joint.motors) or "none",
        f"{joint.effort:.4g} {effort}" if math.isfinite(joint.effort) else "-",
        f"{joint.mass:.4g} kg" if bodies else "",
        f"{', '.join(f'{moment:.2g}' for moment in joint.moments)} kg m^2" if bodies else "",
    ]
