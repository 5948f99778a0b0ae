"""What the text of a model file says that Pinocchio does not tell: dropped and odd things."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ukctrl.core.errors import ModelError
from ukctrl.robot.audit import Finding, body_findings, note, warning
from ukctrl.robot.layout import identifier
from ukctrl.robot.models.source import Source, numbers
from ukctrl.robot.structure import Structure

MAX_JOINTS = 1000
"""More joints than this are refused: no robot has them, and a parser could crash on them."""
NO_AXIS = ("fixed", "floating")
"""Types of joints whose axis means nothing."""


def refuse_what_parsers_take(source: Source) -> None:
    """Refuse URDF that Pinocchio's parser takes, but turns into a different robot.

    Raises:
        ModelError: A link has two parents, a joint axis is zero, or there are so many joints
            that the parser, which is recursive, would run out of stack.
    """
    if source.format != "URDF":
        return
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


def text_findings(source: Source, structure: Structure) -> Iterator[Finding]:
    """Name what the file says that is not in the model."""
    if source.format == "URDF":
        yield from _urdf_bodies(source)
        yield from _urdf_joints(source)
        yield from _dropped(source, structure, "link")
        yield from _ignored(source, _URDF_IGNORED)


Ignored = dict[str, tuple[Callable[[str, str, str], Finding], str]]
"""What is not read, by its tag: how it is remarked on, and what to do."""
_URDF_IGNORED: Ignored = {
    "mesh": (note, "meshes are for looking at; shapes do not enter the dynamics"),
    "transmission": (note, "transmissions are not read; list the actuators in robot.toml"),
    "gazebo": (note, "gazebo extensions are not read"),
    "loop_joint": (warning, "loop joints are not read; write them as [[passive]] constraints"),
}


def _ignored(source: Source, table: Ignored) -> Iterator[Finding]:
    for tag, (remark, message) in table.items():
        count = sum(1 for _ in source.root.iter(tag))
        if count:
            often = f" (<{tag}> appears {count} times)" if count > 1 else ""
            yield remark(f"{tag}_ignored", tag, f"{message}{often}.")


def _dropped(source: Source, structure: Structure, tag: str) -> Iterator[Finding]:
    for element in source.root.iter(tag):
        name = element.get("name")
        if name and name != "world" and name not in structure.frames:
            yield warning(
                "link_dropped", name, f"{tag} '{name}' is not in the model that was built."
            )


def _urdf_bodies(source: Source) -> Iterator[Finding]:
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


def _urdf_joints(source: Source) -> Iterator[Finding]:
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


def mimics(
    source: Source, structure: Structure
) -> Iterator[tuple[str, dict[str, str] | None, Finding]]:
    r"""Turn mimic tags into passive constraints, $q_j - (m\, q_i + c) = 0$.

    Yields:
        The joint that mimics, the constraint as a ``[[passive]]`` table (``None`` where there
        can be none), and the finding.
    """
    if source.format != "URDF":
        return
    blocks = {block.name: block for block in structure.blocks}
    for joint in source.root.findall("joint"):
        mimic, name = joint.find("mimic"), joint.get("name", "")
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
        pair = blocks[name], blocks[leader]
        own, other = identifier(name), identifier(leader)
        if any(block.nv != 1 for block in pair):
            message = f"joint '{name}' has several freedoms; its mimic tag is dropped."
            yield name, None, warning("mimic_joint", name, message)
            continue
        if all(block.shape == "line" for block in pair):
            form, formula = "phi", f"{own} - ({ratio!r}*{other} + {offset!r})"
        else:
            form, formula = "psi", f"v.{own} - {ratio!r}*v.{other}"
        unit = pair[0].dof_units[0].removesuffix("/s")
        yield (
            name,
            {"kind": "expression", "name": f"mimic_{own}", form: formula, "unit": unit},
            note(
                "mimic_joint",
                name,
                f"joint '{name}' mimics '{leader}'; it is kept as a joint without a motor, and "
                f"the passive constraint {formula} = 0 holds it.",
            ),
        )
