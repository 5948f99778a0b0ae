"""A robot before there is a task: what it is made of, what its file lacks or gets wrong, what next.

For a model file that somebody has found or exported. What `Robot.load` finds is part of it; numbers
that are possible but unlikely, such as degrees where radians belong, are told here alone.
"""

from __future__ import annotations

import contextlib
import dataclasses as dc
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ukctrl.analysis.check.first_scenario import first_scenario
from ukctrl.analysis.check.readers import Reading, readings
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import ModelError, quoted
from ukctrl.core.expression.syntax import shown
from ukctrl.core.files import AnyPath
from ukctrl.mechanics.at_rest import closed, home
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Finding, Robot
from ukctrl.robot.look.mesh_files import MeshFiles
from ukctrl.robot.models.source import read
from ukctrl.simulation.result.plain_files import finite_or_none

WIDEST = 4.1 * math.pi
"""Two turns and what files round; a joint with a wider range is asked about [rad]."""
UNLIMITED_TURNS = 1e4
"""A range as wide as this means that there is none [rad]."""
FASTEST = 60.0
"""A joint that is faster has its limit in degrees, most likely [rad/s]."""
MOST_TIMES, LEAST_TIMES = 300.0, 0.1
"""Torque limits of robots are from 1.9 to 97 times what their weight asks for, all hinges together
(54 models of example-robot-data 6.0 and of the catalogue); others are placeholders, or of another
unit."""
POSES = 5
"""At so many random poses the weight is looked at."""
MOST_PUSHED = 6
"""Of more freedoms that an input pushes these are named."""
HELD = ("frames", "frame", "phi", "psi", "joints", "wheel")
"""Keys of a passive constraint that say what it holds, the first that is there."""
LARGEST_ROBOT = 100.0
"""A robot that is longer is in millimetres, most likely [m]."""
BEYOND = 3.0
"""A centre of mass, or a radius of gyration, that is so many times longer than the whole robot has
another unit."""
ALIKE = 3
"""So many bodies of different mass with the same inertia have one that was never worked out."""


@dc.dataclass(frozen=True, kw_only=True)
class Joint:
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


class Motor(NamedTuple):
    """One input."""

    name: str
    unit: str
    pushes: str
    """The freedoms that it may push."""
    low: float
    """Lowest input at low speed; infinite where unlimited."""
    high: float


class Loop(NamedTuple):
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
    joints: tuple[Joint, ...]
    motors: tuple[Motor, ...]
    loops: tuple[Loop, ...]
    frames: tuple[str, ...]
    findings: tuple[Finding, ...]
    """What its file gets wrong, and how it was read."""
    missing: tuple[str, ...]
    """What its file leaves out."""
    readings: tuple[Reading, ...]
    """How others read what its file says, where they differ."""
    scenario: str
    """A first scenario, as a file holds it; it was tried, or says what was."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data for programs."""
        table = dc.asdict(self)
        for name in ("findings", "motors", "loops", "readings"):
            table[name] = [each._asdict() for each in getattr(self, name)]
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
    q = closed(robot, home(robot))
    dynamics.move(0.0, q, np.zeros(robot.nv))
    joints = tuple(_joints(robot))
    return RobotCheck(
        robot=robot.name,
        freedoms=robot.nv,
        mobility=robot.nv - dynamics.passive_rank,
        mass=float(sum(joint.mass for joint in joints)) if joints else math.nan,
        joints=joints,
        motors=tuple(_motors(robot)),
        loops=tuple(_loop(table) for table in robot.passive),
        frames=tuple(name for name in robot.frames if name != "world"),
        findings=(*robot.audit, *_unlikely(robot, joints), *_lost_meshes(robot)),
        missing=tuple(_missing(robot, joints)),
        readings=tuple(_readings(robot)),
        scenario=first_scenario(robot, str(reference), q, dynamics),
    )


