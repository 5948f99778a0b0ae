"""Closures: two frames of a robot held together as a joint would hold them."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

import numpy as np

from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import InputError
from ukctrl.core.fields import spec
from ukctrl.mechanics.constraints.constraint import Attached, Constraint, FrameProbe, Rows
from ukctrl.mechanics.constraints.kinematics import orientation_rows, relative_motion

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot

Joint = Literal["point", "planar_point", "revolute", "prismatic", "weld"]

_HELD = MappingProxyType(
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

    def attach(self, robot: Robot) -> Attached:
        return _Closure(self, robot)


class _Closure(Attached):
    def __init__(self, spec: Closure, robot: Robot) -> None:
        first, second = spec.frames
        if first == second:
            raise InputError(f"frames must be two frames; got '{first}' twice.")
        axes, turning = _HELD[spec.type]
        turns = {"": (), "axis": ("nx", "ny"), "all": ("rx", "ry", "rz")}[turning]
        units = dict.fromkeys(axes, "m") | dict.fromkeys(turns, "rad")
        self.name_rows(spec.name or f"{first}_at_{second}", units)
        self._a, self._b = FrameProbe(robot, second), FrameProbe(robot, first)
        self._places, self._turning = len(axes), turning
        self._free, self._along = _FREE[spec.type]
        self.slides = bool(self._free)
        self._x = np.zeros(3), np.zeros(3), np.zeros(3)
        self._A = np.zeros((3, robot.nv))
        self._still, self._none = np.zeros(3), np.zeros(6)
        self._J_a, self._J_n = np.zeros((6, robot.nv)), np.zeros((6, robot.nv))

    def write(self, s: Snapshot, rows: Rows) -> None:
        a, b, x = self._a, self._b, self._x
        a.move(s)
        b.move(s)
        relative_motion(*a.motion, *b.motion[1:], *x, self._A)
        count = self._places
        self._fill(rows.part(slice(0, count)), count)
        rest = rows.part(slice(count, len(self.names)))
        if self._turning == "axis":
            self._axis(rest)
        elif self._turning == "all":
            orientation_rows(b.R, b.J - a.J, *b.turning(), a.R, *a.turning(), *rest)

    def slip(self) -> Matrix | None:
        a, b, along = self._a, self._b, list(self._along)
        if self._free == "turn":
            turning: Matrix = a.R.T @ (b.J[3:] - a.J[3:])
            return turning[along]
        return self._A[along] if self._free else None

    def _fill(self, rows: Rows, count: int) -> None:
        x = self._x
        rows.A[:] = self._A[:count]
        rows.phi[:] = x[0][:count]
        rows.beta[:] = x[1][:count]
        rows.b[:] = -x[2][:count]

    def _axis(self, rows: Rows) -> None:
        """Write the first two components of the held axis in the holding frame.

        The axis moves as the tip of a unit vector from the world's origin would, so the kinematics
        of a point serve it: it turns with the one frame, and is seen from the other.
        """
        a, b, x = self._a, self._b, self._x
        n = b.R[:, 2].copy()
        omega, alpha = b.turning()
        n_dot = np.cross(omega, n)
        tip, tip_drift = np.zeros(6), np.zeros(6)
        tip[:3] = n_dot
        tip_drift[:3] = np.cross(alpha, n) + np.cross(omega, n_dot)
        self._J_n[:3] = np.cross(b.J[3:].T, n).T
        self._J_a[3:] = a.J[3:]
        seen, seen_drift = self._none.copy(), self._none.copy()
        seen[3:], seen_drift[3:] = a.turning()
        seen_from = (a.R, self._still, self._J_a, seen, seen_drift)
        relative_motion(*seen_from, n, self._J_n, tip, tip_drift, *x, self._A)
        self._fill(rows, 2)
