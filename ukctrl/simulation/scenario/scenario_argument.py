"""What every function takes that takes a scenario: one, its name, or the path of its file."""

from __future__ import annotations

import os

from ukctrl.core.arguments import argument_error
from ukctrl.core.files import AnyPath, catalog
from ukctrl.simulation.scenario.scenario import Scenario

AnyScenario = Scenario | str | os.PathLike[str]
"""A scenario, its name in the workspace or the catalogue, or the path of its file."""


def as_scenario(scenario: AnyScenario, *, trust: bool = False, name: str = "scenario") -> Scenario:
    """Return the scenario that an argument stands for.

    Args:
        scenario: The argument.
        trust: Whether Python code that its file names may run.
        name: What messages call it.

    Raises:
        ArgumentError: It stands for none.
        InputError: Its file is not there, or not acceptable.
    """
    if isinstance(scenario, Scenario):
        return scenario
    if isinstance(scenario, str | os.PathLike):
        return Scenario.load(scenario, trust=trust)
    raise argument_error(name, "a Scenario, its name, or the path of its file", scenario)


def names_beside(scenario: AnyScenario, beside: AnyPath | None) -> AnyPath | None:
    """Return the file that names are relative to: the scenario's own, where nothing else is said.

    Args:
        scenario: What a function has got as its scenario.
        beside: What is said.
    """
    if beside is None and isinstance(scenario, str | os.PathLike):
        return catalog.find("scenarios", scenario)
    return beside
