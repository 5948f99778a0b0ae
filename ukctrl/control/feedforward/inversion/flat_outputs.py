r"""Flat outputs: state and input from the rows and their derivatives, by algebra alone."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, final

import numpy as np

from ukctrl.control.feedforward.inversion.inversion import Inversion
from ukctrl.control.feedforward.nominal_motion import NominalMotion
from ukctrl.control.joint_motion import require_plannable
from ukctrl.control.task import Task
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, StartError, UkctrlError
from ukctrl.core.fields import Seconds, spec
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives import breakpoints, check_smooth, commensurate_step, jets_of
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains
from ukctrl.mechanics.relative_degree import (
    DerivativeArray,
    VectorRelativeDegree,
    relative_degrees,
    vector_relative_degree,
)

MAX_ITERATIONS = 60
"""Most Newton steps at one knot."""
NEWTON_TOLERANCE, NEWTON_STALL_TOLERANCE = 1e-11, 1e-8
"""Scaled Newton steps this small are the last: at once, or once they stop shrinking."""
NEWTON_TOLERANCE_SAMPLED = 1e-9
"""The first of them, where the derivatives are measured: rounding moves them by about as much."""
MAX_CONTRACTION = 0.2
"""Steps must shrink by this factor each, or the Jacobian is worked out again."""
TINY = 1e-300
MAX_STATE_STEP = 0.5
"""Longest Newton step of the state that is taken whole, in scaled unknowns."""
PINV_RCOND = 1e-9
"""Singular values that a Newton step inverts, beside the largest."""
INTERPOLATION_TOLERANCE = 1e-7
"""How far the cubic pieces between the knots may be off, in scaled unknowns."""
MAX_STEP_DIVISION = 32
"""The step is divided to that end by no more."""
N_PROBED_INTERVALS = 16
"""Intervals that are looked into, those with the largest changes."""


@spec
class Flat(Inversion):
    r"""State and input as functions of the outputs and finitely many of their derivatives.

    At every knot Newton's method solves $Y_K(x, u, \dot u, \dots) = 0$: rows and derivatives up to
    the order at which they fix the state and the input, the derivatives of the input in the least
    norm where they are not fixed. No differential equation is solved, so that no error grows.
    Where the vector relative degree fills the state this is the inverse of its Lie derivatives;
    outputs that are flat with a dynamic extension only, such as the load of a crane, need nothing
    more.

    The path needs as many continuous derivatives as the inputs come out after, less one; one
    more for an input without jumps. The step is divided so that the cubic pieces between
    knots are exact to about 1e-7.

    References:
        Fliess, Levine, Martin & Rouchon, "Flatness and defect of non-linear systems", Int. J.
        Control 61, 1995; Campbell, "Linearization of DAEs along trajectories", ZAMP 46, 1995.
    """

    kind: Literal["flat"] = "flat"
    step: Seconds = 0.02
    """Time between the knots [s], at most: it is divided where the motion asks for it."""

    def solve(self, task: Task) -> NominalMotion:
        with one_blas_thread():
            return _FlatOutputSolver(task).motion(self.step)


class _FlatKnot(NamedTuple):
    """State and input at one time."""

    q: Vector
    v: Vector
    U: Matrix


@final
class _FlatOutputSolver:
    """The outputs of a task, found to be flat.

    Raises:
        InputError: They are not, or their path is not smooth enough.
    """

    def __init__(self, task: Task) -> None:
        self.task, self.robot = task, task.robot
        self._stack = Stack(task.servo, task.robot)
        self._dynamics = Dynamics(task.robot, task.rank, StabilisationGains(0.0, 0.0))
        whole = _require_flat(task, self._dynamics, self._stack)
        orders = np.array(whole.orders)
        check_smooth(self._stack, orders.tolist())
        self._order = int(orders.max())
        jets = jets_of(self._stack, self._order, task.rank)
        # sampled derivatives carry noise that Newton's method cannot get below
        self._newton_tolerance = NEWTON_TOLERANCE if jets.exact else NEWTON_TOLERANCE_SAMPLED
        state = task.start, task.q, task.v
        self._array = DerivativeArray(jets, self._dynamics, *state)
        # of each row the derivatives up to its order: those beyond fix nothing more
        self._rows = (np.arange(self._order + 1)[:, None] <= orders).ravel()
        self._inverse: Matrix | None = None
        self._first: _FlatKnot | None = None

    def motion(self, step: float) -> NominalMotion:
        """Return the motion, with knots as close as its cubic pieces need."""
        task = self.task
        require_plannable(task.duration, step, "along.step")
        corners = breakpoints(task.servo, task.start, task.start + task.duration)
        step = commensurate_step(step, [t - task.start for t in corners])
        knots, times = self._solve_knots(step)
        nominal = self._nominal(times, knots, corners)
        off = self._interpolation_error(nominal, knots)
        if off <= INTERPOLATION_TOLERANCE:
            return nominal
        division = math.ceil(
            1.05 * (off / INTERPOLATION_TOLERANCE) ** 0.25
        )  # the pieces are of fourth order
        knots, times = self._solve_knots(step / min(division, MAX_STEP_DIVISION))
        return self._nominal(times, knots, corners)

    def _solve_knots(self, step: float) -> tuple[list[_FlatKnot], Vector]:
        task, array = self.task, self._array
        count = max(4, int(np.ceil(task.duration / step - 1e-9)) + 1)
        times = np.asarray(task.start + step * np.arange(count), dtype=np.float64)
        if self._first is None:
            U = np.zeros((array.n_input_derivatives(self._order), self.robot.nu))
            U[0] = array.holding_input
            self._first = self._solve_knot(float(times[0]), _FlatKnot(task.q, task.v, U))
        knots = [self._first]
        for t_prev, t in zip(times[:-1].tolist(), times[1:].tolist(), strict=True):
            knots.append(self._solve_knot(t, self._extrapolate(t_prev, knots[-1], t - t_prev)))
            task.reached(t)
        return knots, times

    def _extrapolate(self, t: float, knot: _FlatKnot, h: float) -> _FlatKnot:
        """Return a guess of the next knot."""
        self._dynamics.move(t, knot.q, knot.v)
        a = self._dynamics.acceleration(knot.U[0])
        # a Taylor step: derivatives of the input are unknowns of every knot
        q = self.robot.integrate(knot.q, h * knot.v + 0.5 * h * h * a)
        U = knot.U.copy()
        U[:-1] += h * knot.U[1:]
        return _FlatKnot(q, knot.v + h * a, U)

    def _solve_knot(self, t: float, guess: _FlatKnot) -> _FlatKnot:
        """Return the state and the input at a time, by Newton's method from a guess."""
        array, order = self._array, self._order
        q, v, U = guess
        size, fresh, stride, fraction = np.inf, False, MAX_STATE_STEP, 1.0
        last: tuple[Vector, Vector] | None = None
        for _ in range(MAX_ITERATIONS):
            try:
                values = self._select_rows(array.values(t, q, v, U, order))
                # a trust region: longer where the residual fell as a line says
                if last is not None and fraction < 1.0:  # as straight on as was thought: go further
                    fell = max_abs(values) <= (1.0 - 0.5 * fraction) * max_abs(last[0])
                    stride = 4.0 * stride if fell else MAX_STATE_STEP
                    self._inverse = self._inverse if fell else None
                if self._inverse is None:
                    self._inverse, fresh = self._scaled_pinv(t, q, v, U), True
                elif last is not None:
                    self._inverse = _broyden_update(self._inverse, last[1], values - last[0])
            except (UkctrlError, ArithmeticError, np.linalg.LinAlgError):
                break
            z = -self._inverse @ values
            if not np.isfinite(z).all():
                break
            last_size, size = size, max_abs(z[: 2 * self.robot.nv + self.robot.nu])
            if (
                fraction == 1.0
                and size > MAX_CONTRACTION * last_size
                and size > NEWTON_STALL_TOLERANCE
                and not fresh
            ):
                self._inverse = None  # that of a knot too far back
                size, last = np.inf, None
                continue
            moved = max_abs(z[: 2 * self.robot.nv])  # what is not affine
            fresh, fraction = False, min(1.0, stride / max(moved, TINY))
            q, v, U = array.retract(q, v, U, fraction * z)
            last = values, fraction * z
            if fraction == 1.0 and (
                size < self._newton_tolerance
                or (size < NEWTON_STALL_TOLERANCE and size >= 0.5 * last_size)
            ):
                return _FlatKnot(q, v, U)
        raise StartError(
            f"the servo rows and their derivatives must fix a state near the last one at t = "
            f"{t:.6g} s; Newton's method found none. Start near the path, and lead it around "
            "states where the inputs lose the rows."
        )

    def _scaled_pinv(self, t: float, q: Vector, v: Vector, U: Matrix) -> Matrix:
        """Return what turns values into the smallest step that makes them zero."""
        J = self._select_rows(self._array.jacobian(t, q, v, U, self._order))
        lengths = np.linalg.norm(J, axis=1)
        lengths[lengths == 0.0] = 1.0
        inverse: Matrix = np.linalg.pinv(J / lengths[:, None], rcond=PINV_RCOND) / lengths
        return inverse

    def _select_rows(self, values: Vector) -> Vector:
        """Leave out the derivatives beyond those that each row needs."""
        count = len(self._rows)
        return np.concatenate([values[:count][self._rows], values[count:]])

    def _nominal(
        self, times: Vector, knots: list[_FlatKnot], corners: list[float]
    ) -> NominalMotion:
        a = []
        for t, knot in zip(times.tolist(), knots, strict=True):
            self._dynamics.move(t, knot.q, knot.v)
            a.append(self._dynamics.acceleration(knot.U[0]))
        q, v = np.array([knot.q for knot in knots]), np.array([knot.v for knot in knots])
        u = np.array([knot.U[0] for knot in knots])
        return NominalMotion(self.robot, times, q, v, np.array(a), u, corners)

    def _interpolation_error(self, nominal: NominalMotion, knots: list[_FlatKnot]) -> float:
        """Return how far the cubic pieces are off in the middle of the busiest intervals."""
        array, h = self._array, nominal.step
        scale = np.concatenate([np.full(self.robot.nv, 1.0 / array.time_scale), array.input_scale])
        busy = np.hstack([nominal.v, nominal.u]) / scale
        # where third differences are largest, interpolation errs most: looked at there alone
        change = np.abs(np.diff(busy, 3, axis=0)).max(axis=1)
        worst = 0.0
        for k in np.argsort(change)[-N_PROBED_INTERVALS:].tolist():
            t = float(nominal.times[k + 1]) + 0.5 * h
            knot = self._solve_knot(t, self._extrapolate(t - 0.5 * h, knots[k + 1], 0.5 * h))
            q, v = nominal.state(t)
            off = np.concatenate(
                [
                    self.robot.difference(knot.q, q),
                    array.time_scale * (v - knot.v),
                    (nominal.input(t) - knot.U[0]) / array.input_scale,
                ]
            )
            worst = max(worst, max_abs(off))
        return worst


