"""Meshes of model files, which come from strangers: found, read and made small enough.

A mesh lies in the robot's own folder or package; its file is read by trimesh, from memory, so that
nothing that it names is opened in turn. What is missing or unfit is told, once, and left out.
"""

from __future__ import annotations

import dataclasses as dc
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.expression.syntax import brief
from ukctrl.core.files import zoo
from ukctrl.robot.look.meshes import Mesh
from ukctrl.robot.models.packages import package_folder

FORMATS = (".stl", ".obj", ".dae", ".ply", ".glb")
"""Files that are read."""
MAX_BYTES = 64 * 2**20
"""Larger mesh files are left out."""
MAX_TRIANGLES = 2_000_000
"""A mesh of more is left out."""
BUDGET = 20_000
"""Triangles of a robot's meshes together: more are made fewer."""
LARGEST = 1e4
"""No part of a robot is farther from its link's origin [m]."""
ABOVE = 4
"""Folders above that of a model in which its package may begin."""
KINDS_OF_FOLDERS = frozenset({"urdf", "urdfs", "mjcf", "xml"})
"""Folders of models inside a package, which need no ``package.xml`` beside them."""


class Colored(NamedTuple):
    """A mesh of one colour of a file; empty where that gives none."""

    mesh: Mesh
    color: str


@dc.dataclass
class MeshFiles:
    """The mesh files of one model."""

    model: Path | None
    """The model file."""
    packages: tuple[Path, ...] = ()
    """Folders in which packages are looked for after those around it."""
    read: dict[Path, tuple[Colored, ...]] = dc.field(default_factory=dict)
    found: dict[str, Path | None] = dc.field(default_factory=dict)
    """Packages by name."""

    def get(self, name: str, scale: Vector) -> tuple[Colored, ...]:
        """Return the meshes of a file that the model names.

        Raises:
            ModelError: It lies elsewhere, is missing, or is no mesh; in words that follow a name.
        """
        if not (np.isfinite(scale).all() and scale.all()):
            raise ModelError(f"has the scale {scale.tolist()}, which must be finite and not zero")
        path = self.find(name)
        if path not in self.read:
            self.read[path] = _read(path)
        return tuple(Colored(_scaled(mesh, scale), color) for mesh, color in self.read[path])

    def find(self, name: str) -> Path:
        """Return the file that a name in the model stands for; see `get`."""
        if self.model is None:
            raise ModelError("belongs to a model that is text alone, without a folder")
        scheme, _, rest = name.rpartition("://")
        if "\0" in name or scheme not in ("", "file", "package", "model"):
            raise ModelError("must be a path or package://NAME/path")
        if Path(rest).suffix.lower() not in FORMATS:
            raise ModelError(f"must be one of {', '.join(FORMATS)}")
        regions = _regions(self.model.resolve().parent)
        tried = [self.model.resolve().parent / rest]
        if scheme in ("package", "model"):
            package, _, inside = rest.partition("/")
            named = [region for region in regions if region.name == package]
            tried = [region / inside for region in (*named, *(r / package for r in regions))]
            tried += [region / inside for region in regions]
            tried = [] if ".." in Path(rest).parts else tried
            own = self._package(package)
            if own is not None and ".." not in Path(rest).parts:
                regions.append(own.resolve())
                tried.append(own / inside)
        beyond = True
        for path in tried:
            try:
                real = path.resolve()
                if any(real.is_relative_to(region) for region in regions):
                    beyond = False
                    if real.is_file():
                        return real
            except (OSError, ValueError):  # such as a name too long for the file system
                continue
        if beyond:
            raise ModelError("must lie in the robot's folder or package")
        raise ModelError("is missing")

    def _package(self, name: str) -> Path | None:
        if name not in self.found:
            self.found[name] = package_folder(name, self.packages)
        return self.found[name]


def _regions(folder: Path) -> list[Path]:
    """Return the folders that hold what belongs to a model of this one, itself first."""
    regions = [folder]
    zoo_root = zoo.root()
    if folder.name in KINDS_OF_FOLDERS:
        regions.append(folder.parent)
    for above in (folder, *folder.parents)[: ABOVE + 1]:
        if (above / "package.xml").is_file() or (above / "robot.toml").is_file():
            regions.append(above)
    if zoo_root is not None and folder.is_relative_to(zoo_root.resolve()):
        regions.append(zoo_root.resolve().parent)
    return list(dict.fromkeys(regions))


