"""URDF: what is read of a file, what it says beyond that, and what its mimic tags hold.

Pinocchio's parser takes a file with any tag and attribute and passes over those that it does not
know. `READ` lists what is read; whatever else a file says is told.
"""

from __future__ import annotations

import copy
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np

from ukctrl.core.errors import ModelError
from ukctrl.robot.audit import Finding, body_findings, error, note, warning
from ukctrl.robot.layout import Block, identifier
from ukctrl.robot.models.source import Source, numbers
from ukctrl.robot.structure import Structure

MAX_JOINTS = 1000
"""More joints than this are refused: no robot has them, and a parser could crash on them."""
SHAPES = ("visual", "collision", "material")
"""What does not enter the dynamics: the parser refuses a robot where it cannot read one."""
NO_AXIS = ("fixed", "floating")
"""Types of joints whose axis means nothing."""
RANGED = ("revolute", "prismatic")
"""Types of joints whose range is read."""
NO_LIMIT = "1e308"
"""What stands for no limit where the parser asks for a number: it reads no infinity."""

_SHAPE = {
    "": "name",
    "/origin": "xyz rpy",
    "/geometry": "",
    "/geometry/box": "size",
    "/geometry/sphere": "radius",
    "/geometry/cylinder": "radius length",
    "/geometry/capsule": "radius length",
    "/geometry/mesh": "filename scale",
    "/material": "name",
    "/material/color": "rgba",
    "/material/texture": "filename",
}
READ: dict[str, frozenset[str]] = {
    path: frozenset(attributes.split())
    for path, attributes in {
        "robot": "name version",
        "robot/material": "name",
        "robot/material/color": "rgba",
        "robot/material/texture": "filename",
        "robot/link": "name",
        "robot/link/inertial": "",
        "robot/link/inertial/origin": "xyz rpy",
        "robot/link/inertial/mass": "value",
        "robot/link/inertial/inertia": "ixx ixy ixz iyy iyz izz",
        **{f"robot/link/visual{path}": names for path, names in _SHAPE.items()},
        **{f"robot/link/collision{path}": names for path, names in _SHAPE.items()},
        "robot/joint": "name type",
        "robot/joint/origin": "xyz rpy",
        "robot/joint/parent": "link",
        "robot/joint/child": "link",
        "robot/joint/axis": "xyz",
        "robot/joint/dynamics": "damping friction",
        "robot/joint/limit": "lower upper effort velocity",
        "robot/joint/mimic": "joint multiplier offset",
        "robot/joint/drake:mimic": "joint multiplier offset",
    }.items()
}
"""Every tag that is read, by its path, with the attributes that are."""
SEVERAL = frozenset({"link", "joint", "material", "visual", "collision"})
"""Tags that may stand more than once below another; of all others the first is read."""


class _Told(NamedTuple):
    """How a tag or attribute is told that is not read."""

    where: str
    """Pattern of its path; an attribute stands behind an ``@``."""
    level: str
    message: str
    """What follows for the motion, and what to do."""


