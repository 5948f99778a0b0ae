"""Motors that drive their joints through springs, so that the links follow a rigid law's motion.

That motion is planned before the run, in segments, each as Chebyshev series. They are fitted at
nodes to values that are exact to rounding, so that second derivatives of them are good to about
nine digits.
"""

from __future__ import annotations

import dataclasses as dc
import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, final

import numpy as np

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.command import LawBuffers
from ukctrl.control.controller import Controller, Law
from ukctrl.control.elastic.elastic_motors import (
    ElasticMotors,
    UnsupportedReason,
    joint_units,
    require_elastic_joints,
)
from ukctrl.control.elastic.rigid_link_servo import nested_gains
from ukctrl.control.error_dynamics_spec import ErrorSpec, PoleCount
from ukctrl.control.feedback import AnyFeedback
from ukctrl.control.feedback.feedback import Feedback
from ukctrl.control.servo import Servo
from ukctrl.control.task import Signal, Task
from ukctrl.core.arrays import Array, Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Instance, Rate, RateSquared, Seconds, Text, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import ElasticJoints, Robot, rigid_link_robot

NODES_PER_SEGMENT = 16
"""Nodes a segment."""
CHEBYSHEV_TAIL_RTOL = 1e-9
"""A series whose last coefficients exceed this fraction of its size has not converged."""
MAX_SEGMENTS = 100_000
"""More segments than this are a typing error."""
PLAN_RTOL, PLAN_ATOL = 1e-13, 1e-14
"""Tolerances of the integration from node to node."""

OdeFunction = Callable[[float, Vector], Vector]


@final
class ChebyshevPlan:
    """Functions of time, with their first and second derivatives.

    Args:
        rate: The right-hand side of a differential equation, ``rate(t, y)``.
        y: Its state at the start.
        start: Time of the start [s].
        duration: Length of the plan [s].
        segment: Length of a segment, at most [s].
        values: What is planned, from the time and the state there; shape ``(k,)``.

    Raises:
        InputError: The motion is not smooth enough to be planned in such segments.
    """

    def __init__(
        self,
        rate: OdeFunction,
        y: Vector,
        start: float,
        duration: float,
        segment: float,
        values: Callable[[float, Vector], Vector],
    ) -> None:
        ratio = duration / segment
        if ratio > MAX_SEGMENTS:
            raise InputError(
                f"controller.segment must be at least {duration / MAX_SEGMENTS:.1e} s, for at most "
                f"{MAX_SEGMENTS} pieces; got {segment:g} s."
            )
        count = max(1, int(np.ceil(ratio)))
        self._start, self._length = float(start), duration / count
        x = -np.cos(
            np.pi * np.arange(NODES_PER_SEGMENT) / (NODES_PER_SEGMENT - 1)
        )  # with both ends
        series = []
        for k in range(count):
            times = start + self._length * (k + 0.5 * (x + 1.0))
            states = _integrate_states(rate, y, times)
            y = states[-1]
            sampled = np.array([values(t, state) for t, state in zip(times, states, strict=True)])
            series.append(self._fit(x, sampled, float(times[0])))
        self._series = np.array(series)

    def _fit(self, x: Vector, sampled: Matrix, t: float) -> Matrix:
        """Return the series of the values and of their derivatives, shape ``(NODES, 3 k)``."""
        from numpy.polynomial import chebyshev

        series = chebyshev.chebfit(x, sampled, NODES_PER_SEGMENT - 1)
        tail = np.abs(series[-2:]).max(axis=0)
        size = np.abs(series).max(axis=0) + 1.0
        # the last two coefficients bound what is cut off; two derivatives cost digits that must be
        # there
        if not (tail <= CHEBYSHEV_TAIL_RTOL * size).all():
            raise InputError(
                f"the motion to follow must have four smooth derivatives; near t = {t:.4g} s its "
                f"series over {self._length:g} s has not converged "
                f"({float((tail / size).max()):.0e}). Smooth the path, or shorten "
                "controller.segment."
            )
        scale = 2.0 / self._length
        blocks = [series]
        for _ in range(2):
            derived = scale * chebyshev.chebder(blocks[-1])
            blocks.append(np.vstack([derived, np.zeros((1, derived.shape[1]))]))
            blocks[-1] = blocks[-1][:NODES_PER_SEGMENT]
        whole: Matrix = np.hstack(blocks)
        return whole

    def __call__(self, t: float) -> Matrix:
        """Return the values and their two derivatives at a time, shape ``(3, k)``.

        Beyond the ends, those of the nearest end.
        """
        values: Vector = np.zeros(self._series.shape[2])
        evaluate_chebyshev(*self._arguments, np.full(1, t), values)
        return values.reshape(3, -1)

    def step(self, clock: Vector, values: Vector) -> KernelStep:
        """Return what writes them at the time that the clock shows then, one after the other."""
        return BoundKernel(evaluate_chebyshev, *self._arguments, clock, values)

    @property
    def _arguments(self) -> tuple[Array, float, float]:
        return self._series, self._start, self._length


