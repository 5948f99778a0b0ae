"""Meshes that joints carry, gathered by colour."""

from __future__ import annotations

import dataclasses as dc

from ukctrl.reports.visual.visual_model import MountPoint, VisualPart
from ukctrl.robot.geometry.primitive_meshes import Mesh, merge, revolve, spring

BODY, JOINT, SECOND, ACCENT = "", "#3c4654", "#aeb9c5", "#e8833a"
"""Colours of links (the renderer's choice), of joints and feet, of every second bar of a linkage,
and of springs and what a user looks for first."""


@dc.dataclass
class MeshCollector:
    """What is drawn on joints; 0 is the world."""

    meshes: dict[tuple[int, str], list[Mesh]] = dc.field(default_factory=dict)
    feet: list[MountPoint] = dc.field(default_factory=list)
    """What would stand on a floor, if there is one below."""

    def add(self, joint: int, mesh: Mesh, color: str = BODY) -> None:
        """Draw a mesh, in the axes of a joint."""
        self.meshes.setdefault((joint, color), []).append(mesh)

    def parts(self, names: dict[int, str]) -> list[VisualPart]:
        """Return the parts, whose carriers are the joints."""
        return [
            VisualPart(
                name=names.get(joint, "base"),
                mesh=several[0] if len(several) == 1 else merge(several),
                frame=joint,
                color=color,
            )
            for (joint, color), several in self.meshes.items()
        ]


def joint_meshes(r: float, half: float, *, driven: bool) -> tuple[tuple[Mesh, str], ...]:
    """Return a joint about z and its colours: the housing of a motor, or an eye on a pin.

    Args:
        r: Radius of the link [m].
        half: Half the length of a housing [m].
        driven: Whether it has a motor.
    """
    if driven:
        return (bevelled_cylinder(1.25 * r, half), JOINT), (
            bevelled_cylinder(0.7 * r, 1.06 * half),
            ACCENT,
        )
    return (bevelled_cylinder(1.15 * r, 0.8 * r), BODY), (
        bevelled_cylinder(0.5 * r, 1.1 * r),
        JOINT,
    )


def bevelled_cylinder(radius: float, half: float) -> Mesh:
    """Return a cylinder about z with bevelled edges."""
    b = min(0.18 * radius, 0.5 * half)
    R, h = radius, half
    return revolve([(0.0, -h), (R - b, -h), (R, b - h), (R, h - b), (R - b, h), (0.0, h)])


def joint_spring(radius: float, low: float, high: float) -> Mesh:
    """Return the spring of a joint about z, between two heights."""
    unit = spring(radius, 4, 0.12 * radius)
    return unit._replace(vertices=unit.vertices * [1.0, 1.0, high - low] + [0.0, 0.0, low])
