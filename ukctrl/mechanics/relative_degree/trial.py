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
from ukctrl.mechanics.linearise import FreeDirections

SUBSTEPS = (2, 4, 6, 8, 10, 12, 14)
"""Steps of the modified midpoint rule that are extrapolated; twice as many orders are won."""
SHORTEST, LONGEST = 1e-6, 1.0
GROWTH = math.sqrt(2.0)
"""Durations that are tried, growing by this factor from the one to the other [s]."""
SPEED = 1.0
"""Speed that a tried input gives some coordinate in the time that is tried [rad/s or m/s]. The
shorter the time, the stronger the input: it must be felt, but not carry the robot away."""
PUSH = 10.0
"""Acceleration that it gives at least, in multiples of what is there anyhow, or of 1."""
CLEAR = 1e4
"""A difference this much above its own error is measured, not guessed."""
ROUNDING = 1e-15
"""What integration leaves of a state of size one."""
NEAR_INTEGER, ROUGHLY = 0.05, 0.3
"""How close to an integer a slope must be: extrapolated to zero duration, and as measured."""
UNCLEAR = -1
"""Stands for the order of a row that an input moves, with no power of time that could be told."""
NO_ROWS: Indices = np.zeros(0, dtype=np.intp)
MIXTURES = 3
"""So many motors are tried one by one; more of them in as many random mixtures."""


@final
class Trial:
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
        self._push = PUSH * max(1.0, float(np.abs(dynamics.a_free).max(initial=0.0)))
        each = np.diag(1.0 / np.where(pushed > 0.0, pushed, np.inf))[pushed > 0.0]
        if len(each) > MIXTURES:
            each = np.random.default_rng(0).uniform(0.5, 1.0, (MIXTURES, len(each))) @ each
        self.inputs: Matrix = each
        """Inputs to try, by the acceleration 1 that they give to something."""
        self._still: dict[float, tuple[Vector, Vector]] = {}

    def difference(self, u: Vector, duration: float) -> tuple[Vector, Vector]:
        """Return what an input changes in the rows after a duration, by its size; and the noise."""
        strength = max(SPEED / duration, self._push)
        pushed, noise = self.errors(strength * u, duration)
        if duration not in self._still:
            self._still[duration] = self.errors(np.zeros(len(u)), duration)
        still, more = self._still[duration]
        return np.abs(pushed - still) / strength, (noise + more) / strength

    def errors(self, u: Vector, duration: float) -> tuple[Vector, Vector]:
        """Return the rows' errors after a duration, and how exact they are."""
        table: list[Vector] = []
        estimate = np.inf
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
        return y, np.full(len(y), estimate) + ROUNDING * (1.0 + size)

    def _midpoint(self, u: Vector, duration: float, steps: int) -> Vector:
        """Return the state after a duration by Gragg's modified midpoint rule."""
        h = duration / steps
        before, now = self._start, self._start + h * self._rate(u, 0.0, self._start)
        for k in range(1, steps):
            before, now = now, before + 2.0 * h * self._rate(u, k * h, now)
        return 0.5 * (now + before + h * self._rate(u, duration, now))

    def _rate(self, u: Vector, after: float, state: Vector) -> Vector:
        dynamics, robot = self._dynamics, self._dynamics.robot
        q, v = state[: robot.nq], state[robot.nq :]
        if not robot.is_euclidean:
            q = robot.normalize(q)
        dynamics.move(self._t + after, q, v)
        rate = v if robot.is_euclidean else robot.coordinate_rate(q, v)
        a = dynamics.acceleration(u)
        if self._weak.size:
            A = self._servo.write(dynamics.snapshot).A[self._weak]
            held = FreeDirections(dynamics.L, A, dynamics.rank.servo)
            a = a - held.least(A @ dynamics.G @ u)
        return np.concatenate((rate, a))

    def _output(self, after: float, state: Vector) -> tuple[Vector, float]:
        robot, servo = self._dynamics.robot, self._servo
        q, v = state[: robot.nq], state[robot.nq :]
        if not robot.is_euclidean:
            q = robot.normalize(q)
        self._dynamics.move(self._t + after, q, v)
        rows = servo.write(self._dynamics.snapshot)
        y = np.where(servo.holonomic, rows.phi, rows.beta)
        return y[self._rows].copy(), float(np.abs(state).max(initial=0.0))


def orders(trial: Trial) -> list[int | None]:
    """Return with which power of time the inputs reach each row; None where none is seen."""
    tried = [_orders_of(functools.partial(trial.difference, u), trial.count) for u in trial.inputs]
    best: list[int | None] = [None] * trial.count
    for orders in tried:
        for k, order in enumerate(orders):
            now = best[k]
            if order is not None and (now is None or order < now):
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
            return [_slope(seen) if len(seen) == 3 else UNCLEAR for seen in clear]
        for seen, size, error in zip(clear, grown.tolist(), noise.tolist(), strict=True):
            if len(seen) < 3:  # the shortest durations that can be measured are the cleanest
                if size > CLEAR * error:
                    seen.append(size)
                else:
                    seen.clear()
        if all(len(seen) == 3 for seen in clear):
            break
        tau *= GROWTH
    return [_slope(seen) for seen in clear]


def _slope(grown: Sequence[float]) -> int | None:
    if len(grown) < 3:
        return None
    first, second = (math.log(b / a) / math.log(GROWTH) for a, b in itertools.pairwise(grown))
    order = round(first)
    limit = first - (second - first) / (GROWTH - 1.0)  # the next power of time, removed
    if abs(limit - order) < NEAR_INTEGER and abs(first - order) < ROUGHLY:
        return order
    return UNCLEAR