@compiled
def evaluate_chebyshev(
    series: Array, start: float, length: float, clock: Vector, values: Vector
) -> None:
    """Write Chebyshev series at a time, by Clenshaw's recurrence; beyond the ends, at those."""
    along = (clock[0] - start) / length
    segment = min(max(int(along), 0), len(series) - 1)
    piece, x = series[segment], min(max(2.0 * (along - segment) - 1.0, -1.0), 1.0)
    n = len(piece)
    for i in range(len(values)):
        below, last = piece[n - 2, i], piece[n - 1, i]
        for k in range(n - 3, -1, -1):
            below, last = piece[k, i] - last, below + last * (2.0 * x)
        values[i] = below + last * x


def _integrate_states(rate: OdeFunction, y: Vector, times: Vector) -> Matrix:
    """Return the states at increasing times, integrated from each to the next."""
    from scipy.integrate import solve_ivp

    states = [y]
    # node by node: each value is a step's end, not an interpolation with its own error
    for t0, t1 in itertools.pairwise(times):
        solved = solve_ivp(
            rate, (t0, t1), states[-1], method="DOP853", rtol=PLAN_RTOL, atol=PLAN_ATOL
        )
        if not solved.success:
            raise InputError(
                f"the motion to follow ends at t = {solved.t[-1]:.6g} s, where its integration "
                "fails; correct the task, or its feedback."
            )
        states.append(solved.y[:, -1])
    return np.array(states)


@spec
class ElasticTracking(Controller):
    r"""Motor torques through elastic joints for a link motion that a servo law makes.

    A servo law moves the robot ``links``, whose joints are rigid; that motion $q^*(t)$ is planned
    before the run. The links of the elastic robot follow it where their springs give the same
    torque, which says where the motors must be, and with which torque they get there:

    $$ \theta^* = q^* + K^{-1} \tau^*, \qquad \tau^* = M \ddot q^* + \mathrm{nle} - f, \qquad
       u = J (\ddot\theta^* - \alpha \dot e - \beta e) + \tau^*, \qquad e = \theta - \theta^* . $$

    $\ddot\theta^*$ contains the fourth derivative of $q^*$. The feedback acts on the motors alone:
    their damping reaches the links through the springs, so that the whole is passive about the
    motion.

    References:
        Spong, "Modeling and control of elastic joint robots", ASME J. Dyn. Sys. Meas. Control 109,
        1987; De Luca, "Feedforward/feedback laws for the control of flexible robots", ICRA 2000.
    """

    needs_grip: ClassVar[bool] = False
    poles_aimed_at: ClassVar[PoleCount | None] = 2

    kind: Literal["elastic_tracking"] = "elastic_tracking"
    links: Text | None = None
    """Robot with the links' coordinates and rigid joints, that the servo law moves; absent: the
    links of the believed robot, driven by the torques of its springs."""
    feedback: AnyFeedback | Annotated[Feedback, Instance()]
    """Of that law: what row acceleration to ask for."""
    allocation: AnyAllocation | Annotated[Allocation, Instance()] = LeastNorm()
    """Of that law: which input gives it."""
    alpha: Rate
    """Gain of the motors' rate error [1/s]."""
    beta: RateSquared
    """Gain of the motors' error [1/s^2]."""
    segment: Seconds = 0.25
    """Length of the pieces in which the motion is planned [s]; shorter for quicker motions."""

    def start(self, task: Task) -> Law:
        return _ElasticTrackingLaw(self, task)

    def gains_for(
        self, terms: ErrorSpec, inertia: Callable[[], Vector]
    ) -> Mapping[str, Any] | None:
        beta, alpha = terms.second_order()
        return nested_gains(self.feedback, terms, alpha=alpha, beta=beta)

    @property
    def row_law(self) -> Controller:
        return Servo(feedback=self.feedback, allocation=self.allocation)


@compiled
def tracking_torque(
    alpha: float,
    beta: float,
    inertia: Vector,
    coordinates: Indices,
    motors: Indices,
    q: Vector,
    v: Vector,
    planned: Array,
    force: Vector,
    push: Vector,
) -> None:
    """Write what pushes the motors along the plan of `_ElasticTrackingLaw`, shape ``(3, 3, k)``."""
    for i in range(len(push)):
        e, e_dot = q[coordinates[i]] - planned[0, 0, i], v[motors[i]] - planned[1, 0, i]
        a = planned[2, 0, i] - alpha * e_dot - beta * e
        push[i] = inertia[i] * a + planned[0, 1, i] - force[i]


