"""Closures: two frames of a robot held together as a joint would hold them."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, inlined
from ukctrl.core.errors import InputError
from ukctrl.core.fields import spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import (
    BoundConstraint,
    Constraint,
    FrameProbe,
    Rows,
    SlidingVelocity,
)
from ukctrl.mechanics.constraints.kinematics import (
    clear_drift,
    orientation_rows,
    relative_jacobian_rows,
    relative_motion,
    size_of,
    write_cross,
    zero_if_rounding,
)
from ukctrl.robot.snapshot import FrameMotion

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot

Joint = Literal["point", "planar_point", "revolute", "prismatic", "weld"]

_LOCKED = MappingProxyType(
    {
        "point": ("xyz", ""),
        "planar_point": ("xy", ""),
        "revolute": ("xyz", "axis"),
        "prismatic": ("xy", "all"),
        "weld": ("xyz", "all"),
    }
)
"""What each type holds: positions along which axes of the second frame, and which turning."""

_FREE = MappingProxyType(
    {
        "point": ("turn", (0, 1, 2)),
        "planar_point": ("turn", (2,)),
        "revolute": ("turn", (2,)),
        "prismatic": ("slide", (2,)),
        "weld": ("", ()),
    }
)
"""How each type moves: turning or sliding, along which axes of the second frame."""


@spec
class Closure(Constraint):
    r"""Two frames held together, as by a joint between them.

    Everything is seen from the second frame, whose axes are $R_b$, and the joint's axis is its z
    axis. With $x = R_b^\top (p_a - p_b)$ [m], the axis $n = R_b^\top R_a e_z$ of the first frame
    and the error quaternion $\varepsilon$ of $R_b^\top R_a$:

    | type | rows | holds |
    |---|---|---|
    | ``point`` | 3 | $x = 0$ |
    | ``planar_point`` | 2 | $x_1 = x_2 = 0$: a hinge of a planar mechanism |
    | ``revolute`` | 5 | $x = 0$, $n_1 = n_2 = 0$ |
    | ``prismatic`` | 5 | $x_1 = x_2 = 0$, $4\sigma = 0$ |
    | ``weld`` | 6 | $x = 0$, $4\sigma = 0$ |

    The multipliers of the rows are the force [N] and the torque [N m] of the second frame on the
    first, at its origin and in the second frame's axes: rows ``x``, ``y``, ``z`` push along these
    axes, ``rx``, ``ry``, ``rz`` turn about them; ``nx`` turns about y, and ``ny`` about -x.

    Friction acts where the joint moves: ``point`` turns in every direction, ``planar_point`` and
    ``revolute`` turn about the axis, ``prismatic`` slides along it.

    In a planar mechanism the three-dimensional types have rows that hold by themselves; they are
    redundant, which is normal, but ``planar_point`` says what is meant.
    """

    kind: Literal["closure"] = "closure"
    frames: tuple[str, str]
    """The frame that is held, then the frame that holds it; either may be fixed in the world."""
    type: Joint
    """The joint that the closure stands for."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Closure(self, robot)


class _Closure(BoundConstraint):
    def __init__(self, spec: Closure, robot: Robot) -> None:
        first, second = spec.frames
        if first == second:
            raise InputError(f"frames must be two frames; got '{first}' twice.")
        axes, turning = _LOCKED[spec.type]
        turns = {"": (), "axis": ("nx", "ny"), "all": ("rx", "ry", "rz")}[turning]
        units = dict.fromkeys(axes, "m") | dict.fromkeys(turns, "rad")
        self.name_rows(spec.name or f"{first}_at_{second}", units)
        # relative to the second frame: its axes are those of the joint
        self._a, self._b = FrameProbe(robot, second), FrameProbe(robot, first)
        self._places, self._turning = len(axes), turning
        self._free, self._along = _FREE[spec.type]
        self._A, self._J = np.zeros((3, robot.nv)), np.zeros((6, robot.nv))

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        a, b, count = self._a, self._b, self._places
        both = a.motion, b.motion
        top = rows.part(slice(0, count))
        rotation_rows = rows.part(slice(count, len(self.names)))
        steps = [a.step(s), b.step(s), BoundKernel(position_rows, *both, self._A, top)]
        if self._turning:
            kernel = axis_alignment_rows if self._turning == "axis" else locked_rotation_rows
            steps.append(BoundKernel(kernel, *both, self._J, rotation_rows))
        return steps

    def slip(self) -> SlidingVelocity | None:
        a, b, along = self._a, self._b, np.array(self._along, dtype=np.int64)
        if not self._free:
            return None
        J = np.zeros((len(along), b.J.shape[1]))
        # relative velocity along the free axes: of turning in the second frame, of sliding by the
        # rows themselves
        args = (
            (a.R, a.J[3:], b.J[3:])
            if self._free == "turn"
            else (np.eye(3), np.zeros_like(self._A), self._A)
        )
        return SlidingVelocity(J, (BoundKernel(relative_jacobian_rows, *args, along, J),))


