"""How rows answer a constant input: measured by letting the robot go with it and without."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import final

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise import ConstraintNullSpace

SUBSTEPS = (2, 4, 6, 8, 10, 12, 14)
"""Steps of the modified midpoint rule that are extrapolated; twice as many orders are won."""
SHORTEST, LONGEST = 1e-6, 1.0
GROWTH = math.sqrt(2.0)
"""Durations that are tried, growing by this factor from the one to the other [s]."""
TEST_SPEED = 1.0
"""Speed that a tried input gives some coordinate in the time that is tried [rad/s or m/s]. The
shorter the time, the stronger the input: it must be felt, but not carry the robot away."""
MIN_ACCELERATION_RATIO = 10.0
"""Acceleration that it gives at least, in multiples of what is there anyhow, or of 1."""
SIGNAL_TO_NOISE = 1e4
"""A difference this much above its own error is measured, not guessed."""
STATE_ROUNDING = 1e-15
"""What integration leaves of a state of size one."""
LIMIT_TOLERANCE, SLOPE_TOLERANCE = 0.05, 0.3
"""How close to an integer a slope must be: extrapolated to zero duration, and as measured."""
UNDECIDED = -1
"""Stands for the order of a row that an input moves, with no power of time that could be told."""
NO_ROWS: Indices = np.zeros(0, dtype=np.intp)
MAX_TEST_INPUTS = 3
"""So many motors are tried one by one; more of them in as many random mixtures."""


@final
class StepResponse:
    """The rows' errors some time after a state, under a constant input.

    What the input does at once to the rows ``weak`` is taken out: the smallest change, in the
    measure of mass, that leaves them to themselves.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        servo: Stack,
        rows: Indices,
        t: float,
        q: Vector,
        v: Vector,
        weak: Indices = NO_ROWS,
    ) -> None:
        self._dynamics, self._servo, self._rows, self._weak = dynamics, servo, rows, weak
        self._t, self._start = t, np.concatenate((q, v))
        self.count = len(rows)
        dynamics.move(t, q, v)
        pushed = np.abs(dynamics.G).max(axis=0, initial=0.0)
        # pushes must be felt beside what the robot does by itself
        self._push = MIN_ACCELERATION_RATIO * max(
            1.0, float(np.abs(dynamics.a_free).max(initial=0.0))
        )
        inputs = np.diag(1.0 / np.where(pushed > 0.0, pushed, np.inf))[pushed > 0.0]
        # random mixtures show the least order almost surely, whatever the number of motors
        if len(inputs) > MAX_TEST_INPUTS:
            inputs = (
                np.random.default_rng(0).uniform(0.5, 1.0, (MAX_TEST_INPUTS, len(inputs))) @ inputs
            )
        self.inputs: Matrix = inputs
        """Inputs to try, by the acceleration 1 that they give to something."""
        self._still: dict[float, tuple[Vector, Vector]] = {}

    def difference(self, u: Vector, duration: float) -> tuple[Vector, Vector]:
        """Return what an input changes in the rows after a duration, by its size; and the noise."""
        # a short push must be strong to be seen, a long one weak to stay near
        strength = max(TEST_SPEED / duration, self._push)
        pushed, noise = self.errors(strength * u, duration)
        if duration not in self._still:
            self._still[duration] = self.errors(np.zeros(len(u)), duration)
        still, more = self._still[duration]
        return np.abs(pushed - still) / strength, (noise + more) / strength

    def errors(self, u: Vector, duration: float) -> tuple[Vector, Vector]:
        """Return the rows' errors after a duration, and how exact they are."""
        table: list[Vector] = []
        estimate = np.inf
        # Gragg's extrapolation: even powers of the step alone, and the last difference is the error
        for k, steps in enumerate(SUBSTEPS):
            row = [self._midpoint(u, duration, steps)]
            for j in range(k):
                ratio = (SUBSTEPS[k] / SUBSTEPS[k - 1 - j]) ** 2 - 1.0
                row.append(row[j] + (row[j] - table[j]) / ratio)
            if k:
                estimate = float(np.abs(row[-1] - row[-2]).max())
            table = row
        end = table[-1]
        y, size = self._output(duration, end)
        return y, np.full(len(y), estimate) + STATE_ROUNDING * (1.0 + size)

    def _midpoint(self, u: Vector, duration: float, steps: int) -> Vector:
        """Return the state after a duration by Gragg's modified midpoint rule."""
        h = duration / steps
        previous, state = self._start, self._start + h * self._rate(u, 0.0, self._start)
        for k in range(1, steps):
            previous, state = state, previous + 2.0 * h * self._rate(u, k * h, state)
        return 0.5 * (state + previous + h * self._rate(u, duration, state))

    def _rate(self, u: Vector, tau: float, state: Vector) -> Vector:
        dynamics, robot = self._dynamics, self._dynamics.robot
        q, v = state[: robot.nq], state[robot.nq :]
        if not robot.is_euclidean:
            q = robot.normalize(q)
        dynamics.move(self._t + tau, q, v)
        rate = v if robot.is_euclidean else robot.coordinate_rate(q, v)
        a = dynamics.acceleration(u)
        if self._weak.size:
            A = self._servo.write(dynamics.snapshot).A[self._weak]
            null_space = ConstraintNullSpace(dynamics.L, A, dynamics.rank.servo)
            # without what weak rows answer, as if they had no authority
            a = a - null_space.least_norm_solution(A @ dynamics.G @ u)
        return np.concatenate((rate, a))

    def _output(self, tau: float, state: Vector) -> tuple[Vector, float]:
        robot, servo = self._dynamics.robot, self._servo
        q, v = state[: robot.nq], state[robot.nq :]
        if not robot.is_euclidean:
            q = robot.normalize(q)
        self._dynamics.move(self._t + tau, q, v)
        rows = servo.write(self._dynamics.snapshot)
        y = np.where(servo.holonomic, rows.phi, rows.beta)
        return y[self._rows].copy(), float(np.abs(state).max(initial=0.0))


