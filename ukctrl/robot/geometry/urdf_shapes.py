"""The shapes of the links in a URDF: boxes, spheres, cylinders, capsules and meshes."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.message_text import quote_text
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.geometry.link_shapes import (
    LinkShape,
    ModelShapes,
    UnsupportedShape,
    check_mesh_size,
    meshes_from_file,
    positive_numbers,
)
from ukctrl.robot.geometry.mesh_files import MeshFiles
from ukctrl.robot.geometry.primitive_meshes import Mesh
from ukctrl.robot.geometry.quaternions import rpy_matrix
from ukctrl.robot.models.model_source import numbers
from ukctrl.robot.shape_sources import ShapeKind


def urdf_shapes(
    root: ET.Element, prefix: str, files: MeshFiles, kind: ShapeKind = "visual"
) -> ModelShapes:
    """Return the shapes of the links of a URDF.

    Args:
        root: The file.
        prefix: What stands before the names of its links in the robot.
        files: Its meshes.
        kind: Which of its shapes.
    """
    links = root.findall("link")
    model = ModelShapes(tuple(prefix + link.get("name", "") for link in links))
    materials = {
        material.get("name", ""): color.get("rgba", "")
        for material in root.iter("material")
        if (color := material.find("color")) is not None
    }
    for name, link in zip(model.links, links, strict=True):
        for element in link.findall(kind):
            _add(model, name, element, materials, files)
    return model


def _add(
    model: ModelShapes, name: str, element: ET.Element, materials: dict[str, str], files: MeshFiles
) -> None:
    rgba = _rgba(element, materials)
    try:
        rotation, translation = _origin(element)
        for mesh, mesh_rgb in _urdf_shape(element, files):
            placed = check_mesh_size(mesh.moved(rotation, translation))
            rgb = mesh_rgb if rgba is None else rgba[:3]
            alpha = 1.0 if rgba is None else float(np.clip(rgba[3], 0.0, 1.0))
            model.shapes.append(LinkShape(name, placed, rgb, alpha))
    except UnsupportedShape as fault:
        model.skip(name, fault.what, str(fault))


def _urdf_shape(element: ET.Element, files: MeshFiles) -> Iterator[tuple[Mesh, Vector | None]]:
    geometry = element.find("geometry")
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None:
        raise UnsupportedShape(f"a {element.tag}", "must have a geometry")
    if shape.tag == "mesh":
        scale = np.array(numbers(shape.get("scale", "1 1 1"), 3))
        yield from meshes_from_file(files, shape.get("filename", ""), scale)
    elif shape.tag == "box":
        yield primitive_meshes.box(*positive_numbers(shape.get("size", ""), 3, "a box")), None
    elif shape.tag == "sphere":
        yield (
            primitive_meshes.sphere(positive_numbers(shape.get("radius", ""), 1, "a sphere")[0]),
            None,
        )
    elif shape.tag in ("cylinder", "capsule"):
        make = primitive_meshes.cylinder if shape.tag == "cylinder" else primitive_meshes.capsule
        sizes = f"{shape.get('radius', '')} {shape.get('length', '')}"
        radius, length = positive_numbers(sizes, 2, f"a {shape.tag}")
        yield make(radius, -0.5 * length, 0.5 * length), None
    else:
        raise UnsupportedShape(
            f"a {element.tag}", f"has the shape {quote_text(shape.tag)}, which is not read"
        )


def _origin(element: ET.Element) -> tuple[Matrix, Vector]:
    origin = element.find("origin")
    xyz, rpy = (
        ("0 0 0", "0 0 0")
        if origin is None
        else (
            origin.get("xyz", "0 0 0"),
            origin.get("rpy", "0 0 0"),
        )
    )
    return rpy_matrix(np.array(numbers(rpy, 3))), np.array(numbers(xyz, 3))


def _rgba(element: ET.Element, materials: dict[str, str]) -> Vector | None:
    material = element.find("material")
    if material is None or material.find("texture") is not None:  # its colour stands for none
        return None
    color = material.find("color")
    text = materials.get(material.get("name", "")) if color is None else color.get("rgba")
    values = np.array(numbers(text or "", 4))
    return values if np.isfinite(values).all() else None
