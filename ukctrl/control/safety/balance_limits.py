"""What does not fall over: the centre of mass over the feet, and a frame that stays upright."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import model_validator

from ukctrl.control.safety.inequality import (
    CENTRE_OF_MASS,
    WORLD,
    BoundInequality,
    Inequality,
    InequalityRow,
    LengthInequality,
    LimitShape,
    SceneContext,
    single_row,
)
from ukctrl.control.safety.region_limits import MIN_THICKNESS, Direction
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import InputError
from ukctrl.core.fields import ListSize, Number, Quantity, Radians, Text, spec
from ukctrl.mechanics.constraints.constraint import FrameProbe
from ukctrl.mechanics.constraints.signed_distances import PlaneDistances
from ukctrl.mechanics.constraints.tilt_margin import TiltMargin
from ukctrl.robot.visual import primitive_meshes
from ukctrl.robot.visual.quaternions import rotation_towards

Corner = Annotated[tuple[Number, Number], ListSize(2, 2)]
COLLINEAR_TOLERANCE = 1e-9
"""A corner that is less than this [m^2] beside the line of its neighbours is none."""


@spec
class SupportPolygonLimit(LengthInequality):
    r"""The centre of mass stays over a polygon: $h_i = n_i \cdot (c - p_i)$ [m] of every edge, seen
    from above.

    It is that of feet where they are at the start, for feet that stand; a robot that moves slowly
    does not fall over then.
    """

    kind: Literal["support"] = "support"
    feet: Annotated[tuple[Text, ...], ListSize(3)] | None = None
    """Frames whose places at the start are corners; these or ``polygon``."""
    polygon: Annotated[tuple[Corner, ...], ListSize(3)] | None = None
    """Corners, in any order [m]."""

    @model_validator(mode="after")
    def _check_polygon(self) -> Self:
        if (self.feet is None) == (self.polygon is None):
            came = "none" if self.feet is None else "both"
            raise InputError(f"give either feet or polygon; got {came}.")
        return self

    def keeps(self, task: Task) -> BoundInequality:
        task.robot.snapshot(task.q, task.v, task.start).com()  # or it says why it has none
        corners = convex_hull(self._corners(task))
        along = np.roll(corners, -1, axis=0) - corners
        # corners run anticlockwise, so inside is a quarter turn to the left
        inward = np.column_stack([-along[:, 1], along[:, 0]])
        inward /= np.linalg.norm(inward, axis=1, keepdims=True)
        normals = tuple((float(x), float(y), 0.0) for x, y in inward)
        row = PlaneDistances(frame="", centre=(0.0, 0.0, 0.0), normals=normals)
        sides = (
            InequalityRow(f"edge_{i + 1}", "m", i, 1.0, -float(n @ corner), margin=self.margin)
            for i, (n, corner) in enumerate(zip(inward, corners, strict=True))
        )
        return BoundInequality(self.name or "support", row, tuple(sides))

    def solids(self, sight: SceneContext) -> Iterable[LimitShape]:
        snapshot = sight.task.robot.snapshot(sight.task.q, None, sight.task.start)
        feet, mass = self.feet or (), snapshot.com().position
        low = min((snapshot.frame(foot).position[2] for foot in feet), default=0.0)
        corners, thick = convex_hull(self._corners(sight.task)), MIN_THICKNESS * sight.size
        yield LimitShape(WORLD, primitive_meshes.plate(corners, 1e-6, low, low + thick), "free")
        ball = primitive_meshes.sphere(6.0 * thick)
        plumb = primitive_meshes.cylinder(0.8 * thick, low - mass[2], 0.0)
        below = primitive_meshes.sphere(2.5 * thick).moved(
            np.eye(3), np.array([0.0, 0.0, low - mass[2]])
        )
        yield LimitShape(
            CENTRE_OF_MASS, primitive_meshes.merge([ball, plumb, below]), "mark", axes_frame=WORLD
        )

    def _corners(self, task: Task) -> Matrix:
        if self.feet is None:
            return np.array(self.polygon)
        snapshot = task.robot.snapshot(task.q, task.v, task.start)
        positions = []
        for foot in self.feet:
            probe = FrameProbe(task.robot, foot)
            probe.move(snapshot)
            positions.append(probe.p[:2].copy())
        return np.array(positions)


def convex_hull(points: Matrix) -> Matrix:
    """Return the corners of the convex hull of points in a plane, anticlockwise (Andrew, 1979).

    Raises:
        InputError: They are on a line.
    """
    ordered = sorted(map(tuple, points.tolist()))
    sides = []
    # the lower side from left to right, then the upper one back
    for sequence in (ordered, ordered[::-1]):
        side: list[tuple[float, ...]] = []
        for p in sequence:
            while len(side) > 1 and _cross_product(side[-2], side[-1], p) <= COLLINEAR_TOLERANCE:
                side.pop()
            side.append(p)
        # its last corner begins the other side
        sides += side[:-1]
    if len(sides) < 3:
        raise InputError("corners must span an area; those given are on a line.")
    return np.array(sides)


def _cross_product(a: tuple[float, ...], b: tuple[float, ...], c: tuple[float, ...]) -> float:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


@spec
class TiltLimit(Inequality):
    r"""An axis of a frame leans no further than an angle: $h = (\cos\alpha - \cos\theta) /
    \sin\theta$ [rad].

    Within a limit of up to a right angle it is never more than what is left of the angle,
    $\theta - \alpha$, and at the limit the same.
    """

    kind: Literal["tilt"] = "tilt"
    frame: str
    """Frame that leans."""
    axis: Direction = (0.0, 0.0, 1.0)
    """Direction in the frame."""
    direction: Direction = (0.0, 0.0, 1.0)
    """Direction in the world from which the angle is counted."""
    at_most: Radians
    r"""Largest angle $\theta$ [rad], below half a turn."""
    margin: Annotated[float, Quantity("rad", minimum=0.0)] = 0.0
    """How far from it to stay [rad]."""

    @model_validator(mode="after")
    def _check_angle(self) -> Self:
        if not 0.0 < self.at_most < np.pi:
            raise InputError(
                f"at_most must be between 0 and half a turn; got {self.at_most:g} rad."
            )
        return self

    def keeps(self, task: Task) -> BoundInequality:
        row = TiltMargin(
            frame=self.frame, axis=self.axis, direction=self.direction, angle=self.at_most
        )
        return single_row(self.name or self.frame, row, self.margin, unit="rad")

    def solids(self, sight: SceneContext) -> Iterable[LimitShape]:
        height, angle = 0.25 * sight.size, self.at_most
        needle = primitive_meshes.cylinder(
            MIN_THICKNESS * sight.size, 0.0, height * np.cos(min(angle, 1.0))
        )
        yield LimitShape(
            self.frame, needle.moved(rotation_towards(np.array(self.axis)), np.zeros(3)), "mark"
        )
        if angle < 1.5:  # a wider cone is nearly a plane, or beyond
            rim = height * np.cos(angle), height * np.sin(angle)
            cone = primitive_meshes.revolve([(0.0, 0.0), rim[::-1]])
            cone = cone.moved(rotation_towards(np.array(self.direction)), np.zeros(3))
            yield LimitShape(self.frame, cone, "free", axes_frame=WORLD)
