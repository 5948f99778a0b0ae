"""A body that can push along one of its axes only, where it points, and how it turns there."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, final

import numpy as np

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.command import LawBuffers, write_row_acceleration
from ukctrl.control.controller import Controller, Law
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.dynamics_kernels import apply_input
from ukctrl.core.algebra.factorisation import dot
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import InputError, NotFinite
from ukctrl.core.fields import Instance, Rate, RateSquared, Text, spec
from ukctrl.core.program import BoundKernel, KernelSequence, KernelStep
from ukctrl.mechanics.constraints import Constraint, Rows, Stack
from ukctrl.mechanics.constraints.constraint import BoundConstraint, FrameProbe, SampledPath
from ukctrl.mechanics.constraints.kinematics import orientation_rows, quaternion, write_cross
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.reference import AnyReference, Constant
from ukctrl.mechanics.relative_degree import SERVO_ADVICE
from ukctrl.robot.manifold_kernels import integrate
from ukctrl.robot.spatial_kernels import composed, rotation_of, transposed

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


MIN_THRUST = 1.0
"""Below this the wanted thrust [m/s^2] loses its say in the direction, and at zero has none."""
MIN_HEADING_SINE = 0.1
"""The same for the heading, below this sine of its angle to the z axis."""


@compiled
def fade_weight(size: float, limit: float) -> float:
    """Return what stands in for a direction: nothing from ``limit`` on, all of it at zero."""
    margin = 1.0 - size / limit
    return limit * (margin * margin * margin) if size < limit else 0.0


@allocating
def write_pointing_frame(d: Vector, heading: Vector, R_body: Matrix, R: Matrix) -> None:
    r"""Write the orientation with its z axis along ``d`` and its x axis nearest a heading.

    $$ z \propto d + w(|d| / d_0)\, d_0\, z_\mathrm{now}, \qquad
       y \propto z \times h + w(|z \times h| / s_0)\, s_0\, y_\mathrm{now}, \qquad
       w(s) = \max(0, 1 - s)^3, $$

    $h$ the heading. The weights $w$ are zero unless a direction is about to vanish; there the body
    stays as it is, instead of turning at any rate.
    """
    size = float(np.sqrt(dot(d, d)))
    # the weights are C2, so that rates and accelerations of the frame exist
    z: Vector = d + fade_weight(size, MIN_THRUST) * R_body[:, 2]
    length = np.sqrt(dot(z, z))
    # the demand may cancel the body's axis exactly: the axis stays where it is then
    if length > 0.0:
        z /= length
    else:
        for i in range(3):
            z[i] = R_body[i, 2]
    h = np.array([np.cos(heading[0]), np.sin(heading[0]), 0.0])
    y, x = np.empty(3), np.empty(3)
    write_cross(z, h, y)
    sine = float(np.sqrt(dot(y, y)))
    weight = fade_weight(sine, MIN_HEADING_SINE)
    for i in range(3):
        y[i] += weight * R_body[i, 1]
    write_cross(y, z, x)
    length = np.sqrt(dot(x, x))
    # the heading lies along the thrust: the body's own side says how it is turned
    if length == 0.0:
        write_cross(R_body[:, 1], z, x)
        length = np.sqrt(dot(x, x))
    x /= length
    write_cross(z, x, y)
    for i in range(3):
        R[i, 0], R[i, 1], R[i, 2] = x[i], y[i], z[i]


@compiled
def write_rotation_error(start: Matrix, end: Matrix, phi: Vector) -> None:
    r"""Write the turn between two orientations in world axes, $4 \tan(\theta/4)$ about its axis."""
    eta, epsilon = quaternion(composed(rotation_of(end), transposed(rotation_of(start))))
    for i in range(3):
        phi[i] = 4.0 * epsilon[i] / (1.0 + eta)


DIFFERENCE_STEP = 2e-4
"""How far ahead the wanted direction is differenced [s]; the error is of the first order."""
ALIGNMENT_TOLERANCE = 1e-6
"""The thrust must point along the frame's z axis to this [rad]."""
MAX_ROTATION = 0.2
"""A wanted direction that turns by more than this while it is differenced has jumped [rad]."""