def _read(path: Path) -> tuple[Colored, ...]:
    """Return what a file holds, colour by colour."""
    try:
        import trimesh
    except ImportError:
        raise ModelError("needs the package trimesh, which is not installed") from None
    if path.stat().st_size > MAX_BYTES:
        raise ModelError(f"must be at most {MAX_BYTES // 2**20} MB")
    raw = path.read_bytes()
    if path.suffix.lower() == ".dae" and re.search(rb"<!(DOCTYPE|ENTITY)", raw[:100_000], re.I):
        raise ModelError("must not contain <!DOCTYPE> or entities")
    try:
        kind = path.suffix.lower().removeprefix(".")
        # An empty resolver opens no other file that this one names.
        scene: Any = trimesh.load_scene(io.BytesIO(raw), file_type=kind, resolver={})
        found = [_colored(scene, trimesh, node) for node in scene.graph.nodes_geometry]
    except Exception as error:  # its readers raise what they like at a broken file
        raise ModelError(f"cannot be read ({brief(f'{type(error).__name__}: {error}')})") from None
    found = [one for one in found if len(one.mesh.faces)]
    if not found:
        raise ModelError("holds no triangles")
    count = sum(len(one.mesh.faces) for one in found)
    if count > MAX_TRIANGLES:
        raise ModelError(f"has {count} triangles; {MAX_TRIANGLES} are the most")
    for mesh, _ in found:
        fits = mesh.faces.min() >= 0 and mesh.faces.max() < len(mesh.vertices)
        if not (np.isfinite(mesh.vertices).all() and fits):
            raise ModelError("holds a corner that is no finite number")
    return tuple(found)


def _colored(scene: Any, trimesh: Any, node: str) -> Colored:
    transform, name = scene.graph[node]
    shape = scene.geometry[name]
    if not isinstance(shape, trimesh.Trimesh):
        return Colored(Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)), "")
    moved = np.asarray(shape.vertices) @ transform[:3, :3].T + transform[:3, 3]
    faces = np.asarray(shape.faces, dtype=np.int64)
    if np.linalg.det(transform[:3, :3]) < 0.0:
        faces = faces[:, ::-1]
    return Colored(Mesh(np.array(moved, dtype=np.float64), faces), _color_of(shape.visual))


def _color_of(visual: Any) -> str:
    """Return the colour of a mesh: its texture's mean where its file holds one, or its own."""
    if not visual.defined:
        return ""
    material = getattr(visual, "material", None)
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if image is not None:
        return hex_color(np.asarray(image.convert("RGB")).reshape(-1, 3).mean(axis=0) / 255.0)
    main = (visual if material is None else material).main_color
    return hex_color(np.asarray(main, dtype=np.float64)[:3] / 255.0)


def hex_color(rgb: Sequence[float] | Vector) -> str:
    """Return ``#rrggbb`` of three numbers from 0 to 1; empty where one is not finite."""
    values = np.asarray(rgb, dtype=np.float64)
    if not np.isfinite(values).all():
        return ""
    return "#" + "".join(f"{round(255.0 * min(max(x, 0.0), 1.0)):02x}" for x in values[:3])


def _scaled(mesh: Mesh, scale: Vector) -> Mesh:
    vertices = mesh.vertices * scale
    if np.abs(vertices).max() > LARGEST:
        raise ModelError(f"would reach {np.abs(vertices).max():.3g} m; {LARGEST:g} m is the most")
    return Mesh(vertices, mesh.faces[:, ::-1] if scale.prod() < 0.0 else mesh.faces)


def coarser(mesh: Mesh, most: int) -> Mesh:
    """Return a mesh of at most so many triangles, near the same shape.

    Corners in one cell of a grid become one, at their mean (Rossignac & Borrel, "Multi-resolution
    3D approximations for rendering complex scenes", 1993); the grid is as fine as can be.
    """
    if len(mesh.faces) <= most:
        return mesh
    low, size = mesh.vertices.min(0), float(np.ptp(mesh.vertices, axis=0).max()) or 1.0
    coarse, fine, best = 1.0, float(2**20), mesh
    cells = np.sqrt(0.5 * most)
    for _ in range(12):  # a surface has as many triangles as the square of the cells along it
        tried = _clustered(mesh, low, size / cells)
        if len(tried.faces) <= most:
            best, coarse = tried, cells
            if len(tried.faces) > 0.85 * most:
                break
        else:
            fine = cells
        guess = cells * np.sqrt(0.93 * most / max(len(tried.faces), 1))
        cells = float(guess) if coarse < guess < fine else float(np.sqrt(coarse * fine))
    return best if best is not mesh else Mesh(mesh.vertices, mesh.faces[:most])


def _clustered(mesh: Mesh, low: Vector, cell: float) -> Mesh:
    x, y, z = ((mesh.vertices - low) / cell).astype(np.int64).T
    _, which = np.unique((x << 42) + (y << 21) + z, return_inverse=True)
    count = np.bincount(which)
    corners = np.stack([np.bincount(which, mesh.vertices[:, k]) for k in range(3)], 1)
    faces = which[mesh.faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    a, b, c = np.sort(faces, axis=1).T
    _, first = np.unique((a * len(count) + b) * len(count) + c, return_index=True)
    return Mesh(corners / count[:, None], faces[np.sort(first)])
