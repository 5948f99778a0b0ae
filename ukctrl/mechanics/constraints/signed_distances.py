r"""Where a frame is beside planes, spheres, cylinders and boxes: rows whose $\phi$ is a distance.

They hold nothing by themselves: what keeps a distance above zero takes them as they are, and they
have no kind of their own in a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Length, Matrix3, Position, Vec3, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Constraint, FrameProbe, Rows
from ukctrl.robot.snapshot import FrameMotion, PointMotion

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


class RelativePointMotion(NamedTuple):
    """One point seen from another, along some directions."""

    position: Vector
    """Shape ``(3,)`` [m]."""
    velocity: Vector
    drift: Vector
    J: Matrix
    """Shape ``(3, nv)``."""

    @classmethod
    def zeros(cls, nv: int) -> Self:
        """Return room for one."""
        return cls(np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((3, nv)))


@spec
class PlaneDistances(Constraint):
    r"""How far a frame is along directions: $\phi_i = n_i \cdot (p - c)$ [m]."""

    frame: str
    """Frame whose origin is looked at; empty: the centre of mass of the robot."""
    centre: Position
    """Point from which is counted [m]."""
    normals: tuple[Vec3, ...]
    """Unit vectors, one a row."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _PlaneDistances(self, robot)


class _PlaneDistances(BoundConstraint):
    def __init__(self, spec: PlaneDistances, robot: Robot) -> None:
        count = len(spec.normals)
        self.name_rows(spec.name or spec.frame or "com", {str(i): "m" for i in range(count)})
        self._probe = FrameProbe(robot, spec.frame) if spec.frame else None
        self._com = PointMotion.zeros(robot.nv)
        self._given = np.array(spec.normals), np.array(spec.centre)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        if self._probe is None:
            return *s.com_steps(self._com), BoundKernel(plane_rows, self._com, *self._given, rows)
        return self._probe.step(s), BoundKernel(plane_rows, self._probe.motion, *self._given, rows)


@compiled
def plane_rows(
    frame: FrameMotion | PointMotion, normals: Matrix, centre: Vector, rows: Rows
) -> None:
    """Write the rows of a point beside planes."""
    A, b, beta, phi = rows
    for i in range(len(b)):
        phi[i] = beta[i] = b[i] = 0.0
        for c in range(A.shape[1]):
            A[i, c] = 0.0
        for k in range(3):
            n = normals[i, k]
            phi[i] += n * (frame.position[k] - centre[k])
            beta[i] += n * frame.velocity[k]
            b[i] -= n * frame.drift[k]
            for c in range(A.shape[1]):
                A[i, c] += n * frame.J[k, c]


