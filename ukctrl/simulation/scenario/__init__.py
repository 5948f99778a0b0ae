"""One experiment: the typed schema of ``scenarios/*.toml``.

The dataclasses are the file format, and their docstrings its documentation. Python users build
the same objects directly; then ``robot`` may be a `Robot`, and a constraint or controller any
subclass of `Constraint` or `Controller`.

In order:

1. ``scenario_tables``: start, timing, integrator, belief, monitor.
2. ``resolve_table``: from what a file says to one whole table.
3. ``scenario``: the tables together, what they must not say together, and the way back to a table.
4. ``scenario_argument``: what functions take that take a scenario. ``part_kinds``: what a file may
   name.
"""

from __future__ import annotations

from ukctrl.simulation.scenario.scenario import Scenario
from ukctrl.simulation.scenario.scenario_argument import AnyScenario, as_scenario
from ukctrl.simulation.scenario.scenario_tables import (
    BelievedRobot,
    IntegratorOptions,
    Monitor,
    Stabilisation,
    StartState,
    Timing,
)

__all__ = [
    "AnyScenario",
    "BelievedRobot",
    "IntegratorOptions",
    "Monitor",
    "Scenario",
    "Stabilisation",
    "StartState",
    "Timing",
    "as_scenario",
]
