"""One value for all joints, or a table by joint, spread over the degrees of freedom."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.robot.structure import Structure


def by_joint(structure: Structure, given: float | Mapping[str, float]) -> Vector:
    """Return one value a degree of freedom, shape ``(nv,)``, zero where no joint has it.

    A number holds for every joint with one freedom; motors of elastic joints and joints with
    several freedoms must be named, freedom by freedom.

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


def by_freedom(structure: Structure, given: float | Mapping[str, float]) -> Vector:
    """Return one value a degree of freedom, shape ``(nv,)``, zero where a table names none.

    A number holds for every freedom; a table's key is a joint, with all its freedoms, or one
    freedom of it.

    Raises:
        UnknownName: There is no such joint.
    """
    if not isinstance(given, Mapping):
        return np.full(structure.nv, given)
    whole = {
        block.name: slice(block.iv, block.iv + block.nv)
        for block in structure.blocks
        if block.nv > 1
    }
    values = np.zeros(structure.nv)
    for name, value in given.items():
        values[whole[name] if name in whole else structure.dof(name)] = value
    return values
