"""The ground, a plane, and wheels that roll on it, with their rows, compiled."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from ukctrl.core.algebra.factorisation import dot, matvec
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating
from ukctrl.core.expression.compiled_formula import DomainError
from ukctrl.core.fields import Direction, Length, Position, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Constraint, FrameProbe, Rows
from ukctrl.mechanics.constraints.kinematics import write_cross, zero_if_rounding
from ukctrl.robot.snapshot import FrameMotion

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


@allocating
def rolling_rows(
    frame: FrameMotion, axle: Vector, radius: float, ground: Vector, n: Vector, rows: Rows
) -> bool:
    r"""Write the rows of a disc that rolls on a plane: along, across and, if there, height.

    Returns whether the disc has a heading; where it lies flat, nothing is written. All three rows
    are components of the velocity $v_c$ of the material point in contact, along directions that
    turn; $n \cdot v_c$ is the rate of the height.
    """
    (p, R, J, velocity, drift), (A, b, beta, phi) = frame, rows
    a, omega = np.empty(3), velocity[3:]
    matvec(R, axle, a)
    a_dot, side, side_dot = np.empty(3), np.empty(3), np.empty(3)
    write_cross(omega, a, a_dot)
    write_cross(a, n, side)
    write_cross(a_dot, n, side_dot)
    # the sine of the axle's angle to the normal; zero: it lies flat
    s = np.sqrt(dot(side, side))
    if s == 0.0:
        return False
    lean, lean_dot = dot(n, a), dot(n, a_dot)
    s_dot = -lean * lean_dot / s
    d = (n - lean * a) / s
    d_dot = (-lean_dot * a - lean * a_dot - s_dot * d) / s
    w_d, alpha_d, w_d_dot = np.empty(3), np.empty(3), np.empty(3)
    write_cross(omega, d, w_d)
    write_cross(drift[3:], d, alpha_d)
    write_cross(omega, d_dot, w_d_dot)
    v_c = velocity[:3] - radius * w_d
    # the touching point runs along the rim: d_dot is its lever's own rate
    v_c_drift = drift[:3] - radius * (alpha_d + w_d_dot)
    e, e_dot = np.empty((3, 3)), np.zeros((3, 3))
    for i in range(3):
        e[0, i] = side[i] / s
        e_dot[0, i] = (side_dot[i] - s_dot * e[0, i]) / s
        e[2, i] = n[i]
    write_cross(n, e[0], e[1])
    write_cross(n, e_dot[0], e_dot[1])
    lever = np.empty(3)
    for row in range(A.shape[0]):
        write_cross(d, e[row], lever)
        for c in range(A.shape[1]):
            total, terms = 0.0, 0.0
            for i in range(3):
                moving, turning = e[row, i] * J[i, c], radius * lever[i] * J[3 + i, c]
                total += moving - turning
                terms += abs(moving) + abs(turning)
            A[row, c] = zero_if_rounding(total, terms)
        beta[row] = dot(e[row], v_c)
        b[row] = -(dot(e_dot[row], v_c) + dot(e[row], v_c_drift))
        # rolling has no position level
        phi[row] = np.nan if row < 2 else dot(n, p - ground) - radius * s
    return True


@spec
class Ground:
    """A plane in the world; left out, the plane z = 0."""

    point: Position = (0.0, 0.0, 0.0)
    """A point of it [m]."""
    normal: Direction = (0.0, 0.0, 1.0)
    """Its normal, away from the ground; its length does not matter."""


def unit_vector(direction: tuple[float, float, float]) -> Vector:
    """Return a direction, of unit length."""
    vector: Vector = np.array(direction)
    return vector / np.linalg.norm(vector)


def plane_tangents(normal: Vector) -> Matrix:
    """Return two directions in the plane, shape ``(2, 3)``: x and y where the normal is z."""
    first = np.cross([0.0, 1.0, 0.0] if abs(normal[1]) < 0.9 else [0.0, 0.0, 1.0], normal)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first)])


@spec
class Rolling(Constraint):
    r"""A wheel rolls on the ground without slipping.

    The wheel is a thin disc of radius $r$ about the axle $a$ through the frame's origin $p$. With
    the ground's normal $n$, the disc touches at $p - r d$, where $d = (n - (n \cdot a) a)/s$ and
    $s = |a \times n|$. The point of the disc that touches has the velocity
    $v_c = \dot p - r\, \omega \times d$, and with the heading $e = a \times n / s$

    | row | holds |
    |---|---|
    | ``along`` | $e \cdot v_c = 0$: it rolls |
    | ``across`` | $(n \times e) \cdot v_c = 0$: it does not slide sideways |
    | ``height`` | $n \cdot (p - p_0) - r s = 0$: it touches |

    The first two cannot be integrated. The wheel may lean ($n \cdot a \neq 0$), but not lie flat.
    The multipliers are the force of the ground on the wheel at the point of contact [N].
    """

    kind: Literal["rolling"] = "rolling"
    frame: str
    """A frame at the centre of the wheel that turns with it, or with its axle."""
    radius: Length
    """Radius of the wheel [m]."""
    axle: Direction = (0.0, 1.0, 0.0)
    """Direction of the axle in the frame; absent: its y axis."""
    height: bool = True
    """Whether the wheel is held at the height at which it touches. Leave that out for a vehicle
    whose joints keep its wheels on the ground anyway."""
    ground: Ground = Ground()
    """The plane."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Rolling(self, robot)


class _Rolling(BoundConstraint):
    def __init__(self, spec: Rolling, robot: Robot) -> None:
        names = ("along", "across", "height") if spec.height else ("along", "across")
        self.name_rows(spec.name or f"{spec.frame}_rolling", dict.fromkeys(names, "m"))
        self.holonomic = tuple(name == "height" for name in names)
        self._probe = FrameProbe(robot, spec.frame)
        self._axle, self._radius = unit_vector(spec.axle), float(spec.radius)
        self._point, self._normal = np.array(spec.ground.point), unit_vector(spec.ground.normal)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        probe, geometry = self._probe, (self._axle, self._radius, self._point, self._normal)
        return probe.step(s), BoundKernel(
            rolling_rows, probe.motion, *geometry, rows, fault=self._flat
        )

    def _flat(self, code: int) -> DomainError:
        return DomainError(
            f"wheel '{self.block}' must not lie flat on the ground, where it has no heading."
        )
