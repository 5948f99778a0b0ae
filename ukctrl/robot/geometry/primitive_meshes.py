"""Simple shapes as triangles.

A shape that has an axis lies along z. One that a rope or a spring stretches has the length 1, from
z = 0 to z = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.robot.geometry.quaternions import rotation_towards

ROUND_SEGMENTS = 24
"""Corners of a round shape."""


class Mesh(NamedTuple):
    """Triangles."""

    vertices: Matrix
    """Shape ``(k, 3)`` [m]."""
    faces: Indices
    """Three vertices each, anticlockwise as seen from outside, shape ``(m, 3)``."""

    def moved(self, rotation: Matrix, translation: Vector) -> Mesh:
        """Return it turned, and then shifted."""
        return Mesh(self.vertices @ rotation.T + translation, self.faces)


def merge(meshes: Sequence[Mesh]) -> Mesh:
    """Return several meshes as one."""
    starts = np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)])
    faces = [mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def box(x: float, y: float, z: float) -> Mesh:
    """Return a box about the origin of these edges [m]."""
    corners = np.array([(i, j, k) for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [three for a, b, c, d in sides for three in ((a, b, c), (a, c, d))]
    return Mesh(0.5 * corners * np.array([x, y, z]), np.array(faces))


def revolve(profile: Sequence[tuple[float, float]], around: int = ROUND_SEGMENTS) -> Mesh:
    """Return what a line makes that turns about the z axis.

    Args:
        profile: Radius and height of its points, upwards on the outer side [m].
        around: How many corners it has around.
    """
    angle = 2.0 * np.pi * np.arange(around) / around
    rings = [
        np.stack([r * np.cos(angle), r * np.sin(angle), 0.0 * angle + z], 1) for r, z in profile
    ]
    faces: list[NDArray[np.int64]] = []
    index, next_index = np.arange(around), np.roll(np.arange(around), -1)
    for k in range(len(profile) - 1):
        low, high = k * around, (k + 1) * around
        if profile[k + 1][0] > 0.0 or profile[k][0] > 0.0:
            faces.append(np.stack([low + index, low + next_index, high + next_index], 1))
            faces.append(np.stack([low + index, high + next_index, high + index], 1))
    mesh = Mesh(np.concatenate(rings), np.concatenate(faces))
    a, b, c = (mesh.vertices[mesh.faces[:, k]] for k in range(3))
    has_area = np.linalg.norm(np.cross(b - a, c - a), axis=1) > 0.0
    return mesh._replace(faces=mesh.faces[has_area])


def sphere(radius: float) -> Mesh:
    """Return a sphere about the origin."""
    latitude = np.linspace(-0.5 * np.pi, 0.5 * np.pi, ROUND_SEGMENTS // 2 + 1)
    return revolve([(radius * np.cos(x) * (abs(x) < 1.57), radius * np.sin(x)) for x in latitude])


def cylinder(radius: float, low: float, high: float) -> Mesh:
    """Return a cylinder along z between two heights [m]."""
    return revolve([(0.0, low), (radius, low), (radius, high), (0.0, high)])


def capsule(radius: float, low: float, high: float) -> Mesh:
    """Return a cylinder along z with the halves of a sphere beyond each end."""
    x = np.linspace(0.0, 0.5 * np.pi, ROUND_SEGMENTS // 4 + 1)
    below = [(radius * np.sin(t), low - radius * np.cos(t)) for t in x]
    above = [(radius * np.sin(t), high + radius * np.cos(t)) for t in x[::-1]]
    return revolve([*below, *above])


def cone(radius: float, low: float, high: float) -> Mesh:
    """Return a cone along z, whose tip is at the second height [m]."""
    return revolve([(0.0, low), (radius, low), (0.0, high)])


def arrow(radius: float) -> Mesh:
    """Return an arrow along z from z = 0 to z = 1; a quarter of it is its head [m]."""
    return revolve([(0.0, 0.0), (radius, 0.0), (radius, 0.75), (2.4 * radius, 0.75), (0.0, 1.0)])


def rod(start: Vector, end: Vector, radius: float, end_radius: float | None = None) -> Mesh:
    """Return a rod with round ends from one point to another, which may taper [m].

    Args:
        start: Where it begins, shape ``(3,)``.
        end: Where it ends.
        radius: At the beginning.
        end_radius: At the end; absent: the same.
    """
    along = end - start
    length, end_radius = float(np.linalg.norm(along)), radius if end_radius is None else end_radius
    x = np.linspace(0.0, 0.5 * np.pi, ROUND_SEGMENTS // 4 + 1)
    below = [(radius * np.sin(t), -radius * np.cos(t)) for t in x]
    above = [(end_radius * np.sin(t), length + end_radius * np.cos(t)) for t in x[::-1]]
    return revolve([*below, *above]).moved(rotation_towards(along), start)


def ellipsoid(semi_axes: Vector) -> Mesh:
    """Return an ellipsoid about the origin along its axes [m]."""
    unit = sphere(1.0)
    return unit._replace(vertices=unit.vertices * semi_axes)


def plate(points: Matrix, radius: float, low: float, high: float) -> Mesh:
    """Return the rounded plate that holds points of the xy plane, between two heights [m].

    Args:
        points: Shape ``(k, 2)``.
        radius: Of its corners, about the points.
        low: Lower height.
        high: Higher one.
    """
    from scipy.spatial import ConvexHull

    angle = 2.0 * np.pi * np.arange(ROUND_SEGMENTS) / ROUND_SEGMENTS
    rim = radius * np.stack([np.cos(angle), np.sin(angle)], 1)
    discs = (points[:, None] + rim).reshape(-1, 2)
    edge = discs[ConvexHull(discs).vertices]  # anticlockwise
    k = len(edge)
    index, next_index = np.arange(k), np.roll(np.arange(k), -1)
    ends = [np.column_stack([edge, np.full(k, height)]) for height in (low, high)]
    fan = np.column_stack([np.zeros(k - 2, dtype=np.int64), index[1:-1], index[2:]])
    sides = [
        np.stack([index, next_index, k + next_index], 1),
        np.stack([index, k + next_index, k + index], 1),
    ]
    return Mesh(np.concatenate(ends), np.concatenate([fan[:, ::-1], k + fan, *sides]))


def ring(radius: float, wire: float) -> Mesh:
    """Return a ring about z of a round wire [m]."""
    angle = np.linspace(-np.pi, np.pi, 13)
    return revolve([(radius + wire * np.cos(t), wire * np.sin(t)) for t in angle])


def spring(radius: float, turns: int, wire: float) -> Mesh:
    """Return a coil about z from z = 0 to z = 1; radius and wire in metres."""
    around, per_turn = 6, 16
    s = np.linspace(0.0, 1.0, turns * per_turn + 1)
    angle, tube = 2.0 * np.pi * turns * s, 2.0 * np.pi * np.arange(around) / around
    outward = np.stack([np.cos(angle), np.sin(angle), 0.0 * s], 1)
    middle = radius * outward + np.stack([0.0 * s, 0.0 * s, s], 1)
    upward = np.array([0.0, 0.0, 1.0])
    rings = (
        middle[:, None]
        + wire * np.cos(tube)[None, :, None] * outward[:, None]
        + wire * np.sin(tube)[None, :, None] * upward
    )
    index, next_index = np.arange(around), np.roll(np.arange(around), -1)
    low = around * np.arange(len(s) - 1)[:, None]
    first = np.stack([low + index, low + around + next_index, low + next_index], -1)
    second = np.stack([low + index, low + around + index, low + around + next_index], -1)
    return Mesh(rings.reshape(-1, 3), np.concatenate([first, second]).reshape(-1, 3))


def tube(points: Matrix, radius: float) -> Mesh:
    """Return a tube along points, with gaps where they are no numbers, shape ``(n, 3)`` [m]."""
    around = 8
    is_finite = np.asarray(np.isfinite(points).all(axis=1))
    middle = np.where(is_finite[:, None], points, 0.0)
    back_offset = np.where(np.roll(is_finite, 1) & is_finite & (np.arange(len(points)) > 0), -1, 0)
    fwd_offset = np.where(
        np.roll(is_finite, -1) & is_finite & (np.arange(len(points)) < len(points) - 1), 1, 0
    )
    k = np.arange(len(points))
    along = middle[k + fwd_offset] - middle[k + back_offset]
    side, sides = np.array([1.0, 0.3, 0.1]), np.zeros((len(points), 2, 3))
    for i, tangent in enumerate(along):  # carried along, so that it does not twist
        length = float(np.linalg.norm(tangent))
        if length > 0.0:
            unit = tangent / length
            side = side - (side @ unit) * unit
            if np.linalg.norm(side) < 1e-3:
                side = np.cross(unit, np.eye(3)[int(np.abs(unit).argmin())])
            side = side / np.linalg.norm(side)
            sides[i] = side, np.cross(unit, side)
        elif i:
            sides[i] = sides[i - 1]
    angle = 2.0 * np.pi * np.arange(around) / around
    turns = np.stack([np.cos(angle), np.sin(angle)], 1)
    rings = middle[:, None] + radius * turns @ sides
    index, next_index = np.arange(around), np.roll(np.arange(around), -1)
    low = around * np.flatnonzero(is_finite[:-1] & is_finite[1:])[:, None]
    first = np.stack([low + index, low + next_index, low + around + next_index], -1)
    second = np.stack([low + index, low + around + next_index, low + around + index], -1)
    return Mesh(rings.reshape(-1, 3), np.concatenate([first, second]).reshape(-1, 3))
