"""Meshes that joints carry, gathered by colour."""

from __future__ import annotations

import dataclasses as dc

from ukctrl.robot.look.meshes import Mesh, together
from ukctrl.robot.look.parts import Part

BODY, JOINT, SECOND, ACCENT = "", "#3c4654", "#aeb9c5", "#e8833a"
"""Colours of links (the renderer's choice), of joints and feet, of every second bar of a linkage,
and of springs and what a user looks for first."""


@dc.dataclass
class Drawing:
    """What is drawn on joints; 0 is the world."""

    meshes: dict[tuple[int, str], list[Mesh]] = dc.field(default_factory=dict)

    def add(self, joint: int, mesh: Mesh, color: str = BODY) -> None:
        """Draw a mesh, in the axes of a joint."""
        self.meshes.setdefault((joint, color), []).append(mesh)

    def parts(self, names: dict[int, str]) -> list[Part]:
        """Return the parts, whose carriers are the joints."""
        return [
            Part(
                name=names.get(joint, "base"),
                mesh=several[0] if len(several) == 1 else together(several),
                carrier=joint,
                color=color,
            )
            for (joint, color), several in self.meshes.items()
        ]
