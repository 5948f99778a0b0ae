"""The shapes of the bodies of an MJCF file: the geoms of its compiled model.

MuJoCo shows the groups 0 to 2, where models put what is for looking at; what collides is what
`contype` or `conaffinity` lets touch anything.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.geometry.link_shapes import (
    LinkShape,
    ModelShapes,
    UnsupportedShape,
    check_mesh_size,
)
from ukctrl.robot.geometry.mesh_files import MAX_TRIANGLES
from ukctrl.robot.geometry.primitive_meshes import Mesh
from ukctrl.robot.geometry.quaternions import matrix
from ukctrl.robot.mjcf.compile_mjcf import compile_for_shapes
from ukctrl.robot.mjcf.pinocchio_model import names_of
from ukctrl.robot.shape_sources import ShapeKind

SHOWN_GROUPS = 3
"""Groups below this are shown."""
SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH = range(2, 8)
"""MuJoCo's numbers of shapes; planes, height fields and the like are no robot's."""
DEFAULT_RGBA = (0.5, 0.5, 0.5, 1.0)
"""MuJoCo's colour of a geom that names none: its material's goes before."""
TEXTURE_ROLES = (1, 0)
"""Where a material's textures for red, green and blue may stand: alone, or as one of several."""


def mjcf_shapes(text: str, path: Path | None, kind: ShapeKind) -> ModelShapes:
    """Return the shapes of an MJCF file, compiled once more for them."""
    return geom_shapes(compile_for_shapes(text, path).model, kind)


def geom_shapes(m: Any, kind: ShapeKind = "visual") -> ModelShapes:
    """Return the shapes of the bodies of an ``MjModel``."""
    names = names_of(m).bodies
    model = ModelShapes(names)
    for g in range(m.ngeom):
        name = names[m.geom_bodyid[g]]
        if not (SPHERE <= m.geom_type[g] <= MESH and _is_wanted(m, g, kind)):
            continue
        rgba = _rgba(m, g)
        try:
            mesh = _shape(m, g).moved(matrix(m.geom_quat[g]), np.array(m.geom_pos[g]))
            if rgba[3] > 0.0 or kind == "collision":
                alpha = float(np.clip(rgba[3], 0.0, 1.0))
                model.shapes.append(LinkShape(name, check_mesh_size(mesh), rgba[:3], alpha))
        except UnsupportedShape as fault:
            model.skip(name, fault.what, str(fault))
    return model


def _is_wanted(m: Any, g: int, kind: ShapeKind) -> bool:
    if kind == "collision":
        return bool(m.geom_contype[g] or m.geom_conaffinity[g])
    return bool(m.geom_group[g] < SHOWN_GROUPS)


def _rgba(m: Any, g: int) -> Vector:
    geom_rgba, material = np.array(m.geom_rgba[g], dtype=np.float64), int(m.geom_matid[g])
    if material < 0 or not np.allclose(geom_rgba, DEFAULT_RGBA):
        return geom_rgba
    rgba = np.array(m.mat_rgba[material], dtype=np.float64)
    for role in TEXTURE_ROLES:
        texture = int(m.mat_texid[material, role])
        if texture >= 0:  # one colour stands for the picture
            size = int(m.tex_height[texture]) * int(m.tex_width[texture])
            at, channels = int(m.tex_adr[texture]), int(m.tex_nchannel[texture])
            pixels = m.tex_data[at : at + size * channels].reshape(size, channels)
            if channels >= 3:
                rgba[:3] *= pixels[:, :3].mean(axis=0) / 255.0
            break
    return rgba


def _shape(m: Any, g: int) -> Mesh:
    size = np.array(m.geom_size[g], dtype=np.float64)
    kind = int(m.geom_type[g])
    if kind == MESH:
        return _mesh(m, int(m.geom_dataid[g]))
    if kind == SPHERE:
        return primitive_meshes.sphere(size[0])
    if kind == ELLIPSOID:
        return primitive_meshes.ellipsoid(size)
    if kind == BOX:
        return primitive_meshes.box(*(2.0 * size))
    make = primitive_meshes.capsule if kind == CAPSULE else primitive_meshes.cylinder
    return make(size[0], -size[1], size[1])


def _mesh(m: Any, number: int) -> Mesh:
    count = int(m.mesh_facenum[number])
    if count > MAX_TRIANGLES:
        raise UnsupportedShape("a mesh", f"has {count} triangles; {MAX_TRIANGLES} are the most")
    corner, face = int(m.mesh_vertadr[number]), int(m.mesh_faceadr[number])
    vertices = np.array(m.mesh_vert[corner : corner + m.mesh_vertnum[number]], dtype=np.float64)
    return Mesh(vertices, np.array(m.mesh_face[face : face + count], dtype=np.int64))
