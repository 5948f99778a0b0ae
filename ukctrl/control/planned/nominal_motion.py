"""A motion worked out before the run, with the input that makes it, on any manifold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from ukctrl.control.controller import Controller
from ukctrl.control.planned.joint_motion import configurations, joint_motion, require_plannable
from ukctrl.control.planned.nominal_kernels import Knots, planned_input, planned_state
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InfeasibleConstraint, InputError, NotFinite
from ukctrl.core.extremes import first_largest, max_abs
from ukctrl.core.program import Call, Step
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.mechanics.constraints.contact import SURELY
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.relative_degree import explain
from ukctrl.mechanics.start import solve_start
from ukctrl.robot import Robot

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

PLAN_RTOL, PLAN_ATOL = 1e-10, 1e-12
"""Tolerances of the integration from knot to knot."""
DRIVEN = 1e-5
"""Part of a planned acceleration that may be beyond the motors, beside all of it."""


BETWEEN, ROUGH = 2.0, 1e-2
"""So many times may the motion between knots miss by more than a path is known to, of which one
that misses by more than this part is none that motors could follow."""


@final
class Nominal:
    """A motion ``q(t), v(t)`` and its input ``u(t)``, between knots by cubic Hermite pieces.

    Args:
        robot: The robot.
        times: Times of the knots, evenly spaced, shape ``(k,)`` [s].
        q: Configurations there, shape ``(k, nq)``.
        v: Velocities, shape ``(k, nv)``.
        a: Accelerations, shape ``(k, nv)``.
        u: Inputs, shape ``(k, nu)``.
        breaks: Times at which the input has a corner; knots should be there.
    """

    def __init__(
        self,
        robot: Robot,
        times: Vector,
        q: Matrix,
        v: Matrix,
        a: Matrix,
        u: Matrix,
        breaks: Sequence[float] = (),
    ) -> None:
        from scipy.interpolate import CubicHermiteSpline

        self.robot, self.times, self.q, self.v, self.u = robot, times, q, v, u
        self.step = float(times[1] - times[0])
        ahead, ends = [], []
        for k in range(len(times) - 1):
            xi = robot.difference(q[k], q[k + 1])
            ahead.append(xi)
            ends.append(robot.chart_rate(xi, v[k + 1]))
        pieces = CubicHermiteSpline(times, v, a).c, _parted(times, u, breaks).c
        every = times, q, v, np.array(ahead), np.array(ends), *pieces
        self._knots = Knots(*(np.array(part, dtype=np.float64, order="C") for part in every))

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return ``q`` and ``v`` at a time; beyond the ends, those of the nearest end."""
        q, v = np.zeros(self.robot.nq), np.zeros(self.robot.nv)
        planned_state(self._knots, self.robot.structure.configurations, np.full(1, t), q, v)
        return q, v

    def input(self, t: float) -> Vector:
        """Return ``u`` at a time; beyond the ends, that of the nearest end."""
        u: Vector = np.zeros(self.u.shape[1])
        planned_input(self._knots, np.full(1, t), 0.0, u)
        return u

    def state_step(self, clock: Vector, q: Vector, v: Vector) -> Step:
        """Return what writes `state` at the time that the clock shows then."""
        blocks = self.robot.structure.configurations
        return Call(planned_state, self._knots, blocks, clock, q, v)

    def input_step(self, clock: Vector, ahead: float, u: Vector) -> Step:
        """Return what writes `input` some time ahead of the clock."""
        return Call(planned_input, self._knots, clock, ahead, u)


def _parted(times: Vector, u: Matrix, breaks: Sequence[float]) -> PPoly:
    """Return the cubic spline through inputs, of its own between one break and the next."""
    from scipy.interpolate import CubicSpline, PPoly

    step = float(times[1] - times[0])
    inner = {round((t - float(times[0])) / step) for t in breaks}
    ends = [0, *sorted(k for k in inner if 0 < k < len(times) - 1), len(times) - 1]
    parts = [CubicSpline(times[a : b + 1], u[a : b + 1]).c for a, b in itertools.pairwise(ends)]
    # Few knots make a polynomial of less degree, whose coefficients of t^3 and t^2 are missing.
    full = [np.concatenate([np.zeros((4 - len(c), *c.shape[1:])), c]) for c in parts]
    return PPoly(np.concatenate(full, axis=1), times)


