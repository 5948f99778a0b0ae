"""What `check` found of a robot, for people: facts and tables, and a page with a picture."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ukctrl.analysis.check.robot_check import JointCheck, RobotCheck
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import sentence
from ukctrl.core.verdict import Level, Verdict
from ukctrl.reports import html_page
from ukctrl.reports.report_table import Kind, ReportTable, TableColumn, first_columns
from ukctrl.reports.scene.robot_scene import robot_scene
from ukctrl.robot import Robot

LOSS_COLUMNS = ("damping", "friction", "armature")
"""What of a joint has a column where any has it."""
MAX_FRAMES = 12
"""Of more frames the last are named, where tools are."""
LEVELS: dict[str, Level] = {"error": "bad", "warning": "warning", "note": "note"}
LIMIT_COLUMNS = 5
"""So many columns of the joints are of their limits; the others, of bodies and losses, go below."""
IGNORED_CODES = re.compile(".*not_(read|known)|.*_(told|off)")
"""Codes of what a file says that is not in the model."""
READERS = ("of the file", "ukctrl", "Pinocchio 4.1", "MuJoCo 4.0", "Drake 1.51")
"""How others read what is in a file, where readers are known to differ."""


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
    columns = [TableColumn(*head) for head in (("motor", "name"), ("pushes on", "text"))]
    columns += map(TableColumn, ("least", "most"))
    rows = (
        [
            motor.name,
            motor.pushes,
            *(
                f"{end:.4g} {motor.unit}" if math.isfinite(end) else "-"
                for end in (motor.low, motor.high)
            ),
        ]
        for motor in robot.motors
    )
    return ReportTable.from_rows(columns, rows)


def text_table(rows: Iterable[tuple[str, ...]], first: Kind, *heads: str) -> ReportTable:
    """Return a table of texts, the first of names or texts."""
    columns = [TableColumn(heads[0], first), *(TableColumn(head, "text") for head in heads[1:])]
    return ReportTable.from_rows(columns, rows)


def write_robot(check: RobotCheck, robot: Robot, folder: AnyPath) -> Path:
    """Write `report.html` and `check.json`, each atomically.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written to.
    """
    data = json.dumps(check.to_dict(), indent=1, allow_nan=False)
    texts = {"check.json": f"{data}\n", "report.html": html(check, robot)}
    return html_page.write_page("the check", Path(folder), texts, [])


def html(check: RobotCheck, robot: Robot) -> str:
    """Return the page."""
    verdicts = [
        (code, Verdict(LEVELS[level], code.replace("_", " "), sentence(message)))
        for level, code, _, message in check.findings
    ]
    odd = [verdict for code, verdict in verdicts if not IGNORED_CODES.fullmatch(code)]
    odd += [Verdict("note", "missing", sentence(text)) for text in check.missing]
    left_out = [verdict for code, verdict in verdicts if IGNORED_CODES.fullmatch(code)]
    grave = Counter(verdict.level for _, verdict in verdicts)
    count = grave["bad"] + grave["warning"]
    contents = [("odd", "Audit"), ("scene", "Picture"), ("joints", "Joints")]
    contents += [("motors", "Motors")] if check.motors else []
    contents += [("loops", "Loops")] if check.loops else []
    contents += [("left", "Not in the model"), ("next", "Next")]
    context = {
        "title": robot.title or check.robot,
        "robot": check.robot,
        "level": "warning" if count else "good",
        "verdict": "warnings" if count else "nothing odd",
        "headline": f"Freedoms {next(facts(check))[1]}.",
        "contents": contents,
        "odd": odd,
        "left_out": left_out,
        "facts": list(facts(check, most=1000)),
        "joints": split_table(joint_table(check), LIMIT_COLUMNS),
        "motors": motor_table(check) if check.motors else None,
        "loops": text_table(check.loops, "name", "constraint", "kind", "between")
        if check.loops
        else None,
        "readings": text_table(check.readings, "text", *READERS) if check.readings else None,
        "scenario": html_page.highlight_toml(check.scenario),
    }
    return html_page.render("robot.html.j2", context, html_page.embed_scene(robot_scene(robot)))
