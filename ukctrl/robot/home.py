"""Configurations by the names of their coordinates, and the one at which a robot is at home."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.files.toml import blaming
from ukctrl.robot.structure import Structure

UNIT = 1e-3
"""A quaternion further off unit length than this is no rotation."""


def home_of(structure: Structure, table: Mapping[str, float]) -> NDArray[np.float64] | None:
    """Return the configuration that a ``[home]`` table gives, or None where it is empty.

    Raises:
        InputError: A coordinate does not exist, or is beyond its limits.
    """
    if not table:
        return None
    with blaming("home"):
        return configuration(structure, table)


def configuration(structure: Structure, table: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the configuration that a table of coordinates gives, shape ``(nq,)``.

    What the table leaves out is neutral. A continuous joint may be given by its angle.

    Raises:
        InputError: A coordinate does not exist, or is beyond its limits.
    """
    q = structure.neutral
    names = structure.coordinates
    for name, value in table.items():
        if f"{name}_cos" in names:
            q[names.index(f"{name}_cos")] = math.cos(value)
            q[names.index(f"{name}_sin")] = math.sin(value)
            continue
        if name not in names:
            raise unknown_name("coordinate", name, names)
        at = names.index(name)
        lower, upper = structure.q_lower[at], structure.q_upper[at]
        if not lower <= value <= upper:
            raise InputError(
                f"{name} must be within its limits, {lower:.4g} to {upper:.4g}; got {value:.4g}."
            )
        q[at] = value
    for block in structure.blocks:
        at_rotation = [block.iq + i for i, u in enumerate(block.coordinate_units) if u in ("", "1")]
        length = float(np.linalg.norm(q[at_rotation]))
        if at_rotation and abs(length - 1.0) > UNIT:
            listed = ", ".join(names[i] for i in at_rotation)
            raise InputError(f"{listed} must have unit length; got {length:.4g}.")
    return structure.normalize(q)