def by_joint_motion(task: Task, step: float) -> Nominal:
    """Return the joint motion that keeps the servo rows, with the inputs of inverse dynamics.

    Raises:
        InputError: The task has no joint motion, or the motors cannot make it.
        StartError: The rows cannot be reached at some time.
    """
    robot = task.robot
    path = joint_motion(task, step, robot.dofs).path
    times = _times(task, step)
    r = np.array([np.array(path(t)).reshape(3, -1) for t in times.tolist()])
    q, v, a = configurations(robot, r[:, 0]), r[:, 1], r[:, 2]
    dynamics = Dynamics(robot, task.rank, task.gains)
    missed = max((part.miss for part in task.servo), default=0.0)
    known = BETWEEN * missed * max_abs(a) if missed < ROUGH else 0.0
    u = []
    for k, t in enumerate(times.tolist()):
        dynamics.move(t, q[k], v[k])
        u_k = dynamics.least_input(a[k])
        u.append(u_k)
        miss = np.abs(dynamics.acceleration(u_k) - a[k])
        size = max_abs(a[k]) + max_abs(dynamics.a_free) + 1.0
        if miss.max() > DRIVEN * size + known:
            worst = robot.dofs[first_largest(miss)]
            raise InputError(
                f"robot '{robot.name}' must have motors for the joint motion of the task; at t = "
                f"{t:.4g} s they miss its acceleration by {miss.max():.2g} at '{worst}'. Let "
                'controller.along invert the rows: kind = "servo_dae", "stable_inversion" or '
                '"flat"; or give it a servo law whose own motion is followed.'
            )
    return Nominal(robot, times, q, v, a, np.array(u))


class _CrawlingError(Exception):
    """The steps of an integration become ever smaller."""


class Knot(NamedTuple):
    """A moment of a motion that a law makes."""

    t: float
    q: Vector
    v: Vector
    a: Vector
    u: Vector


def by_law(task: Task, controller: Controller, step: float) -> Nominal:
    """Return the motion of the believed robot under another law, from the task's rows on.

    It starts at the state nearest to the task's start that keeps the servo rows and the passive
    ones.

    Raises:
        InputError: The law cannot serve the task, or its motion ends before the run.
    """
    times, knots = _times(task, step), list[Knot]()
    try:
        knots.extend(knots_by_law(task, controller, times))
    except InfeasibleConstraint as error:
        robot, (t, q, v) = task.robot, (task.start, task.q, task.v)
        if knots:
            t, q, v, *_ = knots[-1]
        reason = explain(
            Dynamics(robot, task.rank, task.gains), Stack(task.servo, robot), error.rows, t, q, v
        )
        raise InputError(
            f"controller.along must be a law that keeps the rows; near t = {t:.4g} s {error} "
            f"{reason}"
        ) from None
    if len(knots) < len(times):
        ends = f"at t = {knots[-1].t:.6g} s" if knots else "where it begins"
        raise InputError(
            f"the motion of controller.along must last as long as the run; it ends {ends}. Where "
            'what the rows leave grows without bound, use along.kind = "stable_inversion".'
        )
    q, v, a, u = (np.array(column) for column in list(zip(*knots, strict=True))[1:])
    return Nominal(task.robot, times, q, v, a, u)