ROW_ORDER = (0, 1, 3, 2)
"""Where the rows of the orientation and then the thrust's stand in these blocks."""


@compiled
def missing_acceleration(alpha: float, beta: float, rows: Rows, a_free: Vector, d: Vector) -> None:
    """Write what the inputs should add to the acceleration of the rows, shape ``(3,)``."""
    for i in range(len(d)):
        d[i] = rows.b[i] - alpha * rows.beta[i] - beta * rows.phi[i]
        for c in range(len(a_free)):
            d[i] -= rows.A[i, c] * a_free[c]


@allocating
def predict_thrust_state(
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
    dt: float,
    later: Vector,
    moved_q: Vector,
    moved_v: Vector,
) -> bool:
    """Write the state a step of Euler's ahead [s], with the share of ``d`` along the body.

    Returns whether the input ``u`` that gives it is finite.
    """
    share, size = 0.0, 0.0
    for i in range(3):
        # only what points along the axis is thrust now
        share += R[i, 2] * d[i]
    for k in range(len(u)):
        u[k] = 0.0
        for i in range(3):
            for c in range(len(a)):
                u[k] += R[i, 2] * A[i, c] * G[c, k]
        size += u[k] * u[k]
    for k in range(len(u)):
        u[k] *= share / size
    finite = bool(apply_input(a_free, G, u, a))
    later[0] = clock[0] + dt
    step = np.empty(len(v))
    for c in range(len(v)):
        step[c] = dt * v[c]
        moved_v[c] = v[c] + dt * a[c]
    integrate(blocks, q, step, moved_q)
    return finite


@compiled
def write_rotation_rates(
    turns: Matrix, dt: float, whole: bool, rate: Vector, acceleration: Vector
) -> None:
    """Write at which rate and acceleration an orientation turns; none where it has jumped."""
    first, both = 0.0, 0.0
    for i in range(3):
        first += turns[0, i] * turns[0, i]
        both += turns[1, i] * turns[1, i]
    # a step in the attitude has no rate; differences would give one of any size
    jumped = both > MAX_ROTATION**2 or first > MAX_ROTATION**2
    for i in range(3):
        bend = (turns[1, i] - 2.0 * turns[0, i]) / dt**2
        rate[i] = 0.0 if jumped else turns[0, i] / dt - 0.5 * dt * bend
        acceleration[i] = bend if whole and not jumped else 0.0


@compiled
def write_allocated_rows(
    alpha: float,
    beta: float,
    turn: Rows,
    R: Matrix,
    A: Matrix,
    d: Vector,
    a_free: Vector,
    rows: Rows,
    demand: Vector,
) -> None:
    """Write the four rows that are asked for in their `ROW_ORDER`, and what of them.

    ``turn`` has those of the orientation; its last is the thrust's.
    """
    for c in range(len(a_free)):
        # the position rows along the thrust axis, all of them that inputs reach
        turn.A[3, c] = R[0, 2] * A[0, c] + R[1, 2] * A[1, c] + R[2, 2] * A[2, c]
    # in the order of an allocation's levels: tilt, thrust, heading
    for i in range(4):
        k = ROW_ORDER[i]
        for c in range(len(a_free)):
            rows.A[i, c] = turn.A[k, c]
        rows.b[i], rows.beta[i], rows.phi[i] = turn.b[k], turn.beta[k], turn.phi[k]
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
        return _ThrustVectoringLaw(self, task)


BLOCK_COMPONENTS = {
    "tilt": ((3, "rad"), (4, "rad")),
    "thrust": ((2, "m"),),
    "heading": ((5, "rad"),),
}
"""Of the rows that the law asks for, first comes first: the components of the body's velocity."""


@spec
class _BodyVelocityRows(Constraint):
    """Components of a frame's velocity, in its own axes."""

    frame: str

    def attach(self, robot: Robot) -> BoundConstraint:
        return _BoundBodyVelocityRows(self.name, FrameProbe(robot, self.frame))