@allocating
def position_rows(a: FrameMotion, b: FrameMotion, across: Matrix, rows: Rows) -> None:
    """Write the rows that hold the origin of b on that of a, along a's first axes.

    ``across`` receives the Jacobian along all three, shape ``(3, nv)``.
    """
    x, x_dot, x_drift = np.empty(3), np.empty(3), np.empty(3)
    relative_motion(a, b, x, x_dot, x_drift, across)
    write_position_rows(x, x_dot, x_drift, across, rows)


@inlined
def write_position_rows(
    x: Vector, x_dot: Vector, x_drift: Vector, across: Matrix, rows: Rows
) -> None:
    """Write the rows that hold the first components of a place, as many as there are rows."""
    for i in range(len(rows.b)):
        rows.phi[i], rows.beta[i], rows.b[i] = x[i], x_dot[i], -x_drift[i]
        for c in range(across.shape[1]):
            rows.A[i, c] = across[i, c]


@compiled
def locked_rotation_rows(a: FrameMotion, b: FrameMotion, J: Matrix, rows: Rows) -> None:
    """Write the rows that keep b from turning in a; ``J`` is room for a Jacobian."""
    for i in range(3, 6):
        for c in range(J.shape[1]):
            J[i, c] = b.J[i, c] - a.J[i, c]
    target = a.rotation, a.velocity[3:], a.drift[3:]
    moving = b.rotation, J, b.velocity[3:], b.drift[3:]
    orientation_rows(moving, target, rows)


@allocating
def axis_alignment_rows(a: FrameMotion, b: FrameMotion, J: Matrix, rows: Rows) -> None:
    """Write the first two components of b's z axis in a; ``J`` is room for a Jacobian.

    The axis moves as the tip of a unit vector from the world's origin would, so the kinematics of
    a point serve it: it turns with b, and is seen from a.
    """
    n, n_dot, tip, turn = np.empty(3), np.empty(3), np.empty(6), np.empty(6)
    first, second, still = np.empty(3), np.empty(3), np.zeros(3)
    for i in range(3):
        n[i] = b.rotation[i, 2]
    write_cross(b.velocity[3:], n, n_dot)
    write_cross(b.drift[3:], n, first)
    write_cross(b.velocity[3:], n_dot, second)
    tip_drift, turn_drift = np.empty(6), np.empty(6)
    for i in range(3):
        tip[i], tip_drift[i] = n_dot[i], first[i] + second[i]
        tip[3 + i] = tip_drift[3 + i] = turn[i] = turn_drift[i] = 0.0
        turn[3 + i], turn_drift[3 + i] = a.velocity[3 + i], a.drift[3 + i]
    J_n, across = np.zeros(J.shape), np.empty((3, J.shape[1]))
    for c in range(J.shape[1]):
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            left, right = b.J[3 + j, c] * n[k], b.J[3 + k, c] * n[j]
            J_n[i, c] = zero_if_rounding(left - right, abs(left) + abs(right))
            J[i, c], J[3 + i, c] = 0.0, a.J[3 + i, c]
    x, x_dot, x_drift = np.empty(3), np.empty(3), np.empty(3)
    # the tip of a unit vector along the axis, as a point: two of its coordinates must stay zero
    tip_motion = FrameMotion(n, b.rotation, J_n, tip, tip_drift)
    from_a = FrameMotion(still, a.rotation, J, turn, turn_drift)
    relative_motion(from_a, tip_motion, x, x_dot, x_drift, across)
    # of an axis that does not turn the tip has rounding alone: it counts beside the bodies' turning
    speed = size_of(a.velocity[3:]) + size_of(b.velocity[3:])
    clear_drift(across, speed**2 + size_of(a.drift[3:]) + size_of(b.drift[3:]), x_drift)
    write_position_rows(x, x_dot, x_drift, across, rows)
