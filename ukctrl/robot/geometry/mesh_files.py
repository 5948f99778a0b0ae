"""Meshes of model files, which come from strangers: found and read.

A mesh lies in the robot's own folder or package; its file is read by trimesh, from memory, so that
nothing that it names is opened in turn. What is missing or unfit is told, once, and left out.
"""

from __future__ import annotations

import dataclasses as dc
import io
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import ModelError
from ukctrl.core.files import zoo
from ukctrl.core.files.file_stamps import record_read
from ukctrl.core.message_text import printable_name
from ukctrl.robot.geometry.primitive_meshes import Mesh
from ukctrl.robot.models.ros_packages import package_folder

FORMATS = (".stl", ".obj", ".dae", ".ply", ".glb")
"""Files that are read."""
MAX_BYTES = 64 * 2**20
"""Larger mesh files are left out."""
MAX_TRIANGLES = 2_000_000
"""A mesh of more is left out."""
LARGEST = 1e4
"""No part of a robot is farther from its link's origin [m]."""
MAX_PARENT_FOLDERS = 4
"""Folders above that of a model in which its package may begin."""
KINDS_OF_FOLDERS = frozenset({"urdf", "urdfs", "mjcf", "xml"})
"""Folders of models inside a package, which need no ``package.xml`` beside them."""


class FileMesh(NamedTuple):
    """A mesh of one colour of a file."""

    mesh: Mesh
    rgb: Vector | None
    """Red, green and blue from 0 to 1, shape ``(3,)``; None: the file gives none."""


@dc.dataclass
class MeshFiles:
    """The mesh files of one model."""

    model: Path | None
    """The model file."""
    packages: tuple[Path, ...] = ()
    """Folders in which packages are looked for after those around it."""
    meshes: dict[Path, tuple[FileMesh, ...]] = dc.field(default_factory=dict)
    package_folders: dict[str, Path | None] = dc.field(default_factory=dict)
    """Packages by name."""

    def get(self, name: str, scale: Vector) -> tuple[FileMesh, ...]:
        """Return the meshes of a file that the model names.

        Raises:
            ModelError: It lies elsewhere, is missing, or is no mesh; in words that follow a name.
        """
        if not (np.isfinite(scale).all() and scale.all()):
            raise ModelError(f"has the scale {scale.tolist()}, which must be finite and not zero")
        path = self.find(name)
        record_read(path)
        if path not in self.meshes:
            self.meshes[path] = _read(path)
        return tuple(FileMesh(_scaled(mesh, scale), rgb) for mesh, rgb in self.meshes[path])

    def find(self, name: str) -> Path:
        """Return the file that a name in the model stands for; see `get`."""
        if self.model is None:
            raise ModelError("belongs to a model that is text alone, without a folder")
        scheme, _, location = name.rpartition("://")
        if "\0" in name or scheme not in ("", "file", "package", "model"):
            raise ModelError("must be a path or package://NAME/path")
        if Path(location).suffix.lower() not in FORMATS:
            raise ModelError(f"must be one of {', '.join(FORMATS)}")
        regions = _regions(self.model.resolve().parent)
        tried = [self.model.resolve().parent / location]
        if scheme in ("package", "model"):
            package, _, inside = location.partition("/")
            named = [region for region in regions if region.name == package]
            tried = [region / inside for region in (*named, *(r / package for r in regions))]
            tried += [region / inside for region in regions]
            tried = [] if ".." in Path(location).parts else tried
            root = self._package(package)
            if root is not None and ".." not in Path(location).parts:
                regions.append(root.resolve())
                tried.append(root / inside)
        is_outside = True
        for path in tried:
            try:
                real = path.resolve()
                if any(real.is_relative_to(region) for region in regions):
                    is_outside = False
                    if real.is_file():
                        return real
            except (OSError, ValueError):  # such as a name too long for the file system
                continue
        if is_outside:
            raise ModelError("must lie in the robot's folder or package")
        raise ModelError("is missing")

    def _package(self, name: str) -> Path | None:
        if name not in self.package_folders:
            self.package_folders[name] = package_folder(name, self.packages)
        return self.package_folders[name]


def _regions(folder: Path) -> list[Path]:
    """Return the folders that hold what belongs to a model of this one, itself first."""
    regions = [folder]
    zoo_root = zoo.root()
    if folder.name in KINDS_OF_FOLDERS:
        regions.append(folder.parent)
    for above in (folder, *folder.parents)[: MAX_PARENT_FOLDERS + 1]:
        if (above / "package.xml").is_file() or (above / "robot.toml").is_file():
            regions.append(above)
    if zoo_root is not None and folder.is_relative_to(zoo_root.resolve()):
        regions.append(zoo_root.resolve().parent)
    return list(dict.fromkeys(regions))


def _read(path: Path) -> tuple[FileMesh, ...]:
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
        loaded: Any = trimesh.load_scene(io.BytesIO(raw), file_type=kind, resolver={})
        meshes = [_placed(loaded, trimesh, node) for node in loaded.graph.nodes_geometry]
    except Exception as error:  # its readers raise what they like at a broken file
        raise ModelError(
            f"cannot be read ({printable_name(f'{type(error).__name__}: {error}')})"
        ) from None
    meshes = [one for one in meshes if len(one.mesh.faces)]
    if not meshes:
        raise ModelError("holds no triangles")
    count = sum(len(one.mesh.faces) for one in meshes)
    if count > MAX_TRIANGLES:
        raise ModelError(f"has {count} triangles; {MAX_TRIANGLES} are the most")
    for mesh, _ in meshes:
        fits = mesh.faces.min() >= 0 and mesh.faces.max() < len(mesh.vertices)
        if not (np.isfinite(mesh.vertices).all() and fits):
            raise ModelError("holds a corner that is no finite number")
    return tuple(meshes)


def _placed(loaded: Any, trimesh: Any, node: str) -> FileMesh:
    transform, name = loaded.graph[node]
    shape = loaded.geometry[name]
    if not isinstance(shape, trimesh.Trimesh):
        return FileMesh(Mesh(np.zeros((0, 3)), np.zeros((0, 3), dtype=np.int64)), None)
    moved = np.asarray(shape.vertices) @ transform[:3, :3].T + transform[:3, 3]
    faces = np.asarray(shape.faces, dtype=np.int64)
    if np.linalg.det(transform[:3, :3]) < 0.0:
        faces = faces[:, ::-1]
    return FileMesh(Mesh(np.array(moved, dtype=np.float64), faces), _rgb_of(shape.visual))


def _rgb_of(surface: Any) -> Vector | None:
    """Return the colour of a mesh: its texture's mean where its file holds one, or its own."""
    if not surface.defined:
        return None
    material = getattr(surface, "material", None)
    image = getattr(material, "baseColorTexture", None) or getattr(material, "image", None)
    if image is not None:
        mean: Vector = np.asarray(image.convert("RGB")).reshape(-1, 3).mean(axis=0) / 255.0
        return mean
    main = (surface if material is None else material).main_color
    rgb: Vector = np.asarray(main, dtype=np.float64)[:3] / 255.0
    return rgb


def _scaled(mesh: Mesh, scale: Vector) -> Mesh:
    vertices = mesh.vertices * scale
    if np.abs(vertices).max() > LARGEST:
        raise ModelError(f"would reach {np.abs(vertices).max():.3g} m; {LARGEST:g} m is the most")
    return Mesh(vertices, mesh.faces[:, ::-1] if scale.prod() < 0.0 else mesh.faces)
