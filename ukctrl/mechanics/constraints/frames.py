"""Constraints on where frames are: points, orientations, poses, one frame in another."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import AfterValidator

from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Vec3, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import (
    BoundConstraint,
    Constraint,
    FrameProbe,
    FrameTrace,
    Rows,
    SampledPath,
    sample_path,
)
from ukctrl.mechanics.constraints.kinematics import (
    orientation_rows,
    point_rows,
    relative_motion,
    write_cross,
)
from ukctrl.mechanics.reference import AnyOrientation, AnyReference
from ukctrl.robot.snapshot import FrameMotion

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


@compiled
def path_error_rows(
    x: Vector, x_dot: Vector, x_drift: Vector, path: Vector, b: Vector, beta: Vector, phi: Vector
) -> None:
    """Write the errors of a place from where a path has it."""
    m = len(b)
    for i in range(m):
        phi[i], beta[i], b[i] = x[i] - path[i], x_dot[i] - path[m + i], path[2 * m + i] - x_drift[i]


@allocating
def relative_orientation_rows(
    a: FrameMotion, b: FrameMotion, desired: Vector, J: Matrix, rows: Rows
) -> None:
    """Write the rows that turn frame b, seen from frame a, as a reference has it.

    ``J`` is room for the difference of their Jacobians.
    """
    R_d, omega_d, alpha_d = np.empty((3, 3)), np.empty(3), np.empty(3)
    turn, spin = np.empty(3), np.empty(3)
    for i in range(3):
        turn[i] = 0.0
        # only what is free of accelerations: theirs is in the difference of the Jacobians
        alpha_d[i] = a.drift[3 + i]
        for k in range(3):
            turn[i] += a.rotation[i, k] * desired[9 + k]
            alpha_d[i] += a.rotation[i, k] * desired[12 + k]
            R_d[i, k] = 0.0
            for j in range(3):
                R_d[i, k] += a.rotation[i, j] * desired[3 * j + k]
        omega_d[i] = a.velocity[3 + i] + turn[i]
    write_cross(a.velocity[3:], turn, spin)
    for i in range(3):
        # the reference's axes turn themselves
        alpha_d[i] += spin[i]
        for c in range(J.shape[1]):
            J[3 + i, c] = b.J[3 + i, c] - a.J[3 + i, c]
    moving, target = (b.rotation, J, b.velocity[3:], b.drift[3:]), (R_d, omega_d, alpha_d)
    orientation_rows(moving, target, rows)


def _check_axes(axes: str) -> str:
    if not axes or any(a not in "xyz" for a in axes) or "".join(sorted(set(axes))) != axes:
        raise InputError(f'axes must be some of "xyz" in this order, such as "xy"; got "{axes}".')
    return axes


Axes = Annotated[str, AfterValidator(_check_axes)]
POSITION_UNITS = MappingProxyType(dict.fromkeys(("x", "y", "z"), "m"))
ROTATION_UNITS = MappingProxyType(dict.fromkeys(("rx", "ry", "rz"), "rad"))
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

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Point(self, robot)


class _Point(BoundConstraint):
    def __init__(self, spec: PointFollows, robot: Robot) -> None:
        site = robot.site(spec.frame)
        self.name_rows(spec.name or spec.frame, dict.fromkeys(spec.axes, "m"))
        self._frame = spec.frame
        local = site.rotation @ np.array(spec.offset) + site.translation
        self._axes = np.array(["xyz".index(axis) for axis in spec.axes])
        self._place = (site.joint, local, site.columns, self._axes)
        label = f"path of '{self.block}'"
        self._path = sample_path(spec.path, len(self.names), label, "".join(spec.axes))
        self._position = np.zeros(3)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        args = *self._place, self._path.values, self._position, rows
        point = BoundKernel(point_rows, s.joints, *args)
        return self._path.step(s.clock), point

    def trace(self) -> FrameTrace:
        return FrameTrace(self._frame, self._position, self._path.values, self._axes)


def orientation_step(probe: FrameProbe, reference: Vector, rows: Rows) -> KernelStep:
    """Return what writes the rows that turn a frame as a reference has it.

    Args:
        probe: The frame, evaluated before.
        reference: ``R_d``, ``omega_d`` and its derivative, shape ``(15,)``.
        rows: Three of them.
    """
    _, R, J, velocity, drift = probe.motion
    target = reference[:9].reshape((3, 3)), reference[9:12], reference[12:]
    return BoundKernel(orientation_rows, (R, J, velocity[3:], drift[3:]), target, rows)


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

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Orientation(self.name or self.frame, self.frame, self.path, robot)


class _Orientation(BoundConstraint):
    def __init__(self, block: str, frame: str, path: AnyOrientation, robot: Robot) -> None:
        self.name_rows(block, ROTATION_UNITS)
        self._probe = FrameProbe(robot, frame)
        self._path = SampledPath(path.compiled, 15)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        path, probe = self._path, self._probe
        return path.step(s.clock), probe.step(s), orientation_step(probe, path.values, rows)


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

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Pose(self, robot)


class _Pose(BoundConstraint):
    def __init__(self, spec: PoseFollows, robot: Robot) -> None:
        self.name_rows(spec.name or spec.frame, POSITION_UNITS | ROTATION_UNITS)
        self._probe = FrameProbe(robot, spec.frame)
        self._path = sample_path(spec.path, 3, f"path of '{self.block}'")
        self._orientation = SampledPath(spec.orientation.compiled, 15)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        path, turn, probe = self._path, self._orientation, self._probe
        top, (p, _, J, velocity, drift) = rows.part(slice(0, 3)), probe.motion
        return (
            path.step(s.clock),
            turn.step(s.clock),
            probe.step(s),
            BoundKernel(copy_into, J[:3], top.A),
            BoundKernel(
                path_error_rows, p, velocity[:3], drift[:3], path.values, top.b, top.beta, top.phi
            ),
            orientation_step(probe, turn.values, rows.part(slice(3, 6))),
        )

    def trace(self) -> FrameTrace:
        return FrameTrace(self._probe.frame, self._probe.p, self._path.values, np.arange(3))


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

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Relative(self, robot)


class _Relative(BoundConstraint):
    def __init__(self, spec: RelativePoseFollows, robot: Robot) -> None:
        units = POSITION_UNITS | ROTATION_UNITS if spec.orientation else POSITION_UNITS
        self.name_rows(spec.name or f"{spec.frames[1]}_in_{spec.frames[0]}", units)
        self._a, self._b = FrameProbe(robot, spec.frames[0]), FrameProbe(robot, spec.frames[1])
        self._path = sample_path(spec.path, 3, f"path of '{self.block}'")
        oriented = spec.orientation
        self._orientation = SampledPath(oriented.compiled, 15) if oriented else None
        self._x = np.zeros(3), np.zeros(3), np.zeros(3)
        self._J = np.zeros((6, robot.nv))

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        a, b, path, turn = self._a, self._b, self._path, self._orientation
        top = rows.part(slice(0, 3))
        steps = [
            a.step(s), b.step(s), path.step(s.clock),
            BoundKernel(relative_motion, a.motion, b.motion, *self._x, top.A),
            BoundKernel(path_error_rows, *self._x, path.values, top.b, top.beta, top.phi),
        ]  # fmt: skip
        if turn is not None:
            rotation_rows = rows.part(slice(3, 6))
            steps.append(turn.step(s.clock))
            steps.append(
                BoundKernel(
                    relative_orientation_rows,
                    a.motion,
                    b.motion,
                    turn.values,
                    self._J,
                    rotation_rows,
                )
            )
        return steps
