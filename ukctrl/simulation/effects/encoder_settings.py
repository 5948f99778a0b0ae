"""Settings of effects: refused where all are zero, and those of the encoders of joints."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.fields import ByName, NumberByName, Quantity
from ukctrl.core.files.toml import error_context
from ukctrl.robot import Robot
from ukctrl.simulation.effects.effect import Effect

EncoderSteps = Annotated[
    NumberByName, ByName(Quantity("rad or m", minimum=0.0, open_minimum=True).read)
]
"""Steps of coordinates, above zero [rad or m]."""


def refuse_zeros(effect: Effect, *names: str) -> None:
    """Refuse an effect that would do nothing, as all of these settings are zero.

    Raises:
        InputError: They are.
    """
    for level in (getattr(effect, name) for name in names):
        if any(level.values()) if isinstance(level, Mapping) else level:
            return
    raise InputError(
        f"must have some {', '.join(names[:-1])} or {names[-1]} that is not zero, or it does "
        "nothing; give one, or remove the effect."
    )


class EncoderSettings(NamedTuple):
    """One-freedom joints with something at their encoders, each of shape ``(k,)``."""

    coordinates: NDArray[np.intp]
    """Where they are in ``q``; of a continuous joint, its cosine."""
    freedoms: NDArray[np.intp]
    """Where they are in ``v``."""
    is_continuous: NDArray[np.bool_]
    """Whether the joint turns without end, ``(cos, sin)``."""
    values: Vector
    """The setting, above zero."""


def encoder_settings(
    robot: Robot, key: str, setting: float | Mapping[str, float]
) -> EncoderSettings:
    """Return the joints whose encoders a setting is about.

    A number holds for every joint with one freedom, and for the motors of elastic joints.

    Raises:
        InputError: There is no such joint, or it has several freedoms and so no encoder.
    """
    at: dict[int, float] = {}
    if isinstance(setting, Mapping):
        with error_context(key):
            for name, value in setting.items():
                dof = robot.structure.dof(name)
                if robot.structure.block_of(dof).nv > 1:
                    raise InputError(f"'{name}' is one of several freedoms and has no encoder.")
                at[dof] = value
    else:
        at = {block.iv: setting for block in robot.blocks if block.nv == 1}
    if not at:
        raise InputError(
            f"{key}: there is nothing to act on; robot '{robot.name}' has no joint with one "
            "freedom, and so no encoder. Remove the effect."
        )
    chosen = [(robot.structure.block_of(dof), at[dof]) for dof in sorted(at) if at[dof] > 0.0]
    return EncoderSettings(
        coordinates=np.array([block.iq for block, _ in chosen], dtype=np.intp),
        freedoms=np.array([block.iv for block, _ in chosen], dtype=np.intp),
        is_continuous=np.array([block.shape == "circle" for block, _ in chosen], dtype=bool),
        values=np.array([value for _, value in chosen], dtype=np.float64),
    )
