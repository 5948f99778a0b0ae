"""A body that can push along one of its axes only, where it points, and how it turns there."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, final

import numpy as np

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.controller import Controller, Law
from ukctrl.control.task import Signal, Task
from ukctrl.control.tick import Tick, served
from ukctrl.core.algebra.kernels import acceleration
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import InputError, NotFinite
from ukctrl.core.fields import Instance, Rate, RateSquared, Text, spec
from ukctrl.core.program import Call, Step, Steps
from ukctrl.mechanics.constraints import Constraint, Rows, Stack
from ukctrl.mechanics.constraints.constraint import Attached, Followed, FrameProbe
from ukctrl.mechanics.constraints.kinematics import cross, orientation_rows, quaternion
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import AnyReference, Constant
from ukctrl.robot.configuration_kernels import integrate
from ukctrl.robot.spatial_kernels import composed, transposed, turn_in

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


FALLING = 1.0
"""Below this the wanted thrust [m/s^2] loses its say in the direction, and at zero has none."""
UPRIGHT = 0.1
"""The same for the heading, below this sine of its angle to the z axis."""


@compiled
def fading(size: float, limit: float) -> float:
    """Return what stands in for a direction: nothing from ``limit`` on, all of it at zero."""
    left = 1.0 - size / limit
    return limit * (left * left * left) if size < limit else 0.0


@allocating
def point(d: Vector, heading: Vector, now: Matrix, R: Matrix) -> None:
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
    ahead = np.array([np.cos(heading[0]), np.sin(heading[0]), 0.0])
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
    eta, epsilon = quaternion(composed(turn_in(end), transposed(turn_in(start))))
    for i in range(3):
        phi[i] = 4.0 * epsilon[i] / (1.0 + eta)


AHEAD = 2e-4
"""How far ahead the wanted direction is differenced [s]; the error is of the first order."""
ALIGNED = 1e-6
"""The thrust must point along the frame's z axis to this [rad]."""
JUMP = 0.2
"""A wanted direction that turns by more than this while it is differenced has jumped [rad]."""


ORDER = (0, 1, 3, 2)
"""Where the rows of the orientation and then the thrust's stand in these blocks."""


@compiled
def missing(alpha: float, beta: float, rows: Rows, a_free: Vector, d: Vector) -> None:
    """Write what the inputs should add to the acceleration of the rows, shape ``(3,)``."""
    for i in range(len(d)):
        d[i] = rows.b[i] - alpha * rows.beta[i] - beta * rows.phi[i]
        for c in range(len(a_free)):
            d[i] -= rows.A[i, c] * a_free[c]


@allocating
def thrust_on(
    clock: Vector,
    q: Vector,
    v: Vector,
    blocks: Indices,
    A: Matrix,
    R: Matrix,
    d: Vector,
    a_free: Vector,
    G: Matrix,
    u: Vector,
    a: Vector,
    ahead: float,
    later: Vector,
    moved_q: Vector,
    moved_v: Vector,
) -> bool:
    """Write the state a step of Euler's ahead [s], with the share of ``d`` along the body.

    Returns whether the input ``u`` that gives it is finite.
    """
    share, size = 0.0, 0.0
    for i in range(3):
        share += R[i, 2] * d[i]
    for k in range(len(u)):
        u[k] = 0.0
        for i in range(3):
            for c in range(len(a)):
                u[k] += R[i, 2] * A[i, c] * G[c, k]
        size += u[k] * u[k]
    for k in range(len(u)):
        u[k] *= share / size
    finite = bool(acceleration(a_free, G, u, a))
    later[0] = clock[0] + ahead
    step = np.empty(len(v))
    for c in range(len(v)):
        step[c] = ahead * v[c]
        moved_v[c] = v[c] + ahead * a[c]
    integrate(blocks, q, step, moved_q)
    return finite


@compiled
def turning_rates(
    turns: Matrix, ahead: float, whole: bool, rate: Vector, acceleration: Vector
) -> None:
    """Write at which rate and acceleration an orientation turns; none where it has jumped."""
    first, both = 0.0, 0.0
    for i in range(3):
        first += turns[0, i] * turns[0, i]
        both += turns[1, i] * turns[1, i]
    jumped = both > JUMP**2 or first > JUMP**2
    for i in range(3):
        bend = (turns[1, i] - 2.0 * turns[0, i]) / ahead**2
        rate[i] = 0.0 if jumped else turns[0, i] / ahead - 0.5 * ahead * bend
        acceleration[i] = bend if whole and not jumped else 0.0