def response_orders(trial: StepResponse) -> list[int | None]:
    """Return with which power of time the inputs reach each row; None where none is seen."""
    with np.errstate(over="ignore"):  # long pushes run away, and are then refused
        tried = [
            _orders_of(functools.partial(trial.difference, u), trial.count) for u in trial.inputs
        ]
    best: list[int | None] = [None] * trial.count
    for orders in tried:
        for k, order in enumerate(orders):
            best_order = best[k]
            if order is not None and (best_order is None or order < best_order):
                best[k] = order  # UNCLEAR is the least of all
    return best


def _orders_of(
    difference: Callable[[float], tuple[Vector, Vector]], count: int
) -> list[int | None]:
    """Return the slopes of the differences over time, on logarithmic scales."""
    clear: list[list[float]] = [[] for _ in range(count)]
    tau = SHORTEST
    while tau <= LONGEST:
        try:
            grown, noise = difference(tau)
        except (UkctrlError, ArithmeticError):
            # the motion has left where the robot is defined: what is measured must do
            return [_slope(sizes) if len(sizes) == 3 else UNDECIDED for sizes in clear]
        for sizes, size, error in zip(clear, grown.tolist(), noise.tolist(), strict=True):
            if len(sizes) < 3:  # the shortest durations that can be measured are the cleanest
                if size > SIGNAL_TO_NOISE * error:
                    sizes.append(size)
                else:
                    # three durations in a row must stand out of the noise
                    sizes.clear()
        if all(len(sizes) == 3 for sizes in clear):
            break
        tau *= GROWTH
    return [_slope(sizes) for sizes in clear]


def _slope(grown: Sequence[float]) -> int | None:
    if len(grown) < 3:
        return None
    first, second = (math.log(b / a) / math.log(GROWTH) for a, b in itertools.pairwise(grown))
    # the response grows with the order as its power of time
    order = round(first)
    limit = first - (second - first) / (GROWTH - 1.0)  # the next power of time, removed
    if abs(limit - order) < LIMIT_TOLERANCE and abs(first - order) < SLOPE_TOLERANCE:
        return order
    return UNDECIDED
