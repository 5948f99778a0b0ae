"""The robots of a scenario: the true one, and the one that its controller believes in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ukctrl.core.errors import InputError
from ukctrl.core.files.catalog import find
from ukctrl.core.remembered import Remembered
from ukctrl.robot import Robot
from ukctrl.simulation.scenario import Believed

MOST_FILES = 100
"""Of the files beside a robot's, so many are looked at for changes."""


def true_robot(given: str | Mapping[str, Any] | Robot) -> Robot:
    """Return the robot that a scenario names, names and changes, or holds."""
    if isinstance(given, Mapping):
        return Robot.load(given["use"], override={k: v for k, v in given.items() if k != "use"})
    return given if isinstance(given, Robot) else Robot.load(given)


def known_robot(given: str | Mapping[str, Any] | Robot, robot: Robot | None) -> Robot:
    """Return the robot that a scenario names, which may have been loaded before."""
    named = given, *_stamps(given)
    if robot is not None:
        _KNOWN.put(named, robot)
    return _KNOWN.get(named, lambda: true_robot(given))


def _stamps(given: str | Mapping[str, Any] | Robot) -> Iterator[tuple[str, int, int]]:
    """Yield what changes where a robot that is given by name does: its file and those beside it."""
    name = given["use"] if isinstance(given, Mapping) else given
    if isinstance(name, str):
        for file in sorted(find("robots", name).parent.iterdir())[:MOST_FILES]:
            if file.is_file():
                known = file.stat()
                yield file.name, known.st_mtime_ns, known.st_size


_KNOWN: Remembered[Robot] = Remembered()


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