@spec
class PointDistance(Constraint):
    r"""How far a frame is from a point, an axis or another frame: $\phi = |P (p - c)| - r$ [m].

    With ``inside`` it is $\phi = (|P (p - c)|^2 - r^2) / (2 r)$, which has the same slope at $r$,
    is never less, and is smooth at the centre too.
    """

    frame: str
    """Frame whose origin is looked at."""
    other: str = ""
    """Frame from which is counted; empty: ``centre``."""
    centre: Position = (0.0, 0.0, 0.0)
    """Point from which is counted [m]."""
    along: Matrix3 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    """Projector ``P`` onto the directions that count."""
    radius: Length
    """Distance at which it is zero [m]."""
    inside: bool = False
    """Whether it is the smooth one."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _PointDistance(self, robot)


class _PointDistance(BoundConstraint):
    def __init__(self, spec: PointDistance, robot: Robot) -> None:
        if spec.frame == spec.other:
            raise InputError(f"frames must be two frames; got '{spec.frame}' twice.")
        self.name_rows(spec.name or spec.frame, {"distance": "m"})
        self._probe = FrameProbe(robot, spec.frame)
        still = np.array(spec.centre), np.eye(3), np.zeros((6, robot.nv)), np.zeros(6), np.zeros(6)
        self._other = FrameProbe(robot, spec.other) if spec.other else None
        self._from = self._other.motion if self._other else FrameMotion(*still)
        self._given = np.array(spec.along), float(spec.radius)
        self._row = half_square_row if spec.inside else norm_row
        self._apart = RelativePointMotion.zeros(robot.nv)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        along, radius = self._given
        motion_step = BoundKernel(
            write_relative_motion, self._probe.motion, self._from, along, self._apart
        )
        row = BoundKernel(self._row, self._apart, radius, rows)
        moved = () if self._other is None else (self._other.step(s),)
        return self._probe.step(s), *moved, motion_step, row


@compiled
def write_relative_motion(
    frame: FrameMotion, origin: FrameMotion, along: Matrix, apart: RelativePointMotion
) -> None:
    """Write how one point is placed and moves beside another, along some directions."""
    for i in range(3):
        apart.position[i] = apart.velocity[i] = apart.drift[i] = 0.0
        for c in range(apart.J.shape[1]):
            apart.J[i, c] = 0.0
        for k in range(3):
            p = along[i, k]
            apart.position[i] += p * (frame.position[k] - origin.position[k])
            apart.velocity[i] += p * (frame.velocity[k] - origin.velocity[k])
            apart.drift[i] += p * (frame.drift[k] - origin.drift[k])
            for c in range(apart.J.shape[1]):
                apart.J[i, c] += p * (frame.J[k, c] - origin.J[k, c])


@compiled
def norm_row(apart: RelativePointMotion, radius: float, rows: Rows) -> None:
    """Write the row of a length; one of zero counts along the first axis."""
    write_norm_row(apart, radius, 0.0, rows, 0)


@compiled
def write_norm_row(
    apart: RelativePointMotion, radius: float, pull: float, rows: Rows, k: int
) -> None:
    """Write a row of a length; ``pull`` is by how much less half its square bends than the points
    say, for which points it is of may change [m^2/s^2].
    """
    square, along, fast = 0.0, 0.0, 0.0
    for i in range(3):
        square += apart.position[i] * apart.position[i]
        along += apart.position[i] * apart.velocity[i]
        fast += apart.velocity[i] * apart.velocity[i]
    length = np.sqrt(square)
    # at zero no direction is better than another: the first axis, and it does not bend
    closing, bend = apart.velocity[0], 0.0
    if length > 0.0:
        closing = along / length
        # what moves across a line lengthens it
        bend = (fast - closing * closing - pull) / length
    rows.phi[k], rows.beta[k], rows.b[k] = length - radius, closing, -bend
    for c in range(rows.A.shape[1]):
        rows.A[k, c] = 0.0
    for i in range(3):
        normal = 1.0 - min(i, 1)
        if length > 0.0:
            normal = apart.position[i] / length
        rows.b[k] -= normal * apart.drift[i]
        for c in range(rows.A.shape[1]):
            rows.A[k, c] += normal * apart.J[i, c]


@compiled
def half_square_row(apart: RelativePointMotion, radius: float, rows: Rows) -> None:
    """Write the row of half a squared length over a radius."""
    rows.phi[0], rows.beta[0], rows.b[0] = -0.5 * radius, 0.0, 0.0
    for c in range(rows.A.shape[1]):
        rows.A[0, c] = 0.0
    for i in range(3):
        x, v = apart.position[i] / radius, apart.velocity[i]
        rows.phi[0] += 0.5 * x * apart.position[i]
        rows.beta[0] += x * v
        rows.b[0] -= x * apart.drift[i] + v * v / radius
        for c in range(rows.A.shape[1]):
            rows.A[0, c] += x * apart.J[i, c]


@spec
class BoxDistance(Constraint):
    """How far a frame is outside of a box; inside, by how little it would have to move [m]."""

    frame: str
    """Frame whose origin is looked at."""
    centre: Position
    """Middle of the box [m]."""
    axes: Matrix3
    """Unit vectors along its edges, one a row."""
    half: Position
    """Half of its edges [m]."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _BoxDistance(self, robot)


class _BoxDistance(BoundConstraint):
    def __init__(self, spec: BoxDistance, robot: Robot) -> None:
        self.name_rows(spec.name or spec.frame, {"distance": "m"})
        self._probe = FrameProbe(robot, spec.frame)
        self._given = np.array(spec.centre), np.array(spec.axes), np.array(spec.half)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        probe, buffers = self._probe, (np.zeros(3), np.zeros(3))
        return probe.step(s), BoundKernel(box_row, probe.motion, *self._given, *buffers, rows)


@compiled
def box_row(
    frame: FrameMotion,
    centre: Vector,
    axes: Matrix,
    half: Vector,
    offsets: Vector,
    normal: Vector,
    rows: Rows,
) -> None:
    """Write the row of a point beside a box; ``offsets`` and ``normal`` are room."""
    nearest, square = 0, 0.0
    for i in range(3):
        y = 0.0
        for k in range(3):
            y += axes[i, k] * (frame.position[k] - centre[k])
        offsets[i], normal[i] = abs(y) - half[i], 1.0 if y >= 0.0 else -1.0
        if offsets[i] > offsets[nearest]:
            nearest = i
        square += max(offsets[i], 0.0) ** 2
    length = np.sqrt(square)
    # outside the distance, inside the least way out: continuous on the faces
    rows.phi[0] = length if length > 0.0 else offsets[nearest]
    rows.beta[0] = rows.b[0] = 0.0
    for c in range(rows.A.shape[1]):
        rows.A[0, c] = 0.0
    fast = 0.0
    for i in range(3):
        # axes along which the point is within the box do not count; inside, one face alone
        if offsets[i] <= 0.0 and (length > 0.0 or i != nearest):
            continue
        component = normal[i]
        if length > 0.0:
            component *= offsets[i] / length
        speed = 0.0
        for k in range(3):
            speed += axes[i, k] * frame.velocity[k]
            rows.b[0] -= component * axes[i, k] * frame.drift[k]
            for c in range(rows.A.shape[1]):
                rows.A[0, c] += component * axes[i, k] * frame.J[k, c]
        rows.beta[0] += component * speed
        fast += speed * speed
    if length > 0.0:
        # zero beside a face: only edges and corners are round
        rows.b[0] -= (fast - rows.beta[0] * rows.beta[0]) / length
