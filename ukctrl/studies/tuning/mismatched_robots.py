"""Robots around the one of the file, which nobody knows exactly."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukctrl.simulation.effects import Mismatch
from ukctrl.simulation.loop.closed_loop import true_robot
from ukctrl.simulation.scenario import Scenario

NAME = "robustness"
"""The name of the effect, by which its random numbers go; a scenario's own effects keep theirs."""


def mismatches(scenario: Scenario, levels: Sequence[float]) -> dict[float, Mismatch]:
    """Return the effect for each level: masses and inertias are off by up to that fraction.

    A robot of formulas has no bodies; its parameters are off instead.

    Raises:
        InputError: The robot has neither.
    """
    if not levels:
        return {}
    robot = true_robot(scenario.robot)
    effects = {
        level: Mismatch(name=NAME, parameters=level)
        if robot.parameters
        else Mismatch(name=NAME, mass=level, inertia=level)
        for level in levels
    }
    for effect in effects.values():
        effect.altered(robot, scenario.start.t, np.random.default_rng(scenario.seed))
    return effects


def with_mismatch(scenario: Scenario, effect: Mismatch) -> Scenario:
    """Return the scenario with a true robot that is off; what is believed stays."""
    return scenario.replace({"effect": (effect, *scenario.effect)})
