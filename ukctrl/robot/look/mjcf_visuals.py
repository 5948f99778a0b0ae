"""The shapes of the bodies in an MJCF file: geoms, with default classes and mesh assets.

MuJoCo shows the groups 0 to 2, where models put what is for looking at; what collides is what
`contype` or `conaffinity` lets touch anything. Pinocchio's own reader of geoms would open any file
that a model names.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot.appearance import ShapeKind
from ukctrl.robot.look import meshes, rotations
from ukctrl.robot.look.mesh_files import MeshFiles, hex_color
from ukctrl.robot.look.meshes import Mesh
from ukctrl.robot.look.shapes import Unfit, Visual, Visuals, bounded, from_file, positive
from ukctrl.robot.models.source import numbers

SHOWN_GROUPS = 3
"""Groups below this are shown."""
LEFT_OUT = ("plane", "hfield", "sdf")
"""Shapes without end, or that are no robot's."""
AXES = {"x": 0, "y": 1, "z": 2}


def mjcf_visuals(root: ET.Element, files: MeshFiles, kind: ShapeKind = "visual") -> Visuals:
    """Return the shapes of the bodies of an MJCF file."""
    world = root.find("worldbody")
    bodies = [] if world is None else list(_bodies(world, "", ""))
    visuals = Visuals(tuple(name for name, _, _ in bodies))
    reader = _Reader(root, files, kind)
    for name, body, childclass in bodies:
        for geom in body.findall("geom"):
            try:
                for visual in reader.geom(name, geom, childclass):
                    visuals.shown.append(visual)
            except Unfit as fault:
                visuals.lose(name, fault.what, str(fault))
    return visuals


def _bodies(body: ET.Element, name: str, childclass: str) -> Iterator[tuple[str, ET.Element, str]]:
    """Yield every body with its name, as Pinocchio calls it, and the class of its children."""
    yield (name or "world"), body, childclass
    for child in body.findall("body"):
        own = child.get("name") or f"{name}Bis"
        yield from _bodies(child, own, child.get("childclass", childclass))


