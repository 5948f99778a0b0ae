"""Limits of joints from the ``[[limit]]`` tables of a robot's file."""

from __future__ import annotations

from collections.abc import Sequence

from ukctrl.core.errors import InputError
from ukctrl.core.files.toml import blaming
from ukctrl.robot.schema.limit_tables import JointLimit
from ukctrl.robot.structure import Structure


def with_limits(structure: Structure, specs: Sequence[JointLimit]) -> Structure:
    """Return a structure whose joints have the limits that tables say.

    Raises:
        InputError: A joint does not exist, comes twice, or has no position of its own.
    """
    if not specs:
        return structure
    lower, upper = structure.q_lower.copy(), structure.q_upper.copy()
    fastest = structure.velocity_limit.copy()
    seen = set()
    for number, spec in enumerate(specs):
        with blaming(f"limit[{number}]"):
            dof = structure.dof(spec.joint)
            if dof in seen:
                raise InputError(f"joint '{spec.joint}' must have one table; it comes twice.")
            seen.add(dof)
            if spec.velocity is not None:
                fastest[dof] = spec.velocity
            if spec.position is not None:
                block = structure.block_of(dof)
                if block.shape != "line":
                    raise InputError(
                        f"position: joint '{spec.joint}' turns without end, or has several "
                        "freedoms, and has no position limits; give a velocity."
                    )
                at = block.iq + dof - block.iv
                lower[at], upper[at] = spec.position
    return structure.with_limits(lower, upper, fastest)
