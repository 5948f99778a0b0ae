"""A robot before there is a task: what it is made of, what its file lacks or gets wrong, what next.

For a model file that somebody has found or exported. What `Robot.load` finds is part of it; bodies
and torque limits that are possible but unlikely, such as millimetres, are told here alone.
"""

from __future__ import annotations

import contextlib
import dataclasses as dc
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from ukctrl.analysis.check.first_scenario import first_scenario
from ukctrl.analysis.check.parser_differences import ParserDifference, parser_differences
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import ModelError, quoted
from ukctrl.core.files import AnyPath
from ukctrl.core.message_text import quote_text
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.home_configuration import close_loops, home_configuration
from ukctrl.robot import ModelDiagnostic, Robot
from ukctrl.robot.geometry.mesh_files import MeshFiles
from ukctrl.robot.models.model_source import read_model
from ukctrl.simulation.result.atomic_files import finite_or_none

MAX_EFFORT_RATIO, MIN_EFFORT_RATIO = 300.0, 0.1
"""Torque limits of robots are from 1.9 to 97 times what their weight asks for, all hinges together
(54 models of example-robot-data 6.0 and of the catalogue); others are placeholders, or of another
unit."""
WEIGHT_POSES = 5
"""At so many random poses the weight is looked at."""
MAX_NAMED = 6
"""Of more freedoms that an input pushes these are named."""
MEMBER_KEYS = ("frames", "frame", "phi", "psi", "joints", "wheel")
"""Keys of a passive constraint that say what it holds, the first that is there."""
MAX_SIZE = 100.0
"""A robot that is longer is in millimetres, most likely [m]."""
MAX_LENGTH_RATIO = 3.0
"""A centre of mass, or a radius of gyration, that is so many times longer than the whole robot has
another unit."""
MIN_EQUAL_INERTIAS = 3
"""So many bodies of different mass with the same inertia have one that was never worked out."""


@dc.dataclass(frozen=True, kw_only=True)
class JointCheck:
    """What a file says of one freedom."""

    name: str
    unit: str
    """Of its velocity."""
    lower: float
    upper: float
    fastest: float
    """Largest speed [unit]; infinite where the file gives none."""
    motors: tuple[str, ...]
    effort: float
    """Largest input of its motor [N m or N]; infinite where it has none, or several."""
    mass: float
    """Mass that it carries directly [kg]; NaN where the plant has no bodies."""
    moments: tuple[float, ...]
    """Principal moments of that about its centre of mass [kg m^2]; none without bodies."""
    damping: float = 0.0
    """Of the model file [N m s/rad or N s/m]."""
    friction: float = 0.0
    """Dry friction of the model file [N m or N]."""
    armature: float = 0.0
    """Inertia of a motor that is counted at the joint [kg m^2 or kg]."""


class MotorCheck(NamedTuple):
    """One input."""

    name: str
    unit: str
    pushes: str
    """The freedoms that it may push."""
    low: float
    """Lowest input at low speed; infinite where unlimited."""
    high: float


class PassiveCheck(NamedTuple):
    """One passive constraint."""

    name: str
    kind: str
    between: str
    """Frames, joints or the formula that it holds."""


@dc.dataclass(frozen=True, kw_only=True)
class RobotCheck:
    """What `check_robot` finds."""

    robot: str
    freedoms: int
    mobility: int
    """Freedoms that the passive constraints leave, at its home."""
    mass: float
    """Of all that moves [kg]; NaN where the plant has no bodies."""
    joints: tuple[JointCheck, ...]
    motors: tuple[MotorCheck, ...]
    loops: tuple[PassiveCheck, ...]
    frames: tuple[str, ...]
    findings: tuple[ModelDiagnostic, ...]
    """What its file gets wrong, and how it was read."""
    missing: tuple[str, ...]
    """What its file leaves out."""
    readings: tuple[ParserDifference, ...]
    """How others read what its file says, where they differ."""
    scenario: str
    """A first scenario, as a file holds it; it was tried, or says what was."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for programs."""
        table = dc.asdict(self)
        for name in ("findings", "motors", "loops", "readings"):
            table[name] = [entry._asdict() for entry in getattr(self, name)]
        plain: dict[str, Any] = finite_or_none(table)
        return plain


