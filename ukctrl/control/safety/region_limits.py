"""Regions of space in which a frame stays, or which it stays out of."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator

from ukctrl.control.safety.inequality import (
    BoundInequality,
    InequalityRow,
    LengthInequality,
    single_row,
)
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Angles3, Length, ListSize, Position, Vec3, spec
from ukctrl.mechanics.constraints.signed_distances import BoxDistance, PlaneDistances, PointDistance
from ukctrl.mechanics.reference.rotations import from_rpy

BoxEdges = Annotated[tuple[Length, Length, Length], ListSize(3, 3)]
RegionSide = Literal["inside", "outside"]
AXIS_NAMES = "xyz"


def _unit_vector(vector: tuple[float, float, float]) -> tuple[float, float, float]:
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        raise InputError("must have a direction; got zeros.")
    x, y, z = (component / length for component in vector)
    return x, y, z


Direction = Annotated[Vec3, AfterValidator(_unit_vector)]
"""A vector of any length but zero, which becomes a unit vector."""


ThreeVectors = tuple[
    tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]
]


def _vectors_of_rows(matrix: Matrix) -> ThreeVectors:
    """Return the rows of a matrix as a field holds them."""
    a, b, c = ((float(x), float(y), float(z)) for x, y, z in matrix)
    return a, b, c


@spec
class HalfSpaceLimit(LengthInequality):
    r"""A frame stays on one side of a plane: $h = n \cdot (p - c)$ [m]."""

    kind: Literal["half_space"] = "half_space"
    frame: str
    """Frame whose origin stays there."""
    point: Position
    """A point of the plane [m]."""
    normal: Direction
    """Direction into the free side."""

    def keeps(self, task: Task) -> BoundInequality:
        row = PlaneDistances(frame=self.frame, centre=self.point, normals=(self.normal,))
        return single_row(self.name or self.frame, row, self.margin)


@spec
class SphereLimit(LengthInequality):
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
    stay: RegionSide = "outside"
    """Where."""

    def keeps(self, task: Task) -> BoundInequality:
        inside = self.stay == "inside"
        row = PointDistance(frame=self.frame, centre=self.center, radius=self.radius, inside=inside)
        return single_row(self.name or self.frame, row, self.margin, -1.0 if inside else 1.0)


@spec
class CylinderLimit(LengthInequality):
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
    stay: RegionSide = "outside"
    """Where."""

    def keeps(self, task: Task) -> BoundInequality:
        inside, axis = self.stay == "inside", np.array(self.axis)
        across = _vectors_of_rows(np.eye(3) - np.outer(axis, axis))
        row = PointDistance(
            frame=self.frame, centre=self.center, radius=self.radius, along=across, inside=inside
        )
        return single_row(self.name or self.frame, row, self.margin, -1.0 if inside else 1.0)


@spec
class BoxLimit(LengthInequality):
    r"""A frame stays in a box, six planes, or outside of it, where $h$ is the distance [m]."""

    kind: Literal["box"] = "box"
    frame: str
    """Frame whose origin stays there."""
    center: Position
    """Middle of the box [m]."""
    size: BoxEdges
    """Its edges [m]."""
    rpy: Angles3 = (0.0, 0.0, 0.0)
    """How it is turned: roll, pitch and yaw, R = Rz(yaw) Ry(pitch) Rx(roll) [rad]."""
    stay: RegionSide = "inside"
    """Where."""

    def keeps(self, task: Task) -> BoundInequality:
        block = self.name or self.frame
        axes = _vectors_of_rows(from_rpy(self.rpy).T)
        if self.stay == "outside":
            x, y, z = self.size
            half = 0.5 * x, 0.5 * y, 0.5 * z
            row = BoxDistance(frame=self.frame, centre=self.center, axes=axes, half=half)
            return single_row(block, row, self.margin)
        planes = PlaneDistances(frame=self.frame, centre=self.center, normals=axes)
        sides = (
            InequalityRow(f"{axis}_{end}", "m", i, sign, 0.5 * self.size[i], margin=self.margin)
            for i, axis in enumerate(AXIS_NAMES)
            for end, sign in (("low", 1.0), ("high", -1.0))
        )
        return BoundInequality(block, planes, tuple(sides))