def _motors(robot: Robot) -> Iterator[Motor]:
    inputs = robot.actuation
    for k, (name, unit) in enumerate(zip(inputs.names, inputs.units, strict=True)):
        pushed = [robot.dofs[i] for i in np.flatnonzero(inputs.pushed[:, k])]
        listed = ", ".join(pushed[:MOST_PUSHED])
        more = len(pushed) - MOST_PUSHED
        pushes = f"{listed} and {more} more" if more > 0 else listed
        bounds = inputs.bounds
        yield Motor(name, unit, pushes, float(bounds.lower[k]), float(bounds.upper[k]))


def _loop(table: Mapping[str, Any]) -> Loop:
    kind = str(table.get("kind", ""))
    said = next((table[key] for key in HELD if key in table), "")
    between = ", ".join(map(str, said)) if isinstance(said, list | tuple) else str(said)
    return Loop(str(table.get("name", kind)), kind, between)


def _readings(robot: Robot) -> Iterator[Reading]:
    codes = {finding.code for finding in robot.audit}
    every = (reading for model in robot.appearance.models for reading in readings(model, codes))
    yield from dict.fromkeys(every)


def _joints(robot: Robot) -> Iterator[Joint]:
    damping, friction = robot.structure.damping, robot.structure.friction
    armature = _armature(robot)
    B = np.abs(robot.snapshot(home(robot)).B)
    bodies = _bodies(robot)
    for block in robot.blocks:
        for i, name in enumerate(block.dofs):
            pushed = np.flatnonzero(B[block.iv + i] > 0.0).tolist()
            lone = block.shape == "line"
            mass, moments = bodies.get(block.name, (math.nan, ())) if i == 0 else (0.0, ())
            yield Joint(
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
    found = np.zeros(robot.nv)
    with contextlib.suppress(ModelError):
        own = np.array(robot.model.armature)
        found[: len(own)] = own
    return found


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


def _lost_meshes(robot: Robot) -> Iterator[Finding]:
    """Name meshes of URDF files that are not there; MuJoCo refuses a file that lacks one."""
    for model in robot.appearance.models:
        root = read(model.text).root
        if model.path is None or root.tag != "robot":
            continue
        files, lost = MeshFiles(model.path, model.packages), dict[str, list[str]]()
        for name in dict.fromkeys(mesh.get("filename", "") for mesh in root.iter("mesh")):
            try:
                files.find(name)
            except ModelError as error:
                lost.setdefault(str(error), []).append(name)
        for why, names in lost.items():
            more = f", as {len(names) - 1} more do" if len(names) > 1 else ""
            text = (
                f"mesh {shown(names[0])} {why}{more}: pictures show rods instead, and no capsule "
                "can be put around its link."
            )
            if any(name.startswith("package://") for name in names):
                text += " Name the folders that hold its packages as package_path in robot.toml."
            yield Finding("warning", "mesh_lost", names[0], text)


def _unlikely(robot: Robot, joints: tuple[Joint, ...]) -> Iterator[Finding]:
    """Name numbers that are possible, and hardly meant."""
    hinges = [joint for joint in joints if joint.unit == "rad/s"]
    wide = [each for each in hinges if WIDEST < each.upper - each.lower < UNLIMITED_TURNS]
    if wide:
        text = (
            f"{_first_of(wide)} from {wide[0].lower:g} to {wide[0].upper:g} rad, "
            f"{(wide[0].upper - wide[0].lower) / (2.0 * math.pi):.3g} times around; are these "
            "degrees? Write radians."
        )
        yield Finding("warning", "wide_range", wide[0].name, text)
    fast = [each for each in hinges if FASTEST < each.fastest < math.inf]
    if fast:
        text = (
            f"{_first_of(fast)} at {fast[0].fastest:g} rad/s; are these degrees per second? Write "
            "radians per second."
        )
        yield Finding("warning", "fast_joint", fast[0].name, text)
    try:
        model = robot.model
    except ModelError:
        return
    yield from _unlikely_efforts(robot)
    size = float(sum(np.linalg.norm(place.translation) for place in model.jointPlacements))
    if size > LARGEST_ROBOT:
        text = f"the joints are {size:.3g} m apart in all; are these millimetres? Write metres."
        yield Finding("warning", "huge_robot", robot.name, text)
    if size > 0.0:
        yield from _unlikely_bodies(robot, BEYOND * size)
    masses: dict[tuple[float, ...], list[float]] = {}
    for joint in joints:
        if joint.mass > 0.0:
            same = tuple(round(moment, 12) for moment in joint.moments)
            masses.setdefault(same, []).append(joint.mass)
    for moments, alike in masses.items():
        if len(alike) >= ALIKE and len(set(alike)) > 1:
            text = (
                f"{len(alike)} bodies of different mass have the same moments of inertia "
                f"({', '.join(f'{moment:.3g}' for moment in moments)} kg m^2), as where nobody "
                "has worked them out. Take them from the drawing or the maker."
            )
            yield Finding("warning", "same_inertia", robot.name, text)


def _first_of(joints: Sequence[Joint]) -> str:
    """Name the first of some joints as what may turn so, and how many more do."""
    more = f", and {len(joints) - 1} more likewise, may turn" if len(joints) > 1 else " may turn"
    return f"joint '{joints[0].name}'{more}"


def _unlikely_efforts(robot: Robot) -> Iterator[Finding]:
    """Ask about torque limits that are not of the order of what the robot weighs."""
    rng = np.random.default_rng(0)
    loads = [np.abs(robot.snapshot(robot.random(rng)).nle) for _ in range(POSES)]
    load, limit = np.max(loads, axis=0), robot.structure.effort_limit
    hinge = np.array([unit == "rad/s" for unit in robot.dof_units])
    known = hinge & np.isfinite(limit) & (load > 0.0)
    if not known.any():
        return
    ratio, most = float(limit[known].sum() / load[known].sum()), float(limit[known].max())
    if ratio > MOST_TIMES:
        instead = "N mm, or a number that stands for none"
    elif ratio < LEAST_TIMES:
        instead = "kN m"
    else:
        return
    text = (
        f"the torque limits, up to {most:g} N m, are {ratio:.2g} times what the weight of the "
        f"links asks for; are these {instead}? Write N m."
    )
    yield Finding("warning", "unlikely_effort", robot.name, text)


def _unlikely_bodies(robot: Robot, far: float) -> Iterator[Finding]:
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
            yield Finding("warning", "far_mass", block.name, text)
        moment = float(np.linalg.eigvalsh(np.array(body.inertia))[-1])
        radius = math.sqrt(moment / body.mass) if body.mass > 0.0 else 0.0
        if radius > far:
            text = (
                f"the inertia beyond joint '{block.name}', {moment:.3g} kg m^2 for {body.mass:.3g} "
                f"kg, is that of a body {radius:.3g} m around; is it in kg mm^2 or g mm^2? Write "
                "kg m^2."
            )
            yield Finding("warning", "large_inertia", block.name, text)


def _missing(robot: Robot, joints: tuple[Joint, ...]) -> Iterator[str]:
    """Yield what the file leaves out, with where to write it."""
    driven = [joint for joint in joints if len(joint.motors) == 1]
    for what, without, where in (
        ("torque limit", [j.name for j in driven if math.isinf(j.effort)], "[[actuator]] limit"),
        ("speed limit", [j.name for j in driven if math.isinf(j.fastest)], "[[limit]] velocity"),
        (
            "range",
            [j.name for j in driven if math.isinf(j.lower) and math.isinf(j.upper)],
            "[[limit]] position",
        ),
    ):
        if without:
            which = "any motor" if len(without) == len(driven) else quoted(without)
            yield f"no {what} of {which}: write it in the model file, or as {where} in robot.toml."
    if not robot.actuators:
        yield "no motor at all: list them as [[actuator]] in robot.toml."
    lossy = np.any(robot.structure.damping) or np.any(robot.structure.friction)
    if not (lossy or robot.forces.terms):
        yield "no damping or friction at any joint: it moves without loss."
