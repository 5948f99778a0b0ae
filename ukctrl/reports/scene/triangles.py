"""The triangles of all robots of a scene in one place, and where they are at a time."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.reports.scene import extent, raster_kernels
from ukctrl.reports.scene.light_kernels import Bodies
from ukctrl.reports.scene.moments import between, poses_at
from ukctrl.reports.scene.page_data import usable
from ukctrl.reports.scene.stage import Scene
from ukctrl.robot.look.meshes import CREASE, Mesh

ROBOT = "#b7c1cc"
"""The page's colour of bodies without one."""
_COLOR = re.compile(r"#[0-9a-fA-F]{6}")


class Triangles:
    """Those of a scene; first all that hide what is behind them, then the transparent ones."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        entries, start = [], 0
        for order, actor in enumerate(scene.actors):
            for part in actor.look.parts:
                if usable(part) and (opacity := part.opacity * actor.opacity) > 0.0:
                    color = light_of(actor.color or part.color)
                    layer = (opacity < 1.0, order, opacity)
                    entries.append((layer, color, start + part.carrier, part.mesh))
            start += len(actor.look.carriers)
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
        self.hiding = ends[sum(not layer[0] for layer in layers)]
        """So many of the first triangles hide what is behind them."""
        self.clear = [
            (ends[layers.index(layer)], ends[layers.index(layer) + layers.count(layer)], layer[2])
            for layer in dict.fromkeys(layers)
            if layer[0]
        ]
        """First triangle, the one behind the last, and opacity, of all that are transparent."""

    def placed(self, time: float, world: Matrix) -> Bodies:
        """Return everything as it is at a time [s].

        Args:
            time: When.
            world: Receives where vertices are, shape ``(k, 3)`` [m].
        """
        before, share = between(self.scene.time, np.array([time]))
        every = [poses_at(actor.poses, before, share) for actor in self.scene.actors]
        position = np.concatenate([np.empty((0, 3)), *(each.position[0] for each in every)])
        quaternion = np.concatenate([np.empty((0, 4)), *(each.quaternion[0] for each in every)])
        stretch = np.concatenate([np.empty(0), *(each.stretch[0] for each in every)])
        turns = np.ascontiguousarray(extent.rotations(quaternion))
        raster_kernels.place(self.local, self._owners, turns, position, stretch, world)
        return Bodies(
            world, self.faces, self._face_owners, self._paints, self._normals, turns, stretch,
            self._colors,
        )  # fmt: skip


def light_of(color: str, otherwise: str = ROBOT) -> Vector:
    """Return how much light a colour of a screen is, red, green and blue from 0 to 1."""
    text = color if _COLOR.fullmatch(color) else otherwise
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
