"""URDF: what is read of a file, what it says beyond that, and what its mimic tags hold.

Pinocchio's parser takes a file with any tag and attribute and passes over those that it does not
know. `SUPPORTED_TAGS` lists what is read; whatever else a file says is told.
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
from ukctrl.robot.joint_layout import JointBlock, identifier
from ukctrl.robot.model_audit import ModelDiagnostic, body_diagnostics, error, note, warning
from ukctrl.robot.models.model_source import ModelSource, numbers
from ukctrl.robot.structure import Structure

MAX_JOINTS = 1000
"""More joints than this are refused: no robot has them, and a parser could crash on them."""
SHAPES = ("visual", "collision", "material")
"""What does not enter the dynamics: the parser refuses a robot where it cannot read one."""
NO_AXIS = ("fixed", "floating")
"""Types of joints whose axis means nothing."""
LIMITED_JOINTS = ("revolute", "prismatic")
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
SUPPORTED_TAGS: dict[str, frozenset[str]] = {
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
REPEATABLE_TAGS = frozenset({"link", "joint", "material", "visual", "collision"})
"""Tags that may stand more than once below another; of all others the first is read."""


class _TagRule(NamedTuple):
    """How a tag or attribute is told that is not read."""

    where: str
    """Pattern of its path; an attribute stands behind an ``@``."""
    level: str
    message: str
    """What follows for the motion, and what to do."""


_SHOWN = "It bears on pictures and contacts alone, not on the motion."
_FORCE = "Its force is missing: write it as [[force]] of robot.toml."
_TOLD = (
    _TagRule("*xacro:*", "error",
    "It stands for links and joints that the robot would lack: expand "
          "the file, as 'xacro FILE > robot.urdf' does, or name the .xacro file itself."),
    _TagRule("*quat*", "error", "The parser would take no rotation for it: write it as rpy."),
    _TagRule("*/a second <*", "warning", "The first alone is in the model: write one."),
    _TagRule("robot/drake:joint*", "error", "The robot would lack the joint: write it as joints of "
          "the types of URDF, such as two revolute ones for a universal joint."),
    _TagRule("robot/drake:*constraint*", "warning",
    "Nothing holds the bodies together: write it as "
          "[[passive]] of robot.toml, with kind = 'closure' for two points that coincide."),
    _TagRule("robot/drake:*spring*", "warning", _FORCE),
    _TagRule("robot/drake:*bushing*", "warning", _FORCE),
    _TagRule("robot/drake:*collision*", "note", _SHOWN),
    _TagRule("*drake:proximity*", "note", _SHOWN),
    _TagRule("robot/loop_joint*", "warning", "Nothing closes the loop: write it as [[passive]] of "
          "robot.toml, with kind = 'closure'."),
    _TagRule("robot/transmission*", "note",
    "Every joint with one freedom has a motor of unit gear; "
          "list the motors as [[actuator]] of robot.toml where these are others."),
    _TagRule("robot/ros2_control*", "note", "Every joint with one freedom has a motor; list the "
          "motors as [[actuator]] of robot.toml where these are others."),
    _TagRule("robot/gazebo", "note", "What it sets for a simulator is not in the model: springs, "
          "damping or joints in it belong in robot.toml."),
    _TagRule("robot/mujoco*", "note", "What it sets for MuJoCo's compiler is not in the model: "
          "masses that it bounds or balances, and gravity, belong in the file's own tags or in "
          "robot.toml."),
    _TagRule("*/limit@*celeration", "note",
    "Nothing limits accelerations by itself: write [[keep]] "
          "of the scenario, with kind = 'joint_limits', where they matter."),
    _TagRule("*/limit@jerk", "note", "Nothing limits jerk: plan a motion that is smooth enough."),
    _TagRule("robot/joint/calibration*", "note", "It bears on finding a joint's zero, not on the "
          "motion."),
    _TagRule("robot/joint/safety_controller*", "note", "Soft limits are part of no plant: write "
          "[[keep]] of the scenario where they matter."),
    _TagRule("robot/joint/dynamics@*", "warning", _FORCE),
    _TagRule("robot/link/visual*", "note", _SHOWN),
    _TagRule("robot/link/collision*", "note", _SHOWN),
    _TagRule("robot/material*", "note", _SHOWN),
    _TagRule("robot/link/contact*", "note", _SHOWN),
    _TagRule("*", "warning",
    "URDF knows nothing of the name, and so nothing of it is in the model: "
          "write in robot.toml what of it bears on the motion."),
)  # fmt: skip
"""The first that fits holds. What stands below a tag that is told is told with it."""


def parser_text(source: ModelSource) -> str:
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
        if limit is None and joint.get("type") in LIMITED_JOINTS:
            limit = ET.SubElement(joint, "limit", lower=f"-{NO_LIMIT}", upper=NO_LIMIT)
        if limit is not None:
            for name in ("effort", "velocity"):
                limit.attrib.setdefault(name, NO_LIMIT)
    return ET.tostring(root, encoding="unicode")


def refuse_misparsed(source: ModelSource) -> None:
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


def urdf_diagnostics(source: ModelSource, structure: Structure) -> Iterator[ModelDiagnostic]:
    """Yield what the file says that is not in the model, or that is odd."""
    yield from _bodies(source)
    yield from _joints(source)
    for link in source.root.findall("link"):
        name = link.get("name")
        if name and name not in structure.frames:
            message = f"link '{name}' is not in the model that was built."
            yield error("link_dropped", name, message)
    yield from unsupported_tags(source.root)


def unsupported_tags(root: ET.Element) -> Iterator[ModelDiagnostic]:
    """Yield one finding for every kind of tag and attribute that is not read, the worst first."""
    occurrences: dict[tuple[_TagRule, str], list[str]] = {}

    def add(path: str, name: str, owner: str) -> None:
        rule = next(rule for rule in _TOLD if fnmatchcase(path, rule.where))
        occurrences.setdefault((rule, name), []).append(owner)

    def walk(element: ET.Element, path: str, owner: str) -> None:
        if element.get("name"):
            owner = f"{element.tag} '{element.get('name')}'"
        for name in element.attrib:
            if name not in SUPPORTED_TAGS[path] and name.partition(":")[0] != "xmlns":
                add(f"{path}@{name}", name, owner)
        tags = set()
        for child in element:
            inner = f"{path}/{child.tag}"
            if inner not in SUPPORTED_TAGS:
                add(inner, f"<{child.tag}>", owner)
                continue
            if child.tag in tags and child.tag not in REPEATABLE_TAGS:
                add(f"{path}/a second <{child.tag}>", f"a second <{child.tag}>", owner)
                continue
            tags.add(child.tag)
            walk(child, inner, owner)

    walk(root, "robot", "")
    for (rule, name), owners in sorted(
        occurrences.items(), key=lambda item: ("error", "warning", "note").index(item[0][0].level)
    ):
        first = owners[0]
        where = f" of {first}" if first and not first.startswith("robot ") else ""
        often = f", and {len(owners) - 1} more" if len(owners) > 1 else ""
        message = f"not read: {name}{where}{often}. {rule.message}"
        subject = re.sub("[<>]", "", name)
        yield ModelDiagnostic(rule.level, "not_read", subject, message)  # type: ignore[arg-type]


def _bodies(source: ModelSource) -> Iterator[ModelDiagnostic]:
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
        yield from body_diagnostics(name, kilograms, matrix)


def _joints(source: ModelSource) -> Iterator[ModelDiagnostic]:
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


def _limits(name: str, kind: str | None, limit: ET.Element | None) -> Iterator[ModelDiagnostic]:
    """Ask about limits that are missing, not read, or of another unit."""
    if kind == "fixed":
        return
    attrib = {} if limit is None else limit.attrib
    ends = [end for end in ("lower", "upper") if end in attrib]
    if kind not in LIMITED_JOINTS:
        if any(any(numbers(attrib[end], 1)) for end in ends):
            message = f"the range of {kind} joint '{name}' is not read, as URDF has it."
            if kind == "continuous":
                message += ' Drake and urchin hold it; where the joint has one, write "revolute".'
            yield warning("range_not_read", name, message)
        return
    missing = [one for one in ("effort", "velocity") if one not in attrib]
    for one in missing:
        yield warning(
            f"no_{one}_limit",
            name,
            f"joint '{name}' has no {one} limit, which URDF asks for: taken as unlimited. Write "
            "the true one.",
        )
    if len(ends) == 1:
        bound = "upper" if ends == ["lower"] else "lower"
        yield warning(
            "half_a_range",
            name,
            f"the <limit> of joint '{name}' has {ends[0]} alone: {bound} is 0, as URDF has it; "
            "MuJoCo, Drake and urchin take it as unlimited. Write both.",
        )


def rotor_inertias(source: ModelSource) -> dict[str, float]:
    """Return what motors add to the inertia of their joints, ``gear_ratio**2 * rotor_inertia``.

    Drake's tags in a transmission say so; no tag of URDF does.

    Raises:
        ModelError: One is no number, or negative.
    """
    inertias: dict[str, float] = {}
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
            inertias[name] = inertias.get(name, 0.0) + ratio**2 * inertia
    return inertias


def mimic_constraints(
    source: ModelSource, structure: Structure
) -> Iterator[tuple[str, dict[str, str] | None, ModelDiagnostic]]:
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
        follower, driver = blocks[name], blocks[leader]
        if follower.nv != 1 or driver.nv != 1:
            message = f"joint '{name}' has several freedoms; its mimic tag is dropped."
            yield name, None, warning("mimic_joint", name, message)
            continue
        form, formula = _mimic_formula(follower, driver, ratio, offset)
        yield (
            name,
            {
                "kind": "expression",
                "name": f"mimic_{identifier(name)}",
                form: formula,
                "unit": follower.dof_units[0].removesuffix("/s"),
            },
            _mimic_diagnostic(name, leader, form, formula, offset),
        )


def _mimic_formula(
    follower: JointBlock, driver: JointBlock, ratio: float, offset: float
) -> tuple[str, str]:
    """Return the form and the formula of a mimic of two joints with one freedom each."""
    follows, leads = (_angle(block) for block in (follower, driver))
    shapes = (follower.shape, driver.shape)
    if shapes == ("line", "line"):
        return "phi", f"{follows} - ({ratio!r}*{leads} + {offset!r})"
    if follower.shape == "circle" and (driver.shape == "line" or ratio.is_integer()):
        return "phi", f"2*tan(({follows} - ({ratio!r}*{leads} + {offset!r}))/2)"
    if shapes == ("line", "circle") and ratio and (1.0 / ratio).is_integer():
        return "phi", f"{2.0 * ratio!r}*tan((({follows} - {offset!r})/{ratio!r} - {leads})/2)"
    return "psi", f"v.{follower.dofs[0]} - {ratio!r}*v.{driver.dofs[0]}"


def _angle(block: JointBlock) -> str:
    if block.shape == "circle":
        return f"atan2({block.coordinates[1]}, {block.coordinates[0]})"
    return block.coordinates[0]


def _mimic_diagnostic(
    name: str, leader: str, form: str, formula: str, offset: float
) -> ModelDiagnostic:
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
