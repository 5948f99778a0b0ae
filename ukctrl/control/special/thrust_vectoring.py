"""A body that can push along one of its axes only, where it points, and how it turns there."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, final

import numpy as np

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.controller import Controller, Law
from ukctrl.control.task import NO_MEMORY, Signal, Task
from ukctrl.control.tick import Command
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Instance, Rate, RateSquared, Text, spec
from ukctrl.mechanics.constraints import Constraint, Rows, Stack
from ukctrl.mechanics.constraints.constraint import Attached, FrameProbe
from ukctrl.mechanics.constraints.kinematics import cross, orientation_rows, quaternion
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import AnyReference, Constant

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


FALLING = 1.0
"""Below this the wanted thrust [m/s^2] loses its say in the direction, and at zero has none."""
UPRIGHT = 0.1
"""The same for the heading, below this sine of its angle to the z axis."""


@compiled
def fading(size: float, limit: float) -> float:
    """Return what stands in for a direction: nothing from ``limit`` on, all of it at zero."""
    return limit * (1.0 - size / limit) ** 3 if size < limit else 0.0


@compiled
def point(d: Vector, heading: float, now: Matrix, R: Matrix) -> None:
    r"""Write the orientation with its z axis along ``d`` and its x axis nearest a heading.

    $$ z \propto d + w(|d| / d_0)\, d_0\, z_\mathrm{now}, \qquad
       y \propto z \times h + w(|z \times h| / s_0)\, s_0\, y_\mathrm{now}, \qquad
       w(s) = \max(0, 1 - s)^3, $$

    $h$ the heading. The weights $w$ are zero unless a direction is about to vanish; there the body
    stays as it is, instead of turning at any rate.
    """
    size = float(np.sqrt(d @ d))
    z: Vector = d + fading(size, FALLING) * now[:, 2]
    length = np.sqrt(z @ z)
    if length > 0.0:
        z /= length
    else:
        for i in range(3):
            z[i] = now[i, 2]
    ahead = np.array([np.cos(heading), np.sin(heading), 0.0])
    y, x = np.empty(3), np.empty(3)
    cross(z, ahead, y)
    sine = float(np.sqrt(y @ y))
    weight = fading(sine, UPRIGHT)
    for i in range(3):
        y[i] += weight * now[i, 1]
    cross(y, z, x)
    length = np.sqrt(x @ x)
    if length == 0.0:
        cross(now[:, 1], z, x)
        length = np.sqrt(x @ x)
    x /= length
    cross(z, x, y)
    for i in range(3):
        R[i, 0], R[i, 1], R[i, 2] = x[i], y[i], z[i]


@compiled
def turned(start: Matrix, end: Matrix, phi: Vector) -> None:
    r"""Write the turn between two orientations in world axes, $4 \tan(\theta/4)$ about its axis."""
    E = np.zeros((3, 3))
    for i in range(3):
        for k in range(3):
            for c in range(3):
                E[i, k] += end[i, c] * start[k, c]
    eta, epsilon = quaternion(E)
    for i in range(3):
        phi[i] = 4.0 * epsilon[i] / (1.0 + eta)


AHEAD = 2e-4
"""How far ahead the wanted direction is differenced [s]; the error is of the first order."""
ALIGNED = 1e-6
"""The thrust must point along the frame's z axis to this [rad]."""
JUMP = 0.2
"""A wanted direction that turns by more than this while it is differenced has jumped [rad]."""


