"""Settings that are one value for all joints, or a table of values by joint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, WithJsonSchema

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Quantity

if TYPE_CHECKING:
    from ukctrl.robot.structure import Structure

NUMBER = {"anyOf": [{"type": "number"}, {"type": "string"}]}
"""JSON Schema of a number in a file."""
EACH = {"anyOf": [*NUMBER["anyOf"], {"type": "object", "additionalProperties": NUMBER}]}
"""JSON Schema of a number for all joints, or of a table by joint."""


def all_or_each(read: Callable[[object], Any]) -> BeforeValidator:
    """Validate one value for all joints, or a table of values by joint."""

    def validate(value: object) -> Any:
        if not isinstance(value, Mapping):
            return read(value)
        table = {}
        for key, entry in value.items():
            try:
                table[str(key)] = read(entry)
            except InputError as error:
                raise InputError(f"{key}: {error}") from None
        return table

    return BeforeValidator(validate)


Efforts = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("N m or N", minimum=0.0).read),
    WithJsonSchema(EACH),
]
"""Torques or forces, zero or above, for all joints, or a table of them by joint [N m or N]."""
Dampings = Annotated[
    float | dict[str, float],
    all_or_each(Quantity("N m s/rad or N s/m", minimum=0.0).read),
    WithJsonSchema(EACH),
]
"""Damping, zero or above, for all joints, or a table of it by joint [N m s/rad or N s/m]."""


def by_joint(structure: Structure, given: float | Mapping[str, float]) -> NDArray[np.float64]:
    """Return one value a degree of freedom, shape ``(nv,)``, zero where no joint has it.

    A number holds for every joint with one freedom; motors of elastic joints and joints with
    several freedoms must be named.

    Raises:
        InputError: There is no such joint, or it has several freedoms.
    """
    values = np.zeros(structure.nv)
    if isinstance(given, Mapping):
        for name, value in given.items():
            values[structure.dof(name)] = value
        return values
    for block in structure.blocks:
        if block.nv == 1 and not block.rotor:
            values[block.iv] = given
    return values
