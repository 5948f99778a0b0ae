"""The triangles of all robots of a scene in one place, and where they are at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.reports.scene import extent
from ukctrl.reports.scene.page_data import is_drawable
from ukctrl.reports.scene.scene import Scene
from ukctrl.reports.visual.visual_model import HEX_COLOR
from ukctrl.robot.geometry.primitive_meshes import Mesh
from ukctrl_film import raster_kernels
from ukctrl_film.light_kernels import ShadedTriangles
from ukctrl_film.pose_interpolation import bracket, interpolate_poses

CREASE = 0.6
"""Triangles that meet at a larger angle keep an edge between them [rad]; the page's too."""
ROBOT = "#b7c1cc"
"""The page's colour of bodies without one."""


class TriangleSet:
    """Those of a scene; first all that hide what is behind them, then the transparent ones."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        entries, start = [], 0
        for order, actor in enumerate(scene.actors):
            for visual in actor.visuals.parts:
                if is_drawable(visual) and (opacity := visual.opacity * actor.opacity) > 0.0:
                    color = linear_rgb(actor.color or visual.color)
                    layer = (opacity < 1.0, order, opacity)
                    entries.append((layer, color, start + visual.frame, visual.mesh))
            start += len(actor.visuals.frame_names)
        entries.sort(key=lambda entry: entry[0])
        meshes = [mesh for *_, mesh in entries]
        counts = [len(mesh.vertices) for mesh in meshes]
        sides = [len(mesh.faces) for mesh in meshes]
        moved = [mesh.faces + k for mesh, k in zip(meshes, np.cumsum([0, *counts]), strict=False)]
        normals = {id(mesh): corner_normals(mesh) for mesh in {id(m): m for m in meshes}.values()}
        carriers = np.array([carrier for _, _, carrier, _ in entries], dtype=np.int64)
        self.local = np.concatenate([np.empty((0, 3)), *(mesh.vertices for mesh in meshes)])
        self.faces = np.concatenate([np.empty((0, 3), np.int64), *moved]).astype(np.int64)
        self._owners = np.repeat(carriers, counts)
        self._face_owners = np.repeat(carriers, sides)
        self._paints = np.repeat(np.arange(len(entries)), sides)
        self._colors = np.array([color for _, color, *_ in entries]).reshape(-1, 3)
        self._normals = np.concatenate(
            [np.empty((0, 3, 3), np.float32), *(normals[id(mesh)] for mesh in meshes)]
        )
        ends = np.cumsum([0, *sides]).tolist()
        layers = [layer for layer, *_ in entries]
        self.opaque_count = ends[sum(not layer[0] for layer in layers)]
        """So many of the first triangles hide what is behind them."""
        self.transparent_layers = [
            (ends[layers.index(layer)], ends[layers.index(layer) + layers.count(layer)], layer[2])
            for layer in dict.fromkeys(layers)
            if layer[0]
        ]
        """First triangle, the one behind the last, and opacity, of all that are transparent."""

    def at_time(self, time: float, world: Matrix) -> ShadedTriangles:
        """Return everything as it is at a time [s].

        Args:
            time: When.
            world: Receives where vertices are, shape ``(k, 3)`` [m].
        """
        lower, share = bracket(self.scene.time, np.array([time]))
        poses = [interpolate_poses(actor.poses, lower, share) for actor in self.scene.actors]
        position = np.concatenate([np.empty((0, 3)), *(pose.position[0] for pose in poses)])
        quaternion = np.concatenate([np.empty((0, 4)), *(pose.quaternion[0] for pose in poses)])
        stretch = np.concatenate([np.empty(0), *(pose.stretch[0] for pose in poses)])
        turns = np.ascontiguousarray(extent.rotation_matrices(quaternion))
        raster_kernels.vertices_to_world(self.local, self._owners, turns, position, stretch, world)
        return ShadedTriangles(
            world, self.faces, self._face_owners, self._paints, self._normals, turns, stretch,
            self._colors,
        )  # fmt: skip


def linear_rgb(color: str, otherwise: str = ROBOT) -> Vector:
    """Return how much light a colour of a screen is, red, green and blue from 0 to 1."""
    text = color if HEX_COLOR.fullmatch(color) else otherwise
    level = np.array([int(text[k : k + 2], 16) for k in (1, 3, 5)]) / 255.0
    return np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)


def corner_normals(mesh: Mesh) -> NDArray[np.float32]:
    """Return the normal of each corner of each triangle, shape ``(m, 3, 3)``; see `CREASE`.

    Vertices in the same place are one.
    """
    faces = np.asarray(mesh.faces, dtype=np.int64)
    _, same = np.unique(np.asarray(mesh.vertices, dtype=np.float64), axis=0, return_inverse=True)
    vertices = same.reshape(-1)[faces].reshape(-1)
    corners = np.argsort(vertices, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(vertices))]).astype(np.int64)
    a, b, c = (mesh.vertices[faces[:, k]] for k in range(3))
    out = np.zeros((len(faces), 3, 3), np.float32)
    raster_kernels.write_normals(
        corners, starts, np.cross(b - a, c - a), float(np.cos(CREASE)), out
    )
    return out