_SHOWN = "It bears on pictures and contacts alone, not on the motion."
_FORCE = "Its force is missing: write it as [[force]] of robot.toml."
_TOLD = (
    _Told("*xacro:*", "error", "It stands for links and joints that the robot would lack: expand "
          "the file, as 'xacro FILE > robot.urdf' does, or name the .xacro file itself."),
    _Told("*quat*", "error", "The parser would take no rotation for it: write it as rpy."),
    _Told("*/a second <*", "warning", "The first alone is in the model: write one."),
    _Told("robot/drake:joint*", "error", "The robot would lack the joint: write it as joints of "
          "the types of URDF, such as two revolute ones for a universal joint."),
    _Told("robot/drake:*constraint*", "warning", "Nothing holds the bodies together: write it as "
          "[[passive]] of robot.toml, with kind = 'closure' for two points that coincide."),
    _Told("robot/drake:*spring*", "warning", _FORCE),
    _Told("robot/drake:*bushing*", "warning", _FORCE),
    _Told("robot/drake:*collision*", "note", _SHOWN),
    _Told("*drake:proximity*", "note", _SHOWN),
    _Told("robot/loop_joint*", "warning", "Nothing closes the loop: write it as [[passive]] of "
          "robot.toml, with kind = 'closure'."),
    _Told("robot/transmission*", "note", "Every joint with one freedom has a motor of unit gear; "
          "list the motors as [[actuator]] of robot.toml where these are others."),
    _Told("robot/ros2_control*", "note", "Every joint with one freedom has a motor; list the "
          "motors as [[actuator]] of robot.toml where these are others."),
    _Told("robot/gazebo", "note", "What it sets for a simulator is not in the model: springs, "
          "damping or joints in it belong in robot.toml."),
    _Told("robot/mujoco*", "note", "What it sets for MuJoCo's compiler is not in the model: "
          "masses that it bounds or balances, and gravity, belong in the file's own tags or in "
          "robot.toml."),
    _Told("*/limit@*celeration", "note", "Nothing limits accelerations by itself: write [[keep]] "
          "of the scenario, with kind = 'joint_limits', where they matter."),
    _Told("*/limit@jerk", "note", "Nothing limits jerk: plan a motion that is smooth enough."),
    _Told("robot/joint/calibration*", "note", "It bears on finding a joint's zero, not on the "
          "motion."),
    _Told("robot/joint/safety_controller*", "note", "Soft limits are part of no plant: write "
          "[[keep]] of the scenario where they matter."),
    _Told("robot/joint/dynamics@*", "warning", _FORCE),
    _Told("robot/link/visual*", "note", _SHOWN),
    _Told("robot/link/collision*", "note", _SHOWN),
    _Told("robot/material*", "note", _SHOWN),
    _Told("robot/link/contact*", "note", _SHOWN),
    _Told("*", "warning", "URDF knows nothing of the name, and so nothing of it is in the model: "
          "write in robot.toml what of it bears on the motion."),
)  # fmt: skip
"""The first that fits holds. What stands below a tag that is told is told with it."""


def for_parser(source: Source) -> str:
    """Return the text that Pinocchio's parser is given: without what does not enter the dynamics,
    which it may refuse, and with the name and the limits that it asks for.
    """
    root = copy.deepcopy(source.root)
    root.attrib.setdefault("name", "robot")
    for parent in (root, *root.findall("link")):
        for child in [child for child in parent if child.tag in SHAPES]:
            parent.remove(child)
    for joint in root.findall("joint"):
        limit = joint.find("limit")
        if limit is None and joint.get("type") in RANGED:
            limit = ET.SubElement(joint, "limit", lower=f"-{NO_LIMIT}", upper=NO_LIMIT)
        if limit is not None:
            for name in ("effort", "velocity"):
                limit.attrib.setdefault(name, NO_LIMIT)
    return ET.tostring(root, encoding="unicode")


def refuse_what_parsers_take(source: Source) -> None:
    """Refuse what Pinocchio's parser takes, but turns into a different robot.

    Raises:
        ModelError: A link has two parents, a joint axis is zero, or there are so many joints
            that the parser, which is recursive, would run out of stack.
    """
    joints = source.root.findall("joint")
    if len(joints) > MAX_JOINTS:
        raise ModelError(
            f"{source.label}: must have at most {MAX_JOINTS} joints; got {len(joints)}."
        )
    parent: dict[str, str] = {}
    for joint in joints:
        name, child = joint.get("name", ""), joint.find("child")
        link = "" if child is None else child.get("link", "")
        if link in parent:
            raise ModelError(
                f"{source.label}: link '{link}' is the child of joints '{parent[link]}' and "
                f"'{name}'; a URDF is a tree. Cut the loop and close it with a [[passive]] "
                "constraint in robot.toml."
            )
        parent[link] = name
        axis = joint.find("axis")
        if joint.get("type") in NO_AXIS or axis is None:  # exporters write "0 0 0" there
            continue
        if not any(numbers(axis.get("xyz", "1 0 0"), 3)):
            raise ModelError(f"{source.label}: the axis of joint '{name}' must not be zero.")


def findings(source: Source, structure: Structure) -> Iterator[Finding]:
    """Yield what the file says that is not in the model, or that is odd."""
    yield from _bodies(source)
    yield from _joints(source)
    for link in source.root.findall("link"):
        name = link.get("name")
        if name and name not in structure.frames:
            message = f"link '{name}' is not in the model that was built."
            yield error("link_dropped", name, message)
    yield from unread(source.root)


