"""Units of numbers by name: of a table over joints or motors each entry has that of its own."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator, Mapping

from ukctrl.core.field_checks import WrittenNumber
from ukctrl.core.files.toml import error_context
from ukctrl.robot import Robot
from ukctrl.simulation.scenario import Scenario

LINEAR = {"rad/s": False, "m/s": True, "N m": False, "N": True}
"""Whether a rate or an input is along a line; inputs of other units take either."""
SECTIONS = ("servo", "keep", "effect", "controller", "believed", "sensing")


def check_joint_units(scenario: Scenario, robot: Robot) -> None:
    """Refuse an angle for a joint that slides, a force for one that turns, and so on.

    Raises:
        InputError: An entry of a table by name has the unit of another joint or motor.
    """
    names = (*robot.actuators, *robot.dofs)
    units = dict(zip(names, (*robot.actuator_units, *robot.dof_units), strict=True))
    for section in SECTIONS:
        for path, name, number in _numbers_by_name(getattr(scenario, section), section):
            linear = LINEAR.get(units.get(name, ""))
            if linear is not None:
                with error_context(f"{path}.{name}"):
                    number.check(linear=linear)


def _numbers_by_name(node: object, path: str) -> Iterator[tuple[str, str, WrittenNumber]]:
    """Yield the numbers with text of two possible units in tables below a node, with places."""
    if isinstance(node, Mapping):
        for name, entry in node.items():
            if isinstance(entry, WrittenNumber):
                yield path, name, entry
    elif isinstance(node, list | tuple):
        for k, entry in enumerate(node):
            yield from _numbers_by_name(entry, f"{path}[{k}]")
    elif dc.is_dataclass(node) and not isinstance(node, Robot):
        for field in dc.fields(node):
            yield from _numbers_by_name(getattr(node, field.name), f"{path}.{field.name}")
