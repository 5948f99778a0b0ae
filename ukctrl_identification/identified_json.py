"""The file ``identified.json``: what a fit says of a robot, and how well it knows it.

| key | content |
|---|---|
| ``parameters`` | a list of tables: ``joint``, ``name``, ``value``, ``deviation``, ``unit`` |
| ``covariance`` | of the parameters in the order of that list, row by row |
| ``constants`` | likewise without deviation: what of friction the fit took as given |

The ``joint`` of armature and friction is a velocity, that of ``stiffness`` and ``damping`` an
elastic joint. Other keys, such as ``validation``, are not
read here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import InputError, ShapeError
from ukctrl.core.fields import NonNegative, Number, Text, spec
from ukctrl.core.files import AnyPath
from ukctrl.core.files.file_stamps import record_read
from ukctrl.core.files.toml import error_context, read_spec
from ukctrl.robot import Robot
from ukctrl.simulation.result.atomic_files import write_atomically
from ukctrl_identification.identified_dynamics import (
    BODY_PARAMETERS,
    SPRINGS,
    DofFriction,
    IdentifiedDynamics,
)
from ukctrl_identification.identified_spread import (
    FRICTION,
    parameter_names,
    stacked_parameters,
)

FILE = "identified.json"
MAX_BYTES = 64 * 2**20
"""Larger files are refused: a robot of 100 bodies has a covariance of 20 MB."""
CONSTANTS = ("static", "stribeck_velocity", "velocity_scale")
"""What of a `DofFriction` is no parameter."""
BODY_UNITS = ("kg", *["kg m"] * 3, *["kg m^2"] * 6)
JOINT_UNITS = {
    "armature": ("kg m^2", "kg"),
    "coulomb": ("N m", "N"),
    "viscous": ("N m s/rad", "N s/m"),
    "asymmetry": ("N m", "N"),
    "static": ("N m", "N"),
    "stribeck_velocity": ("rad/s", "m/s"),
    "velocity_scale": ("rad/s", "m/s"),
    "stiffness": ("N m/rad", "N/m"),
    "damping": ("N m s/rad", "N s/m"),
}
"""At hinges, and along slides."""


class Identified(NamedTuple):
    """What a fit says of a robot."""

    dynamics: IdentifiedDynamics
    covariance: Matrix
    """Of `stacked_parameters`, shape ``(n, n)``."""


@spec
class IdentifiedParameter:
    """One number of ``identified.json``."""

    joint: Text
    """Joint that moves the body; of ``armature`` and friction the velocity."""
    name: Literal[
        "m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz",
        "armature", "coulomb", "viscous", "asymmetry",
        "static", "stribeck_velocity", "velocity_scale", "stiffness", "damping",
    ]  # fmt: skip
    value: Number
    unit: Text
    deviation: NonNegative = 0.0
    """Standard deviation."""


@spec
class IdentifiedTable:
    """What of ``identified.json`` is read, but for the covariance."""

    parameters: tuple[IdentifiedParameter, ...]
    constants: tuple[IdentifiedParameter, ...] = ()


def write_identified_json(
    path: Path,
    robot: Robot,
    dynamics: IdentifiedDynamics,
    covariance: Matrix,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> None:
    """Write what a fit says of a robot.

    Args:
        path: The file.
        robot: The robot, for the units of its velocities.
        dynamics: The fit.
        covariance: Of `stacked_parameters`, shape ``(n, n)``.
        more: Other keys of the file, as JSON holds them.

    Raises:
        ShapeError: The covariance is not of these parameters.
    """
    names, values = parameter_names(dynamics), stacked_parameters(dynamics)
    if np.shape(covariance) != (len(names), len(names)):
        raise ShapeError(
            f"covariance must have shape ({len(names)}, {len(names)}); got {np.shape(covariance)}."
        )
    deviations = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    parameters = [
        {"joint": joint, "name": name, "value": value, "deviation": deviation,
         "unit": _unit(robot, joint, name)}
        for (joint, name), value, deviation in zip(
            names, values.tolist(), deviations.tolist(), strict=True
        )
    ]  # fmt: skip
    constants = [
        {"joint": velocity, "name": name, "value": getattr(one, name),
         "unit": _unit(robot, velocity, name)}
        for velocity, one in dynamics.friction.items()
        for name in CONSTANTS
    ]  # fmt: skip
    tables = {**more, "parameters": parameters, "constants": constants}
    text = json.dumps(tables, indent=2, allow_nan=False, ensure_ascii=False).removesuffix("\n}")
    # a line for every row, not for every number
    rows = ",\n    ".join(
        json.dumps(row, allow_nan=False) for row in np.asarray(covariance).tolist()
    )
    write_atomically(path, f'{text},\n  "covariance": [\n    {rows}\n  ]\n}}\n'.encode())


def read_identified(path: AnyPath) -> Identified:
    """Read what a fit says of a robot, from ``identified.json`` or its folder.

    Raises:
        InputError: The file is missing, or not of this form; the message says where.
    """
    file = Path(path)
    file = file / FILE if file.is_dir() else file
    record_read(file)
    try:
        if file.stat().st_size > MAX_BYTES:
            raise InputError(f"{file}: must be at most {MAX_BYTES // 2**20} MB.")
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, InputError):
            raise
        reason = getattr(error, "strerror", None) or "it is not JSON"
        raise InputError(
            f"{file}: cannot be read: {reason}. ukctrl identify writes this file."
        ) from None
    if not isinstance(content, dict):
        raise InputError(f"{file}: must be a table; got {type(content).__name__}.")
    known = {key: content[key] for key in ("parameters", "constants") if key in content}
    table = read_spec(IdentifiedTable, known, file)
    with error_context(file):
        return _identified(table, content.get("covariance"))


def _identified(table: IdentifiedTable, covariance: object) -> Identified:
    numbers: dict[tuple[str, str], float] = {}
    for entry in (*table.parameters, *table.constants):
        key = entry.joint, entry.name
        allowed = JOINT_UNITS.get(entry.name) or (BODY_UNITS[BODY_PARAMETERS.index(entry.name)],)
        if entry.unit not in allowed:
            raise InputError(
                f"{entry.name} of '{entry.joint}' must be in {' or '.join(allowed)}; "
                f"got {entry.unit}."
            )
        if key in numbers:
            raise InputError(f"{entry.name} of '{entry.joint}' must be one number; it comes twice.")
        numbers[key] = entry.value
    listed = [(entry.joint, str(entry.name)) for entry in table.parameters]
    joints, rotors, rubbing, sprung = (
        dict.fromkeys(joint for joint, name in numbers if name in group)
        for group in (BODY_PARAMETERS, ("armature",), (*FRICTION, *CONSTANTS), SPRINGS)
    )
    order = [
        *((joint, name) for joint in joints for name in BODY_PARAMETERS),
        *((joint, "armature") for joint in rotors),
        *((joint, name) for name in FRICTION for joint in rubbing),
        *((joint, name) for name in SPRINGS for joint in sprung),
    ]
    for joint, name in sorted({*order} ^ {*listed}):
        must = "be a parameter, as others of it are" if (joint, name) in order else "be a constant"
        raise InputError(f"{name} of '{joint}' must {must}.")
    dynamics = IdentifiedDynamics(
        {joint: np.array([numbers[joint, name] for name in BODY_PARAMETERS]) for joint in joints},
        {joint: numbers[joint, "armature"] for joint in rotors},
        {
            joint: DofFriction(
                **{
                    name: value
                    for (one, name), value in numbers.items()
                    if one == joint and name in (*FRICTION, *CONSTANTS)
                }
            )
            for joint in rubbing
        },
        *({joint: numbers[joint, name] for joint in sprung} for name in SPRINGS),
    )
    try:
        C = np.array(covariance, dtype=np.float64)
    except (TypeError, ValueError):
        C = np.zeros(0)
    if C.shape != (len(order), len(order)) or not np.isfinite(C).all():
        raise InputError(
            f"covariance must be {len(order)} rows of {len(order)} numbers, in the order of "
            "parameters."
        )
    places = [listed.index(key) for key in order]
    return Identified(dynamics, C[np.ix_(places, places)])


def _unit(robot: Robot, joint: str, name: str) -> str:
    if name in BODY_PARAMETERS:
        return BODY_UNITS[BODY_PARAMETERS.index(name)]
    slides = robot.dof_units[robot.structure.dof(joint)] == "m/s"
    return JOINT_UNITS[name][slides]
