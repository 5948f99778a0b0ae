"""What a law is started on, kept in a file of plain numbers, and what its machine must have."""

from __future__ import annotations

import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.files.toml import blaming, read_toml
from ukctrl.robot import Robot
from ukctrl.robot.kept_robot import robot_of, robot_table
from ukctrl.simulation.result.plain_files import plain, toml_text, write_atomically

FILE = "belief.toml"


class Belief(NamedTuple):
    """What the law of a scenario is started on."""

    robot: Robot
    """The robot that it believes in."""
    q: Vector
    """Configuration at the start, or where the search for a planned one begins."""
    v: Vector
    """Velocity there."""


def write_belief(belief: Belief | None, packages: Iterable[str], folder: Path) -> None:
    """Write what a law is started on, and the packages that it needs.

    Args:
        belief: It; None: the law is started on what its scenario says.
        packages: Their names.
        folder: Where.

    Raises:
        ModelError: No file can keep the robot.
    """
    needs = [f"{name}=={version(name)}" for name in packages]
    table: dict[str, Any] = {"needs": needs, "python": platform.python_version()}
    if belief is not None:
        table |= {"q": belief.q.tolist(), "v": belief.v.tolist()}
        table["robot"] = plain(robot_table(belief.robot), "robot")
    write_atomically(folder / FILE, toml_text(table).encode())


def read_belief(folder: Path) -> Belief | None:
    """Return what a law is started on; None where its scenario says it.

    Raises:
        InputError: The file is none that was written so, or a package is missing.
    """
    path = folder / FILE
    table = read_toml(path)
    with blaming(path):
        missing = [need for need in table.get("needs", ()) if not _installed(need)]
        if missing:
            raise InputError(
                f"the controller needs {', '.join(missing)}, which this Python does not have. "
                f"Install it, such as by: pip install {' '.join(missing)}"
            )
        if "robot" not in table:
            return None
        robot = robot_of(table["robot"])
        q, v = table.get("q", ()), table.get("v", ())
        return Belief(robot, robot.checked_q(q), robot.checked_v(v))


def _installed(need: str) -> bool:
    try:
        version(need.partition("==")[0])
    except PackageNotFoundError:
        return False
    return True
