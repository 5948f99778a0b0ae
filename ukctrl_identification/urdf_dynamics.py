"""URDF files with other inertial parameters, rotors and friction, and all else as it was."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.dom.minidom import Element

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.files.catalog import file_name
from ukctrl.robot.geometry.mesh_files import MeshFiles
from ukctrl.robot.schema.robot_file import RobotPart
from ukctrl.robot.shape_sources import ShapeSource
from ukctrl_identification.model_files import (
    ModelDynamics,
    ModelFiles,
    body_inertia,
    child_elements,
    insert_xml,
    merged_comment,
    numbers_text,
    parse_xml,
    remove_node,
    root_of,
    xml_bytes,
)

DRAKE = "http://drake.mit.edu"
"""Namespace of Drake's tags, of which two say what rotors add to joints."""


class UrdfTree(NamedTuple):
    """The links and joints of all parts of a robot, by their names in it."""

    robots: dict[str, Element]
    """The root element by joint."""
    joints: dict[str, Element]
    links: dict[str, Element]
    moved: dict[str, str]
    """The link that a joint moves."""
    fixed: dict[str, list[str]]
    """Links that are fixed to a link."""


def urdf_files(
    sources: Sequence[ShapeSource],
    parts: Sequence[RobotPart],
    base: str | None,
    dynamics: ModelDynamics,
) -> ModelFiles:
    """Return the files of a robot made of URDFs.

    Args:
        sources: Its model files, macros expanded.
        parts: Its ``[[part]]`` tables, one a file; none where it is one file.
        base: Joint of the floating base, which no file has; None: the base is fixed.
        dynamics: What is written.
    """
    documents = [parse_xml(source.text) for source in sources]
    roots = [root_of(document) for document in documents]
    tree = _tree(roots, parts, base)
    for joint, body in dynamics.bodies.items():
        _write_body(tree, joint, body)
    for joint, inertia in dynamics.armature.items():
        _write_rotor(tree, joint, inertia)
    for key, by_joint in (("damping", dynamics.damping), ("friction", dynamics.dry_friction)):
        for joint, value in by_joint.items():
            if joint in tree.joints:
                _write_loss(tree.joints[joint], key, value)
    meshes: dict[str, Path] = {}
    models: dict[str, bytes] = {}
    for number, (source, document) in enumerate(zip(sources, documents, strict=True)):
        _copy_meshes(source, roots[number], meshes)
        stem = source.path.name.partition(".")[0] if source.path is not None else "model"
        prefix = parts[number].prefix if parts else ""
        name = file_name(f"{prefix}{stem}", "model")
        while f"{name}.urdf" in models:
            name += "_"
        models[f"{name}.urdf"] = xml_bytes(document)
    return ModelFiles(tuple(models), {**models, **meshes})


def _tree(roots: Sequence[Element], parts: Sequence[RobotPart], base: str | None) -> UrdfTree:
    tree = UrdfTree({}, {}, {}, {}, {})
    for number, root in enumerate(roots):
        prefix = parts[number].prefix if parts else ""
        names = [prefix + link.getAttribute("name") for link in child_elements(root, "link")]
        tree.links.update(zip(names, child_elements(root, "link"), strict=True))
        children = set()
        for joint in child_elements(root, "joint"):
            name = prefix + joint.getAttribute("name")
            above, below = (
                prefix + next(child_elements(joint, end)).getAttribute("link")
                for end in ("parent", "child")
            )
            children.add(below)
            if joint.getAttribute("type") == "fixed":
                tree.fixed.setdefault(above, []).append(below)
            tree.joints[name], tree.moved[name], tree.robots[name] = joint, below, root
        first = next(name for name in names if name not in children)
        if base is not None and number == 0:
            tree.moved[base], tree.robots[base] = first, root
        elif parts and (carrier := parts[number].parent) is not None:
            tree.fixed.setdefault(carrier, []).append(first)
    return tree


def _write_body(tree: UrdfTree, joint: str, parameters: Vector) -> None:
    """Give a body to the link that a joint moves, and nothing to what is fixed to it."""
    link = tree.moved[joint]
    body = body_inertia(parameters)
    (xx, xy, xz), (_, yy, yz), (_, _, zz) = body.inertia.tolist()
    text = (
        "\n    <inertial>"
        f'\n      <origin xyz="{numbers_text(*body.centre)}" rpy="0 0 0"/>'
        f'\n      <mass value="{numbers_text(body.mass)}"/>'
        f'\n      <inertia ixx="{xx!r}" ixy="{xy!r}" ixz="{xz!r}" iyy="{yy!r}" iyz="{yz!r}" '
        f'izz="{zz!r}"/>'
        "\n    </inertial>"
    )
    _replace_inertials(tree.links[link], text if parameters.any() else "")
    waiting = list(tree.fixed.get(link, ()))
    while waiting:
        name = waiting.pop()
        waiting += tree.fixed.get(name, ())
        _replace_inertials(tree.links[name], merged_comment("link", link), True)


def _replace_inertials(link: Element, text: str, present: bool = False) -> None:
    """Put a text where the inertials of a link are, or first; ``present``: only where one is."""
    inertials = list(child_elements(link, "inertial"))
    for inertial in inertials:
        remove_node(inertial)
    if inertials or not present:
        insert_xml(link, text, first=True)


def _write_rotor(tree: UrdfTree, joint: str, inertia: float) -> None:
    """Write what a rotor adds to a joint, as Drake's tags say it: no tag of URDF does."""
    root, name = tree.robots[joint], tree.joints[joint].getAttribute("name")
    for transmission in child_elements(root, "transmission"):
        driven = next(child_elements(transmission, "joint"), None)
        if driven is not None and driven.getAttribute("name") == name:
            for actuator in child_elements(transmission, "actuator"):
                for tag in child_elements(actuator, "drake:rotor_inertia", "drake:gear_ratio"):
                    remove_node(tag)
    if not inertia:
        return
    root.setAttribute("xmlns:drake", DRAKE)
    text = root_of(parse_xml("<transmission><joint/><actuator/></transmission>"))
    text.setAttribute("name", f"{name}_rotor")
    joint_tag, actuator_tag = child_elements(text)
    joint_tag.setAttribute("name", name)
    actuator_tag.setAttribute("name", f"{name}_rotor")
    insert_xml(actuator_tag, f'<drake:rotor_inertia value="{inertia!r}"/>')
    insert_xml(root, f"  {text.toxml()}\n")


def _write_loss(joint: Element, key: str, value: float) -> None:
    losses = next(child_elements(joint, "dynamics"), None)
    if losses is None:
        if not value:
            return
        insert_xml(joint, "  <dynamics/>\n  ")
        losses = next(child_elements(joint, "dynamics"))
    losses.setAttribute(key, numbers_text(value))


def _copy_meshes(source: ShapeSource, root: Element, meshes: dict[str, Path]) -> None:
    """Let a file name copies of the meshes that are found; other names stay what they are."""
    files = MeshFiles(source.path, source.packages)
    for mesh in root.getElementsByTagName("mesh"):
        try:
            path = files.find(mesh.getAttribute("filename"))
        except ModelError:
            continue
        name, number = f"meshes/{path.name}", 1
        while meshes.setdefault(name, path) != path:
            number += 1
            name = f"meshes/{number}/{path.name}"
        mesh.setAttribute("filename", name)
