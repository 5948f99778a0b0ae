"""Values, configurations and limits given by the names of joints or inputs, spread over arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.files.toml import error_context
from ukctrl.robot.schema.robot_file import JointLimit
from ukctrl.robot.structure import Structure

NO_GROUPS: Mapping[str, Sequence[str]] = MappingProxyType({})


def values_by_name(
    setting: float | Mapping[str, float],
    names: Sequence[str],
    noun: str,
    default: float | None = None,
    groups: Mapping[str, Sequence[str]] = NO_GROUPS,
) -> Vector:
    """Return one value a name, shape ``(len(names),)``.

    Args:
        setting: One value for all, or a table by name.
        names: What there is.
        noun: What messages call one of them, such as ``"actuator"``.
        default: The value where a table names none; None: it must name all.
        groups: Names by the word that stands for all of them in a table; single names go before.

    Raises:
        UnknownName: The table names what there is not.
        InputError: The table leaves out a name.
    """
    if not isinstance(setting, Mapping):
        return np.full(len(names), float(setting))
    for name in setting:
        if name not in names and name not in groups:
            raise unknown_name(noun, name, (*groups, *names))
    values = {name: setting[word] for word in groups if word in setting for name in groups[word]}
    values |= setting
    missing = [name for name in names if name not in values]
    if missing and default is None:
        raise InputError(f"must have a number for every {noun}; '{missing[0]}' is missing.")
    return np.array([values.get(name, default) for name in names], dtype=np.float64)


def joint_values(structure: Structure, setting: float | Mapping[str, float]) -> Vector:
    """Return one value a degree of freedom, shape ``(nv,)``, zero where no joint has it.

    A number holds for every joint with one freedom; motors of elastic joints and joints with
    several freedoms must be named, freedom by freedom.

    Raises:
        InputError: There is no such joint, or it has several freedoms.
    """
    values = np.zeros(structure.nv)
    if isinstance(setting, Mapping):
        for name, value in setting.items():
            values[structure.dof(name)] = value
        return values
    for block in structure.blocks:
        if block.nv == 1 and not block.rotor:
            values[block.iv] = setting
    return values


def freedom_values(structure: Structure, setting: float | Mapping[str, float]) -> Vector:
    """Return one value a degree of freedom, shape ``(nv,)``, zero where a table names none.

    A number holds for every freedom; a table's key is a joint, with all its freedoms, or one
    freedom of it.

    Raises:
        UnknownName: There is no such joint.
    """
    if not isinstance(setting, Mapping):
        return np.full(structure.nv, setting)
    whole = {block.name: slice(block.iv, block.iv + block.nv) for block in structure.blocks}
    values = np.zeros(structure.nv)
    for name, value in setting.items():
        values[whole[name] if name in whole else structure.dof(name)] = value
    return values


def home_configuration(
    structure: Structure, table: Mapping[str, float]
) -> NDArray[np.float64] | None:
    """Return the configuration that a ``[home]`` table gives, or None where it is empty.

    Raises:
        InputError: A coordinate does not exist, or is beyond its limits.
    """
    if not table:
        return None
    with error_context("home"):
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
    fault = structure.unit_norm_fault(q)
    if fault:
        raise InputError(f"{fault}.")
    return structure.normalize(q)


def with_limits(structure: Structure, specs: Sequence[JointLimit]) -> Structure:
    """Return a structure whose joints have the limits that tables say.

    Raises:
        InputError: A joint does not exist, comes twice, or has no position of its own.
    """
    if not specs:
        return structure
    lower, upper = structure.q_lower.copy(), structure.q_upper.copy()
    fastest = structure.velocity_limit.copy()
    dofs = set()
    for number, spec in enumerate(specs):
        with error_context(f"limit[{number}]"):
            dof = structure.dof(spec.joint)
            if dof in dofs:
                raise InputError(f"joint '{spec.joint}' must have one table; it comes twice.")
            dofs.add(dof)
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
