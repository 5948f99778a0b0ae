"""From ``[[picture]]`` tables to parts and what carries them."""

from __future__ import annotations

import dataclasses as dc
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from ukctrl.core.expression.symbolic import Vocabulary, check_names
from ukctrl.reports.visual.mesh_collector import joint_meshes
from ukctrl.reports.visual.visual_frames import (
    ORIGIN_TEXTS,
    FormulaValues,
    FrameAnchor,
    PlacedFrame,
    StretchedFrame,
)
from ukctrl.reports.visual.visual_model import MountPoint, VisualPart
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.geometry.primitive_meshes import Mesh
from ukctrl.robot.geometry.quaternions import rpy_matrix
from ukctrl.robot.schema.picture_tables import (
    ArrowPicture,
    BoxPicture,
    CirclePicture,
    CylinderPicture,
    JointPicture,
    LinePicture,
    RopePicture,
    SeenPicture,
    SpherePicture,
    SpringPicture,
    TextPicture,
)

UPRIGHT = rpy_matrix(np.array([0.5 * np.pi, 0.0, 0.0]))
"""Turns the z axis to -y, at which one looks at the upright plane."""
MARK = "#15191e"
"""Colour of what shows how far a disc has turned."""
EMPTY_MESH = Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))

FramedMesh = tuple[PlacedFrame | StretchedFrame, Mesh, str]
"""What carries a mesh, the mesh, and its colour where it has one of its own."""


@dc.dataclass
class VisualBuilder:
    """What parts stand on: joints, and carriers that are added when parts need one."""

    words: Vocabulary
    anchor_of: Callable[[str], FrameAnchor]
    """Where a frame is."""
    moving: list[PlacedFrame | StretchedFrame] = dc.field(default_factory=list)
    parts: list[tuple[VisualPart, PlacedFrame | StretchedFrame | None]] = dc.field(
        default_factory=list
    )
    """Parts, and what carries those that no joint carries."""
    feet: list[MountPoint] = dc.field(default_factory=list)

    def add(self, carrier: PlacedFrame | StretchedFrame, visual: VisualPart) -> None:
        """Add a part; one that never moves on its joint becomes a part of that."""
        fixed = isinstance(carrier, PlacedFrame) and self._never_moves(carrier.texts)
        if fixed and isinstance(carrier, PlacedFrame) and not visual.text:
            numbers = FormulaValues(carrier.texts, self.words).at(
                np.zeros((1, self._nq)), np.zeros(1)
            )[0]
            anchor = carrier.anchor
            mesh = visual.mesh.moved(rpy_matrix(numbers[3:]), numbers[:3])
            mesh = mesh.moved(anchor.rotation, anchor.translation)
            self.parts.append((dc.replace(visual, mesh=mesh, frame=anchor.joint), None))
            return
        self.parts.append((visual, carrier))

    @property
    def _nq(self) -> int:
        return len(self.words.plain)

    def _never_moves(self, texts: tuple[str, ...]) -> bool:
        return not any(check_names(text, self.words) for text in texts)


def add_picture(stage: VisualBuilder, picture: SeenPicture, number: int) -> None:
    """Add a picture's parts to a stage; one without a name has its number among its kind, or 0."""
    name = picture.name or (f"{picture.kind} {number}" if number else picture.kind)
    text = picture.text if isinstance(picture, TextPicture) else ""
    for carrier, mesh, color in _drawn(stage, picture, name):
        color = color or picture.color
        visual = VisualPart(
            name=name, mesh=mesh, frame=0, color=color, opacity=picture.opacity, text=text
        )
        stage.add(carrier, visual)


def _drawn(stage: VisualBuilder, picture: SeenPicture, name: str) -> Iterator[FramedMesh]:
    anchor = stage.anchor_of(picture.frame)
    if isinstance(picture, LinePicture | RopePicture | SpringPicture | ArrowPicture):
        ends = [
            PlacedFrame(name, stage.anchor_of(end))
            if isinstance(end, str)
            else PlacedFrame(name, anchor, end)
            for end in picture.points
        ]
        r, pointer = picture.radius, isinstance(picture, ArrowPicture)
        for first, second in itertools.pairwise(ends):
            if isinstance(picture, SpringPicture):
                yield (
                    StretchedFrame(name, first, second),
                    primitive_meshes.spring(r, picture.turns, 0.16 * r),
                    "",
                )
            else:
                mesh = (
                    primitive_meshes.arrow(r) if pointer else primitive_meshes.cylinder(r, 0.0, 1.0)
                )
                yield StretchedFrame(name, first, second), mesh, ""
        if not (isinstance(picture, SpringPicture) or pointer):
            ball = primitive_meshes.sphere(r)
            yield from ((end, ball, "") for end in ends)
        return
    rpy = picture.rpy or (
        ORIGIN_TEXTS if picture.angle is None else ("0", f"-({picture.angle})", "0")
    )
    placed = PlacedFrame(name, anchor, picture.at, rpy)
    match picture:
        case BoxPicture():
            yield placed, primitive_meshes.box(*picture.size), ""
        case SpherePicture():
            yield placed, primitive_meshes.sphere(picture.radius), ""
        case CylinderPicture():
            half = 0.5 * picture.length
            yield placed, primitive_meshes.cylinder(picture.radius, -half, half), ""
        case CirclePicture():
            for mesh, color in _disc(picture):
                yield placed, mesh.moved(UPRIGHT, np.zeros(3)), color
        case JointPicture():
            for mesh, color in joint_meshes(
                picture.radius, 1.35 * picture.radius, driven=picture.motor
            ):
                yield placed, mesh.moved(UPRIGHT, np.zeros(3)), color
        case TextPicture():
            yield placed, EMPTY_MESH, ""


def _disc(picture: CirclePicture) -> Iterator[tuple[Mesh, str]]:
    """Yield a disc or a ring about the z axis, and its mark along x."""
    r = picture.radius
    half = 0.5 * (picture.depth or 0.5 * r)
    if picture.ring:
        yield primitive_meshes.ring(r - 0.12 * r, 0.12 * r), ""
    else:
        yield primitive_meshes.cylinder(r, -half, half), ""
        mark = primitive_meshes.box(0.7 * r, 0.12 * r, 2.0 * half + 0.04 * r)
        yield mark.moved(np.eye(3), np.array([0.5 * r, 0.0, 0.0])), MARK
