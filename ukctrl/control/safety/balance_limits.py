"""What does not fall over: the centre of mass over the feet, and a frame that stays upright."""

from __future__ import annotations

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import model_validator

from ukctrl.control.safety.inequality import (
    BoundInequality,
    Inequality,
    InequalityRow,
    LengthInequality,
    single_row,
)
from ukctrl.control.safety.region_limits import Direction
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import InputError
from ukctrl.core.fields import ListSize, Number, Quantity, Radians, Text, spec
from ukctrl.mechanics.constraints.constraint import FrameProbe
from ukctrl.mechanics.constraints.signed_distances import PlaneDistances
from ukctrl.mechanics.constraints.tilt_margin import TiltMargin

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
        corners = convex_hull(self.corners(task))
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

    def corners(self, task: Task) -> Matrix:
        """Return the corners, of feet where they are at the start, shape ``(k, 2)`` [m]."""
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