class _ElasticTrackingLaw(Law):
    def __init__(self, spec: ElasticTracking, task: Task) -> None:
        super().__init__(task)
        joints = require_elastic_joints(task, spec.kind, _tracking_refusal(task))
        self._joints, self._alpha, self._beta = joints, spec.alpha, spec.beta
        self._motors = ElasticMotors(task, joints)
        self._n_joints = len(joints.links)
        self.plan = _plan_motors(spec, task, joints, _rigid_robot(spec, task.robot, self._n_joints))

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        joints, s = self._joints, dynamics.snapshot
        springs, look = self._motors.spring_state(s)
        planned, push = np.zeros((3, 3, self._n_joints)), np.zeros(self._n_joints)
        gains = float(self._alpha), float(self._beta), joints.inertia
        motors = joints.motor_coordinates, joints.motors, s.q, s.v
        yield look
        yield self.plan.step(s.clock, planned.reshape(-1))
        yield BoundKernel(tracking_torque, *gains, *motors, planned, springs.other_force, push)
        yield from self._motors.steps(s, push, tick.u)

    def _evaluate_plan(self, t: float) -> Array:
        """Return motors, torques and links, for the plan and its two derivatives."""
        return self.plan(t).reshape(3, 3, self._n_joints)

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return how far motors and links are from the plan."""
        joints, s = self._joints, dynamics.snapshot
        theta, _, q = self._evaluate_plan(s.t)[0]
        unit, _ = joint_units(s.robot, joints)
        return {
            "motor_error": Signal(
                s.q[joints.motor_coordinates] - theta, unit, "motors minus their plan"
            ),
            "link_error": Signal(joints.angles(s.q) - q, unit, "links minus their plan"),
        }


def _tracking_refusal(task: Task) -> UnsupportedReason:
    def refused(joints: ElasticJoints) -> str:
        if joints.damping.any():
            return "their springs have damping, whose model is another"
        if joints.continuous.any():
            return "some turn without end"
        if not np.isfinite(task.duration):
            return "the run has no end, so that its motion cannot be planned"
        return ""

    return refused


def _rigid_robot(spec: ElasticTracking, robot: Robot, count: int) -> Robot:
    """Return the robot that the servo law moves in the plan."""
    if spec.links is None:
        return rigid_link_robot(robot)
    links, dofs = Robot.load(spec.links), robot.dofs[:count]
    if links.dofs != dofs:
        raise InputError(
            f"controller.links: robot '{links.name}' must have the links' coordinates, "
            f"{', '.join(dofs)}; got {', '.join(links.dofs)}."
        )
    return links


def _plan_motors(
    spec: ElasticTracking, task: Task, joints: ElasticJoints, links: Robot
) -> ChebyshevPlan:
    """Return the plan of motors, torques and links, shape ``(3 k,)`` with ``k`` joints."""
    n = len(joints.links)
    copies = links.nv // n  # of the links alone, the motors are there and have no part
    rigid = dc.replace(
        task, robot=links, q=np.tile(task.q[:n], copies), v=np.tile(task.v[:n], copies)
    )
    law = Servo(feedback=spec.feedback, allocation=spec.allocation).start(rigid)
    dynamics, elastic = Dynamics(links, task.rank), task.robot.snapshot(task.robot.neutral)

    def acceleration(t: float, y: Vector) -> tuple[Vector, Vector]:
        dynamics.move(t, np.tile(y[:n], copies), np.tile(y[n : 2 * n], copies))
        command = law.step(dynamics, y[2 * n :])
        return dynamics.acceleration(command.u)[:n], np.array(command.memory_rate)

    def rate(t: float, y: Vector) -> Vector:
        a, memory_rate = acceleration(t, y)
        return np.concatenate([y[n : 2 * n], a, memory_rate])

    def values(t: float, y: Vector) -> Vector:
        a, _ = acceleration(t, y)
        q, v = y[:n], y[n : 2 * n]
        elastic.move(np.concatenate([q, q]), np.concatenate([v, v]), t)  # its springs relaxed
        torque = elastic.M[:n, :n] @ a + elastic.nle[:n] - elastic.f[:n]
        return np.concatenate([q + torque / joints.stiffness, torque, q])

    y = np.concatenate([task.q[:n], task.v[:n], law.memory])
    return ChebyshevPlan(rate, y, task.start, task.duration, spec.segment, values)