@compiled
def ordered(
    alpha: float,
    beta: float,
    turn: Rows,
    R: Matrix,
    A: Matrix,
    d: Vector,
    a_free: Vector,
    asked: Rows,
    demand: Vector,
) -> None:
    """Write the four rows that are asked for in their `ORDER`, and what of them.

    ``turn`` has those of the orientation; its last is the thrust's.
    """
    for c in range(len(a_free)):
        turn.A[3, c] = R[0, 2] * A[0, c] + R[1, 2] * A[1, c] + R[2, 2] * A[2, c]
    for i in range(4):
        k = ORDER[i]
        for c in range(len(a_free)):
            asked.A[i, c] = turn.A[k, c]
        asked.b[i], asked.beta[i], asked.phi[i] = turn.b[k], turn.beta[k], turn.phi[k]
        demand[i] = turn.b[k] - alpha * turn.beta[k] - beta * turn.phi[k]
        if k == 3:
            demand[i] = R[0, 2] * d[0] + R[1, 2] * d[1] + R[2, 2] * d[2]
            for c in range(len(a_free)):
                demand[i] += turn.A[3, c] * a_free[c]


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
                why = (
                    f"every input must push '{spec.frame}' along its z axis alone, as propellers "
                    "do where it is at the centre of mass,"
                )
        if why:
            raise InputError(
                f"robot '{robot.name}': {why} for kind = \"thrust_vectoring\"; "
                f'got rows {", ".join(self.stack.names)}. Use kind = "servo" for rows within reach.'
            )

    def _missing(self, rows: Rows, dynamics: Dynamics, d: Vector) -> Step:
        """Return what writes what the inputs should add to the acceleration of the rows."""
        gains = float(self._spec.alpha), float(self._spec.beta)
        return Call(missing, *gains, rows, dynamics.a_free, d)

    def steps(self, dynamics: Dynamics, tick: Tick) -> Iterator[Step]:
        s, body, wanted = dynamics.snapshot, self._body, self._wanted
        d, heading = np.zeros(3), Followed(self._heading, 3)
        yield from self.stack.steps(s).every
        yield body.step(s)
        yield heading.step(s.clock)
        yield self._missing(self.stack.rows, dynamics, d)
        yield Call(point, d, heading.now, body.R, wanted[0])
        yield from self._look_ahead(dynamics, d)
        yield from self._turning(dynamics)
        yield from self._served(dynamics, d, tick)

    def _look_ahead(self, dynamics: Dynamics, d: Vector) -> Iterator[Step]:
        """Yield what writes how the wanted orientation turns along two steps of Euler's.

        With what the rows see of the thrust alone.
        """
        ahead, body, wanted = self._ahead, self._body_ahead, self._wanted
        there, to = ahead.snapshot, self._rows_ahead
        d_ahead, heading = np.zeros(3), Followed(self._heading, 3)
        u, a = np.zeros(dynamics.robot.nu), np.zeros(dynamics.robot.nv)
        moved = there.clock, there.q, there.v

        def unusable(code: int) -> Exception:
            return NotFinite(f"u must be finite; got {u}.")

        here, rows, now, wish = dynamics, self.stack.rows, self._body, d
        for k in (1, 2):
            s = here.snapshot
            state = s.clock, s.q, s.v, dynamics.robot.structure.configurations
            pushed = rows.A, now.R, wish, here.a_free, here.G, u, a
            yield Call(thrust_on, *state, *pushed, AHEAD, *moved, fault=unusable)
            here, rows, now, wish = ahead, to.rows, body, d_ahead
            yield from ahead.steps.every
            yield from to.steps(there).every
            yield body.step(there)
            yield heading.step(there.clock)
            yield self._missing(rows, ahead, d_ahead)
            yield Call(point, d_ahead, heading.now, self._body.R, wanted[k])
            yield Call(turned, wanted[0], wanted[k], self._turns[k - 1])

    def _turning(self, dynamics: Dynamics) -> Iterator[Step]:
        """Yield what writes the rows of the orientation."""
        body, rate, acceleration = self._body, np.zeros(3), np.zeros(3)
        whole = self._spec.feedforward == "acceleration"
        moving = body.R, body.J, body.velocity[3:], body.drift[3:]
        yield Call(turning_rates, self._turns, AHEAD, whole, rate, acceleration)
        wanted = self._wanted[0], rate, acceleration
        yield Call(orientation_rows, moving, wanted, self._turn.part(slice(0, 3)))

    def _served(self, dynamics: Dynamics, d: Vector, tick: Tick) -> Iterator[Step]:
        """Yield what asks the allocation for the four rows."""
        spec, A, n = self._spec, self.stack.rows.A, dynamics.robot.nv
        gains = float(spec.alpha_turn), float(spec.beta_turn)
        asked, demand = Rows.zeros(4, n), np.zeros(4)
        affine = dynamics.a_free, dynamics.G
        yield Call(ordered, *gains, self._turn, self._body.R, A, d, affine[0], asked, demand)
        yield from self._allocator.steps(asked, demand, dynamics, tick.u)
        yield Call(served, A, *affine, tick.u, tick.demand)
        tick.asks[0] = 1.0

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return how far the thrust is from where it should point, and what the allocation says."""
        s = dynamics.snapshot
        d = np.zeros(3)
        Steps((*self.stack.steps(s).every, self._missing(self.stack.rows, dynamics, d)))()
        self._body.move(s)
        e = self._body.R[:, 2]
        angle = np.arctan2(np.linalg.norm(np.cross(e, d)), e @ d)
        tilt = Signal(float(angle), "rad", "angle from the wanted thrust")
        return {"tilt_error": tilt, **self._allocator.signals()}