@spec
class ThrustVectoring(Controller):
    r"""Two loops: the position says where the thrust must point, the body turns there.

    The position rows ask for $\ddot p^* = \ddot r - \alpha \dot e - \beta e$, to which the inputs
    must add $d = \ddot p^* - A a_\mathrm{free}$. They reach the share of it along their own
    direction $e_z$. The law asks for that share and turns $e_z$ towards $d$:

    $$ e_z^\top A\, a = e_z^\top \ddot p^*, \qquad
       \ddot\varphi + \alpha_R\, \dot\varphi + \beta_R\, \varphi = 0, $$

    four rows for the four inputs of a quadrotor, met exactly by the allocation. $\varphi$ is the
    error of the orientation, as of ``orientation_follows``, from the frame whose z axis is
    $d / |d|$ and whose x axis lies nearest the heading. How that frame turns follows
    from where $d$ will be, with the thrust along the body as it turns; to the first order that
    does not depend on the inputs, so there is no circle.

    Where ``feedforward`` leaves the frame's angular acceleration out, the position error is
    $|\mathrm d^4 r / \mathrm dt^4| / (\beta \beta_R)$ along a path that is slow for the first loop.

    The law is stable where the turning is several times as fast as the moving. It asks for a
    negative thrust while $d$ is behind the body. An allocation with an order of blocks knows the
    four rows as ``tilt``, ``thrust`` and ``heading``; where a motor is at its limit, that order
    keeps the body from falling, and the heading, which propellers turn weakly, waits.

    References:
        Lee, Leok & McClamroch, "Geometric tracking control of a quadrotor UAV on SE(3)", CDC 2010.
    """

    needs_grip: ClassVar[bool] = False

    kind: Literal["thrust_vectoring"] = "thrust_vectoring"
    frame: Text
    """Frame of the body, its z axis along the thrust."""
    alpha: Rate
    """Gain of the velocity error [1/s]."""
    beta: RateSquared
    """Gain of the position error [1/s^2]."""
    alpha_turn: Rate
    r"""Gain of the turning rate's error $\alpha_R$ [1/s]."""
    beta_turn: RateSquared
    r"""Gain of the attitude error $\beta_R$ [1/s^2]."""
    heading: AnyReference = Constant(value=(0.0,))
    """Direction of the x axis about the vertical, one component [rad]."""
    feedforward: Literal["acceleration", "rate"] = "acceleration"
    """How much of the wanted frame's turning the body is told: all, or no acceleration of it."""
    allocation: AnyAllocation | Annotated[Allocation, Instance()] = LeastNorm()
    """Which input gives the four rows."""

    def start(self, task: Task) -> Law:
        return _ThrustLaw(self, task)


BLOCKS = {"tilt": ((3, "rad"), (4, "rad")), "thrust": ((2, "m"),), "heading": ((5, "rad"),)}
"""Of the rows that the law asks for, first comes first: the components of the body's velocity."""
ORDER = (0, 1, 3, 2)
"""Where the rows of the orientation and then the thrust's stand in these blocks."""


@spec
class _Part(Constraint):
    """Components of a frame's velocity, in its own axes."""

    frame: str

    def attach(self, robot: Robot) -> Attached:
        return _BoundPart(self.name, FrameProbe(robot, self.frame))


class _BoundPart(Attached):
    def __init__(self, block: str, probe: FrameProbe) -> None:
        components, self.units = zip(*BLOCKS[block], strict=True)
        many = len(components) > 1
        self.block, self.holonomic = block, (False,) * len(components)
        self.names = tuple(f"{block}.{'xy'[i]}" if many else block for i in range(len(components)))
        self._probe, self._components = probe, components

    def write(self, s: Snapshot, rows: Rows) -> None:
        self._probe.move(s)
        R, J = self._probe.R, self._probe.J
        for row, component in enumerate(self._components):
            part = J[:3] if component < 3 else J[3:]
            rows.A[row] = R[:, component % 3] @ part


