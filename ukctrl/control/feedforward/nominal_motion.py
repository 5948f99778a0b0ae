"""A motion worked out before the run, with the input that makes it, on any manifold."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, final

import numpy as np

from ukctrl.control.controller import Controller
from ukctrl.control.feedforward.nominal_motion_kernels import (
    KnotTable,
    nominal_input,
    nominal_state,
)
from ukctrl.control.joint_motion import (
    configurations_of_angles,
    joint_motion,
    require_plannable,
)
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InfeasibleConstraint, InputError, NotFinite
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.mechanics.consistent_state import consistent_state
from ukctrl.mechanics.constraints import Constraint, Stack
from ukctrl.mechanics.constraints.contact import SWITCH_DELAY
from ukctrl.mechanics.dynamics import Dynamics, passive_constraints
from ukctrl.mechanics.relative_degree import explain_unreachable_rows
from ukctrl.robot import Robot

if TYPE_CHECKING:
    from scipy.interpolate import PPoly

PLAN_RTOL, PLAN_ATOL = 1e-10, 1e-12
"""Tolerances of the integration from knot to knot."""
UNDRIVEN_RTOL = 1e-5
"""Part of a planned acceleration that may be beyond the motors, beside all of it."""


INTERPOLATION_FACTOR, MAX_PATH_RESIDUAL = 2.0, 1e-2
"""So many times may the motion between knots miss by more than a path is known to, of which one
that misses by more than this part is none that motors could follow."""


@final
class NominalMotion:
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
        displacements, ends = [], []
        for k in range(len(times) - 1):
            xi = robot.difference(q[k], q[k + 1])
            displacements.append(xi)
            # a Hermite spline in the chart of each knot needs the chart's rate at its end
            ends.append(robot.chart_rate(xi, v[k + 1]))
        pieces = CubicHermiteSpline(times, v, a).c, _spline_between_breaks(times, u, breaks).c
        arrays = times, q, v, np.array(displacements), np.array(ends), *pieces
        self._knots = KnotTable(*(np.array(array, dtype=np.float64, order="C") for array in arrays))

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return ``q`` and ``v`` at a time; beyond the ends, those of the nearest end."""
        q, v = np.zeros(self.robot.nq), np.zeros(self.robot.nv)
        nominal_state(self._knots, self.robot.structure.manifold_table, np.full(1, t), q, v)
        return q, v

    def input(self, t: float) -> Vector:
        """Return ``u`` at a time; beyond the ends, that of the nearest end."""
        u: Vector = np.zeros(self.u.shape[1])
        nominal_input(self._knots, np.full(1, t), 0.0, u)
        return u

    def state_step(self, clock: Vector, q: Vector, v: Vector) -> KernelStep:
        """Return what writes `state` at the time that the clock shows then."""
        blocks = self.robot.structure.manifold_table
        return BoundKernel(nominal_state, self._knots, blocks, clock, q, v)

    def input_step(self, clock: Vector, lead: float, u: Vector) -> KernelStep:
        """Return what writes `input` some time ahead of the clock."""
        return BoundKernel(nominal_input, self._knots, clock, lead, u)


def _spline_between_breaks(times: Vector, u: Matrix, breaks: Sequence[float]) -> PPoly:
    """Return the cubic spline through inputs, of its own between one break and the next."""
    from scipy.interpolate import CubicSpline, PPoly

    step = float(times[1] - times[0])
    # inputs jump where the path does: a spline across would ring
    inner = {round((t - float(times[0])) / step) for t in breaks}
    ends = [0, *sorted(k for k in inner if 0 < k < len(times) - 1), len(times) - 1]
    pieces = [CubicSpline(times[a : b + 1], u[a : b + 1]).c for a, b in itertools.pairwise(ends)]
    # Few knots make a polynomial of less degree, whose coefficients of t^3 and t^2 are missing.
    full = [np.concatenate([np.zeros((4 - len(c), *c.shape[1:])), c]) for c in pieces]
    return PPoly(np.concatenate(full, axis=1), times)


def invert_joint_motion(task: Task, step: float) -> NominalMotion:
    """Return the joint motion that keeps the servo rows, with the inputs of inverse dynamics.

    Raises:
        InputError: The task has no joint motion, or the motors cannot make it.
        StartError: The rows cannot be reached at some time.
    """
    robot = task.robot
    path = joint_motion(task, step, robot.dofs).path
    times = _knot_times(task, step)
    r = np.array([np.array(path(t)).reshape(3, -1) for t in times.tolist()])
    q, v, a = configurations_of_angles(robot, r[:, 0]), r[:, 1], r[:, 2]
    dynamics = Dynamics(robot, task.rank, task.gains)
    missed = max((constraint.miss for constraint in task.servo), default=0.0)
    # a path fitted to samples misses its rows by its residual, which no motor makes good
    path_error = INTERPOLATION_FACTOR * missed * max_abs(a) if missed < MAX_PATH_RESIDUAL else 0.0
    u = []
    for k, t in enumerate(times.tolist()):
        dynamics.move(t, q[k], v[k])
        u_k = dynamics.least_input(a[k])
        u.append(u_k)
        miss = np.abs(dynamics.acceleration(u_k) - a[k])
        size = max_abs(a[k]) + max_abs(dynamics.a_free) + 1.0
        if miss.max() > UNDRIVEN_RTOL * size + path_error:
            worst = robot.dofs[first_largest(miss)]
            raise InputError(
                f"robot '{robot.name}' must have motors for the joint motion of the task; at t = "
                f"{t:.4g} s they miss its acceleration by {miss.max():.2g} at '{worst}'. Let "
                'controller.along invert the rows: kind = "servo_dae", "stable_inversion" or '
                '"flat"; or give it a servo law whose own motion is followed.'
            )
    return NominalMotion(robot, times, q, v, a, np.array(u))


