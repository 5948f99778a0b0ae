"""A planar linkage: each body a rounded bar through its points, pins at the joints."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot.look import meshes
from ukctrl.robot.look.carriers import Anchor
from ukctrl.robot.look.drawing import ACCENT, BODY, JOINT, SECOND, Drawing
from ukctrl.robot.look.meshes import Mesh
from ukctrl.robot.schema.linkage_tables import GROUND, Linkage, Prismatic, place

WIDE = 0.045
"""Half the width of a bar, of the mean distance between neighbouring points."""


def draw_linkage(linkage: Linkage, anchor_of: Callable[[str], Anchor], out: Drawing) -> None:
    """Draw a linkage with its repeated modules written out.

    Args:
        linkage: The linkage.
        anchor_of: Where a body is, by its name.
        out: Receives the meshes.
    """
    points = {body.name: _points(body.points) for body in linkage.body}
    spans = [float(np.ptp(p, axis=0).max()) for p in points.values()]
    r = WIDE * (float(np.mean([span for span in spans if span > 0.0] or [1.0])))
    layer = layers(linkage)
    step = 1.3 * r

    def add(body: str, mesh: Mesh, color: str) -> None:
        anchor = anchor_of(body)
        out.add(anchor.joint, mesh.moved(anchor.rotation, anchor.translation), color)

    for body in linkage.body:
        z = step * layer[body.name]
        color = BODY if layer[body.name] % 2 else SECOND
        spots = points[body.name]
        if len(spots) < 2:
            side = np.sqrt(6.0 * body.inertia / body.mass)  # of a square of this inertia
            spots = np.vstack([spots, 0.5 * side * np.array([[1, 1], [1, -1], [-1, -1], [-1, 1]])])
        add(body.name, meshes.plate(spots, r, z - 0.45 * step, z + 0.45 * step), color)
    for joint in linkage.joint:
        (first, at_first), (second, at_second) = (place(linkage, name) for name in joint.points)
        low, high = sorted(step * layer.get(name, 0) for name in (first, second))
        if isinstance(joint, Prismatic):
            reach = 4.0 * WIDE * 25.0 * r
            rail = meshes.box(reach, 0.7 * r, 0.5 * step)
            add(second, rail.moved(_about_z(joint.direction), _at(at_second, low)), JOINT)
            guide = meshes.box(4.0 * r, 2.6 * r, 1.2 * step)
            turn = _about_z(joint.direction - joint.angle)
            add(first, guide.moved(turn, _at(at_first, low)), JOINT)
            continue
        pin = meshes.cylinder(0.55 * r, low - 0.7 * step, high + 0.7 * step)
        add(first, pin.moved(np.eye(3), _at(at_first, 0.0)), JOINT)
    for name in linkage.ground.values():
        for mesh, color in _support(linkage.plane == "xz", r, step):
            add(GROUND, mesh.moved(np.eye(3), _at(name, 0.0)), color)
    for motor in linkage.motor:
        for joint in linkage.joint:
            ends = [place(linkage, name) for name in joint.points]
            if {name for name, _ in ends} == set(motor.bodies):
                at = next(at for name, at in ends if name == motor.bodies[1])
                z = step * layer[motor.bodies[1]]
                drum = meshes.cylinder(1.35 * r, z - 0.6 * step, z + 0.6 * step)
                add(motor.bodies[1], drum.moved(np.eye(3), _at(at, 0.0)), ACCENT)


def _points(points: object) -> Matrix:
    assert isinstance(points, dict)
    return np.array(list(points.values()), dtype=np.float64).reshape(-1, 2)


def _at(point: tuple[float, float], z: float) -> Vector:
    return np.array([point[0], point[1], z])


def _about_z(angle: float) -> Matrix:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def layers(linkage: Linkage) -> dict[str, int]:
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
            taken = {layer[other] for other in joined[body] if other in layer}
            layer[body] = next(k for k in itertools.count(1) if k not in taken)
        fresh = [other for other in sorted(joined[body]) if other not in layer]
        waiting = [*fresh, *waiting]
        for other in fresh:
            taken = {layer[third] for third in joined[other] if third in layer}
            layer[other] = next(k for k in itertools.count(1) if k not in taken)
    return layer


def _support(stands: bool, r: float, step: float) -> list[tuple[Mesh, str]]:
    """Return what marks a point of the ground, about the origin of the linkage's plane."""
    if stands:
        corners = r * np.array([[0.0, 0.0], [-1.7, -2.8], [1.7, -2.8]])
        foot = meshes.box(7.0 * r, 0.5 * r, 2.4 * step)
        foot = foot.moved(np.eye(3), np.array([0.0, -3.7 * r, 0.0]))
        return [(meshes.plate(corners, 0.7 * r, -0.4 * step, 0.4 * step), JOINT), (foot, JOINT)]
    return [(meshes.cylinder(2.0 * r, -1.2 * step, 0.4 * step), JOINT)]