@final
class _ThrustLaw(Law):
    def __init__(self, spec: ThrustVectoring, task: Task) -> None:
        super().__init__(task)
        self._spec = spec
        self._heading = spec.heading.compile()
        self._body = FrameProbe(task.robot, spec.frame)
        self._ahead = Dynamics(task.robot, task.rank, task.gains)
        self._rows_ahead = Stack(task.servo, task.robot)
        self._body_ahead = FrameProbe(task.robot, spec.frame)
        self._turn = Rows.zeros(4, task.robot.nv)
        self._wanted = np.zeros((3, 3, 3))  # the orientation now, and at two moments ahead
        self._turns = np.zeros((2, 3))
        self._check(task)
        # What the allocation serves is not the task, but these rows.
        own = dc.replace(task, servo=[_Part(name=name, frame=spec.frame) for name in BLOCKS])
        self._allocator = spec.allocation.attach(own, Stack(own.servo, own.robot).names)

    def _check(self, task: Task) -> None:
        """Refuse a task or a robot that is not of this kind."""
        spec, robot, why = self._spec, task.robot, ""
        if spec.heading.size != 1:
            raise InputError(
                f"controller.heading must have one component; got {spec.heading.size}."
            )
        held = [trace.frame for trace in self.stack.traces()]
        if len(self.stack) != 3 or held != [spec.frame]:
            why = f"the task must be three rows that hold the position of '{spec.frame}'"
        else:
            self._ahead.move(task.start, task.q, task.v)
            pushes = self.stack.write(self._ahead.snapshot).A @ self._ahead.G
            self._body.move(self._ahead.snapshot)
            e = self._body.R[:, 2]
            along = np.outer(e, e @ pushes)
            if not np.abs(pushes - along).max() <= ALIGNED * np.abs(pushes).max():
                why = f"every input must push '{spec.frame}' along its z axis alone"
        if why:
            raise InputError(
                f"robot '{robot.name}': {why} for kind = \"thrust_vectoring\"; "
                f'got rows {", ".join(self.stack.names)}. Use kind = "servo" for rows within reach.'
            )

    def _missing(self, rows: Rows, dynamics: Dynamics) -> Vector:
        """Return what the inputs should add to the acceleration of the rows, shape ``(3,)``."""
        demand = rows.b - self._spec.alpha * rows.beta - self._spec.beta * rows.phi
        d: Vector = demand - rows.A @ dynamics.a_free
        return d

    def _look_ahead(self, rows: Rows, dynamics: Dynamics, d: Vector) -> tuple[Vector, Vector]:
        """Return the rate and the acceleration at which the wanted orientation turns.

        By differences along Euler steps, with what the rows see of the thrust alone.
        """
        s, ahead, body, wanted = dynamics.snapshot, self._ahead, self._body_ahead, self._wanted
        robot, t, q, v, now = dynamics.robot, s.t, s.q, s.v, self._body.R
        e, here = now[:, 2], dynamics
        for k in (1, 2):
            push = e @ rows.A @ here.G
            a = here.acceleration(push * (e @ d / (push @ push)))
            q, v, t = robot.integrate(q, AHEAD * v), v + AHEAD * a, t + AHEAD
            ahead.move(t, q, v)
            here, rows = ahead, self._rows_ahead.write(ahead.snapshot)
            body.move(ahead.snapshot)
            d, e = self._missing(rows, ahead), body.R[:, 2]
            point(d, self._heading(t)[0], now, wanted[k])
            turned(wanted[0], wanted[k], self._turns[k - 1])
        first, both = self._turns
        if both @ both > JUMP**2 or first @ first > JUMP**2:
            return np.zeros(3), np.zeros(3)
        second: Vector = (both - 2.0 * first) / AHEAD**2
        rate: Vector = first / AHEAD - 0.5 * AHEAD * second
        return rate, second

    def step(self, dynamics: Dynamics, memory: Vector) -> Command:
        spec, s, body = self._spec, dynamics.snapshot, self._body
        rows = self.stack.write(s)
        body.move(s)
        e, d = body.R[:, 2], self._missing(rows, dynamics)
        point(d, self._heading(s.t)[0], body.R, self._wanted[0])
        rate, acceleration = self._look_ahead(rows, dynamics, d)
        if spec.feedforward == "rate":
            acceleration = np.zeros(3)
        A, b, beta, phi = self._turn
        orientation_rows(
            body.R,
            body.J,
            body.velocity[3:],
            body.drift[3:],
            self._wanted[0],
            rate,
            acceleration,
            A[:3],
            b[:3],
            beta[:3],
            phi[:3],
        )
        A[3] = e @ rows.A
        demand = b - spec.alpha_turn * beta - spec.beta_turn * phi
        demand[3] = e @ (d + rows.A @ dynamics.a_free)
        asked = Rows(*(part[list(ORDER)] for part in self._turn))
        u = self._allocator.input(asked, demand[list(ORDER)], dynamics)
        return Command(u, NO_MEMORY, rows.A @ dynamics.acceleration(u))

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return how far the thrust is from where it should point, and what the allocation says."""
        s = dynamics.snapshot
        d = self._missing(self.stack.write(s), dynamics)
        self._body.move(s)
        e = self._body.R[:, 2]
        angle = np.arctan2(np.linalg.norm(np.cross(e, d)), e @ d)
        tilt = Signal(float(angle), "rad", "angle from the wanted thrust")
        return {"tilt_error": tilt, **self._allocator.signals()}
