"""From ``[[picture]]`` tables to parts and what carries them."""

from __future__ import annotations

import dataclasses as dc
import itertools
from collections.abc import Callable, Iterator

import numpy as np

from ukctrl.core.expression.symbolic import Vocabulary, check
from ukctrl.robot.look import meshes
from ukctrl.robot.look.carriers import NOWHERE, Anchor, Between, Numbers, Placed
from ukctrl.robot.look.drawing import hinge
from ukctrl.robot.look.meshes import Mesh
from ukctrl.robot.look.parts import Foot, Part
from ukctrl.robot.look.rotations import rpy_matrix
from ukctrl.robot.schema.picture_tables import (
    Box,
    Coil,
    Cylinder,
    Disc,
    Hinge,
    Label,
    Pointer,
    Rod,
    Rope,
    SeenPicture,
    Sphere,
)

UPRIGHT = rpy_matrix(np.array([0.5 * np.pi, 0.0, 0.0]))
"""Turns the z axis to -y, at which one looks at the upright plane."""
MARK = "#15191e"
"""Colour of what shows how far a disc has turned."""
NOTHING = Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64))

Drawn = tuple[Placed | Between, Mesh, str]
"""What carries a mesh, the mesh, and its colour where it has one of its own."""


@dc.dataclass
class Stage:
    """What parts stand on: joints, and carriers that are added when parts need one."""

    words: Vocabulary
    anchor_of: Callable[[str], Anchor]
    """Where a frame is."""
    moving: list[Placed | Between] = dc.field(default_factory=list)
    parts: list[tuple[Part, Placed | Between | None]] = dc.field(default_factory=list)
    """Parts, and what carries those that no joint carries."""
    feet: list[Foot] = dc.field(default_factory=list)

    def add(self, carrier: Placed | Between, part: Part) -> None:
        """Add a part; one that never moves on its joint becomes a part of that."""
        fixed = isinstance(carrier, Placed) and self._never_moves(carrier.texts)
        if fixed and isinstance(carrier, Placed) and not part.text:
            numbers = Numbers(carrier.texts, self.words).at(np.zeros((1, self._nq)), np.zeros(1))[0]
            anchor = carrier.anchor
            mesh = part.mesh.moved(rpy_matrix(numbers[3:]), numbers[:3])
            mesh = mesh.moved(anchor.rotation, anchor.translation)
            self.parts.append((dc.replace(part, mesh=mesh, carrier=anchor.joint), None))
            return
        self.parts.append((part, carrier))

    @property
    def _nq(self) -> int:
        return len(self.words.plain)

    def _never_moves(self, texts: tuple[str, ...]) -> bool:
        return not any(check(text, self.words) for text in texts)


def add_picture(stage: Stage, picture: SeenPicture, number: int) -> None:
    """Add a picture's parts to a stage; one without a name has its number among its kind, or 0."""
    name = picture.name or (f"{picture.kind} {number}" if number else picture.kind)
    text = picture.text if isinstance(picture, Label) else ""
    for carrier, mesh, color in _drawn(stage, picture, name):
        color = color or picture.color
        part = Part(
            name=name, mesh=mesh, carrier=0, color=color, opacity=picture.opacity, text=text
        )
        stage.add(carrier, part)


def _drawn(stage: Stage, picture: SeenPicture, name: str) -> Iterator[Drawn]:
    anchor = stage.anchor_of(picture.frame)
    if isinstance(picture, Rod | Rope | Coil | Pointer):
        ends = [
            Placed(name, stage.anchor_of(end))
            if isinstance(end, str)
            else Placed(name, anchor, end)
            for end in picture.points
        ]
        r, pointer = picture.radius, isinstance(picture, Pointer)
        for first, second in itertools.pairwise(ends):
            if isinstance(picture, Coil):
                yield Between(name, first, second), meshes.spring(r, picture.turns, 0.16 * r), ""
            else:
                mesh = meshes.arrow(r) if pointer else meshes.cylinder(r, 0.0, 1.0)
                yield Between(name, first, second), mesh, ""
        if not (isinstance(picture, Coil) or pointer):
            ball = meshes.sphere(r)
            yield from ((end, ball, "") for end in ends)
        return
    rpy = picture.rpy or (NOWHERE if picture.angle is None else ("0", f"-({picture.angle})", "0"))
    placed = Placed(name, anchor, picture.at, rpy)
    match picture:
        case Box():
            yield placed, meshes.box(*picture.size), ""
        case Sphere():
            yield placed, meshes.sphere(picture.radius), ""
        case Cylinder():
            half = 0.5 * picture.length
            yield placed, meshes.cylinder(picture.radius, -half, half), ""
        case Disc():
            for mesh, color in _disc(picture):
                yield placed, mesh.moved(UPRIGHT, np.zeros(3)), color
        case Hinge():
            for mesh, color in hinge(picture.radius, 1.35 * picture.radius, driven=picture.motor):
                yield placed, mesh.moved(UPRIGHT, np.zeros(3)), color
        case Label():
            yield placed, NOTHING, ""


def _disc(picture: Disc) -> Iterator[tuple[Mesh, str]]:
    """Yield a disc or a ring about the z axis, and its mark along x."""
    r = picture.radius
    half = 0.5 * (picture.depth or 0.5 * r)
    if picture.ring:
        yield meshes.ring(r - 0.12 * r, 0.12 * r), ""
    else:
        yield meshes.cylinder(r, -half, half), ""
        mark = meshes.box(0.7 * r, 0.12 * r, 2.0 * half + 0.04 * r)
        yield mark.moved(np.eye(3), np.array([0.5 * r, 0.0, 0.0])), MARK
