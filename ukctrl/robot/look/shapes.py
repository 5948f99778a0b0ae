"""Shapes of links, as a model file shows them, and why one is left out."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.expression.syntax import shown
from ukctrl.robot.look.mesh_files import LARGEST, MeshFiles
from ukctrl.robot.look.meshes import Mesh
from ukctrl.robot.models.source import numbers


class Visual(NamedTuple):
    """A shape of a link."""

    link: str
    """As the robot calls it: the name of its frame."""
    mesh: Mesh
    """In the link's axes [m]."""
    color: str
    opacity: float


@dc.dataclass
class Visuals:
    """What one model file shows."""

    links: tuple[str, ...]
    """Its links, as the robot calls them."""
    shown: list[Visual] = dc.field(default_factory=list)
    lost: dict[str, str] = dc.field(default_factory=dict)
    """Links with a shape that could not be read, and why."""

    @property
    def has_any(self) -> bool:
        """Whether the file says how at least one link looks."""
        return bool(self.shown or self.lost)

    def lose(self, link: str, what: str, why: str) -> None:
        """Note that a shape is left out."""
        self.lost.setdefault(link, f"{what} of link {shown(link)} {why}")


class Unfit(ModelError):
    """A shape that cannot be drawn, and why, in words that follow what it is."""

    def __init__(self, what: str, why: str) -> None:
        self.what = what
        super().__init__(why)


def bounded(mesh: Mesh) -> Mesh:
    """Return a mesh that is finite and not absurdly large.

    Raises:
        Unfit: It is not.
    """
    if not np.isfinite(mesh.vertices).all() or np.abs(mesh.vertices).max(initial=0.0) > LARGEST:
        raise Unfit("a visual", f"must lie within {LARGEST:g} m of its origin")
    return mesh


def positive(text: str, count: int, what: str) -> Vector:
    """Return so many positive numbers.

    Raises:
        Unfit: They are not.
    """
    values = np.array(numbers(text, count))
    if not (values > 0.0).all() or not np.isfinite(values).all():
        raise Unfit(what, f"must have positive sizes; got {shown(text)}")
    return values


def from_file(files: MeshFiles, name: str, scale: Vector) -> Iterator[tuple[Mesh, str]]:
    """Yield the meshes of a file, and their colours.

    Raises:
        Unfit: It cannot be read.
    """
    try:
        yield from files.get(name, scale)
    except (ModelError, OSError) as error:
        raise Unfit(f"mesh {shown(name)}", str(error)) from None