def _broyden_update(inverse: Matrix, step: Vector, change: Vector) -> Matrix:
    """Let an inverse turn what a step has changed into that step: Broyden's update."""
    response = inverse @ change
    denominator = float(step @ response)
    # nearly across the step the update would divide by rounding
    if abs(denominator) < 0.1 * float(step @ step):
        return inverse
    better: Matrix = inverse + np.outer(step - response, step @ inverse) / denominator
    return better


def _require_flat(task: Task, dynamics: Dynamics, stack: Stack) -> VectorRelativeDegree:
    """Return how the rows reach the inputs, where nothing is left to be integrated."""
    robot, state = task.robot, (task.start, task.q, task.v)
    # a flat output has a component for each input
    if len(stack) != robot.nu:
        raise InputError(
            f"servo must have as many rows as the robot has inputs, {robot.nu}, for along.kind = "
            f'"flat"; got {len(stack)}.'
        )
    alone = relative_degrees(dynamics, stack, *state)
    whole = vector_relative_degree(dynamics, stack, *state, [one.value for one in alone])
    if not whole.flat:
        raise InputError(
            f'servo rows must be a flat output for along.kind = "flat"; {whole.sentence} Use '
            'along.kind = "servo_dae", or "stable_inversion" where the internal dynamics are '
            "unstable."
        )
    return whole
