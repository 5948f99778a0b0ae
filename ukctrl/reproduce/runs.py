"""Robots and runs of the built-in catalogue, for claims.

What the user's workspace calls by the same names does not count here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ukctrl import catalog
from ukctrl.result import Result
from ukctrl.robot import Robot
from ukctrl.scenario import Scenario
from ukctrl.simulation import simulate


def scenario_file(name: str) -> Path:
    """Return the file of a scenario of the catalogue."""
    return catalog.root() / "scenarios" / f"{name}.toml"


def simulated(scenario: str, changes: Mapping[str, object] | None = None) -> Result:
    """Return a run of a scenario of the catalogue.

    Raises:
        KeyboardInterrupt: The run was stopped; no claim is made from half a run.
    """
    result = simulate(Scenario.load(scenario_file(scenario), dict(changes or {})))
    if result.status == "interrupted":
        raise KeyboardInterrupt
    return result


def robot(name: str) -> Robot:
    """Return a robot of the catalogue."""
    return Robot.load(catalog.root() / "robots" / name / "robot.toml")