class _EvaluationLimitError(Exception):
    """The steps of an integration become ever smaller."""


class MotionKnot(NamedTuple):
    """A moment of a motion that a law makes."""

    t: float
    q: Vector
    v: Vector
    a: Vector
    u: Vector


def nominal_motion_of_law(task: Task, controller: Controller, step: float) -> NominalMotion:
    """Return the motion of the believed robot under another law, from the task's rows on.

    It starts at the state nearest to the task's start that keeps the servo rows and the passive
    ones.

    Raises:
        InputError: The law cannot serve the task, or its motion ends before the run.
    """
    times, knots = _knot_times(task, step), list[MotionKnot]()
    try:
        knots.extend(simulate_knots(task, controller, times))
    except InfeasibleConstraint as error:
        robot, (t, q, v) = task.robot, (task.start, task.q, task.v)
        if knots:
            t, q, v, *_ = knots[-1]
        reason = explain_unreachable_rows(
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
    return NominalMotion(task.robot, times, q, v, a, u)


def simulate_knots(
    task: Task,
    controller: Controller,
    times: Vector,
    rtol: float = PLAN_RTOL,
    atol: float = PLAN_ATOL,
    max_calls: float = math.inf,
    begin_on: Sequence[Constraint] | None = None,
) -> Iterator[MotionKnot]:
    """Yield the motion of `nominal_motion_of_law` at every time, up to where it can be integrated.

    Args:
        task: The task.
        controller: The law that moves the believed robot.
        times: The times, of which the first is the start, shape ``(k,)`` [s].
        rtol: Relative tolerance of the integration.
        atol: Absolute tolerance.
        max_calls: Evaluations of the law from one time to the next after which it is given up.
        begin_on: Which of the task's rows the start is moved onto; absent: all of them.

    Raises:
        InputError: The law cannot serve the task.
        StartError: No state near the start keeps the rows.
    """
    from scipy.integrate import solve_ivp

    robot = task.robot
    passive = passive_constraints(robot)
    constraints = (*passive, *(task.servo if begin_on is None else begin_on))
    begin = consistent_state(Stack(constraints, robot), task.q, task.v, task.start, rank=task.rank)
    law = controller.start(task)
    if law.switches:
        raise InputError("controller.along must be a law without modes; this one switches.")
    dynamics, n = Dynamics(robot, task.rank, task.gains), robot.nv

    calls = 0

    def answer(t: float, q: Vector, v: Vector, memory: Vector) -> tuple[Vector, Vector, Vector]:
        nonlocal calls
        # a law that drives the integrator to tiny steps is given up, not waited for
        calls += 1
        if calls > max_calls:
            raise _EvaluationLimitError
        dynamics.move(t, q, v)
        u, rate, *_ = law.step(dynamics, memory)
        return dynamics.acceleration(u), np.array(u), rate

    def ahead(t: float, stop: float, q: Vector, v: Vector, memory: Vector) -> Vector | None:
        """Return how far the robot goes, its velocity and memory; None where it cannot."""
        nonlocal calls
        # the rows just before they change hold until then, not those after
        last = stop - 2.0 * SWITCH_DELAY if stop in changes else stop  # of the rows until then

        def rate(t: float, y: Vector) -> Vector:
            xi, w = y[:n], y[n : 2 * n]
            a, _, memory_rate = answer(min(t, last), robot.integrate(q, xi), w, y[2 * n :])
            return np.concatenate([robot.chart_rate(xi, w), a, memory_rate])

        y, calls = np.concatenate([np.zeros(n), v, memory]), 0
        try:
            # a knot interval is one step as a rule: the first try takes it whole
            solved = solve_ivp(
                rate, (t, stop), y, method="DOP853", first_step=stop - t, rtol=rtol, atol=atol
            )
        except (_EvaluationLimitError, NotFinite):
            return None
        y = solved.y[:, -1]
        return y if solved.success and np.isfinite(y).all() else None

    changes = sorted({t for constraint in passive for t in constraint.changes(times[0], times[-1])})
    q, v, memory = begin.q, begin.v, law.memory
    for t, stop in zip(times.tolist(), [*times[1:].tolist(), None], strict=True):
        try:
            a, u, _ = answer(t, q, v, memory)
        except NotFinite:
            return
        task.reached(t)
        yield MotionKnot(t, q, v, a, u)
        if stop is None:
            break
        ends = [*(change for change in changes if t < change < stop), stop]
        for end in ends:
            y = ahead(t, end, q, v, memory)
            if y is None:
                return
            q, v, memory, t = robot.integrate(q, y[:n]), y[n : 2 * n], y[2 * n :], end
            if end in changes:
                # rows that begin to act take up what the velocity has along them
                v = velocity_after_impact(dynamics, end, q, v)


def velocity_after_impact(dynamics: Dynamics, t: float, q: Vector, v: Vector) -> Vector:
    """Return the velocity after an inelastic impact on what holds from a time on, shape ``(nv,)``.

    It is the nearest in the measure of mass that the passive rows leave.
    """
    A, _, beta, _ = dynamics.look(t, q, v)
    if not len(A):
        return v
    response = np.linalg.solve(dynamics.snapshot.M, A.T)
    v_plus: Vector = v - response @ (
        np.linalg.pinv(A @ response, rcond=dynamics.rank.passive) @ beta
    )
    return v_plus


def _knot_times(task: Task, step: float) -> Vector:
    require_plannable(task.duration, step)
    count = max(2, int(np.ceil(task.duration / step - 1e-9)) + 1)
    return np.asarray(task.start + step * np.arange(count), dtype=np.float64)