class _Reader:
    def __init__(self, root: ET.Element, files: MeshFiles, kind: ShapeKind) -> None:
        compiler = root.find("compiler")
        given = {} if compiler is None else compiler.attrib
        self._degrees = given.get("angle", "degree") != "radian"
        self._order = given.get("eulerseq", "xyz")
        folder = given.get("meshdir") or given.get("assetdir") or ""
        self._kind = kind
        self._files, self._folder = files, folder and folder.rstrip("/") + "/"
        self._defaults: dict[str, dict[str, dict[str, str]]] = {}
        for top in root.findall("default"):
            self._take_defaults(top, {}, top.get("class", "main"))
        self._meshes: dict[str, dict[str, str]] = {}
        for mesh in root.iterfind("asset/mesh"):
            file = mesh.get("file", "")
            name = mesh.get("name") or file.rpartition("/")[2].rpartition(".")[0]
            self._meshes[name] = self._whole("mesh", mesh, "")
        self._colors = {
            material.get("name", ""): self._whole("material", material, "").get("rgba", "")
            for material in root.iterfind("asset/material")
        }

    def _take_defaults(
        self, element: ET.Element, above: dict[str, dict[str, str]], name: str
    ) -> None:
        own = {tag: dict(values) for tag, values in above.items()}
        for child in element:
            if child.tag != "default":
                own[child.tag] = own.get(child.tag, {}) | child.attrib
        self._defaults[name] = own
        for child in element.findall("default"):
            self._take_defaults(child, own, child.get("class", ""))

    def _whole(self, tag: str, element: ET.Element, childclass: str) -> dict[str, str]:
        """Return the attributes of an element with those of its class."""
        name = element.get("class") or childclass or "main"
        return {**self._defaults.get(name, {}).get(tag, {}), **element.attrib}

    def geom(self, body: str, element: ET.Element, childclass: str) -> Iterator[Visual]:
        given = self._whole("geom", element, childclass)
        shape = given.get("type", "mesh" if "mesh" in given else "sphere")
        if shape in LEFT_OUT or not self._is_wanted(given):
            return
        text = given.get("rgba") or self._colors.get(given.get("material", ""), "")
        rgba = np.array(numbers(text, 4))
        known = bool(np.isfinite(rgba).all())
        for mesh, own in self._shape(shape, given):
            color = hex_color(rgba[:3]) if known else own
            opacity = float(np.clip(rgba[3], 0.0, 1.0)) if known else 1.0
            if opacity > 0.0 or self._kind == "collision":
                yield Visual(body, bounded(mesh), color, opacity)

    def _is_wanted(self, given: dict[str, str]) -> bool:
        if self._kind == "collision":
            return any(given.get(name, "1").strip() != "0" for name in ("contype", "conaffinity"))
        return bool(numbers(given.get("group", "0"), 1)[0] < SHOWN_GROUPS)

    def _shape(self, shape: str, given: dict[str, str]) -> Iterator[tuple[Mesh, str]]:
        rotation, at = self._orientation(given), np.array(numbers(given.get("pos", "0 0 0"), 3))
        if shape == "mesh":
            asset = self._meshes.get(given.get("mesh", ""))
            if asset is None:
                raise Unfit("a mesh", "must be among the assets")
            scale = np.array(numbers(asset.get("scale", "1 1 1"), 3))
            for mesh, color in from_file(self._files, self._folder + asset.get("file", ""), scale):
                turn, shift = rotation, at
                if "refpos" in asset or "refquat" in asset:
                    back = _of_quaternion(asset.get("refquat", "1 0 0 0")).T
                    ref = np.array(numbers(asset.get("refpos", "0 0 0"), 3))
                    turn, shift = rotation @ back, at - rotation @ back @ ref
                yield mesh.moved(turn, shift), color
            return
        size = given.get("size", "").split()
        if "fromto" in given and shape in ("capsule", "cylinder", "box", "ellipsoid"):
            ends = np.array(numbers(given["fromto"], 6)).reshape(2, 3)
            along, at = ends[1] - ends[0], ends.mean(0)
            rotation = rotations.towards(along)
            half = f"{0.5 * float(np.linalg.norm(along))!r}"
            first = size[:1] if shape in ("capsule", "cylinder") else [*size[:1], *size[:1]]
            size = [*first, half]
        yield _primitive(shape, size).moved(rotation, at), ""

    def _orientation(self, given: dict[str, str]) -> Matrix:
        per_unit = np.pi / 180.0 if self._degrees else 1.0
        if "quat" in given:
            return _of_quaternion(given["quat"])
        if "axisangle" in given:
            values = np.array(numbers(given["axisangle"], 4))
            return _about(values[:3], per_unit * values[3])
        if "euler" in given:
            turn = np.eye(3)
            angles = per_unit * np.array(numbers(given["euler"], 3))
            for letter, angle in zip(self._order, angles, strict=False):
                one = _about(np.eye(3)[AXES.get(letter.lower(), 0)], angle)
                turn = turn @ one if letter.islower() else one @ turn
            return turn
        if "xyaxes" in given:
            x, y = np.array(numbers(given["xyaxes"], 6)).reshape(2, 3)
            x = x / np.linalg.norm(x)
            y = y - (x @ y) * x
            y /= np.linalg.norm(y)
            return np.stack([x, y, np.cross(x, y)], 1)
        if "zaxis" in given:
            return rotations.towards(np.array(numbers(given["zaxis"], 3)))
        return np.eye(3)


def _about(axis: Vector, angle: float) -> Matrix:
    unit = axis / np.linalg.norm(axis)
    return rotations.matrix(np.concatenate([[np.cos(0.5 * angle)], np.sin(0.5 * angle) * unit]))


def _of_quaternion(text: str) -> Matrix:
    quaternion = np.array(numbers(text, 4))
    return rotations.matrix(quaternion / np.linalg.norm(quaternion))


def _primitive(shape: str, size: list[str]) -> Mesh:
    counts = {"sphere": 1, "capsule": 2, "cylinder": 2, "box": 3, "ellipsoid": 3}
    if shape not in counts:
        raise Unfit("a geom", "has a shape that is not read")
    sizes = positive(" ".join(size[: counts[shape]]), counts[shape], f"a {shape}")
    match shape:
        case "sphere":
            return meshes.sphere(sizes[0])
        case "box":
            return meshes.box(*(2.0 * sizes))
        case "ellipsoid":
            return meshes.ellipsoid(sizes)
    make = meshes.capsule if shape == "capsule" else meshes.cylinder
    return make(sizes[0], -sizes[1], sizes[1])
