"""The robots of a scenario: the true one, and the one that its controller believes in."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ukctrl.core.errors import InputError
from ukctrl.core.files.catalog import find
from ukctrl.core.files.unchanged import Seen, noting, unchanged
from ukctrl.robot import Robot
from ukctrl.simulation.scenario import Believed

Named = str | Mapping[str, Any] | Robot
"""What a scenario says of its robot."""


class _Last(threading.local):
    """The robot that each thread has loaded last: how it was named, where that led, and the files
    that it was made of.
    """

    loaded: tuple[Named, Path, list[Seen], Robot] | None = None


_LAST = _Last()


def true_robot(given: Named) -> Robot:
    """Return the robot that a scenario names, names and changes, or holds.

    The last one of a thread is the same object while its files are what they were, so that what was
    worked out for it holds.
    """
    if isinstance(given, Robot):
        return given
    use, override = _parts(given)
    if _LAST.loaded is not None:
        known, place, files, robot = _LAST.loaded
        if known == given and place == find("robots", use) and unchanged(files):
            return robot
    _LAST.loaded = None
    with noting() as files:
        robot = Robot.load(use, override=override)
    _LAST.loaded = given, find("robots", use), files, robot
    return robot


def _parts(given: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return what a robot is called, and what of its file is replaced."""
    if isinstance(given, Mapping):
        return given["use"], {key: value for key, value in given.items() if key != "use"}
    return given, {}


def believed_robot(robot: Robot, believed: Believed | None) -> Robot:
    """Return the believed robot; the very same object when belief is truth."""
    if believed is None or believed == Believed():
        return robot
    base = robot if believed.robot is None else true_robot(believed.robot)
    for what in ("coordinates", "dofs", "actuators"):
        wanted, came = getattr(robot, what), getattr(base, what)
        if wanted != came:
            raise InputError(
                f"believed robot '{base.name}' must have the {what} of the true one, "
                f"{', '.join(wanted)}; got {', '.join(came)}."
            )
    return believed.apply(base)