def check_robot(
    reference: AnyPath, *, trust: bool = False, robot: Robot | None = None
) -> RobotCheck:
    """Look at a robot without a task.

    Args:
        reference: Its name, or its model file or ``robot.toml``.
        trust: Whether Python code that its file names may run.
        robot: What was loaded from there already; absent: it is loaded.

    Raises:
        InputError: It is no robot; of a model that cannot be used the message says why.
    """
    robot = robot or Robot.load(reference, trust=trust)
    dynamics = Dynamics(robot)
    q = close_loops(robot, home_configuration(robot))
    dynamics.move(0.0, q, np.zeros(robot.nv))
    joints = tuple(_joints(robot))
    return RobotCheck(
        robot=robot.name,
        freedoms=robot.nv,
        mobility=robot.nv - dynamics.passive_rank,
        mass=float(sum(joint.mass for joint in joints)) if joints else math.nan,
        joints=joints,
        motors=tuple(_motors(robot)),
        loops=tuple(_passive_check(table) for table in robot.passive),
        frames=tuple(name for name in robot.frames if name != "world"),
        findings=(*robot.audit, *_implausible(robot, joints), *_missing_meshes(robot)),
        missing=tuple(_missing(robot, joints)),
        readings=tuple(_parser_differences(robot)),
        scenario=first_scenario(robot, str(reference), q, dynamics),
    )


def _motors(robot: Robot) -> Iterator[MotorCheck]:
    inputs = robot.actuation
    for k, (name, unit) in enumerate(zip(inputs.names, inputs.units, strict=True)):
        pushed = [robot.dofs[i] for i in np.flatnonzero(inputs.acts_on[:, k])]
        listed = ", ".join(pushed[:MAX_NAMED])
        more = len(pushed) - MAX_NAMED
        pushes = f"{listed} and {more} more" if more > 0 else listed
        bounds = inputs.bounds
        yield MotorCheck(name, unit, pushes, float(bounds.lower[k]), float(bounds.upper[k]))


def _passive_check(table: Mapping[str, Any]) -> PassiveCheck:
    kind = str(table.get("kind", ""))
    members = next((table[key] for key in MEMBER_KEYS if key in table), "")
    between = ", ".join(map(str, members)) if isinstance(members, list | tuple) else str(members)
    return PassiveCheck(str(table.get("name", kind)), kind, between)


def _parser_differences(robot: Robot) -> Iterator[ParserDifference]:
    codes = {finding.code for finding in robot.audit}
    readings = (
        reading
        for model in robot.shape_sources.models
        for reading in parser_differences(model, codes)
    )
    yield from dict.fromkeys(readings)


def _joints(robot: Robot) -> Iterator[JointCheck]:
    damping, friction = robot.structure.damping, robot.structure.friction
    armature = _armature(robot)
    B = np.abs(robot.snapshot(home_configuration(robot)).B)
    bodies = _bodies(robot)
    for block in robot.blocks:
        for i, name in enumerate(block.dofs):
            pushed = np.flatnonzero(B[block.iv + i] > 0.0).tolist()
            lone = block.shape == "line"
            mass, moments = bodies.get(block.name, (math.nan, ())) if i == 0 else (0.0, ())
            yield JointCheck(
                name=name,
                unit=robot.dof_units[block.iv + i],
                lower=float(robot.q_lower[block.iq + i]) if lone else -math.inf,
                upper=float(robot.q_upper[block.iq + i]) if lone else math.inf,
                fastest=float(robot.velocity_limit[block.iv + i]),
                motors=tuple(robot.actuators[k] for k in pushed),
                effort=float(robot.effort_limit[pushed[0]]) if len(pushed) == 1 else math.inf,
                mass=mass,
                moments=moments,
                damping=float(damping[block.iv + i]),
                friction=float(friction[block.iv + i]),
                armature=float(armature[block.iv + i]),
            )


