"""What loading a model drops or finds suspicious.

An ``error`` stops the load with a `ModelError`; a ``warning`` means that the numbers may not
be what their author meant; a ``note`` says how something was read.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.errors import ExpressionError, quoted
from ukctrl.core.expression.units import constant_value
from ukctrl.core.message_text import quote_text
from ukctrl.core.tie_breaking import first_largest, first_smallest
from ukctrl.robot.actuators import Actuation
from ukctrl.robot.joint_layout import identifier
from ukctrl.robot.rigid.rigid_structure import UNLIMITED, RigidStructure
from ukctrl.robot.structure import Structure

MIN_SCALED_EIGENVALUE = 1e-12
"""Smallest eigenvalue of the mass matrix, scaled to unit diagonal, that counts as positive."""
MAX_MASS = 1e15
"""Larger masses and inertias are slips of the pen, and would overflow [kg, kg m^2]."""
TRIANGLE_RTOL = 1e-6
"""How far a principal moment may exceed the sum of the two others; exporters round."""
NO_INERTIA = 1e-12
"""Smaller moments of inertia are those of a point, whatever their signs [kg m^2]."""
MIN_PARTICIPATION = 0.05
"""Velocities with less of a motion than this, beside the most, have no part in it."""
MAX_RANGE = 4.1 * np.pi
"""Two turns and what files round; a joint with a wider range is asked about [rad]."""
UNLIMITED_RANGE = 1e4
"""A range as wide as this means that there is none [rad]."""
MAX_SPEED = 60.0
"""A joint that is faster has its limit in degrees, most likely [rad/s]."""


EFFORT_CODES = ("zero_effort_limit", "no_effort_limit")
"""Remarks that a joint without a motor does not earn: URDF asks for a number all the same."""


class ModelDiagnostic(NamedTuple):
    """One remark on a model."""

    level: Literal["error", "warning", "note"]
    code: str
    """Short fixed name of the kind of remark, such as ``mimic_joint``."""
    subject: str
    """The joint, link or actuator that it is about."""
    message: str
    """What was found, what follows from it, what to do."""


error, warning, note = (
    functools.partial(ModelDiagnostic, level) for level in ("error", "warning", "note")
)


def body_diagnostics(link: str, mass: float, inertia: Matrix) -> Iterator[ModelDiagnostic]:
    """Judge the mass and the rotational inertia about the centre of mass of one body."""
    subject = f"'{link}'"
    numbers = (mass, *inertia.flat)
    if not all(abs(number) < MAX_MASS for number in numbers):
        yield error(
            "not_finite",
            link,
            f"mass and inertia of {subject} must be finite and below {MAX_MASS:g}.",
        )
        return
    if mass < 0.0:
        yield error(
            "negative_mass", link, f"the mass of {subject} must not be negative; got {mass}."
        )
        return
    moments = np.linalg.eigvalsh(inertia)
    scale = float(np.abs(moments).max())
    if mass == 0.0 and scale > 0.0:
        yield warning("zero_mass", link, f"{subject} has a rotational inertia but no mass.")
    if moments[0] < -TRIANGLE_RTOL * max(scale, NO_INERTIA):
        yield error(
            "negative_inertia",
            link,
            f"the rotational inertia of {subject} must have no negative principal moment; "
            f"got {moments[0]:.3g} kg m^2.",
        )
    elif mass > 0.0 and moments[0] <= TRIANGLE_RTOL * scale:
        yield warning(
            "zero_inertia",
            link,
            f"{subject} has mass but a principal moment of zero, like a point or a thin rod.",
        )
    elif moments[2] > (1.0 + TRIANGLE_RTOL) * (moments[0] + moments[1]):
        yield warning(
            "impossible_inertia",
            link,
            f"no body has the principal moments of {subject} ({moments[0]:.3g}, {moments[1]:.3g}, "
            f"{moments[2]:.3g} kg m^2): the largest exceeds the sum of the others.",
        )


def model_diagnostics(structure: RigidStructure) -> Iterator[ModelDiagnostic]:
    """Judge what is left of the model in Pinocchio: inertias by joint, limits, names."""
    model = structure.model
    for block in structure.blocks:
        body = model.inertias[block.joint]
        if body.mass == 0.0 and not np.any(body.inertia):
            yield note(
                "massless_joint",
                block.name,
                f"nothing that joint '{block.name}' carries directly has mass.",
            )
        if block.shape == "circle":
            yield note(
                "continuous_joint",
                block.name,
                f"joint '{block.name}' turns without end; formulas know it as "
                f"{block.coordinates[0]} and {block.coordinates[1]}.",
            )
        elif identifier(block.name) != block.name:
            yield note(
                "renamed",
                block.name,
                f"formulas know joint '{block.name}' as {identifier(block.name)}.",
            )
        if block.shape == "line":
            yield from _range_findings(structure, block.name, block.iq, block.nv)
        if block.shape in ("line", "circle"):
            yield from _motor_findings(structure, block.name, block.iv, block.nv)
    for code, values, unit in (
        ("joint_damping", np.array(model.damping), "viscous damping"),
        ("joint_friction", np.array(model.friction), "dry friction"),
    ):
        for dof in np.flatnonzero(values):
            name = structure.dofs[dof]
            bad = values[dof] < 0.0
            yield ModelDiagnostic(
                "error" if bad else "note",
                code,
                name,
                f"{unit} of {values[dof]:g} at '{name}', from the model file, "
                + ("must not be negative." if bad else "is part of the plant."),
            )


def _range_findings(
    structure: RigidStructure, name: str, iq: int, count: int
) -> Iterator[ModelDiagnostic]:
    model = structure.model
    for i in range(count):
        lower, upper = model.lowerPositionLimit[iq + i], model.upperPositionLimit[iq + i]
        if lower > upper:
            yield error(
                "reversed_limits",
                name,
                f"the lower limit of joint '{name}' must not exceed the upper; "
                f"got {lower:g} and {upper:g}.",
            )
        elif lower == upper and abs(lower) < UNLIMITED:
            yield warning(
                "no_range",
                name,
                f"both limits of joint '{name}' are {lower:g}; use a fixed joint if it does "
                "not move, or leave the limits out.",
            )


def _motor_findings(
    structure: RigidStructure, name: str, iv: int, count: int
) -> Iterator[ModelDiagnostic]:
    model = structure.model
    for i in range(count):
        if model.upperEffortLimit[iv + i] == 0.0:
            yield warning(
                "zero_effort_limit",
                name,
                f"the effort limit of joint '{name}' is zero; taken as unlimited. "
                "Write the true limit.",
            )
        if model.upperVelocityLimit[iv + i] == 0.0:
            yield warning(
                "zero_velocity_limit",
                name,
                f"the velocity limit of joint '{name}' is zero; taken as unlimited.",
            )


def unit_diagnostics(structure: Structure) -> Iterator[ModelDiagnostic]:
    """Ask about ranges and speeds of hinges that are possible, and hardly meant in radians."""
    wide, fast = list[tuple[str, float, float]](), list[tuple[str, float]]()
    for block in structure.blocks:
        for i in (i for i, unit in enumerate(block.dof_units) if unit == "rad/s"):
            lower, upper = structure.q_lower[block.iq + i], structure.q_upper[block.iq + i]
            if block.shape == "line" and MAX_RANGE < upper - lower < UNLIMITED_RANGE:
                wide.append((block.dofs[i], lower, upper))
            if MAX_SPEED < structure.velocity_limit[block.iv + i] < np.inf:
                fast.append((block.dofs[i], structure.velocity_limit[block.iv + i]))
    if wide:
        name, lower, upper = wide[0]
        text = (
            f"joint '{name}'{_more_text(wide)} may turn from {lower:g} to {upper:g} rad, "
            f"{(upper - lower) / (2.0 * np.pi):.3g} times around; are these degrees? Write radians."
        )
        yield warning("wide_range", name, text)
    if fast:
        name, speed = fast[0]
        text = (
            f"joint '{name}'{_more_text(fast)} may turn at {speed:g} rad/s; are these degrees per "
            "second? Write radians per second."
        )
        yield warning("fast_joint", name, text)


def written_unit_diagnostics(
    table: Mapping[str, Any], structure: Structure, actuation: Actuation
) -> Iterator[ModelDiagnostic]:
    """Ask about limits whose text names the unit of a slide where a hinge is, or the reverse.

    Args:
        table: What ``robot.toml`` says, as written: its tables ``actuator``, ``limit`` and
            ``linkage``, and the coordinates of a plant of formulas.
        structure: The plant's names.
        actuation: Its inputs.
    """
    units = dict(zip(actuation.names, actuation.units, strict=True))
    # tables as written; motors that a script gives hold numbers
    actuators, limits = (
        [entry for entry in table.get(key) or () if isinstance(entry, Mapping)]
        for key in ("actuator", "limit")
    )
    for entry in actuators:
        names: Sequence[str] = entry.get("names") or [entry.get("name") or entry.get("joint", "")]
        for name in names:
            if units.get(name) in ("N m", "N"):
                by_key = _motor_units(units[name])
                yield from _written_units(entry, by_key, f"input '{name}'", name)
    for entry in limits:
        name = entry["joint"]
        speed = structure.dof_units[structure.dof(name)]
        by_key = {"position": speed.removesuffix("/s"), "velocity": speed}
        yield from _written_units(entry, by_key, f"joint '{name}'", name)
    for plant in ("lagrangian", "functions"):
        coordinates = dict(zip(structure.coordinates, structure.coordinate_units, strict=True))
        for key in ("limits", "neutral"):
            values = (table.get(plant) or {}).get(key) or {}
            yield from _written_units(values, coordinates, f"{plant}.{key}", "")
    linkage = table.get("linkage") or {}
    for part in (linkage, *(linkage.get("repeat") or {}).values()):
        for motor in part.get("motor") or ():
            name = motor.get("name", "")
            yield from _written_units(motor, _motor_units("N m"), f"motor '{name}'", name)


def _motor_units(effort: str) -> dict[str, str]:
    """Return the units of the keys of a motor by that of its effort."""
    speed = {"N m": "rad/s", "N": "m/s"}[effort]
    rate = f"{effort}/s"
    return {"limit": effort, "rate_limit": rate, "corner_speed": speed, "no_load_speed": speed}


def _written_units(
    entry: Mapping[str, Any], units: Mapping[str, str], owner: str, name: str
) -> Iterator[ModelDiagnostic]:
    for key in (key for key in units if key in entry):
        values = entry[key] if isinstance(entry[key], list | tuple) else [entry[key]]
        for text in (value for value in values if isinstance(value, str)):
            try:
                constant_value(text, units[key])
            except ExpressionError:
                value, unit = constant_value(text), units[key]
                yield warning(
                    "other_unit",
                    name,
                    f"{key} of {owner} is in {unit}, and written {quote_text(text)}; {value:g} "
                    f'{unit} is taken. Is that meant? Write "{value:g}*{unit.replace(" ", "*")}".',
                )
                break


def _more_text(joints: Sequence[object]) -> str:
    return f", and {len(joints) - 1} more likewise," if len(joints) > 1 else ""


def _actuated_velocities(actuation: Actuation) -> Flags:
    """Return on which velocities some input acts directly, shape ``(nv,)``."""
    reached = np.array(actuation.constant.any(axis=1))
    for _, column in actuation.varying_columns:
        reached |= column.acts_on
    return reached


def without_idle_efforts(
    findings: Iterable[ModelDiagnostic], structure: Structure, actuation: Actuation
) -> Iterator[ModelDiagnostic]:
    """Yield the findings without those of the effort of joints that no input moves."""
    reached = _actuated_velocities(actuation)
    idle = {b.name for b in structure.blocks if not reached[b.iv : b.iv + b.nv].any()}
    for finding in findings:
        if finding.code not in EFFORT_CODES or finding.subject not in idle:
            yield finding


def actuation_diagnostics(structure: Structure, actuation: Actuation) -> Iterator[ModelDiagnostic]:
    """Name the velocities on which no input acts directly, all of them in one remark."""
    reached = _actuated_velocities(actuation)
    names = []
    for block in structure.blocks:
        free = [block.dofs[i] for i in range(block.nv) if not reached[block.iv + i]]
        if free:
            suffix = "" if len(free) == block.nv else f" ({', '.join(free)})"
            names.append(f"'{block.name}'{suffix}")
    if names:
        joints = "joint" if len(names) == 1 else "joints"
        subject = names[0].split("'")[1]
        yield note("no_actuator", subject, f"no actuator acts on {joints} {', '.join(names)}.")


def mass_diagnostics(
    structure: Structure, masses: Iterable[Matrix], whole: str, look_for: str, advice: str
) -> Iterator[ModelDiagnostic]:
    """Find velocities that carry no inertia: M is singular at all given configurations.

    Args:
        structure: The plant's names.
        masses: Mass matrices at some configurations.
        whole: What is called so where no single velocity is to blame.
        look_for: What makes a mass matrix overflow.
        advice: What gives a velocity inertia.
    """
    worst, together = None, list[int]()
    for M in masses:
        diagonal, blocks = np.diag(M), _parts(M, structure.trees)
        if not all(np.all(np.abs(block) < MAX_MASS) for _, block in blocks):
            yield error(
                "not_finite",
                whole,
                f"the mass matrix must be finite and below {MAX_MASS:g}; look for {look_for}.",
            )
            return
        # nothing to scale by: this velocity moves no inertia at all
        if diagonal.min() < 1.0 / MAX_MASS**2:
            worst, together = first_smallest(diagonal), []
            continue
        eigenvalue, size = _least_inertia(blocks, len(M))
        # one regular configuration acquits: elsewhere the matrix is singular as geometry has it
        if eigenvalue > MIN_SCALED_EIGENVALUE:
            return
        worst = first_largest(size)
        together = np.flatnonzero(size > MIN_PARTICIPATION * size[worst]).tolist()
    if worst is not None:
        name = structure.dofs[worst]
        detail = f"moving '{name}' moves no inertia"
        if len(together) > 1:
            names = quoted([structure.dofs[i] for i in together])
            detail = f"moving {names} together in some way moves no inertia"
        text = f"the mass matrix is not positive definite: {detail}. {advice}"
        yield error("singular_mass", name, text)


def _parts(M: Matrix, trees: Indices) -> list[tuple[Indices, Matrix]]:
    """Return the mass matrix of each tree, with the numbers of its velocities."""
    order = np.argsort(trees, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(trees[order])) + 1)
    return [(group, M[np.ix_(group, group)]) for group in groups]


def _least_inertia(blocks: Sequence[tuple[Indices, Matrix]], count: int) -> tuple[float, Vector]:
    """Return the least eigenvalue of matrices scaled to a unit diagonal, and how much of every
    velocity is in its direction.
    """
    eigenvalue, size = np.inf, np.zeros(count)
    for indices, M in blocks:
        scale = 1.0 / np.sqrt(np.diag(M))
        values, vectors = np.linalg.eigh(M * np.outer(scale, scale))
        if values[0] < eigenvalue:
            eigenvalue, size = float(values[0]), np.zeros(count)
            size[indices] = np.abs(vectors[:, 0])
    return eigenvalue, size
