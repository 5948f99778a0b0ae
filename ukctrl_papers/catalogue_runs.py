"""Robots, scenarios and runs of the built-in catalogue, for claims.

What the user's workspace calls by the same names does not count here.
"""

from __future__ import annotations

from collections.abc import Mapping

from ukctrl.core.files import catalog
from ukctrl.robot import Robot
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.simulation.simulate import simulate


def catalogue_robot(name: str) -> Robot:
    """Return a robot of the catalogue."""
    return Robot.load(catalog.root() / "robots" / name / "robot.toml")


def catalogue_scenario(name: str, changes: Mapping[str, object] | None = None) -> Scenario:
    """Return a scenario of the catalogue, with changes by path."""
    path = catalog.root() / "scenarios" / f"{name}.toml"
    return Scenario.load(path, dict(changes or {}))


def run_catalogue_scenario(name: str, changes: Mapping[str, object] | None = None) -> Result:
    """Return a run of a scenario of the catalogue, with changes by path.

    Raises:
        KeyboardInterrupt: The run was stopped; no claim is made from half a run.
    """
    result = simulate(catalogue_scenario(name, changes))
    if result.stopped_by_user or result.status == "interrupted":
        raise KeyboardInterrupt
    return result
