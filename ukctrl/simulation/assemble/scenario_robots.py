"""The robots of a scenario: the true one, and the one that its controller believes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ukctrl.core.caches import LastValueCache
from ukctrl.core.errors import InputError
from ukctrl.core.files.catalog import find
from ukctrl.core.files.file_stamps import FileStamp, is_current, recording_reads
from ukctrl.robot import Robot
from ukctrl.simulation.scenario import BelievedRobot

RobotReference = str | Mapping[str, Any] | Robot
"""What a scenario says of its robot."""


_LOADED: LastValueCache[tuple[list[FileStamp], Robot]] = LastValueCache()
"""The robot that was loaded last, and the files that it was made of."""


def true_robot(reference: RobotReference) -> Robot:
    """Return the robot that a scenario names, names and changes, or holds.

    The last one of a thread is the same object while its files are what they were, so that what was
    worked out for it holds.
    """
    if isinstance(reference, Robot):
        return reference
    use, override = name_and_override(reference)

    def load() -> tuple[list[FileStamp], Robot]:
        with recording_reads() as files:
            return files, Robot.load(use, override=override)

    # with the file: the same name leads elsewhere where another folder has a robot of it
    key = reference, find("robots", use)
    files, robot = _LOADED.get(key, load)
    # a file may have been edited since it was read
    if not is_current(files):
        files, robot = _LOADED.put(key, load())
    return robot


def name_and_override(reference: str | Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return what a robot is called, and what of its file is replaced."""
    if isinstance(reference, Mapping):
        return reference["use"], {key: value for key, value in reference.items() if key != "use"}
    return reference, {}


def believed_robot(robot: Robot, believed: BelievedRobot | None) -> Robot:
    """Return the believed robot; the very same object when belief is truth."""
    # the same object: only then do plant and law share one Dynamics
    if believed is None or believed == BelievedRobot():
        return robot
    base = robot if believed.robot is None else true_robot(believed.robot)
    for quantity in ("coordinates", "dofs", "actuators"):
        true_names, came = getattr(robot, quantity), getattr(base, quantity)
        if true_names != came:
            raise InputError(
                f"believed robot '{base.name}' must have the {quantity} of the true one, "
                f"{', '.join(true_names)}; got {', '.join(came)}."
            )
    return believed.apply(base)
