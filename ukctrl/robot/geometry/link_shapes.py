"""Shapes of links, as a model file shows them, and why one is left out."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.message_text import quote_text
from ukctrl.robot.geometry.mesh_files import LARGEST, MeshFiles
from ukctrl.robot.geometry.primitive_meshes import Mesh
from ukctrl.robot.models.model_source import numbers


class LinkShape(NamedTuple):
    """A shape of a link."""

    link: str
    """As the robot calls it: the name of its frame."""
    mesh: Mesh
    """In the link's axes [m]."""
    rgb: Vector | None
    """Red, green and blue as its file has them, from 0 to 1, shape ``(3,)``; None: it has none."""
    alpha: float
    """1 of what hides what is behind it, 0 of what is not seen."""


@dc.dataclass
class ModelShapes:
    """What one model file shows."""

    links: tuple[str, ...]
    """Its links, as the robot calls them."""
    shapes: list[LinkShape] = dc.field(default_factory=list)
    skipped: dict[str, str] = dc.field(default_factory=dict)
    """Links with a shape that could not be read, and why."""

    @property
    def has_any(self) -> bool:
        """Whether the file says how at least one link looks."""
        return bool(self.shapes or self.skipped)

    def skip(self, link: str, noun: str, reason: str) -> None:
        """Note that a shape is left out."""
        self.skipped.setdefault(link, f"{noun} of link {quote_text(link)} {reason}")


class UnsupportedShape(ModelError):
    """A shape that cannot be drawn, and why, in words that follow what it is."""

    def __init__(self, noun: str, reason: str) -> None:
        self.what = noun
        super().__init__(reason)


def check_mesh_size(mesh: Mesh) -> Mesh:
    """Return a mesh that is finite and not absurdly large.

    Raises:
        UnsupportedShape: It is not.
    """
    if not np.isfinite(mesh.vertices).all() or np.abs(mesh.vertices).max(initial=0.0) > LARGEST:
        raise UnsupportedShape("a visual", f"must lie within {LARGEST:g} m of its origin")
    return mesh


def positive_numbers(text: str, count: int, noun: str) -> Vector:
    """Return so many positive numbers.

    Raises:
        UnsupportedShape: They are not.
    """
    values = np.array(numbers(text, count))
    if not (values > 0.0).all() or not np.isfinite(values).all():
        raise UnsupportedShape(noun, f"must have positive sizes; got {quote_text(text)}")
    return values


def meshes_from_file(
    files: MeshFiles, name: str, scale: Vector
) -> Iterator[tuple[Mesh, Vector | None]]:
    """Yield the meshes of a file, and their red, green and blue.

    Raises:
        UnsupportedShape: It cannot be read.
    """
    try:
        yield from files.get(name, scale)
    except (ModelError, OSError) as error:
        raise UnsupportedShape(f"mesh {quote_text(name)}", str(error)) from None
