"""Meshes of model files for a page: as many triangles as it can bear, and colours as text."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.robot.geometry.link_shapes import LinkShape
from ukctrl.robot.geometry.primitive_meshes import Mesh

BUDGET = 20_000
"""Triangles of a robot's meshes together: more are made fewer."""


def hex_color(rgb: Sequence[float] | Vector) -> str:
    """Return ``#rrggbb`` of three numbers from 0 to 1; empty where one is not finite."""
    values = np.asarray(rgb, dtype=np.float64)
    if not np.isfinite(values).all():
        return ""
    return "#" + "".join(f"{round(255.0 * min(max(x, 0.0), 1.0)):02x}" for x in values[:3])


def fit_triangle_budget(visuals: list[LinkShape]) -> tuple[list[LinkShape], str]:
    """Return visuals with as many triangles as a page can bear, and a note if some are fewer."""
    total = sum(len(one.mesh.faces) for one in visuals)
    if total <= BUDGET:
        return visuals, ""
    share = BUDGET / total
    fewer = [
        one._replace(mesh=decimate(one.mesh, max(24, int(share * len(one.mesh.faces)))))
        for one in visuals
    ]
    count = sum(len(one.mesh.faces) for one in fewer)
    return fewer, f"The meshes have {total} triangles; they are drawn with {count}."


def decimate(mesh: Mesh, max_faces: int) -> Mesh:
    """Return a mesh of at most so many triangles, near the same shape.

    Corners in one cell of a grid become one, at their mean (Rossignac & Borrel, "Multi-resolution
    3D approximations for rendering complex scenes", 1993); the grid is as fine as can be.
    """
    if len(mesh.faces) <= max_faces:
        return mesh
    low, size = mesh.vertices.min(0), float(np.ptp(mesh.vertices, axis=0).max()) or 1.0
    coarse, fine, best = 1.0, float(2**20), mesh
    cells = np.sqrt(0.5 * max_faces)
    for _ in range(12):  # a surface has as many triangles as the square of the cells along it
        tried = _cluster_vertices(mesh, low, size / cells)
        if len(tried.faces) <= max_faces:
            best, coarse = tried, cells
            if len(tried.faces) > 0.85 * max_faces:
                break
        else:
            fine = cells
        guess = cells * np.sqrt(0.93 * max_faces / max(len(tried.faces), 1))
        cells = float(guess) if coarse < guess < fine else float(np.sqrt(coarse * fine))
    return best if best is not mesh else Mesh(mesh.vertices, mesh.faces[:max_faces])


def _cluster_vertices(mesh: Mesh, low: Vector, cell: float) -> Mesh:
    x, y, z = ((mesh.vertices - low) / cell).astype(np.int64).T
    _, clusters = np.unique((x << 42) + (y << 21) + z, return_inverse=True)
    count = np.bincount(clusters)
    corners = np.stack([np.bincount(clusters, mesh.vertices[:, k]) for k in range(3)], 1)
    faces = clusters[mesh.faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    a, b, c = np.sort(faces, axis=1).T
    _, first = np.unique((a * len(count) + b) * len(count) + c, return_index=True)
    return Mesh(corners / count[:, None], faces[np.sort(first)])
