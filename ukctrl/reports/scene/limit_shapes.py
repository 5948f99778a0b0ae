"""By which shapes a viewer sees what is kept: a table by kind of limit.

A kind that has no place in space is not in it. A user's own kind brings its shapes by a method of
its own, see `ShownLimit`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np

from ukctrl.control.safety import (
    BoxLimit,
    CollisionLimit,
    CylinderLimit,
    DistanceLimit,
    HalfSpaceLimit,
    Inequality,
    SphereLimit,
    SupportPolygonLimit,
    TiltLimit,
)
from ukctrl.control.safety.balance_limits import convex_hull
from ukctrl.control.task import Task
from ukctrl.core.arrays import Vector
from ukctrl.mechanics.reference.rotations import from_rpy
from ukctrl.robot.geometry import primitive_meshes
from ukctrl.robot.geometry.primitive_meshes import Mesh
from ukctrl.robot.geometry.quaternions import rotation_towards

WORLD, CENTRE_OF_MASS = "world", ""
"""What carries a shape that stays where it is, and one that goes with the centre of mass."""
WALL_SIZE, MIN_THICKNESS = 0.7, 0.004
"""How wide what has no end is drawn, and how thick what has no thickness, as fractions of the
scene."""


class LimitShape(NamedTuple):
    """A shape by which a viewer sees what is kept."""

    frame: str
    """Frame that carries it, `WORLD` or `CENTRE_OF_MASS`."""
    mesh: Mesh
    """In the carrier's axes [m]."""
    role: Literal["free", "barred", "mark"]
    """What is kept stays inside of it, or outside; or it is itself what is kept."""
    axes_frame: str | None = None
    """Frame whose axes it has instead of the carrier's; `WORLD`: it is not turned."""


class SceneContext(NamedTuple):
    """Where something is to be seen."""

    task: Task
    """The robot and its start."""
    size: float
    """How large the scene is [m]."""
    path_middle: Callable[[str], Vector]
    """Gives the middle of the way of a frame, shape ``(3,)`` [m]."""


@runtime_checkable
class ShownLimit(Protocol):
    """A limit that says itself by which shapes it is seen."""

    def shapes(self, scene: SceneContext) -> Iterable[tuple[Any, ...]]:
        """Return the fields of each `LimitShape`, without importing it."""
        ...


def limit_shapes(limit: Inequality, scene: SceneContext) -> Iterable[LimitShape]:
    """Return the shapes by which a viewer sees a limit; none of what has no place in space."""
    if isinstance(limit, ShownLimit):
        return [LimitShape(*fields) for fields in limit.shapes(scene)]
    shapes = SHAPES.get(getattr(limit, "kind", ""))
    return () if shapes is None else shapes(limit, scene)


def _region_shape(mesh: Mesh, stay: str = "outside") -> LimitShape:
    return LimitShape(WORLD, mesh, "free" if stay == "inside" else "barred")


def _half_space(limit: HalfSpaceLimit, scene: SceneContext) -> Iterable[LimitShape]:
    normal, thick = np.array(limit.normal), MIN_THICKNESS * scene.size
    near = scene.path_middle(limit.frame)
    at = near - ((near - np.array(limit.point)) @ normal) * normal
    wall = primitive_meshes.box(WALL_SIZE * scene.size, WALL_SIZE * scene.size, thick)
    yield _region_shape(wall.moved(rotation_towards(normal), at - 0.5 * thick * normal))


def _sphere(limit: SphereLimit, scene: SceneContext) -> Iterable[LimitShape]:
    ball = primitive_meshes.sphere(limit.radius).moved(np.eye(3), np.array(limit.center))
    yield _region_shape(ball, limit.stay)


def _cylinder(limit: CylinderLimit, scene: SceneContext) -> Iterable[LimitShape]:
    axis, center = np.array(limit.axis), np.array(limit.center)
    half = 0.5 * WALL_SIZE * scene.size
    along = float((scene.path_middle(limit.frame) - center) @ axis)
    low, high, r = along - half, along + half, limit.radius
    tube = primitive_meshes.revolve([(0.0, low), (r, low), (r, high), (0.0, high)], around=72)
    yield _region_shape(tube.moved(rotation_towards(axis), center), limit.stay)


def _box(limit: BoxLimit, scene: SceneContext) -> Iterable[LimitShape]:
    body = primitive_meshes.box(*limit.size).moved(from_rpy(limit.rpy), np.array(limit.center))
    yield _region_shape(body, limit.stay)


def _distance(limit: DistanceLimit, scene: SceneContext) -> Iterable[LimitShape]:
    ball = primitive_meshes.sphere(limit.at_least or limit.at_most or 1.0)
    yield LimitShape(limit.frames[0], ball, "barred" if limit.at_least else "free")


def _clearance(limit: CollisionLimit, scene: SceneContext) -> Iterable[LimitShape]:
    for template in limit.capsules:
        capsule = template.fit(scene.task.robot)
        begin, end = np.array(capsule.start), np.array(capsule.end or capsule.start)
        radius = max(capsule.radius or 0.0, MIN_THICKNESS * scene.size)
        long = primitive_meshes.rod(begin, end, radius) if capsule.has_length else None
        body = long or primitive_meshes.sphere(radius).moved(np.eye(3), begin)
        yield LimitShape(capsule.frame, body, "barred" if capsule.frame == WORLD else "mark")


def _support(limit: SupportPolygonLimit, scene: SceneContext) -> Iterable[LimitShape]:
    snapshot = scene.task.robot.snapshot(scene.task.q, None, scene.task.start)
    feet, mass = limit.feet or (), snapshot.com().position
    low = min((snapshot.frame(foot).position[2] for foot in feet), default=0.0)
    corners, thick = convex_hull(limit.corners(scene.task)), MIN_THICKNESS * scene.size
    yield LimitShape(WORLD, primitive_meshes.plate(corners, 1e-6, low, low + thick), "free")
    drop = low - mass[2]
    ball = primitive_meshes.sphere(6.0 * thick)
    plumb = primitive_meshes.cylinder(0.8 * thick, drop, 0.0)
    below = primitive_meshes.sphere(2.5 * thick).moved(np.eye(3), np.array([0.0, 0.0, drop]))
    line = primitive_meshes.merge([ball, plumb, below])
    yield LimitShape(CENTRE_OF_MASS, line, "mark", axes_frame=WORLD)


def _tilt(limit: TiltLimit, scene: SceneContext) -> Iterable[LimitShape]:
    height, angle = 0.25 * scene.size, limit.at_most
    needle = primitive_meshes.cylinder(
        MIN_THICKNESS * scene.size, 0.0, height * np.cos(min(angle, 1.0))
    )
    needle = needle.moved(rotation_towards(np.array(limit.axis)), np.zeros(3))
    yield LimitShape(limit.frame, needle, "mark")
    if angle < 1.5:  # a wider cone is nearly a plane, or beyond
        rim = height * np.cos(angle), height * np.sin(angle)
        cone = primitive_meshes.revolve([(0.0, 0.0), rim[::-1]])
        cone = cone.moved(rotation_towards(np.array(limit.direction)), np.zeros(3))
        yield LimitShape(limit.frame, cone, "free", axes_frame=WORLD)


SHAPES: Mapping[str, Callable[[Any, SceneContext], Iterable[LimitShape]]] = {
    "half_space": _half_space,
    "sphere": _sphere,
    "cylinder": _cylinder,
    "box": _box,
    "distance": _distance,
    "clearance": _clearance,
    "support": _support,
    "tilt": _tilt,
}
"""What gives the shapes, by kind of limit."""
