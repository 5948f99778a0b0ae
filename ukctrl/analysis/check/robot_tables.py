"""Tables of a look at a robot, for the terminal and the page."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ukctrl.analysis.check.robot_check import JointCheck, RobotCheck
from ukctrl.reports.report_table import ReportTable, TableColumn, first_columns

LOSS_COLUMNS = ("damping", "friction", "armature")
"""What of a joint has a column where any has it."""
MAX_FRAMES = 12
"""Of more frames the last are named, where tools are."""


def facts(robot: RobotCheck, most: int = MAX_FRAMES) -> Iterator[tuple[str, str]]:
    """Yield what a robot has, as names and texts."""
    yield (
        "freedoms",
        f"{robot.freedoms}, mobility {robot.mobility}, motors: {len(robot.motors) or 'none'}",
    )
    if not math.isnan(robot.mass):
        yield "mass", f"{robot.mass:.4g} kg"
    frames = list(robot.frames)
    more = len(frames) - most
    frames[:more] = [f"{more} more, ..."] if more > 0 else []
    if frames:
        yield "frames", ", ".join(frames)


def joint_table(robot: RobotCheck) -> ReportTable:
    """Return what the file says of every freedom; losses and armature where there are any."""
    more = [name for name in LOSS_COLUMNS if any(getattr(joint, name) for joint in robot.joints)]
    columns = [
        TableColumn("joint", "name"),
        TableColumn("range", "text"),
        TableColumn("speed"),
        TableColumn("motor", "text"),
        *map(TableColumn, ("largest", "mass")),
        TableColumn("moments of inertia", "text"),
        *map(TableColumn, more),
    ]
    return ReportTable.from_rows(columns, [_joint(joint, more) for joint in robot.joints])


def split_table(table: ReportTable, count: int) -> tuple[ReportTable, ReportTable]:
    """Return a table of the first columns, and one of the others beside the first of all."""
    columns = [0, *range(count, len(table.columns))]
    rows = [[row[k] for k in columns] for row in table.rows]
    return first_columns(table, count), ReportTable([table.columns[k] for k in columns], rows)


def _joint(joint: JointCheck, more: Sequence[str]) -> list[str]:
    unit = joint.unit.removesuffix("/s")
    effort, inertia = ("N", "kg") if unit == "m" else ("N m", "kg m^2")
    ends = [f"{end:.4g}" if math.isfinite(end) else "..." for end in (joint.lower, joint.upper)]
    free = not any(map(math.isfinite, (joint.lower, joint.upper)))
    bodies = not math.isnan(joint.mass) and bool(joint.moments)
    units = {"damping": f"{effort} s/{unit}", "friction": effort, "armature": inertia}
    shown = [(getattr(joint, name), units[name]) for name in more]
    return [
        joint.name,
        "free" if free else f"{' to '.join(ends)} {unit}",
        f"{joint.fastest:.4g} {joint.unit}" if math.isfinite(joint.fastest) else "-",
        ", ".join(joint.motors) or "none",
        f"{joint.effort:.4g} {effort}" if math.isfinite(joint.effort) else "-",
        f"{joint.mass:.4g} kg" if bodies else "",
        f"{', '.join(f'{moment:.2g}' for moment in joint.moments)} kg m^2" if bodies else "",
        *(f"{value:.4g} {of}" if value else "-" for value, of in shown),
    ]


def motor_table(robot: RobotCheck) -> ReportTable:
    """Return what every input pushes on, and its limits."""
    columns = (
        TableColumn("motor", "name"),
        TableColumn("pushes on", "text"),
        TableColumn("least"),
        TableColumn("most"),
    )
    rows = [
        [
            motor.name,
            motor.pushes,
            *(_limit_text(end, motor.unit) for end in (motor.low, motor.high)),
        ]
        for motor in robot.motors
    ]
    return ReportTable.from_rows(columns, rows)


def _limit_text(end: float, unit: str) -> str:
    return f"{end:.4g} {unit}" if math.isfinite(end) else "-"


def loop_table(robot: RobotCheck) -> ReportTable:
    """Return what passive constraints hold."""
    columns = (
        TableColumn("constraint", "name"),
        TableColumn("kind", "text"),
        TableColumn("between", "text"),
    )
    return ReportTable.from_rows(columns, [list(loop) for loop in robot.loops])


def reader_table(robot: RobotCheck) -> ReportTable:
    """Return how others read what is in this file, where readers are known to differ."""
    heads = ("ukctrl", "Pinocchio 4.1", "MuJoCo 4.0", "Drake 1.51")
    columns = (TableColumn("of the file", "text"), *(TableColumn(head, "text") for head in heads))
    return ReportTable.from_rows(columns, [list(reading) for reading in robot.readings])
