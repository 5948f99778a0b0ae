"""One robot made of several model files: arms on a table, an arm on a vehicle.

The URDFs are joined as text, with a prefix on every name, so that all that holds for one file
(checks, audit, mimic joints) holds for their union.
"""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from ukctrl.core.errors import ModelError, unknown_name
from ukctrl.core.files.toml import error_context
from ukctrl.robot.models.model_source import NO_MACROS, ModelSource, XacroOptions, read_model
from ukctrl.robot.models.urdf import SHAPES
from ukctrl.robot.schema.robot_file import RobotPart

NAMING = {"parent": "link", "child": "link", "mimic": "joint", "drake:mimic": "joint"}
"""Tags of a joint that name something, and the attribute that does."""
GROUND = "ground"
"""The link that carries the parts that stand on nothing else."""


def join_urdfs(
    components: Sequence[RobotPart],
    name: str,
    floating_base: bool,
    macros: XacroOptions = NO_MACROS,
) -> ModelSource:
    """Return the model text of all parts together.

    Where the base floats, the root link of the first part is the one that does.

    Raises:
        ModelError: A part is no URDF, or two links or joints have one name.
        UnknownName: No part further up has the link that shall carry a part.
    """
    whole = ET.Element("robot", name=name)
    links: list[str] = []
    if not floating_base:
        ET.SubElement(whole, "link", name=GROUND)
        links.append(GROUND)
    for number, component in enumerate(components):
        with error_context(f"part[{number}]"):
            floats = floating_base and number == 0
            links += _add(whole, read_model(component.model, macros), component, links, floats)
    joints = [joint.get("name", "") for joint in whole.findall("joint")]
    for noun, names in (("link", links), ("joint", joints)):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ModelError(
                f"two parts have a {noun} named '{twice}'; give one of them a prefix, such as "
                'prefix = "left_".'
            )
    return read_model(ET.tostring(whole, encoding="unicode"))


def _add(
    whole: ET.Element, source: ModelSource, component: RobotPart, links: Sequence[str], floats: bool
) -> list[str]:
    """Append the links and joints of one part; return the names of its links."""
    if source.format != "URDF":
        raise ModelError(f"{source.label}: a part must be a URDF; got {source.format}.")
    names = [component.prefix + link.get("name", "") for link in source.root.findall("link")]
    for link in source.root.findall("link"):
        body = ET.SubElement(whole, "link", name=component.prefix + link.get("name", ""))
        body.extend(copy.deepcopy(child) for child in link if child.tag not in SHAPES)
    children = set()
    for joint in source.root.findall("joint"):
        clone = copy.deepcopy(joint)
        clone.set("name", component.prefix + clone.get("name", ""))
        for tag, key in NAMING.items():
            end = clone.find(tag)
            if end is not None:
                end.set(key, component.prefix + end.get(key, ""))
                if tag == "child":
                    children.add(end.get(key, ""))
        whole.append(clone)
    for element in source.root:  # what is not read of it is told, as of one file
        if element.tag not in ("link", "joint", *SHAPES):
            clone = copy.deepcopy(element)
            for named in clone.findall("joint"):
                named.set("name", component.prefix + named.get("name", ""))
            whole.append(clone)
    roots = [name for name in names if name not in children]
    if len(roots) != 1:
        raise ModelError(
            f"{source.label}: must have one root link; got {', '.join(roots) or 'none'}."
        )
    if floats:
        if component.parent is not None or any(component.position) or any(component.rpy):
            raise ModelError(
                "with floating_base the first part is the base that floats; leave out its parent, "
                "position and rpy, and say in the scenario's start where it is."
            )
        return names
    parent = component.parent or (links[0] if links else "")
    if parent not in links:
        raise unknown_name("link", parent, links)
    mount = ET.SubElement(whole, "joint", name=f"{roots[0]}_mount", type="fixed")
    ET.SubElement(mount, "parent", link=parent)
    ET.SubElement(mount, "child", link=roots[0])
    xyz, rpy = (" ".join(map(repr, values)) for values in (component.position, component.rpy))
    ET.SubElement(mount, "origin", xyz=xyz, rpy=rpy)
    return names
