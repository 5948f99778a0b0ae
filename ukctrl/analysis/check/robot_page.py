"""The page of `check` of a robot: what its file holds, lacks and gets wrong, with a picture."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

from ukctrl.analysis.check.robot_check import RobotCheck
from ukctrl.analysis.check.robot_tables import (
    facts,
    joint_table,
    loop_table,
    motor_table,
    parted,
    reader_table,
)
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import sentence
from ukctrl.core.verdict import Level, Verdict
from ukctrl.reports import web_page
from ukctrl.reports.scene.from_robot import of_robot
from ukctrl.robot import Robot

LEVELS: dict[str, Level] = {"error": "bad", "warning": "warning", "note": "note"}
AT_LIMITS = 5
"""So many columns of the joints are of their limits; the others, of bodies and losses, go below."""
LEFT_OUT = re.compile(".*not_(read|known)|.*_(told|off)")
"""Codes of what a file says that is not in the model."""


def write_robot(found: RobotCheck, robot: Robot, folder: AnyPath) -> Path:
    """Write `report.html` and `check.json`, each atomically.

    Returns:
        The page.

    Raises:
        InputError: The folder cannot be written to.
    """
    data = json.dumps(found.to_dict(), indent=1, allow_nan=False)
    texts = {"check.json": f"{data}\n", "report.html": html(found, robot)}
    return web_page.write_page("the check", Path(folder), texts, [])


def html(found: RobotCheck, robot: Robot) -> str:
    """Return the page."""
    said = [
        (code, Verdict(LEVELS[level], code.replace("_", " "), sentence(message)))
        for level, code, _, message in found.findings
    ]
    odd = [each for code, each in said if not LEFT_OUT.fullmatch(code)]
    odd += [Verdict("note", "missing", sentence(text)) for text in found.missing]
    left_out = [each for code, each in said if LEFT_OUT.fullmatch(code)]
    grave = Counter(each.level for _, each in said)
    count = grave["bad"] + grave["warning"]
    contents = [("odd", "Audit"), ("scene", "Picture"), ("joints", "Joints")]
    contents += [("motors", "Motors")] if found.motors else []
    contents += [("loops", "Loops")] if found.loops else []
    contents += [("left", "Not in the model"), ("next", "Next")]
    context = {
        "title": robot.title or found.robot,
        "robot": found.robot,
        "level": "warning" if count else "good",
        "verdict": "warnings" if count else "nothing odd",
        "headline": f"Freedoms {next(facts(found))[1]}.",
        "contents": contents,
        "odd": odd,
        "left_out": left_out,
        "facts": list(facts(found, most=1000)),
        "joints": parted(joint_table(found), AT_LIMITS),
        "motors": motor_table(found) if found.motors else None,
        "loops": loop_table(found) if found.loops else None,
        "readings": reader_table(found) if found.readings else None,
        "scenario": web_page.highlight_toml(found.scenario),
    }
    return web_page.render("robot.html.j2", context, web_page.stage(of_robot(robot)))