def knots_by_law(
    task: Task,
    controller: Controller,
    times: Vector,
    rtol: float = PLAN_RTOL,
    atol: float = PLAN_ATOL,
    most: float = math.inf,
    begin_on: Sequence[Constraint] | None = None,
) -> Iterator[Knot]:
    """Yield the motion of `by_law` at every time, up to where it can be integrated.

    Args:
        task: The task.
        controller: The law that moves the believed robot.
        times: The times, of which the first is the start, shape ``(k,)`` [s].
        rtol: Relative tolerance of the integration.
        atol: Absolute tolerance.
        most: Evaluations of the law from one time to the next after which it is given up.
        begin_on: Which of the task's rows the start is moved onto; absent: all of them.

    Raises:
        InputError: The law cannot serve the task.
        StartError: No state near the start keeps the rows.
    """
    from scipy.integrate import solve_ivp

    robot = task.robot
    passive = passive_constraints(robot)
    every = (*passive, *(task.servo if begin_on is None else begin_on))
    begin = solve_start(Stack(every, robot), task.q, task.v, task.start, rank=task.rank)
    law = controller.start(task)
    if law.switches:
        raise InputError("controller.along must be a law without modes; this one switches.")
    dynamics, n = Dynamics(robot, task.rank, task.gains), robot.nv

    asked = 0

    def answer(t: float, q: Vector, v: Vector, memory: Vector) -> tuple[Vector, Vector, Vector]:
        nonlocal asked
        asked += 1
        if asked > most:
            raise _CrawlingError
        dynamics.move(t, q, v)
        u, rate, *_ = law.step(dynamics, memory)
        return dynamics.acceleration(u), np.array(u), rate

    def ahead(t: float, after: float, q: Vector, v: Vector, memory: Vector) -> Vector | None:
        """Return how far the robot goes, its velocity and memory; None where it cannot."""
        nonlocal asked
        last = after - 2.0 * SURELY if after in changes else after  # of the rows until then

        def rate(t: float, y: Vector) -> Vector:
            xi, w = y[:n], y[n : 2 * n]
            a, _, memory_rate = answer(min(t, last), robot.integrate(q, xi), w, y[2 * n :])
            return np.concatenate([robot.chart_rate(xi, w), a, memory_rate])

        y, asked = np.concatenate([np.zeros(n), v, memory]), 0
        try:
            solved = solve_ivp(
                rate, (t, after), y, method="DOP853", first_step=after - t, rtol=rtol, atol=atol
            )
        except (_CrawlingError, NotFinite):
            return None
        y = solved.y[:, -1]
        return y if solved.success and np.isfinite(y).all() else None

    changes = sorted({t for part in passive for t in part.changes(times[0], times[-1])})
    q, v, memory = begin.q, begin.v, law.memory
    for t, after in zip(times.tolist(), [*times[1:].tolist(), None], strict=True):
        try:
            a, u, _ = answer(t, q, v, memory)
        except NotFinite:
            return
        task.reached(t)
        yield Knot(t, q, v, a, u)
        if after is None:
            break
        ends = [*(each for each in changes if t < each < after), after]
        for end in ends:
            y = ahead(t, end, q, v, memory)
            if y is None:
                return
            q, v, memory, t = robot.integrate(q, y[:n]), y[n : 2 * n], y[2 * n :], end
            if end in changes:
                v = landed(dynamics, end, q, v)


def landed(dynamics: Dynamics, t: float, q: Vector, v: Vector) -> Vector:
    """Return the velocity after an inelastic impact on what holds from a time on, shape ``(nv,)``.

    It is the nearest in the measure of mass that the passive rows leave.
    """
    A, _, beta, _ = dynamics.look(t, q, v)
    if not len(A):
        return v
    response = np.linalg.solve(dynamics.snapshot.M, A.T)
    after: Vector = v - response @ (
        np.linalg.pinv(A @ response, rcond=dynamics.rank.passive) @ beta
    )
    return after


def _times(task: Task, step: float) -> Vector:
    require_plannable(task.duration, step)
    count = max(2, int(np.ceil(task.duration / step - 1e-9)) + 1)
    return np.asarray(task.start + step * np.arange(count), dtype=np.float64)