def _armature(robot: Robot) -> Vector:
    """Return what the model adds to the diagonal of M; zeros of plants of formulas."""
    armature = np.zeros(robot.nv)
    with contextlib.suppress(ModelError):
        model_armature = np.array(robot.model.armature)
        armature[: len(model_armature)] = model_armature
    return armature


def _bodies(robot: Robot) -> dict[str, tuple[float, tuple[float, ...]]]:
    """Return mass and principal moments of what each joint carries; none of plants of formulas."""
    try:
        inertias = robot.model.inertias
    except ModelError:
        return {}
    return {
        block.name: (
            float(inertias[block.joint].mass),
            tuple(np.linalg.eigvalsh(np.array(inertias[block.joint].inertia)).tolist()),
        )
        for block in robot.blocks
        if block.joint < len(inertias)
    }


def _missing_meshes(robot: Robot) -> Iterator[ModelDiagnostic]:
    """Name meshes of URDF files that are not there; MuJoCo refuses a file that lacks one."""
    for model in robot.shape_sources.models:
        root = read_model(model.text).root
        if model.path is None or root.tag != "robot":
            continue
        files, lost = MeshFiles(model.path, model.packages), dict[str, list[str]]()
        for name in dict.fromkeys(mesh.get("filename", "") for mesh in root.iter("mesh")):
            try:
                files.find(name)
            except ModelError as error:
                lost.setdefault(str(error), []).append(name)
        for reason, names in lost.items():
            more = f", as {len(names) - 1} more do" if len(names) > 1 else ""
            text = (
                f"mesh {quote_text(names[0])} {reason}{more}: pictures show rods instead, and no "
                "capsule can be put around its link."
            )
            if any(name.startswith("package://") for name in names):
                text += " Name the folders that hold its packages as package_path in robot.toml."
            yield ModelDiagnostic("warning", "mesh_lost", names[0], text)


def _implausible(robot: Robot, joints: tuple[JointCheck, ...]) -> Iterator[ModelDiagnostic]:
    """Name numbers that are possible, and hardly meant."""
    try:
        model = robot.model
    except ModelError:
        return
    yield from _implausible_efforts(robot)
    size = float(sum(np.linalg.norm(placement.translation) for placement in model.jointPlacements))
    if size > MAX_SIZE:
        text = f"the joints are {size:.3g} m apart in all; are these millimetres? Write metres."
        yield ModelDiagnostic("warning", "huge_robot", robot.name, text)
    if size > 0.0:
        yield from _implausible_bodies(robot, MAX_LENGTH_RATIO * size)
    masses: dict[tuple[float, ...], list[float]] = {}
    for joint in joints:
        if joint.mass > 0.0:
            same = tuple(round(moment, 12) for moment in joint.moments)
            masses.setdefault(same, []).append(joint.mass)
    for moments, alike in masses.items():
        if len(alike) >= MIN_EQUAL_INERTIAS and len(set(alike)) > 1:
            text = (
                f"{len(alike)} bodies of different mass have the same moments of inertia "
                f"({', '.join(f'{moment:.3g}' for moment in moments)} kg m^2), as if nobody had "
                "computed them. Take them from the drawing or the manufacturer."
            )
            yield ModelDiagnostic("warning", "same_inertia", robot.name, text)


