"""Constraints with the ground, a plane: contacts and rolling wheels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.expression import DomainError
from ukctrl.core.fields import Direction, Length, Position, spec
from ukctrl.mechanics.constraints.constraint import Attached, Constraint, Rows
from ukctrl.mechanics.constraints.contact import contact_rows
from ukctrl.mechanics.constraints.frame_probe import FrameProbe
from ukctrl.mechanics.constraints.wheel import rolling_rows

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


@spec
class Ground:
    """A plane in the world; left out, the plane z = 0."""

    point: Position = (0.0, 0.0, 0.0)
    """A point of it [m]."""
    normal: Direction = (0.0, 0.0, 1.0)
    """Its normal, away from the ground; its length does not matter."""


def _unit(direction: tuple[float, float, float]) -> Vector:
    vector: Vector = np.array(direction)
    return vector / np.linalg.norm(vector)


def _tangents(normal: Vector) -> Matrix:
    """Return two directions in the plane, shape ``(2, 3)``: x and y where the normal is z."""
    first = np.cross([0.0, 1.0, 0.0] if abs(normal[1]) < 0.9 else [0.0, 0.0, 1.0], normal)
    first /= np.linalg.norm(first)
    return np.array([first, np.cross(normal, first)])


@spec
class Contact(Constraint):
    r"""A frame touches the ground, with its origin or with its whole xy plane.

    With the ground's normal $n$, a point $p_0$ and tangents $t_1, t_2$ (x and y on level ground),
    the frame's origin $p$ and z axis $e_z$:

    | rows | holds | type |
    |---|---|---|
    | ``height`` | $n \cdot (p - p_0) = 0$ | point, flat |
    | ``tilt_x``, ``tilt_y`` | $t_i \cdot e_z = 0$: the z axis stays along the normal | flat |
    | ``slip_x``, ``slip_y`` | $t_i \cdot \dot p = 0$ | where it sticks |
    | ``spin`` | $n \cdot \omega = 0$ | flat, where it sticks |

    The last three are velocities and have no position level. The contact holds both ways: where
    the multiplier of ``height``, the force of the ground along the normal [N], falls below zero, a
    real one would lift off. A contact that does not stick slides, and may rub.
    """

    kind: Literal["contact"] = "contact"
    frame: str
    """The frame that touches."""
    type: Literal["point", "flat"] = "point"
    """What of it touches: its origin, or its xy plane."""
    sticks: bool = False
    """Whether it does not slide (nor, flat, turn) on the ground."""
    ground: Ground = Ground()
    """The plane."""

    def attach(self, robot: Robot) -> Attached:
        return _Contact(self, robot)


class _Contact(Attached):
    def __init__(self, spec: Contact, robot: Robot) -> None:
        self.block = spec.name or f"{spec.frame}_contact"
        flat, sticks = spec.type == "flat", spec.sticks
        rows = [("height", "m", True)]
        rows += [("tilt_x", "rad", True), ("tilt_y", "rad", True)] if flat else []
        rows += [("slip_x", "m", False), ("slip_y", "m", False)] if sticks else []
        rows += [("spin", "rad", False)] if flat and sticks else []
        self.names = tuple(f"{self.block}.{name}" for name, _, _ in rows)
        self.units = tuple(unit for _, unit, _ in rows)
        self.holonomic = tuple(holonomic for _, _, holonomic in rows)
        self.slides = not sticks
        self._flat, self._sticks = flat, sticks
        self._probe = FrameProbe(robot, spec.frame)
        self._point, normal = np.array(spec.ground.point), _unit(spec.ground.normal)
        self._tangents = _tangents(normal)
        self._axes = np.vstack([self._tangents, normal])

    def write(self, s: Snapshot, rows: Rows) -> None:
        probe = self._probe
        probe.move(s)
        contact_rows(*probe.motion, self._point, self._axes, self._flat, self._sticks, *rows)

    def slip(self) -> Matrix | None:
        return None if self._sticks else self._tangents @ self._probe.J[:3]


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

    def attach(self, robot: Robot) -> Attached:
        return _Rolling(self, robot)


class _Rolling(Attached):
    def __init__(self, spec: Rolling, robot: Robot) -> None:
        self.block = spec.name or f"{spec.frame}_rolling"
        names = ("along", "across", "height") if spec.height else ("along", "across")
        self.names = tuple(f"{self.block}.{name}" for name in names)
        self.units = ("m",) * len(names)
        self.holonomic = tuple(name == "height" for name in names)
        self._probe = FrameProbe(robot, spec.frame)
        self._axle, self._radius = _unit(spec.axle), spec.radius
        self._point, self._normal = np.array(spec.ground.point), _unit(spec.ground.normal)

    def write(self, s: Snapshot, rows: Rows) -> None:
        probe = self._probe
        probe.move(s)
        has_heading = rolling_rows(
            *probe.motion, self._axle, self._radius, self._point, self._normal, *rows
        )
        if not has_heading:
            raise DomainError(
                f"wheel '{self.block}' must not lie flat on the ground, where it has no heading."
            )
