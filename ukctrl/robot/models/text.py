"""What the text of a model file says that Pinocchio does not tell: dropped and odd things."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ukctrl.robot.audit import Finding, body_findings, note, warning
from ukctrl.robot.models import urdf
from ukctrl.robot.models.source import Source, numbers
from ukctrl.robot.structure import Structure


def text_findings(source: Source, structure: Structure) -> Iterator[Finding]:
    """Name what the file says that is not in the model."""
    if source.format == "URDF":
        yield from urdf.findings(source, structure)
    elif source.format == "MJCF":
        for block in structure.blocks:
            body = structure.model.inertias[block.joint]
            yield from body_findings(block.name, float(body.mass), np.array(body.inertia))
        yield from _dropped(source, structure, "body")
        yield from _ignored(source, _MJCF_IGNORED)


Ignored = dict[str, tuple[Callable[[str, str, str], Finding], str]]
"""What is not read, by its tag: how it is remarked on, and what to do."""
_MJCF_IGNORED: Ignored = {
    "equality": (
        warning,
        "equality constraints are not read; write them as [[passive]] constraints in robot.toml",
    ),
    "tendon": (warning, "tendons are not read; write a transmission or a spring in robot.toml"),
    "actuator": (
        warning,
        "actuators are not read; every joint with one freedom gets a motor unless robot.toml "
        "lists others",
    ),
    "contact": (note, "contacts are not read; bodies pass through each other"),
}


def _ignored(source: Source, table: Ignored) -> Iterator[Finding]:
    for tag, (remark, message) in table.items():
        count = sum(1 for _ in source.root.iter(tag))
        if count:
            often = f" (<{tag}> appears {count} times)" if count > 1 else ""
            yield remark(f"{tag}_ignored", tag, f"{message}{often}.")
    for joint in source.root.iter("joint"):
        if source.format == "MJCF" and numbers(joint.get("stiffness", "0"), 1) != [0.0]:
            name = joint.get("name", "a joint default")
            yield warning(
                "stiffness_ignored",
                name,
                f"the stiffness of '{name}' is not read; write a joint_spring in robot.toml.",
            )


def _dropped(source: Source, structure: Structure, tag: str) -> Iterator[Finding]:
    for element in source.root.iter(tag):
        name = element.get("name")
        if name and name != "world" and name not in structure.frames:
            yield warning(
                "link_dropped", name, f"{tag} '{name}' is not in the model that was built."
            )