def _implausible_efforts(robot: Robot) -> Iterator[ModelDiagnostic]:
    """Ask about torque limits that are not of the order of what the robot weighs."""
    rng = np.random.default_rng(0)
    loads = [np.abs(robot.snapshot(robot.random(rng)).nle) for _ in range(WEIGHT_POSES)]
    load, limit = np.max(loads, axis=0), robot.structure.effort_limit
    hinge = np.array([unit == "rad/s" for unit in robot.dof_units])
    mask = hinge & np.isfinite(limit) & (load > 0.0)
    if not mask.any():
        return
    ratio, max_limit = float(limit[mask].sum() / load[mask].sum()), float(limit[mask].max())
    if ratio > MAX_EFFORT_RATIO:
        instead = "N mm, or a number that stands for none"
    elif ratio < MIN_EFFORT_RATIO:
        instead = "kN m"
    else:
        return
    text = (
        f"the torque limits, up to {max_limit:g} N m, are {ratio:.2g} times what the weight of the "
        f"links asks for; are these {instead}? Write N m."
    )
    yield ModelDiagnostic("warning", "unlikely_effort", robot.name, text)


def _implausible_bodies(robot: Robot, far: float) -> Iterator[ModelDiagnostic]:
    for block in robot.blocks:
        if block.joint >= len(robot.model.inertias):
            continue
        body = robot.model.inertias[block.joint]
        away = float(np.linalg.norm(body.lever))
        if away > far:
            text = (
                f"the centre of mass beyond joint '{block.name}' is {away:.3g} m away from it, "
                "far outside the robot; is it in millimetres? Write metres."
            )
            yield ModelDiagnostic("warning", "far_mass", block.name, text)
        moment = float(np.linalg.eigvalsh(np.array(body.inertia))[-1])
        radius = math.sqrt(moment / body.mass) if body.mass > 0.0 else 0.0
        if radius > far:
            text = (
                f"the inertia beyond joint '{block.name}', {moment:.3g} kg m^2 for {body.mass:.3g} "
                f"kg, is that of a body {radius:.3g} m around; is it in kg mm^2 or g mm^2? Write "
                "kg m^2."
            )
            yield ModelDiagnostic("warning", "large_inertia", block.name, text)


def _missing(robot: Robot, joints: tuple[JointCheck, ...]) -> Iterator[str]:
    """Yield what the file leaves out, with where to write it."""
    driven = [joint for joint in joints if len(joint.motors) == 1]
    endless = {name for block in robot.blocks if block.shape != "line" for name in block.dofs}
    # behind a spring the range and the speed are those of the joint
    springs = robot.elastic
    pairs = () if springs is None else zip(springs.motors, springs.links, strict=True)
    dofs = {robot.dofs[motor]: robot.dofs[link] for motor, link in pairs}
    names = {dofs.get(joint.name, joint.name) for joint in driven}
    moved = [joint for joint in joints if joint.name in names]
    unbounded = [j.name for j in moved if math.isinf(j.lower) and math.isinf(j.upper)]
    formats = {read_model(model.text).root.tag for model in robot.shape_sources.models}
    # tables of some motors are all the motors that there are
    motor_table = "[[actuator]] limit in robot.toml, with a table for every motor"
    for quantity, owner, without, where in (
        ("torque limit", "motor", [j.name for j in driven if math.isinf(j.effort)], motor_table),
        (
            "speed limit",
            "driven joint",
            [j.name for j in moved if math.isinf(j.fastest)],
            "[[limit]] velocity in robot.toml",
        ),
        (
            "range",
            "driven joint",
            [name for name in unbounded if name not in endless],
            "[[limit]] position in robot.toml",
        ),
    ):
        if without:
            owners = f"any {owner}" if len(without) == len(driven) else quoted(without)
            # MJCF has no speed limits, and a plant of formulas no model file
            has_place = bool(formats) and not (quantity == "speed limit" and "mujoco" in formats)
            place = "in the model file, or as" if has_place else "as"
            yield f"no {quantity} of {owners}: write it {place} {where}."
    if not robot.actuators:
        yield "no motor at all: list them as [[actuator]] in robot.toml."
    lossy = np.any(robot.structure.damping) or np.any(robot.structure.friction)
    if not (lossy or robot.forces.terms):
        yield "no damping or friction at any joint: it moves without loss."
