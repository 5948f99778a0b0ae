"""One robot made of several model files: arms on a table, an arm on a vehicle.

The URDFs are joined as text, with a prefix on every name, so that all that holds for one file
(checks, audit, mimic joints) holds for their union.
"""

from __future__ import annotations

import copy
import xml.etree.ElementTree as ET
from collections.abc import Sequence

from ukctrl.core.errors import ModelError, unknown_name
from ukctrl.core.files.toml import blaming
from ukctrl.robot.models.source import NO_MACROS, Macros, Source, read
from ukctrl.robot.models.urdf import SHAPES
from ukctrl.robot.schema.robot_file import Part

NAMING = {"parent": "link", "child": "link", "mimic": "joint", "drake:mimic": "joint"}
"""Tags of a joint that name something, and the attribute that does."""
GROUND = "ground"
"""The link that carries the parts that stand on nothing else."""


def joined(
    parts: Sequence[Part], name: str, floating_base: bool, macros: Macros = NO_MACROS
) -> Source:
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
    for number, part in enumerate(parts):
        with blaming(f"part[{number}]"):
            floats = floating_base and number == 0
            links += _add(whole, read(part.model, macros), part, links, floats)
    joints = [joint.get("name", "") for joint in whole.findall("joint")]
    for what, names in (("link", links), ("joint", joints)):
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ModelError(
                f"two parts have a {what} named '{twice}'; give one of them a prefix, such as "
                'prefix = "left_".'
            )
    return read(ET.tostring(whole, encoding="unicode"))


def _add(
    whole: ET.Element, source: Source, part: Part, known: Sequence[str], floats: bool
) -> list[str]:
    """Append the links and joints of one part; return the names of its links."""
    if source.format != "URDF":
        raise ModelError(f"{source.label}: a part must be a URDF; got {source.format}.")
    names = [part.prefix + link.get("name", "") for link in source.root.findall("link")]
    for link in source.root.findall("link"):
        body = ET.SubElement(whole, "link", name=part.prefix + link.get("name", ""))
        body.extend(copy.deepcopy(child) for child in link if child.tag not in SHAPES)
    children = set()
    for joint in source.root.findall("joint"):
        own = copy.deepcopy(joint)
        own.set("name", part.prefix + own.get("name", ""))
        for tag, key in NAMING.items():
            end = own.find(tag)
            if end is not None:
                end.set(key, part.prefix + end.get(key, ""))
                if tag == "child":
                    children.add(end.get(key, ""))
        whole.append(own)
    for element in source.root:  # what is not read of it is told, as of one file
        if element.tag not in ("link", "joint", *SHAPES):
            own = copy.deepcopy(element)
            for named in own.findall("joint"):
                named.set("name", part.prefix + named.get("name", ""))
            whole.append(own)
    roots = [name for name in names if name not in children]
    if len(roots) != 1:
        raise ModelError(
            f"{source.label}: must have one root link; got {', '.join(roots) or 'none'}."
        )
    if floats:
        if part.parent is not None or any(part.position) or any(part.rpy):
            raise ModelError(
                "with floating_base the first part is the base that floats; leave out its parent, "
                "position and rpy, and say in the scenario's start where it is."
            )
        return names
    parent = part.parent or (known[0] if known else "")
    if parent not in known:
        raise unknown_name("link", parent, known)
    mount = ET.SubElement(whole, "joint", name=f"{roots[0]}_mount", type="fixed")
    ET.SubElement(mount, "parent", link=parent)
    ET.SubElement(mount, "child", link=roots[0])
    xyz, rpy = (" ".join(map(repr, values)) for values in (part.position, part.rpy))
    ET.SubElement(mount, "origin", xyz=xyz, rpy=rpy)
    return names
