"""A planar linkage: each body a rod through its points or a plate, at joints pins and motors."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.reports.visual.mesh_collector import (
    BODY,
    JOINT,
    SECOND,
    MeshCollector,
    bevelled_cylinder,
    joint_meshes,
)
from ukctrl.reports.visual.visual_frames import FrameAnchor
from ukctrl.reports.visual.visual_model import MountPoint
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.geometry.primitive_meshes import Mesh
from ukctrl.robot.schema.linkage_tables import GROUND, Linkage, LinkageBody, Prismatic, place

THIN = 0.034
"""Radius of a bar, of the mean distance between its points."""
STEP = 2.1
"""Distance of neighbouring layers, of that radius."""


def draw_linkage(
    linkage: Linkage, anchor_of: Callable[[str], FrameAnchor], out: MeshCollector
) -> None:
    """Draw a linkage with its repeated modules written out."""
    points = {body.name: _points(body.points) for body in linkage.body}
    spans = [float(np.ptp(p, axis=0).max()) for p in points.values()]
    span = float(np.mean([span for span in spans if span > 0.0] or [1.0]))
    r, layer = THIN * span, linkage_layers(linkage)
    driven = {frozenset(motor.bodies) for motor in linkage.motor}

    def add(body: str, mesh: Mesh, color: str) -> None:
        anchor = anchor_of(body)
        out.add(anchor.joint, mesh.moved(anchor.rotation, anchor.translation), color)

    def height(body: str) -> float:
        return STEP * r * layer.get(body, 0)

    for body in linkage.body:
        color = BODY if layer[body.name] % 2 else SECOND
        for mesh in _bar(body, points[body.name], r):
            add(body.name, mesh.moved(np.eye(3), _at((0.0, 0.0), height(body.name))), color)
    for joint in linkage.joint:
        (first, at_first), (second, at_second) = (place(linkage, name) for name in joint.points)
        low, high = sorted(map(height, (first, second)))
        if isinstance(joint, Prismatic):
            rail = primitive_meshes.box(4.5 * span, 0.7 * r, 0.5 * STEP * r)
            add(second, rail.moved(_about_z(joint.direction), _at(at_second, low)), JOINT)
            guide = primitive_meshes.box(5.0 * r, 3.4 * r, 1.2 * STEP * r)
            turn = _about_z(joint.direction - joint.angle)
            add(first, guide.moved(turn, _at(at_first, low)), JOINT)
            continue
        pin = primitive_meshes.cylinder(0.5 * r, low - 1.1 * r, high + 1.1 * r)
        add(first, pin.moved(np.eye(3), _at(at_first, 0.0)), JOINT)
        for name, at in ((first, at_first), (second, at_second)):
            motor = frozenset((first, second)) in driven and height(name) == high
            for mesh, color in joint_meshes(r, 1.15 * r, driven=motor) if name != GROUND else ():
                add(name, mesh.moved(np.eye(3), _at(at, height(name))), color)
    ground = anchor_of(GROUND)
    for at in linkage.ground.values():
        add(GROUND, bevelled_cylinder(1.5 * r, r).moved(np.eye(3), _at(at, -0.5 * r)), JOINT)
        out.feet.append(MountPoint(ground.translation + ground.rotation @ _at(at, 0.0), 1.1 * r))


def _bar(body: LinkageBody, points: Matrix, r: float) -> Iterator[Mesh]:
    """Yield what a body is made of, in its plane."""
    if len(points) < 2:
        side = np.sqrt(6.0 * body.inertia / body.mass)  # of a square of this inertia
        corners = 0.5 * side * np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]])
        points = np.vstack([points, corners])
    middle = points.mean(axis=0)
    _, size, axes = np.linalg.svd(points - middle)
    if len(points) > 2 and size[1] > 0.02 * size[0]:
        yield primitive_meshes.plate(points, 1.15 * r, -0.6 * r, 0.6 * r)
        return
    along = (points - middle) @ axes[0]
    first, last = points[int(along.argmin())], points[int(along.argmax())]
    yield primitive_meshes.rod(_at(first, 0.0), _at(last, 0.0), r)


def _points(points: object) -> Matrix:
    assert isinstance(points, dict)
    return np.array(list(points.values()), dtype=np.float64).reshape(-1, 2)


def _at(point: Sequence[float] | Vector, z: float) -> Vector:
    return np.array([point[0], point[1], z])


def _about_z(angle: float) -> Matrix:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def linkage_layers(linkage: Linkage) -> dict[str, int]:
    """Return a depth for every body, other than that of all bodies that it is joined to."""
    joined: dict[str, set[str]] = {GROUND: set(), **{body.name: set() for body in linkage.body}}
    for joint in linkage.joint:
        first, second = (place(linkage, name)[0] for name in joint.points)
        joined[first].add(second)
        joined[second].add(first)
    layer = {GROUND: 0}
    waiting = [GROUND, *joined]
    while waiting:
        body = waiting.pop(0)
        if body not in layer:
            depths = {layer[neighbour] for neighbour in joined[body] if neighbour in layer}
            layer[body] = next(k for k in itertools.count(1) if k not in depths)
        fresh = [neighbour for neighbour in sorted(joined[body]) if neighbour not in layer]
        waiting = [*fresh, *waiting]
        for neighbour in fresh:
            depths = {layer[third] for third in joined[neighbour] if third in layer}
            layer[neighbour] = next(k for k in itertools.count(1) if k not in depths)
    return layer
