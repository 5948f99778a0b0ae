"""What model files show of their links: ``<visual>`` of URDF; MJCF is read beside this."""

from __future__ import annotations

import dataclasses as dc
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.files.toml import one_line
from ukctrl.robot.appearance import ModelText
from ukctrl.robot.look import meshes
from ukctrl.robot.look.mesh_files import BUDGET, LARGEST, MeshFiles, coarser, hex_color
from ukctrl.robot.look.meshes import Mesh
from ukctrl.robot.look.rotations import rpy_matrix
from ukctrl.robot.models.source import numbers, read

SHORT = 60


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
        self.lost.setdefault(link, f"{what} of link '{one_line(link, SHORT)}' {why}")


def visuals_of(model: ModelText) -> Visuals:
    """Return what a model file shows; a shape that is unfit is left out and told."""
    from ukctrl.robot.look.mjcf_visuals import mjcf_visuals

    source = read(model.text)
    files = MeshFiles(model.path)
    if source.format == "MJCF":
        return mjcf_visuals(source.root, files)
    if source.format != "URDF":
        return Visuals(())
    links = source.root.findall("link")
    visuals = Visuals(tuple(model.prefix + link.get("name", "") for link in links))
    colors = {
        material.get("name", ""): color.get("rgba", "")
        for material in source.root.iter("material")
        if (color := material.find("color")) is not None
    }
    for name, link in zip(visuals.links, links, strict=True):
        for visual in link.findall("visual"):
            _add(visuals, name, visual, colors, files)
    return visuals


def _add(
    visuals: Visuals, name: str, visual: ET.Element, colors: dict[str, str], files: MeshFiles
) -> None:
    given = _rgba(visual, colors)
    try:
        rotation, translation = _origin(visual)
        for mesh, own in _urdf_shape(visual, files):
            placed = bounded(mesh.moved(rotation, translation))
            color = hex_color(given[:3]) if given is not None else own
            opacity = 1.0 if given is None else float(np.clip(given[3], 0.0, 1.0))
            visuals.shown.append(Visual(name, placed, color, opacity))
    except Unfit as fault:
        visuals.lose(name, fault.what, str(fault))


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
        raise Unfit(what, f"must have positive sizes; got '{one_line(text, SHORT)}'")
    return values


def from_file(files: MeshFiles, name: str, scale: Vector) -> Iterator[tuple[Mesh, str]]:
    """Yield the meshes of a file, and their colours.

    Raises:
        Unfit: It cannot be read.
    """
    try:
        yield from files.get(name, scale)
    except (ModelError, OSError) as error:
        raise Unfit(f"mesh '{one_line(name, SHORT)}'", str(error)) from None


def _urdf_shape(visual: ET.Element, files: MeshFiles) -> Iterator[tuple[Mesh, str]]:
    geometry = visual.find("geometry")
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None:
        raise Unfit("a visual", "must have a geometry")
    if shape.tag == "mesh":
        scale = np.array(numbers(shape.get("scale", "1 1 1"), 3))
        yield from from_file(files, shape.get("filename", ""), scale)
    elif shape.tag == "box":
        yield meshes.box(*positive(shape.get("size", ""), 3, "a box")), ""
    elif shape.tag == "sphere":
        yield meshes.sphere(positive(shape.get("radius", ""), 1, "a sphere")[0]), ""
    elif shape.tag in ("cylinder", "capsule"):
        make = meshes.cylinder if shape.tag == "cylinder" else meshes.capsule
        sizes = f"{shape.get('radius', '')} {shape.get('length', '')}"
        radius, length = positive(sizes, 2, f"a {shape.tag}")
        yield make(radius, -0.5 * length, 0.5 * length), ""
    else:
        raise Unfit("a visual", f"has the shape '{one_line(shape.tag, SHORT)}', which is not read")


def _origin(visual: ET.Element) -> tuple[Matrix, Vector]:
    origin = visual.find("origin")
    xyz, rpy = ("0 0 0", "0 0 0") if origin is None else (
        origin.get("xyz", "0 0 0"),
        origin.get("rpy", "0 0 0"),
    )
    return rpy_matrix(np.array(numbers(rpy, 3))), np.array(numbers(xyz, 3))


def _rgba(visual: ET.Element, colors: dict[str, str]) -> Vector | None:
    material = visual.find("material")
    if material is None:
        return None
    color = material.find("color")
    text = colors.get(material.get("name", "")) if color is None else color.get("rgba")
    values = np.array(numbers(text or "", 4))
    return values if np.isfinite(values).all() else None


def within_budget(visuals: list[Visual]) -> tuple[list[Visual], str]:
    """Return visuals with as many triangles as a page can bear, and a note if some are fewer."""
    total = sum(len(one.mesh.faces) for one in visuals)
    if total <= BUDGET:
        return visuals, ""
    share = BUDGET / total
    fewer = [
        one._replace(mesh=coarser(one.mesh, max(24, int(share * len(one.mesh.faces)))))
        for one in visuals
    ]
    left = sum(len(one.mesh.faces) for one in fewer)
    return fewer, f"The meshes have {total} triangles; they are drawn with {left}."