def unread(root: ET.Element) -> Iterator[Finding]:
    """Yield one finding for every kind of tag and attribute that is not read, the worst first."""
    places: dict[tuple[_Told, str], list[str]] = {}

    def add(path: str, name: str, owner: str) -> None:
        told = next(told for told in _TOLD if fnmatchcase(path, told.where))
        places.setdefault((told, name), []).append(owner)

    def walk(element: ET.Element, path: str, owner: str) -> None:
        if element.get("name"):
            owner = f"{element.tag} '{element.get('name')}'"
        for name in element.attrib:
            if name not in READ[path] and name.partition(":")[0] != "xmlns":
                add(f"{path}@{name}", name, owner)
        seen = set()
        for child in element:
            inner = f"{path}/{child.tag}"
            if inner not in READ:
                add(inner, f"<{child.tag}>", owner)
                continue
            if child.tag in seen and child.tag not in SEVERAL:
                add(f"{path}/a second <{child.tag}>", f"a second <{child.tag}>", owner)
                continue
            seen.add(child.tag)
            walk(child, inner, owner)

    walk(root, "robot", "")
    for (told, name), owners in sorted(
        places.items(), key=lambda item: ("error", "warning", "note").index(item[0][0].level)
    ):
        first = owners[0]
        where = f" of {first}" if first and not first.startswith("robot ") else ""
        often = f", and {len(owners) - 1} more" if len(owners) > 1 else ""
        message = f"not read: {name}{where}{often}. {told.message}"
        subject = re.sub("[<>]", "", name)
        yield Finding(told.level, "not_read", subject, message)  # type: ignore[arg-type]


def _bodies(source: Source) -> Iterator[Finding]:
    for link in source.root.findall("link"):
        name, inertial = link.get("name", ""), link.find("inertial")
        if inertial is None:
            continue
        mass, inertia = inertial.find("mass"), inertial.find("inertia")
        value = dict.fromkeys(("ixx", "iyy", "izz", "ixy", "ixz", "iyz"), 0.0)
        if inertia is not None:
            value = {key: numbers(inertia.get(key, "0"), 1)[0] for key in value}
        matrix = np.array(
            [
                [value["ixx"], value["ixy"], value["ixz"]],
                [value["ixy"], value["iyy"], value["iyz"]],
                [value["ixz"], value["iyz"], value["izz"]],
            ]
        )
        kilograms = 0.0 if mass is None else numbers(mass.get("value", "0"), 1)[0]
        yield from body_findings(name, kilograms, matrix)


def _joints(source: Source) -> Iterator[Finding]:
    links = {link.get("name") for link in source.root.findall("link")}
    for joint in source.root.findall("joint"):
        name, kind, axis = joint.get("name", ""), joint.get("type"), joint.find("axis")
        normal = [1.0, 0.0, 0.0] if axis is None else numbers(axis.get("xyz", "1 0 0"), 3)
        if kind == "planar" and (normal[0] or normal[1]):
            yield warning(
                "planar_axis",
                name,
                f"planar joint '{name}' moves in the xy plane of its own frame; its axis is "
                "not read. Turn its <origin> instead.",
            )
        if name in links:
            yield note(
                "frame_name",
                name,
                f"'{name}' is both a link and a joint; the frame of that name is the link's.",
            )
        yield from _limits(name, kind, joint.find("limit"))


def _limits(name: str, kind: str | None, limit: ET.Element | None) -> Iterator[Finding]:
    """Ask about limits that are missing, not read, or of another unit."""
    if kind == "fixed":
        return
    given = {} if limit is None else limit.attrib
    ends = [end for end in ("lower", "upper") if end in given]
    if kind not in RANGED:
        if any(any(numbers(given[end], 1)) for end in ends):
            message = f"the range of {kind} joint '{name}' is not read, as URDF has it."
            if kind == "continuous":
                message += ' Drake and urchin hold it; where the joint has one, write "revolute".'
            yield warning("range_not_read", name, message)
        return
    missing = [one for one in ("effort", "velocity") if one not in given]
    for one in missing:
        yield warning(
            f"no_{one}_limit",
            name,
            f"joint '{name}' has no {one} limit, which URDF asks for: taken as unlimited. Write "
            "the true one.",
        )
    if len(ends) == 1:
        other = "upper" if ends == ["lower"] else "lower"
        yield warning(
            "half_a_range",
            name,
            f"the <limit> of joint '{name}' has {ends[0]} alone: {other} is 0, as URDF has it; "
            "MuJoCo, Drake and urchin take it as unlimited. Write both.",
        )


