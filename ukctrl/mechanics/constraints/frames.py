"""Constraints on where frames are: points, orientations, poses, one frame in another."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import AfterValidator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Vec3, spec
from ukctrl.mechanics.constraints.constraint import (
    Attached,
    Constraint,
    FrameProbe,
    Rows,
    Trace,
    path_of_size,
)
from ukctrl.mechanics.constraints.kinematics import orientation_rows, point_rows, relative_motion
from ukctrl.mechanics.constraints.pose import pose_rows, turned_rows
from ukctrl.mechanics.reference import AnyOrientation, AnyReference

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


def _check_axes(axes: str) -> str:
    if not axes or any(a not in "xyz" for a in axes) or "".join(sorted(set(axes))) != axes:
        raise InputError(f'axes must be some of "xyz" in this order, such as "xy"; got "{axes}".')
    return axes


Axes = Annotated[str, AfterValidator(_check_axes)]
PLACES = MappingProxyType(dict.fromkeys(("x", "y", "z"), "m"))
TURNS = MappingProxyType(dict.fromkeys(("rx", "ry", "rz"), "rad"))
"""Rows of a whole pose, and their units."""


@spec
class PointFollows(Constraint):
    r"""A point of the robot follows a path: $\phi = p(q) - r(t)$ in world axes [m]."""

    kind: Literal["point_follows"] = "point_follows"
    frame: str
    """Frame whose origin, or a point fixed in it, follows the path."""
    path: AnyReference
    """Path in world axes, one component for each of ``axes`` [m]."""
    axes: Axes = "xyz"
    """World axes that are held; the others stay free."""
    offset: Vec3 = (0.0, 0.0, 0.0)
    """The point, in the frame [m]."""

    def attach(self, robot: Robot) -> Attached:
        return _Point(self, robot)


class _Point(Attached):
    def __init__(self, spec: PointFollows, robot: Robot) -> None:
        site = robot.site(spec.frame)
        self.name_rows(spec.name or spec.frame, dict.fromkeys(spec.axes, "m"))
        self._frame = spec.frame
        local = site.rotation @ np.array(spec.offset) + site.translation
        self._axes = np.array(["xyz".index(axis) for axis in spec.axes])
        self._place = (site.joint, local, site.columns, self._axes)
        self._path = path_of_size(spec.path, len(self.names), f"path of '{self.block}'")
        self._reference = (0.0,) * (3 * len(self.names))
        self._position, self._desired = np.zeros(3), np.full(3, np.nan)

    def write(self, s: Snapshot, rows: Rows) -> None:
        self._reference = self._path(s.t)
        point_rows(*s.joints, *self._place, self._reference, self._position, *rows)

    def trace(self) -> Trace:
        self._desired[self._axes] = self._reference[: len(self.names)]
        return Trace(self._frame, self._position, self._desired)


@spec
class OrientationFollows(Constraint):
    r"""A frame turns as prescribed: $\phi = 4\,\sigma(R_d^\top R)$ [rad].

    The error is four times the modified Rodrigues vector of what is left to turn,
    $4 \tan(\theta/4)$ about its axis; it equals the rotation vector to third order, and its rows
    keep their rank up to half a turn and at it.
    """

    kind: Literal["orientation_follows"] = "orientation_follows"
    frame: str
    """Frame that turns."""
    path: AnyOrientation
    """Desired orientation of the frame in the world."""

    def attach(self, robot: Robot) -> Attached:
        return _Orientation(self.name or self.frame, self.frame, self.path, robot)


class _Orientation(Attached):
    def __init__(self, block: str, frame: str, path: AnyOrientation, robot: Robot) -> None:
        self.name_rows(block, TURNS)
        self._place = robot.site(frame).place
        self._path = path.compile()
        self._J = np.zeros((6, robot.nv))

    def write(self, s: Snapshot, rows: Rows) -> None:
        turned_rows(*s.joints, *self._place, self._path(s.t), self._J, *rows)


@spec
class PoseFollows(Constraint):
    """A frame follows a path and an orientation: six rows, position [m] then orientation [rad]."""

    kind: Literal["pose_follows"] = "pose_follows"
    frame: str
    """Frame that follows."""
    path: AnyReference
    """Path of its origin in world axes, three components [m]."""
    orientation: AnyOrientation
    """Orientation of the frame in the world."""

    def attach(self, robot: Robot) -> Attached:
        return _Pose(self, robot)


class _Pose(Attached):
    def __init__(self, spec: PoseFollows, robot: Robot) -> None:
        self.name_rows(spec.name or spec.frame, PLACES | TURNS)
        self._frame, self._place = spec.frame, (*robot.site(spec.frame).place, np.arange(3))
        self._path = path_of_size(spec.path, 3, f"path of '{self.block}'")
        self._orientation = spec.orientation.compile()
        self._J = np.zeros((6, robot.nv))
        self._reference: tuple[float, ...] = (0.0,) * 9
        self._position, self._desired = np.zeros(3), np.full(3, np.nan)

    def write(self, s: Snapshot, rows: Rows) -> None:
        self._reference = self._path(s.t)
        paths = self._reference, self._orientation(s.t)
        pose_rows(*s.joints, *self._place, *paths, self._J, self._position, *rows)

    def trace(self) -> Trace:
        self._desired[:] = self._reference[:3]
        return Trace(self._frame, self._position, self._desired)


@spec
class RelativePoseFollows(Constraint):
    r"""One frame follows a path seen from another frame, both of them moving.

    $\phi = R_a^\top (p_b - p_a) - r(t)$ [m], and with ``orientation`` also
    $\phi = 4\,\sigma(R_d^\top R_a^\top R_b)$ [rad], as in `OrientationFollows`.
    """

    kind: Literal["relative_pose_follows"] = "relative_pose_follows"
    frames: tuple[str, str]
    """The frame that looks, then the frame that follows."""
    path: AnyReference
    """Path in the axes of the first frame, three components [m]."""
    orientation: AnyOrientation | None = None
    """Orientation of the second frame in the first; absent: free."""

    def attach(self, robot: Robot) -> Attached:
        return _Relative(self, robot)


class _Relative(Attached):
    def __init__(self, spec: RelativePoseFollows, robot: Robot) -> None:
        units = PLACES | TURNS if spec.orientation else PLACES
        self.name_rows(spec.name or f"{spec.frames[1]}_in_{spec.frames[0]}", units)
        self._a, self._b = FrameProbe(robot, spec.frames[0]), FrameProbe(robot, spec.frames[1])
        self._path = path_of_size(spec.path, 3, f"path of '{self.block}'")
        self._orientation = spec.orientation.compile() if spec.orientation else None
        self._x = np.zeros(3), np.zeros(3), np.zeros(3)

    def write(self, s: Snapshot, rows: Rows) -> None:
        a, b, x = self._a, self._b, self._x
        a.move(s)
        b.move(s)
        top = rows.part(slice(0, 3))
        relative_motion(*a.motion, *b.motion[1:], *x, top.A)
        r = np.array(self._path(s.t))
        top.phi[:] = x[0] - r[:3]
        top.beta[:] = x[1] - r[3:6]
        top.b[:] = r[6:] - x[2]
        if self._orientation is None:
            return
        desired = np.array(self._orientation(s.t))
        omega_a, alpha_a = a.turning()
        omega = a.R @ desired[9:12]
        orientation_rows(
            b.R,
            b.J - a.J,
            *b.turning(),
            np.ascontiguousarray(a.R @ desired[:9].reshape(3, 3)),
            omega_a + omega,
            alpha_a + a.R @ desired[12:] + np.cross(omega_a, omega),
            *rows.part(slice(3, 6)),
        )
