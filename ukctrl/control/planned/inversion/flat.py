r"""Flat outputs: state and input from the rows and their derivatives, by algebra alone."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple, final

import numpy as np

from ukctrl.control.planned.inversion.inversion import Inversion
from ukctrl.control.planned.joint_motion import require_plannable
from ukctrl.control.planned.nominal_motion import Nominal
from ukctrl.control.task import Task
from ukctrl.core.algebra.threads import one_blas_thread
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, StartError, UkctrlError
from ukctrl.core.extremes import max_abs
from ukctrl.core.fields import Seconds, spec
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives import breaks, check_smooth, dividing, jets_of
from ukctrl.mechanics.dynamics import Dynamics, Gains
from ukctrl.mechanics.relative_degree import DerivativeArray, Together, relative_degrees, together

ROUNDS = 60
"""Most Newton steps at one knot."""
SOLVED, NEARLY = 1e-11, 1e-8
"""Scaled Newton steps this small are the last: at once, or once they stop shrinking."""
SOLVED_MEASURED = 1e-9
"""The first of them, where the derivatives are measured: rounding moves them by about as much."""
QUICK = 0.2
"""Steps must shrink by this factor each, or the Jacobian is worked out again."""
TINY = 1e-300
STRIDE = 0.5
"""Longest Newton step of the state that is taken whole, in scaled unknowns."""
KEPT = 1e-9
"""Singular values that a Newton step inverts, beside the largest."""
BETWEEN = 1e-7
"""How far the cubic pieces between the knots may be off, in scaled unknowns."""
FINEST = 32
"""The step is divided to that end by no more."""
PROBED = 16
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

    def solve(self, task: Task) -> Nominal:
        with one_blas_thread():
            return _FlatOutputs(task).motion(self.step)


class _Knot(NamedTuple):
    """State and input at one time."""

    q: Vector
    v: Vector
    U: Matrix


@final
class _FlatOutputs:
    """The outputs of a task, found to be flat.

    Raises:
        InputError: They are not, or their path is not smooth enough.
    """

    def __init__(self, task: Task) -> None:
        self.task, self.robot = task, task.robot
        self._stack = Stack(task.servo, task.robot)
        self._dynamics = Dynamics(task.robot, task.rank, Gains(0.0, 0.0))
        whole = _flat(task, self._dynamics, self._stack)
        orders = np.array(whole.orders)
        check_smooth(self._stack, orders.tolist())
        self._order = int(orders.max())
        jets = jets_of(self._stack, self._order, task.rank)
        self._small = SOLVED if jets.exact else SOLVED_MEASURED
        state = task.start, task.q, task.v
        self._array = DerivativeArray(jets, self._dynamics, *state)
        self._rows = (np.arange(self._order + 1)[:, None] <= orders).ravel()
        self._inverse: Matrix | None = None
        self._first: _Knot | None = None

    def motion(self, step: float) -> Nominal:
        """Return the motion, with knots as close as its cubic pieces need."""
        task = self.task
        require_plannable(task.duration, step, "along.step")
        corners = breaks(task.servo, task.start, task.start + task.duration)
        step = dividing(step, [t - task.start for t in corners])
        knots, times = self._along(step)
        nominal = self._nominal(times, knots, corners)
        off = self._between(nominal, knots)
        if off <= BETWEEN:
            return nominal
        parts = math.ceil(1.05 * (off / BETWEEN) ** 0.25)  # the pieces are of fourth order
        knots, times = self._along(step / min(parts, FINEST))
        return self._nominal(times, knots, corners)

    def _along(self, step: float) -> tuple[list[_Knot], Vector]:
        task, array = self.task, self._array
        count = max(4, int(np.ceil(task.duration / step - 1e-9)) + 1)
        times = np.asarray(task.start + step * np.arange(count), dtype=np.float64)
        if self._first is None:
            U = np.zeros((array.pushes(self._order), self.robot.nu))
            U[0] = array.hold
            self._first = self._solved(float(times[0]), _Knot(task.q, task.v, U))
        knots = [self._first]
        for before, t in zip(times[:-1].tolist(), times[1:].tolist(), strict=True):
            knots.append(self._solved(t, self._ahead(before, knots[-1], t - before)))
            task.reached(t)
        return knots, times

    def _ahead(self, t: float, knot: _Knot, h: float) -> _Knot:
        """Return a guess of the next knot."""
        self._dynamics.move(t, knot.q, knot.v)
        a = self._dynamics.acceleration(knot.U[0])
        q = self.robot.integrate(knot.q, h * knot.v + 0.5 * h * h * a)
        U = knot.U.copy()
        U[:-1] += h * knot.U[1:]
        return _Knot(q, knot.v + h * a, U)

    def _solved(self, t: float, guess: _Knot) -> _Knot:
        """Return the state and the input at a time, by Newton's method from a guess."""
        array, order = self._array, self._order
        q, v, U = guess
        size, fresh, stride, part = np.inf, False, STRIDE, 1.0
        last: tuple[Vector, Vector] | None = None
        for _ in range(ROUNDS):
            try:
                values = self._kept(array.values(t, q, v, U, order))
                if last is not None and part < 1.0:  # as straight on as was thought: go further
                    fell = max_abs(values) <= (1.0 - 0.5 * part) * max_abs(last[0])
                    stride = 4.0 * stride if fell else STRIDE
                    self._inverse = self._inverse if fell else None
                if self._inverse is None:
                    self._inverse, fresh = self._inverted(t, q, v, U), True
                elif last is not None:
                    self._inverse = _learnt(self._inverse, last[1], values - last[0])
            except (UkctrlError, ArithmeticError, np.linalg.LinAlgError):
                break
            z = -self._inverse @ values
            if not np.isfinite(z).all():
                break
            before, size = size, max_abs(z[: 2 * self.robot.nv + self.robot.nu])
            if part == 1.0 and size > QUICK * before and size > NEARLY and not fresh:
                self._inverse = None  # that of a knot too far back
                size, last = np.inf, None
                continue
            moved = max_abs(z[: 2 * self.robot.nv])  # what is not affine
            fresh, part = False, min(1.0, stride / max(moved, TINY))
            q, v, U = array.moved(q, v, U, part * z)
            last = values, part * z
            if part == 1.0 and (size < self._small or (size < NEARLY and size >= 0.5 * before)):
                return _Knot(q, v, U)
        raise StartError(
            f"the servo rows and their derivatives must fix a state near the last one at t = "
            f"{t:.6g} s; Newton's method found none. Start near the path, and lead it around "
            "states where the inputs lose the rows."
        )

    def _inverted(self, t: float, q: Vector, v: Vector, U: Matrix) -> Matrix:
        """Return what turns values into the smallest step that makes them zero."""
        J = self._kept(self._array.jacobian(t, q, v, U, self._order))
        lengths = np.linalg.norm(J, axis=1)
        lengths[lengths == 0.0] = 1.0
        inverse: Matrix = np.linalg.pinv(J / lengths[:, None], rcond=KEPT) / lengths
        return inverse

    def _kept(self, values: Vector) -> Vector:
        """Leave out the derivatives beyond those that each row needs."""
        count = len(self._rows)
        return np.concatenate([values[:count][self._rows], values[count:]])

    def _nominal(self, times: Vector, knots: list[_Knot], corners: list[float]) -> Nominal:
        a = []
        for t, knot in zip(times.tolist(), knots, strict=True):
            self._dynamics.move(t, knot.q, knot.v)
            a.append(self._dynamics.acceleration(knot.U[0]))
        q, v = np.array([knot.q for knot in knots]), np.array([knot.v for knot in knots])
        u = np.array([knot.U[0] for knot in knots])
        return Nominal(self.robot, times, q, v, np.array(a), u, corners)

    def _between(self, nominal: Nominal, knots: list[_Knot]) -> float:
        """Return how far the cubic pieces are off in the middle of the busiest intervals."""
        array, h = self._array, nominal.step
        scale = np.concatenate([np.full(self.robot.nv, 1.0 / array.time), array.push])
        busy = np.hstack([nominal.v, nominal.u]) / scale
        change = np.abs(np.diff(busy, 3, axis=0)).max(axis=1)
        worst = 0.0
        for k in np.argsort(change)[-PROBED:].tolist():
            t = float(nominal.times[k + 1]) + 0.5 * h
            here = self._solved(t, self._ahead(t - 0.5 * h, knots[k + 1], 0.5 * h))
            q, v = nominal.state(t)
            off = np.concatenate(
                [
                    self.robot.difference(here.q, q),
                    array.time * (v - here.v),
                    (nominal.input(t) - here.U[0]) / array.push,
                ]
            )
            worst = max(worst, max_abs(off))
        return worst


def _learnt(inverse: Matrix, step: Vector, change: Vector) -> Matrix:
    """Let an inverse turn what a step has changed into that step: Broyden's update."""
    made = inverse @ change
    met = float(step @ made)
    if abs(met) < 0.1 * float(step @ step):
        return inverse
    better: Matrix = inverse + np.outer(step - made, step @ inverse) / met
    return better


def _flat(task: Task, dynamics: Dynamics, stack: Stack) -> Together:
    """Return how the rows reach the inputs, where nothing is left to be integrated."""
    robot, state = task.robot, (task.start, task.q, task.v)
    if len(stack) != robot.nu:
        raise InputError(
            f"servo must have as many rows as the robot has inputs, {robot.nu}, for along.kind = "
            f'"flat"; got {len(stack)}.'
        )
    alone = relative_degrees(dynamics, stack, *state)
    whole = together(dynamics, stack, *state, [one.value for one in alone])
    if not whole.flat:
        raise InputError(
            f'servo rows must be a flat output for along.kind = "flat"; {whole.sentence} Use '
            'along.kind = "servo_dae", or "stable_inversion" where the internal dynamics are '
            "unstable."
        )
    return whole