def rotor_inertias(source: Source) -> dict[str, float]:
    """Return what motors add to the inertia of their joints, ``gear_ratio**2 * rotor_inertia``.

    Drake's tags in a transmission say so; no tag of URDF does.

    Raises:
        ModelError: One is no number, or negative.
    """
    found: dict[str, float] = {}
    for transmission in source.root.findall("transmission"):
        joint = transmission.find("joint")
        for actuator in transmission.findall("actuator"):
            read = [actuator.find(f"drake:{tag}") for tag in ("rotor_inertia", "gear_ratio")]
            if joint is None or read[0] is None:
                continue
            inertia, ratio = (
                1.0 if one is None else numbers(one.get("value", ""), 1)[0] for one in read
            )
            name = joint.get("name", "")
            if not 0.0 <= ratio**2 * inertia < math.inf:
                raise ModelError(f"{source.label}: the rotor inertia of '{name}' is no inertia.")
            found[name] = found.get(name, 0.0) + ratio**2 * inertia
    return found


def mimics(
    source: Source, structure: Structure
) -> Iterator[tuple[str, dict[str, str] | None, Finding]]:
    r"""Turn mimic tags into passive constraints, $q_j - (m\, q_i + c) = 0$.

    Where an angle is known by its cosine and sine, $2 \tan(\theta / 2) = 0$ says the same of the
    difference $\theta$ of both sides: it has one root a turn and the derivative 1 there.

    Yields:
        The joint that mimics, the constraint as a ``[[passive]]`` table (``None`` where there
        can be none), and the finding.

    Raises:
        ModelError: The joint that is mimicked is no other moving joint, or a number is not finite.
    """
    blocks = {block.name: block for block in structure.blocks}
    for joint in source.root.findall("joint"):
        name, mimic = joint.get("name", ""), joint.find("mimic")
        mimic = joint.find("drake:mimic") if mimic is None else mimic
        if mimic is None or name not in blocks:
            continue
        leader = mimic.get("joint", "")
        if leader not in blocks or leader == name:
            raise ModelError(
                f"joint '{name}' mimics '{leader}', which is not another moving "
                f"joint. Known: {', '.join(n for n in blocks if n != name)}."
            )
        ratio = numbers(mimic.get("multiplier", "1"), 1)[0]
        offset = numbers(mimic.get("offset", "0"), 1)[0]
        if not (math.isfinite(ratio) and math.isfinite(offset)):
            raise ModelError(f"the mimic of joint '{name}' must be finite.")
        own, other = blocks[name], blocks[leader]
        if own.nv != 1 or other.nv != 1:
            message = f"joint '{name}' has several freedoms; its mimic tag is dropped."
            yield name, None, warning("mimic_joint", name, message)
            continue
        form, formula = _relation(own, other, ratio, offset)
        yield (
            name,
            {
                "kind": "expression",
                "name": f"mimic_{identifier(name)}",
                form: formula,
                "unit": own.dof_units[0].removesuffix("/s"),
            },
            _told_of_mimic(name, leader, form, formula, offset),
        )


def _relation(own: Block, other: Block, ratio: float, offset: float) -> tuple[str, str]:
    """Return the form and the formula of a mimic of two joints with one freedom each."""
    follows, leads = (_angle(block) for block in (own, other))
    shapes = (own.shape, other.shape)
    if shapes == ("line", "line"):
        return "phi", f"{follows} - ({ratio!r}*{leads} + {offset!r})"
    if own.shape == "circle" and (other.shape == "line" or ratio.is_integer()):
        return "phi", f"2*tan(({follows} - ({ratio!r}*{leads} + {offset!r}))/2)"
    if shapes == ("line", "circle") and ratio and (1.0 / ratio).is_integer():
        return "phi", f"{2.0 * ratio!r}*tan((({follows} - {offset!r})/{ratio!r} - {leads})/2)"
    return "psi", f"v.{own.dofs[0]} - {ratio!r}*v.{other.dofs[0]}"


def _angle(block: Block) -> str:
    if block.shape == "circle":
        return f"atan2({block.coordinates[1]}, {block.coordinates[0]})"
    return block.coordinates[0]


def _told_of_mimic(name: str, leader: str, form: str, formula: str, offset: float) -> Finding:
    message = (
        f"joint '{name}' mimics '{leader}'; it is kept as a joint without a motor, and the "
        f"passive constraint {formula} = 0 holds it."
    )
    if form == "phi":
        return note("mimic_joint", name, message)
    return warning(
        "mimic_joint",
        name,
        f"{message} Turns of a joint without end are not counted, so the offset {offset:g} is kept "
        "only from a start that has it.",
    )
