"""A robot as the table of a file, with its arrays to their last bit, and back.

Names, numbers and arrays alone: nothing in such a table is executed, and nothing is worked out
anew, so that neither Pinocchio nor the files of the robot are needed to read it.
"""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from typing import Any

import numpy as np

from ukctrl.core.errors import ModelError
from ukctrl.core.expression.symbolic import Vocabulary
from ukctrl.robot.actuators import (
    Actuation,
    FormulaColumn,
    TorqueColumn,
    WrenchColumn,
)
from ukctrl.robot.elastic import ElasticJoints
from ukctrl.robot.forces import (
    BodySprings,
    Carried,
    Dampers,
    Fluid,
    Forces,
    FrameSpring,
    Friction,
    Given,
    JointSprings,
    UnevenJoints,
)
from ukctrl.robot.interface import Site
from ukctrl.robot.kept_shapes import refuse_misfits
from ukctrl.robot.layout import Block
from ukctrl.robot.motor import InputBounds
from ukctrl.robot.rigid_arrays import Bodies, KeptStructure, RigidStructure
from ukctrl.robot.robot import Robot
from ukctrl.robot.tree_kernels import Tree

PARTS: Mapping[str, Any] = {
    part.__name__: part
    for part in (
        Actuation, Block, Bodies, BodySprings, Carried, Dampers, ElasticJoints, Fluid, Forces,
        FormulaColumn, FrameSpring, Friction, Given, InputBounds, JointSprings, KeptStructure,
        Site, TorqueColumn, Tree, UnevenJoints, Vocabulary, WrenchColumn,
    )
}  # fmt: skip
"""What a robot may be made of, by the name that a table gives it."""
NUMBERS = {"floats": np.float64, "whole": np.int64, "flags": np.bool_}
"""What an array may hold, by its key in a table."""
LETTERS = {"f": "floats", "i": "whole", "b": "flags"}
"""The same, by NumPy's letter."""

LARGEST = 400_000
"""Most numbers of a matrix: 2 MB of text, half of what a TOML file may have."""


def robot_table(robot: Robot) -> dict[str, Any]:
    """Return a robot of rigid bodies as text, numbers, lists and tables.

    Raises:
        ModelError: It has no bodies, or a part in Python of a user's own.
    """
    structure = robot.structure
    if not isinstance(structure, RigidStructure):
        raise ModelError(f"robot '{robot.name}' is made of formulas or functions, not of arrays.")
    if robot.actuation.constant.size > LARGEST:
        raise ModelError(f"robot '{robot.name}' is too large for a file of text.")
    bodies = structure.bodies, structure.tree
    arrays = KeptStructure(structure.blocks, bodies, structure.neutral)
    parts = {"structure": arrays, "actuation": robot.actuation, "forces": robot.forces}
    if robot.home is not None:
        parts["home"] = robot.home
    table = {key: _told(part, robot.name) for key, part in parts.items()}
    named = {"name": robot.name, "title": robot.title, "source": robot.source}
    return {**named, "passive": [dict(one) for one in robot.passive], **table}


def robot_of(table: Mapping[str, Any]) -> Robot:
    """Return the robot of a table that `robot_table` made.

    Raises:
        ModelError: It has not made this one.
    """
    try:
        wanted = ("structure", "actuation", "forces", *(["home"] if "home" in table else ()))
        parts = {key: _made(table[key]) for key in wanted}
        springs = (term for term in parts["forces"].terms if isinstance(term, ElasticJoints))
        named = {key: table[key] for key in ("name", "title", "source")}
        passive = tuple(table["passive"])
        robot = Robot(**named, **parts, passive=passive, elastic=next(springs, None))
        refuse_misfits(robot)
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"it is no kept robot: {error!r}.") from None
    return robot


def _told(value: Any, robot: str) -> Any:
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), LETTERS[value.dtype.kind]: value.ravel().tolist()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str | int | float):
        return value
    kind = type(value).__name__
    if PARTS.get(kind) is type(value):
        names = (
            [field.name for field in dc.fields(value)] if dc.is_dataclass(value) else value._fields
        )
        return {"is": kind, **{name: _told(getattr(value, name), robot) for name in names}}
    if isinstance(value, tuple | list):
        return [_told(entry, robot) for entry in value]
    raise ModelError(f"robot '{robot}' has a part in Python, a {kind}, which no file can keep.")


def _made(value: Any) -> Any:
    if isinstance(value, Mapping):
        if "is" in value:
            fields = {key: _made(entry) for key, entry in value.items() if key != "is"}
            return PARTS[value["is"]](**fields)
        ((key, numbers),) = ((key, value[key]) for key in value if key != "shape")
        return np.array(numbers, dtype=NUMBERS[key]).reshape(value["shape"])
    return tuple(_made(entry) for entry in value) if isinstance(value, list) else value
