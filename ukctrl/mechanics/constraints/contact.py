"""Contacts with a plane, on the ground or on a body, which hold both ways or only push."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from pydantic import model_validator

from ukctrl.core.algebra.factorisation import dot
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Fraction, Length, ListSize, Ratio, Seconds, Time, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import (
    BoundConstraint,
    Constraint,
    ContactArrays,
    FrameProbe,
    Rows,
    SlidingVelocity,
)
from ukctrl.mechanics.constraints.ground import Ground, plane_tangents, unit_vector
from ukctrl.mechanics.constraints.kinematics import (
    axis_component,
    relative_jacobian_rows,
    relative_motion,
    write_cross,
)
from ukctrl.robot.snapshot import FrameMotion

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot

OPEN, SLIDING, CREEPING, STICKING = 0.0, 1.0, 2.0, 3.0
"""Modes of a contact that only pushes; one that creeps slides so slowly that the direction of its
friction stays what it was."""
MODE, CREEP_DIRECTION, TOUCHDOWN_HEIGHT, USES_PLAN = 0, 1, 3, 4
"""Places in `ContactArrays.mode`: the mode, two components of the direction of creep along the
tangents, the height at which an open contact touches down [m], and whether planned lifts count."""
HEIGHT, HEIGHT_RATE, SLIP_VELOCITY, SLIP_DIRECTION, ACTIVE_MODE, HEADING, UPRIGHTNESS = (
    0,
    1,
    2,
    4,
    6,
    7,
    9,
)
"""Places in `ContactArrays.kinematics`: height over the plane and its rate, two components of the
slip and of its direction, the mode in force, two components of the frame's x axis along the
tangents, and that of its z axis along the normal."""


SWITCH_DELAY = 1e-9
"""So long after a planned change it is in force, whatever rounding does to the times [s]."""


@allocating
def contact_rows(
    frame: FrameMotion, point: Vector, axes: Matrix, flat: bool, sticks: bool, rows: Rows
) -> None:
    """Write the rows of a contact with a plane; the last of ``axes`` is its normal.

    Height; where it is flat, the tilt of the z axis about both tangents; where it sticks, the
    slip along them; and where it does both, the spin.
    """
    (p, R, J, velocity, drift), (A, b, beta, phi) = frame, rows
    n = J.shape[1]
    gap = np.empty(3)
    for k in range(3):
        gap[k] = p[k] - point[k]
    _velocity_row(axes[2], frame, 0, rows, 0)
    phi[0] = dot(axes[2], gap)
    at = 1
    if flat:
        z, z_dot, z_drift, lever = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
        for k in range(3):
            z[k] = R[k, 2]
        write_cross(velocity[3:], z, z_dot)
        write_cross(drift[3:], z, z_drift)
        write_cross(velocity[3:], z_dot, lever)
        for k in range(3):
            z_drift[k] += lever[k]
        for i in range(2):
            write_cross(z, axes[i], lever)
            for c in range(n):
                A[at, c] = axis_component(lever, J, 3, c)
            phi[at], beta[at] = dot(axes[i], z), dot(axes[i], z_dot)
            b[at] = -dot(axes[i], z_drift)
            at += 1
    if sticks:
        for i in range(2):
            _velocity_row(axes[i], frame, 0, rows, at)
            # a slip has no position to return to: NaN keeps it out of stabilisation and projection
            phi[at] = np.nan
            at += 1
        if flat:
            _velocity_row(axes[2], frame, 3, rows, at)
            phi[at] = np.nan


@compiled
def _velocity_row(axis: Vector, frame: FrameMotion, first: int, rows: Rows, at: int) -> None:
    """Write the row that holds the velocity, from entry ``first`` on, still along an axis."""
    J, row = frame.J, rows.A[at]
    for c in range(J.shape[1]):
        row[c] = axis_component(axis, J, first, c)
    rows.beta[at] = dot(axis, frame.velocity[first:])
    rows.b[at] = -dot(axis, frame.drift[first:])


@allocating
def point_on_frame_rows(
    on: FrameMotion, frame: FrameMotion, buffers: tuple[Vector, Vector, Vector, Matrix], rows: Rows
) -> None:
    """Write the rows of a point on the xy plane of a frame that moves: height and slip."""
    x, x_dot, drift, J = buffers
    relative_motion(on, frame, x, x_dot, drift, J)
    for row in range(len(rows.b)):
        # the height comes first: z, x, y
        i = (row + 2) % 3
        for c in range(J.shape[1]):
            rows.A[row, c] = J[i, c]
        rows.beta[row], rows.b[row] = x_dot[i], -drift[i]
        rows.phi[row] = x[i] if row == 0 else np.nan


@compiled
def is_in_interval(lifts: Matrix, period: float, t: float) -> bool:
    """Return whether a time is within one of the intervals, which recur after a period if any."""
    lifted, at = False, t % period if period > 0.0 else t
    for k in range(len(lifts)):
        lifted = lifted or lifts[k, 0] <= at < lifts[k, 1]
    return lifted


@compiled
def release_rows(
    clock: Vector, lifts: Matrix, period: float, slips: int, touch: ContactArrays, rows: Rows
) -> None:
    """Note what is felt of a contact, and clear the rows that do not hold in its mode.

    ``slips`` is the number of its first row along the tangents.
    """
    state, felt, rub, R, axes = (
        touch.mode,
        touch.kinematics,
        touch.slip_jacobian,
        touch.rotation,
        touch.axes,
    )
    mode = state[MODE]
    if state[USES_PLAN] != 0.0 and is_in_interval(lifts, period, clock[0]):
        mode = OPEN
    felt[HEIGHT], felt[HEIGHT_RATE], felt[ACTIVE_MODE] = rows.phi[0], rows.beta[0], mode
    felt[HEADING] = felt[HEADING + 1] = felt[UPRIGHTNESS] = 0.0
    for i in range(3):
        felt[HEADING] += R[i, 0] * axes[0, i]
        felt[HEADING + 1] += R[i, 0] * axes[1, i]
        felt[UPRIGHTNESS] += R[i, 2] * axes[2, i]
    slow = mode != SLIDING
    speed = np.sqrt(rows.beta[slips] ** 2 + rows.beta[slips + 1] ** 2)
    for i in range(2):
        felt[SLIP_VELOCITY + i] = rows.beta[slips + i]
        # too slow a slip has no direction of its own: the one kept at the last event serves
        felt[SLIP_DIRECTION + i] = (
            state[CREEP_DIRECTION + i] if slow or speed == 0.0 else felt[SLIP_VELOCITY + i] / speed
        )
    slides = mode in (SLIDING, CREEPING)
    for c in range(len(rub)):
        along = (
            felt[SLIP_DIRECTION] * rows.A[slips, c]
            + felt[SLIP_DIRECTION + 1] * rows.A[slips + 1, c]
        )
        # friction pushes against the slip, along its own row
        rub[c] = along if slides else 0.0
    # rows are cleared, not removed: the tables of kernels have fixed shapes
    first = 0 if mode == OPEN else slips if slides else len(rows.b)
    for row in range(first, len(rows.b)):
        rows.b[row] = rows.beta[row] = 0.0
        if row < slips:
            rows.phi[row] = 0.0
        for c in range(len(rub)):
            rows.A[row, c] = 0.0


SoleSize = Annotated[tuple[Length, Length], ListSize(2, 2)]
TimeInterval = Annotated[tuple[Time, Time], ListSize(2, 2)]


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

    The last three are velocities and have no position level. Without ``mu`` the contact holds both
    ways: where the multiplier of ``height``, the force of the ground along the normal [N], falls
    below zero, a real one would lift off. One that does not stick slides, and may rub.

    With ``mu`` the ground only pushes, $\lambda_n \ge 0$, and holds along itself by friction,
    $|\lambda_t| \le \mu \lambda_n$: as a passive constraint the contact opens, slides against
    $\mu \lambda_n$, and sticks again, as the forces tell.
    """

    kind: Literal["contact"] = "contact"
    frame: str
    """The frame that touches."""
    type: Literal["point", "flat"] = "point"
    """What of it touches: its origin, or its xy plane."""
    sticks: bool = False
    """Whether it does not slide (nor, flat, turn) on the ground; left out with ``mu``."""
    mu: Ratio | None = None
    r"""Coefficient of friction of a ground that only pushes; absent: it holds both ways."""
    restitution: Fraction = 0.0
    r"""With ``mu``, of a point: part $e$ of an impact's impulse along the normal that follows when
    it springs back (Poisson); a ball on smooth ground leaves it at $e$ times its speed."""
    sole: SoleSize | None = None
    """Length and width of a flat contact along the frame's x and y axes, about its origin [m];
    with ``mu`` the centre of pressure can be kept inside, and a run ends where it leaves."""
    on: str | None = None
    """A frame whose xy plane is touched, by a point; absent: the ground."""
    ground: Ground = Ground()
    """The plane."""
    lifts: Annotated[tuple[TimeInterval, ...], ListSize()] = ()
    """Intervals in which the controller counts on a contact with ``mu`` being open [s]; whether it
    is, forces tell."""
    period: Seconds | None = None
    """After which these recur [s]; absent: never."""

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.mu is None and (self.lifts or self.sole or self.period):
            raise InputError("lifts, period and sole are of a contact that only pushes: give mu.")
        if self.mu is not None and self.sticks:
            raise InputError("sticks must be left out where mu tells when the contact sticks.")
        if self.restitution and (self.mu is None or self.type != "point"):
            raise InputError("restitution must be of a point that only pushes: give mu.")
        if self.sole is not None and self.type != "flat":
            raise InputError("sole must be that of a flat contact; this one is a point.")
        if self.on is not None and self.type == "flat":
            raise InputError("on must be of a point; a flat contact touches the ground.")
        for start, stop in self.lifts:
            if not start < stop <= (self.period or np.inf):
                raise InputError(
                    "lifts must be pairs of a start and a later stop, both within the period; got "
                    f"{start:g} to {stop:g} s."
                )
        return self

    @property
    def stands(self) -> str | None:
        sticks = self.sticks or bool(self.mu)
        return self.frame if sticks and self.on is None else None

    def changes(self, start: float, stop: float) -> Sequence[float]:
        """Return when the controller begins to count on its being open, and when it ends [s].

        Each is later by `SWITCH_DELAY`, so that no rounding leaves the moment to the interval
        before.
        """
        # without a period the lifts happen once
        again = [0.0]
        if self.period is not None:
            again = (
                np.arange(start // self.period, stop // self.period + 1) * self.period
            ).tolist()
        # just behind a change, so that a step never ends on the side before it
        times = [
            cycle_start + at + SWITCH_DELAY
            for cycle_start in again
            for lift in self.lifts
            for at in lift
        ]
        return [t for t in times if start < t < stop]

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Contact(self, robot)


class _Contact(BoundConstraint):
    def __init__(self, spec: Contact, robot: Robot) -> None:
        flat, sticks = spec.type == "flat", spec.sticks or spec.mu is not None
        normal_rows = {"height": "m"} | ({"tilt_x": "rad", "tilt_y": "rad"} if flat else {})
        slips = {"slip_x": "m", "slip_y": "m"} | ({"spin": "rad"} if flat else {})
        self.name_rows(
            spec.name or f"{spec.frame}_contact", normal_rows | (slips if sticks else {})
        )
        self.holonomic = tuple(index < len(normal_rows) for index in range(len(self.names)))
        self._flat, self._sticks, self._slips = flat, sticks, len(normal_rows)
        self._probe = FrameProbe(robot, spec.frame)
        self._on = None if spec.on is None else FrameProbe(robot, spec.on)
        self._point, normal = np.array(spec.ground.point), unit_vector(spec.ground.normal)
        self._axes = np.vstack([plane_tangents(normal), normal])
        self._lifts = np.array(spec.lifts, dtype=np.float64).reshape(-1, 2)
        self._period = float(spec.period or 0.0)
        self.touch = None
        if spec.mu is not None:
            still = np.array([STICKING, 0.0, 0.0, 0.0, 1.0]), np.zeros(10), np.zeros(robot.nv)
            self.touch = ContactArrays(
                *still,
                rotation=self._probe.R,
                axes=self._axes,
                mu=float(spec.mu),
                sole_half_size=0.5 * np.array(spec.sole or (0.0, 0.0)),
                has_planned_lifts=bool(spec.lifts),
                restitution=spec.restitution,
            )

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        probe, geometry = self._probe, (self._point, self._axes, self._flat, self._sticks)
        steps = [probe.step(s), BoundKernel(contact_rows, probe.motion, *geometry, rows)]
        if self._on is not None:
            buffers = np.zeros(3), np.zeros(3), np.zeros(3), np.zeros((3, rows.A.shape[1]))
            on = self._on
            # instead of the rows of the ground
            steps[1:] = (
                on.step(s),
                BoundKernel(point_on_frame_rows, on.motion, probe.motion, buffers, rows),
            )
        if self.touch is not None:
            windows = s.clock, self._lifts, self._period
            steps.append(BoundKernel(release_rows, *windows, self._slips, self.touch, rows))
        return steps

    def slip(self) -> SlidingVelocity | None:
        if self._sticks or self._on is not None:
            return None
        moving = self._probe.J[:3]
        J, tangents = np.zeros((2, moving.shape[1])), np.ascontiguousarray(self._axes.T)
        return SlidingVelocity(
            J,
            (
                BoundKernel(
                    relative_jacobian_rows, tangents, np.zeros_like(moving), moving, np.arange(2), J
                ),
            ),
        )
