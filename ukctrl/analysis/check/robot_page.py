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
    reader_table,
    split_table,
)
from ukctrl.core.files import AnyPath
from ukctrl.core.number_text import sentence
from ukctrl.core.verdict import Level, Verdict
from ukctrl.reports import html_page
from ukctrl.reports.scene.robot_scene import robot_scene
from ukctrl.robot import Robot

LEVELS: dict[str, Level] = {"error": "bad", "warning": "warning", "note": "note"}
LIMIT_COLUMNS = 5
"""So many columns of the joints are of their limits; the others, of bodies and losses, go below."""
IGNORED_CODES = re.compile(".*not_(read|known)|.*_(told|off)")
"""Codes of what a file says that is not in the model."""


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
        "loops": loop_table(check) if check.loops else None,
        "readings": reader_table(check) if check.readings else None,
        "scenario": html_page.highlight_toml(check.scenario),
    }
    return html_page.render("robot.html.j2", context, html_page.embed_scene(robot_scene(robot)))