class _BoundBodyVelocityRows(BoundConstraint):
    def __init__(self, block: str, probe: FrameProbe) -> None:
        components, self.units = zip(*BLOCK_COMPONENTS[block], strict=True)
        many = len(components) > 1
        self.block, self.holonomic = block, (False,) * len(components)
        self.names = tuple(f"{block}.{'xy'[i]}" if many else block for i in range(len(components)))
        self._probe, self._components = probe, components

    def write(self, s: Snapshot, rows: Rows) -> None:
        self._probe.move(s)
        R, J = self._probe.R, self._probe.J
        for row, component in enumerate(self._components):
            jacobian = J[:3] if component < 3 else J[3:]
            rows.A[row] = R[:, component % 3] @ jacobian


@final
class _ThrustVectoringLaw(Law):
    def __init__(self, spec: ThrustVectoring, task: Task) -> None:
        super().__init__(task)
        self._spec = spec
        self._heading = spec.heading.compile()
        self._body = FrameProbe(task.robot, spec.frame)
        self._predicted_dynamics = Dynamics(task.robot, task.rank, task.gains)
        self._predicted_stack = Stack(task.servo, task.robot)
        self._predicted_body = FrameProbe(task.robot, spec.frame)
        self._orientation_rows = Rows.zeros(4, task.robot.nv)
        self._orientations = np.zeros((3, 3, 3))  # the orientation now, and at two moments ahead
        self._rotation_errors = np.zeros((2, 3))
        self._check(task)
        # What the allocation serves is not the task, but these rows.
        inner_task = dc.replace(
            task,
            servo=[_BodyVelocityRows(name=name, frame=spec.frame) for name in BLOCK_COMPONENTS],
        )
        self._allocator = spec.allocation.attach(
            inner_task, Stack(inner_task.servo, inner_task.robot).names
        )

    def _check(self, task: Task) -> None:
        """Refuse a task or a robot that is not of this kind."""
        spec, robot, reason = self._spec, task.robot, ""
        if spec.heading.size != 1:
            raise InputError(
                f"controller.heading must have one component; got {spec.heading.size}."
            )
        frames = [trace.frame for trace in self.stack.traces()]
        if len(self.stack) != 3 or frames != [spec.frame]:
            reason = f"the task must be three rows that hold the position of '{spec.frame}'"
        else:
            self._predicted_dynamics.move(task.start, task.q, task.v)
            pushes = (
                self.stack.write(self._predicted_dynamics.snapshot).A @ self._predicted_dynamics.G
            )
            self._body.move(self._predicted_dynamics.snapshot)
            e = self._body.R[:, 2]
            # a frame away from the centre of mass is pushed sideways by moments, too
            along = np.outer(e, e @ pushes)
            if not np.abs(pushes - along).max() <= ALIGNMENT_TOLERANCE * np.abs(pushes).max():
                reason = (
                    f"every input must push '{spec.frame}' along its z axis alone, as propellers "
                    "do where it is at the centre of mass,"
                )
        if reason:
            raise InputError(
                f"robot '{robot.name}': {reason} for kind = \"thrust_vectoring\"; "
                f"got rows {', '.join(self.stack.names)}. Use {SERVO_ADVICE} for rows within reach."
            )

    def _missing_acceleration_step(self, rows: Rows, dynamics: Dynamics, d: Vector) -> KernelStep:
        """Return what writes what the inputs should add to the acceleration of the rows."""
        gains = float(self._spec.alpha), float(self._spec.beta)
        return BoundKernel(missing_acceleration, *gains, rows, dynamics.a_free, d)

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        s, body, targets = dynamics.snapshot, self._body, self._orientations
        d, heading = np.zeros(3), SampledPath(self._heading, 3)
        yield from self.stack.steps(s).items
        yield body.step(s)
        yield heading.step(s.clock)
        yield self._missing_acceleration_step(self.stack.rows, dynamics, d)
        yield BoundKernel(write_pointing_frame, d, heading.values, body.R, targets[0])
        yield from self._prediction_steps(dynamics, d)
        yield from self._orientation_steps(dynamics)
        yield from self._allocation_steps(dynamics, d, tick)

    def _prediction_steps(self, dynamics: Dynamics, d: Vector) -> Iterator[KernelStep]:
        """Yield what writes how the wanted orientation turns along two steps of Euler's.

        With what the rows see of the thrust alone.
        """
        model, body, targets = self._predicted_dynamics, self._predicted_body, self._orientations
        snapshot, to = model.snapshot, self._predicted_stack
        d_ahead, heading = np.zeros(3), SampledPath(self._heading, 3)
        u, a = np.zeros(dynamics.robot.nu), np.zeros(dynamics.robot.nv)
        moved = snapshot.clock, snapshot.q, snapshot.v

        def unusable(code: int) -> Exception:
            return NotFinite(f"u must be finite; got {u}.")

        source, rows, probe, wish = dynamics, self.stack.rows, self._body, d
        # two states ahead: first and second difference of the frame
        for k in (1, 2):
            s = source.snapshot
            state = s.clock, s.q, s.v, dynamics.robot.structure.manifold_table
            pushed = rows.A, probe.R, wish, source.a_free, source.G, u, a
            yield BoundKernel(
                predict_thrust_state, *state, *pushed, DIFFERENCE_STEP, *moved, fault=unusable
            )
            source, rows, probe, wish = model, to.rows, body, d_ahead
            yield from model.steps.items
            yield from to.steps(snapshot).items
            yield body.step(snapshot)
            yield heading.step(snapshot.clock)
            yield self._missing_acceleration_step(rows, model, d_ahead)
            yield BoundKernel(
                write_pointing_frame, d_ahead, heading.values, self._body.R, targets[k]
            )
            yield BoundKernel(
                write_rotation_error, targets[0], targets[k], self._rotation_errors[k - 1]
            )

    def _orientation_steps(self, dynamics: Dynamics) -> Iterator[KernelStep]:
        """Yield what writes the rows of the orientation."""
        body, rate, acceleration = self._body, np.zeros(3), np.zeros(3)
        whole = self._spec.feedforward == "acceleration"
        moving = body.R, body.J, body.velocity[3:], body.drift[3:]
        yield BoundKernel(
            write_rotation_rates, self._rotation_errors, DIFFERENCE_STEP, whole, rate, acceleration
        )
        target = self._orientations[0], rate, acceleration
        yield BoundKernel(
            orientation_rows, moving, target, self._orientation_rows.part(slice(0, 3))
        )

    def _allocation_steps(
        self, dynamics: Dynamics, d: Vector, tick: LawBuffers
    ) -> Iterator[KernelStep]:
        """Yield what asks the allocation for the four rows."""
        spec, A, n = self._spec, self.stack.rows.A, dynamics.robot.nv
        gains = float(spec.alpha_turn), float(spec.beta_turn)
        rows, demand = Rows.zeros(4, n), np.zeros(4)
        affine = dynamics.a_free, dynamics.G
        yield BoundKernel(
            write_allocated_rows,
            *gains,
            self._orientation_rows,
            self._body.R,
            A,
            d,
            affine[0],
            rows,
            demand,
        )
        yield from self._allocator.steps(rows, demand, dynamics, tick.u)
        yield BoundKernel(write_row_acceleration, A, *affine, tick.u, tick.demand)
        tick.has_demand[0] = 1.0

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return how far the thrust is from where it should point, and what the allocation says."""
        s = dynamics.snapshot
        d = np.zeros(3)
        KernelSequence(
            (
                *self.stack.steps(s).items,
                self._missing_acceleration_step(self.stack.rows, dynamics, d),
            )
        )()
        self._body.move(s)
        e = self._body.R[:, 2]
        angle = np.arctan2(np.linalg.norm(np.cross(e, d)), e @ d)
        tilt = Signal(float(angle), "rad", "angle from the wanted thrust")
        return {"tilt_error": tilt, **self._allocator.signals()}
