"""How far a frame leans: a row of the angle between an axis of it and a direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.fields import Radians, Vec3, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Constraint, FrameProbe, Rows
from ukctrl.robot.snapshot import FrameMotion
from ukctrl.robot.spatial_kernels import dot, rotate, rotation_of
from ukctrl.robot.twist_kernels import add_scaled, cross

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


@spec
class TiltMargin(Constraint):
    r"""How much an axis may still lean: $\phi = (\cos\alpha - \cos\theta) / \sin\theta$ [rad].

    $\alpha$ is its angle from a direction, $\theta$ the one at which $\phi$ is zero. For
    $\alpha \le \theta \le \pi/2$ it is $\phi \le \theta - \alpha$, with the same slope at $\theta$,
    and smooth at $\alpha = 0$.
    """

    frame: str
    """Frame that leans."""
    axis: Vec3
    """Unit vector in the frame."""
    direction: Vec3
    """Unit vector in the world."""
    angle: Radians
    r"""$\theta$ [rad]."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _TiltMargin(self, robot)


class _TiltMargin(BoundConstraint):
    def __init__(self, spec: TiltMargin, robot: Robot) -> None:
        self.name_rows(spec.name or spec.frame, {"tilt": "rad"})
        self._probe = FrameProbe(robot, spec.frame)
        self._given = np.array(spec.axis), np.array(spec.direction), float(spec.angle)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        return self._probe.step(s), BoundKernel(leaning_row, self._probe.motion, *self._given, rows)


@compiled
def leaning_row(
    frame: FrameMotion, axis: Vector, direction: Vector, angle: float, rows: Rows
) -> None:
    """Write the row of an axis that leans."""
    up, sine = (direction[0], direction[1], direction[2]), np.sin(angle)
    arm = rotate(rotation_of(frame.rotation), (axis[0], axis[1], axis[2]))
    rate = (frame.velocity[3], frame.velocity[4], frame.velocity[5])
    moved = cross(rate, arm)
    change = cross((frame.drift[3], frame.drift[4], frame.drift[5]), arm)
    rows.phi[0] = (dot(up, arm) - np.cos(angle)) / sine
    rows.beta[0] = dot(up, moved) / sine
    rows.b[0] = -dot(up, add_scaled(change, 1.0, cross(rate, moved))) / sine
    lever = cross(arm, up)  # up . (w x arm) = w . (arm x up)
    for c in range(rows.A.shape[1]):
        column = (frame.J[3, c], frame.J[4, c], frame.J[5, c])
        rows.A[0, c] = dot(lever, column) / sine
