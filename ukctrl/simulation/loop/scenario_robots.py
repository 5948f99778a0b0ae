"""The robots of a scenario: the true one, and the one that its controller believes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ukctrl.core.errors import InputError
from ukctrl.core.remembered import Remembered
from ukctrl.robot import Robot
from ukctrl.simulation.scenario import Believed


def true_robot(given: str | Mapping[str, Any] | Robot) -> Robot:
    """Return the robot that a scenario names, names and changes, or holds."""
    if isinstance(given, Mapping):
        return Robot.load(given["use"], override={k: v for k, v in given.items() if k != "use"})
    return given if isinstance(given, Robot) else Robot.load(given)


def known_robot(given: str | Mapping[str, Any] | Robot, robot: Robot | None) -> Robot:
    """Return the robot that a scenario names, which may have been loaded before."""
    if robot is not None:
        _KNOWN.put((given,), robot)
    return _KNOWN.get((given,), lambda: true_robot(given))


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
