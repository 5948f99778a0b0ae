"""Regions of space in which a frame stays, or which it stays out of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator

from ukctrl.control.keep.keep import WORLD, KeepLength, Kept, Side, Sight, Solid, only
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Angles3, Length, Listed, Position, Vec3, spec
from ukctrl.mechanics.constraints.regions import AwayFrom, BesideBox, BesidePlanes
from ukctrl.mechanics.reference.rotations import from_rpy
from ukctrl.robot.look import meshes
from ukctrl.robot.look.meshes import Mesh
from ukctrl.robot.look.rotations import towards

Edges = Annotated[tuple[Length, Length, Length], Listed(3, 3)]
Stay = Literal["inside", "outside"]
AXES = "xyz"


def _unit(vector: tuple[float, float, float]) -> tuple[float, float, float]:
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise InputError("must have a direction; got zeros.")
    x, y, z = (component / length for component in vector)
    return x, y, z


Direction = Annotated[Vec3, AfterValidator(_unit)]
"""A vector of any length but zero, which becomes a unit vector."""


Vectors = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]


def _three(matrix: Matrix) -> Vectors:
    """Return the rows of a matrix as a field holds them."""
    a, b, c = ((float(x), float(y), float(z)) for x, y, z in matrix)
    return a, b, c


@spec
class KeepHalfSpace(KeepLength):
    r"""A frame stays on one side of a plane: $h = n \cdot (p - c)$ [m]."""

    kind: Literal["half_space"] = "half_space"
    frame: str
    """Frame whose origin stays there."""
    point: Position
    """A point of the plane [m]."""
    normal: Direction
    """Direction into the free side."""

    def keeps(self, task: Task) -> Kept:
        row = BesidePlanes(frame=self.frame, centre=self.point, normals=(self.normal,))
        return only(self.name or self.frame, row, self.margin)

    def solids(self, sight: Sight) -> Iterable[Solid]:
        normal, thick = np.array(self.normal), THIN * sight.size
        near = sight.middle(self.frame)
        at = near - ((near - np.array(self.point)) @ normal) * normal
        wall = meshes.box(WALL * sight.size, WALL * sight.size, thick)
        return (_barred(wall.moved(towards(normal), at - 0.5 * thick * normal)),)


@spec
class KeepSphere(KeepLength):
    r"""A frame stays outside of a sphere, $h = |p - c| - r$ [m], or inside.

    Inside it is $h = (r^2 - |p - c|^2) / (2 r)$, which is smooth at the centre and never more than
    the distance to the sphere.
    """

    kind: Literal["sphere"] = "sphere"
    frame: str
    """Frame whose origin stays there."""
    center: Position
    """Centre [m]."""
    radius: Length
    """Radius [m]."""
    stay: Stay = "outside"
    """Where."""

    def keeps(self, task: Task) -> Kept:
        inside = self.stay == "inside"
        row = AwayFrom(frame=self.frame, centre=self.center, radius=self.radius, inside=inside)
        return only(self.name or self.frame, row, self.margin, -1.0 if inside else 1.0)

    def solids(self, sight: Sight) -> Iterable[Solid]:
        ball = meshes.sphere(self.radius).moved(np.eye(3), np.array(self.center))
        return (_barred(ball, self.stay),)


@spec
class KeepCylinder(KeepLength):
    """A frame stays outside of a cylinder without ends, or inside; see the sphere, which has the
    same formulas.
    """

    kind: Literal["cylinder"] = "cylinder"
    frame: str
    """Frame whose origin stays there."""
    center: Position
    """A point on its axis [m]."""
    axis: Direction = (0.0, 0.0, 1.0)
    """Direction of its axis."""
    radius: Length
    """Radius [m]."""
    stay: Stay = "outside"
    """Where."""

    def keeps(self, task: Task) -> Kept:
        inside, axis = self.stay == "inside", np.array(self.axis)
        across = _three(np.eye(3) - np.outer(axis, axis))
        row = AwayFrom(
            frame=self.frame, centre=self.center, radius=self.radius, along=across, inside=inside
        )
        return only(self.name or self.frame, row, self.margin, -1.0 if inside else 1.0)

    def solids(self, sight: Sight) -> Iterable[Solid]:
        axis, center, half = np.array(self.axis), np.array(self.center), 0.5 * WALL * sight.size
        along = float((sight.middle(self.frame) - center) @ axis)
        low, high, r = along - half, along + half, self.radius
        tube = meshes.turned([(0.0, low), (r, low), (r, high), (0.0, high)], around=72)
        return (_barred(tube.moved(towards(axis), center), self.stay),)


@spec
class KeepBox(KeepLength):
    r"""A frame stays in a box, six planes, or outside of it, where $h$ is the distance [m]."""

    kind: Literal["box"] = "box"
    frame: str
    """Frame whose origin stays there."""
    center: Position
    """Middle of the box [m]."""
    size: Edges
    """Its edges [m]."""
    rpy: Angles3 = (0.0, 0.0, 0.0)
    """How it is turned: roll, pitch and yaw, R = Rz(yaw) Ry(pitch) Rx(roll) [rad]."""
    stay: Stay = "inside"
    """Where."""

    def keeps(self, task: Task) -> Kept:
        block = self.name or self.frame
        axes = _three(from_rpy(self.rpy).T)
        if self.stay == "outside":
            x, y, z = self.size
            half = 0.5 * x, 0.5 * y, 0.5 * z
            row = BesideBox(frame=self.frame, centre=self.center, axes=axes, half=half)
            return only(block, row, self.margin)
        planes = BesidePlanes(frame=self.frame, centre=self.center, normals=axes)
        sides = (
            Side(f"{axis}_{end}", "m", i, sign, 0.5 * self.size[i], margin=self.margin)
            for i, axis in enumerate(AXES)
            for end, sign in (("low", 1.0), ("high", -1.0))
        )
        return Kept(block, planes, tuple(sides))

    def solids(self, sight: Sight) -> Iterable[Solid]:
        body = meshes.box(*self.size).moved(from_rpy(self.rpy), np.array(self.center))
        return (_barred(body, self.stay),)


WALL, THIN = 0.7, 0.004
"""How wide what has no end is drawn, and how thick what has no thickness, as fractions of the
scene."""


def _barred(mesh: Mesh, stay: Stay = "outside") -> Solid:
    return Solid(WORLD, mesh, "free" if stay == "inside" else "barred")
