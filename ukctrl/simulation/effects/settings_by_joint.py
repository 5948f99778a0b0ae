"""Settings by joint, coordinate or actuator, spread over arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import WithJsonSchema

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.fields import Quantity
from ukctrl.core.files.toml import blaming
from ukctrl.robot import Robot
from ukctrl.robot import by_joint as joint_settings
from ukctrl.robot.by_joint import EACH, all_or_each

# Each is a number for all, or a table of them by name.
Deviations = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("rad or m", minimum=0.0).read),
    WithJsonSchema(EACH),
]
"""Deviations of coordinates, zero or above [rad or m]."""
RateDeviations = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("rad/s or m/s", minimum=0.0).read),
    WithJsonSchema(EACH),
]
"""Deviations of velocities, zero or above [rad/s or m/s]."""
Offsets = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("rad or m").read),
    WithJsonSchema(EACH),
]
"""Steps of coordinates, of either sign [rad or m]."""
RateOffsets = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("rad/s or m/s").read),
    WithJsonSchema(EACH),
]
"""Steps of velocities, of either sign [rad/s or m/s]."""
Steps = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("rad or m", minimum=0.0, open_minimum=True).read),
    WithJsonSchema(EACH),
]
"""Steps of coordinates, above zero [rad or m]."""
Bounding = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("N m or N", minimum=0.0, open_minimum=True).read),
    WithJsonSchema(EACH),
]
"""Bounds of inputs, above zero [N m or N]."""
Slopes = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("N m/s or N/s", minimum=0.0, open_minimum=True).read),
    WithJsonSchema(EACH),
]
"""Rates of inputs, above zero [N m/s or N/s]."""


def by_freedom(robot: Robot, key: str, given: float | Mapping[str, float]) -> Vector:
    """Return one value a degree of freedom, shape ``(nv,)``, zero where a table names none.

    A number holds for every freedom; a table's key is a joint, with all its freedoms, or one
    freedom of it.

    Raises:
        UnknownName: There is no such joint.
    """
    if not isinstance(given, Mapping):
        return np.full(robot.nv, given)
    values: Vector = np.zeros(robot.nv)
    with blaming(key):
        for name, value in given.items():
            values[_freedoms(robot, name)] = value
    return values


def _freedoms(robot: Robot, name: str) -> slice | int:
    for block in robot.blocks:
        if name == block.name and block.nv > 1:
            return slice(block.iv, block.iv + block.nv)
    return robot.structure.dof(name)


def by_joint(robot: Robot, key: str, given: float | Mapping[str, float]) -> Vector:
    """Return one value a degree of freedom, shape ``(nv,)``, zero where no joint has it.

    A number holds for every joint with one freedom; motors of elastic joints and joints with
    several freedoms must be named.

    Raises:
        InputError: There is no such joint, or it has several freedoms.
    """
    with blaming(key):
        return joint_settings.by_joint(robot.structure, given)


def refuse_zeros(**levels: float | Mapping[str, float] | None) -> None:
    """Refuse an effect that would do nothing.

    Raises:
        InputError: All of its levels are zero.
    """
    for level in levels.values():
        if any(level.values()) if isinstance(level, Mapping) else level:
            return
    names = list(levels)
    choice = f"{', '.join(names[:-1])} or {names[-1]}"
    raise InputError(
        f"must have some {choice} that is not zero, or it does nothing; give one, or remove the "
        "effect."
    )


class Encoders(NamedTuple):
    """One-freedom joints with something at their encoders, each of shape ``(k,)``."""

    coordinates: NDArray[np.intp]
    """Where they are in ``q``; of a continuous joint, its cosine."""
    freedoms: NDArray[np.intp]
    """Where they are in ``v``."""
    round: NDArray[np.bool_]
    """Whether the joint turns without end, ``(cos, sin)``."""
    values: Vector
    """The setting, above zero."""

    def angles(self, q: Vector) -> Vector:
        """Return the angles or positions at a configuration."""
        angles: Vector = q[self.coordinates]
        if self.round.any():
            at = self.coordinates[self.round]
            angles[self.round] = np.arctan2(q[at + 1], q[at])
        return angles


def encoders(robot: Robot, key: str, given: float | Mapping[str, float]) -> Encoders:
    """Return the joints whose encoders a setting is about.

    A number holds for every joint with one freedom, and for the motors of elastic joints.

    Raises:
        InputError: There is no such joint, or it has several freedoms and so no encoder.
    """
    at: dict[int, float] = {}
    if isinstance(given, Mapping):
        with blaming(key):
            for name, value in given.items():
                dof = robot.structure.dof(name)
                if robot.structure.block_of(dof).nv > 1:
                    raise InputError(f"'{name}' is one of several freedoms and has no encoder.")
                at[dof] = value
    else:
        at = {block.iv: given for block in robot.blocks if block.nv == 1}
    if not at:
        raise InputError(
            f"{key}: there is nothing to act on; robot '{robot.name}' has no joint with one "
            "freedom, and so no encoder. Remove the effect."
        )
    chosen = [(robot.structure.block_of(dof), at[dof]) for dof in sorted(at) if at[dof] > 0.0]
    return Encoders(
        coordinates=np.array([block.iq for block, _ in chosen], dtype=np.intp),
        freedoms=np.array([block.iv for block, _ in chosen], dtype=np.intp),
        round=np.array([block.shape == "circle" for block, _ in chosen], dtype=bool),
        values=np.array([value for _, value in chosen], dtype=np.float64),
    )


def by_actuator(
    robot: Robot, key: str, given: float | Mapping[str, float], default: float
) -> Vector:
    """Return one value an actuator, shape ``(nu,)``; ``default`` where a table names none.

    Raises:
        UnknownName: There is no such actuator.
    """
    if not isinstance(given, Mapping):
        return np.full(robot.nu, given)
    values: Vector = np.full(robot.nu, default)
    with blaming(key):
        for name, value in given.items():
            if name not in robot.actuators:
                raise unknown_name("actuator", name, robot.actuators)
            values[robot.actuators.index(name)] = value
    return values
