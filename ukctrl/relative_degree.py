r"""How often a servo row must be differentiated until the input appears.

A row with grip has relative degree 2 (1 if it is nonholonomic). A row without is tried out: the
robot is let go from a state with a constant input and without, and the difference of the row's
error grows as

$$ \Delta y(\tau) = L_G L_f^{r-1} y \; u \; \frac{\tau^r}{r!} + O(\tau^{r+1}), $$

so that its slope over $\log \tau$ is the relative degree $r$ itself, whatever the robot. The motion
is integrated by extrapolation to order 14, which also says how exact it is; a slope counts
only far above that noise, and only where states nearby have the same.
"""

from __future__ import annotations

import contextlib
import dataclasses as dc
import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import final

import numpy as np
from numpy.typing import NDArray

from ukctrl.constraints import Stack
from ukctrl.dynamics import Dynamics
from ukctrl.errors import UkctrlError
from ukctrl.factor import Matrix, Vector
from ukctrl.start import solve_start
from ukctrl.uk import servo_matrix

Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]

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
NEIGHBOURS = 3
"""States nearby that must agree."""
NEARBY = 0.05
"""How far they are, in each coordinate and velocity [rad, m, rad/s, m/s]."""
PLANNED = (
    "The inputs reach it only through further derivatives; a solver for rows of high relative "
    "degree is planned and not in this version. Hold what a motor moves directly, or add a motor."
)
"""What to do about a row above 2."""


@dc.dataclass(frozen=True, kw_only=True)
class RelativeDegree:
    """What is known of one row at one state."""

    name: str
    """The row."""
    value: int | None
    """The relative degree; None where it is not certain."""
    at_least: int
    """What it is at least at this state."""
    note: str = ""
    """Why it is not certain."""

    def __str__(self) -> str:
        """Return the number, or ``at least`` and a number."""
        return str(self.value) if self.value is not None else f"at least {self.at_least}"

    @property
    def sentence(self) -> str:
        """What a user should know of it."""
        return f"its relative degree is {self}{': ' if self.note else ''}{self.note}."


def relative_degrees(
    dynamics: Dynamics, servo: Stack, t: float, q: Vector, v: Vector
) -> tuple[RelativeDegree, ...]:
    """Return the relative degree of every servo row at a state.

    Args:
        dynamics: The robot; it is moved about, and left at the state.
        servo: The rows, attached to the same robot.
        t: Time [s].
        q: Configuration, shape ``(nq,)``.
        v: Velocity, shape ``(nv,)``.
    """
    q, v = np.array(q), np.array(v)
    base = np.where(servo.holonomic, 2, 1)
    held = _grip(dynamics, servo, t, q, v)
    found = [
        RelativeDegree(
            name=name, value=int(k) if grip else None, at_least=int(k if grip else k + 1)
        )
        for name, k, grip in zip(servo.names, base, held, strict=True)
    ]
    loose = np.flatnonzero(~held)
    if loose.size:
        _try_out(dynamics, servo, t, q, v, loose, found)
        dynamics.move(t, q, v)
        servo.write(dynamics.snapshot)
    return tuple(found)


def explain(
    dynamics: Dynamics, servo: Stack, rows: Sequence[str], t: float, q: Vector, v: Vector
) -> str:
    """Return what the relative degree says about rows that are out of reach; empty if nothing."""
    try:
        found = relative_degrees(dynamics, servo, t, q, v)
    except (UkctrlError, ArithmeticError, ValueError):
        return ""
    high = [one for one in found if one.name in rows and (one.value is None or one.value > 2)]
    if not high:
        return ""
    told = " ".join(f"Row '{one.name}': {one.sentence}" for one in high)
    return f"{told} {PLANNED}" if any(one.value is not None for one in high) else told


def _grip(dynamics: Dynamics, servo: Stack, t: float, q: Vector, v: Vector) -> Flags:
    """Return which rows an input accelerates at a state, shape ``(m,)``."""
    dynamics.move(t, q, v)
    H = servo_matrix(servo.write(dynamics.snapshot).A, dynamics.G, dynamics.rank)
    held: Flags = np.abs(H).max(axis=1, initial=0.0) > 0.0
    return held


def _try_out(
    dynamics: Dynamics,
    servo: Stack,
    t: float,
    q: Vector,
    v: Vector,
    loose: Indices,
    found: list[RelativeDegree],
) -> None:
    """Complete what is known of the rows ``loose``, in place."""
    here = _orders(_Trial(dynamics, servo, loose, t, q, v))
    nearby = []
    regained = np.zeros(len(loose), dtype=bool)
    for q_near, v_near in _neighbours(dynamics, t, q, v):
        with contextlib.suppress(UkctrlError):  # not every state nearby need be possible
            regained |= _grip(dynamics, servo, t, q_near, v_near)[loose]
            nearby.append(_orders(_Trial(dynamics, servo, loose, t, q_near, v_near)))
    for k, row in enumerate(loose.tolist()):
        known, order = found[row], here[k]
        orders = {at[k] for at in nearby}
        generic = known.at_least - 1
        if regained[k]:
            note = f"nearby it is {generic}, but the motors lose their grip at this very state"
            found[row] = dc.replace(known, note=note)
        elif order is None and orders <= {None}:
            note = f"no input was seen to move it within {LONGEST:g} s"
            found[row] = dc.replace(known, note=note)
        elif order is not None and len(nearby) > 0 and orders == {order}:
            found[row] = dc.replace(known, value=order, at_least=order)
        else:
            note = "it differs between this state and others nearby, or could not be told"
            found[row] = dc.replace(known, note=note)


def _neighbours(dynamics: Dynamics, t: float, q: Vector, v: Vector) -> list[tuple[Vector, Vector]]:
    """Return states nearby that keep the passive constraints."""
    robot, rng = dynamics.robot, np.random.default_rng(0)
    states = []
    for _ in range(NEIGHBOURS):
        step, push = rng.uniform(-NEARBY, NEARBY, (2, robot.nv))
        q_near, v_near = robot.integrate(q, step), v + push
        if len(dynamics.passive):
            try:
                solved = solve_start(dynamics.passive, q_near, v_near, t)
            except UkctrlError:
                continue
            q_near, v_near = solved.q, solved.v
        states.append((q_near, v_near))
    return states


@final
class _Trial:
    """The rows' errors some time after a state, under a constant input."""

    def __init__(
        self, dynamics: Dynamics, servo: Stack, rows: Indices, t: float, q: Vector, v: Vector
    ) -> None:
        self._dynamics, self._servo, self._rows = dynamics, servo, rows
        self._t, self._start = t, np.concatenate((q, v))
        dynamics.move(t, q, v)
        pushed = np.abs(dynamics.G).max(axis=0, initial=0.0)
        self._push = PUSH * max(1.0, float(np.abs(dynamics.a_free).max(initial=0.0)))
        self.inputs: Matrix = np.diag(1.0 / np.where(pushed > 0.0, pushed, np.inf))
        """Inputs that accelerate something by 1, one a motor; zero where one moves nothing."""

    def difference(self, u: Vector, duration: float) -> tuple[Vector, Vector]:
        """Return what an input changes in the rows after a duration, by its size; and the noise."""
        strength = max(SPEED / duration, self._push)
        pushed, noise = self.errors(strength * u, duration)
        still, more = self.errors(np.zeros(len(u)), duration)
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
        after: Vector = 0.5 * (now + before + h * self._rate(u, duration, now))
        return after

    def _rate(self, u: Vector, after: float, state: Vector) -> Vector:
        dynamics, robot = self._dynamics, self._dynamics.robot
        q, v = state[: robot.nq], state[robot.nq :]
        if not robot.is_euclidean:
            q = robot.normalize(q)
        dynamics.move(self._t + after, q, v)
        rate = v if robot.is_euclidean else robot.coordinate_rate(q, v)
        return np.concatenate((rate, dynamics.acceleration(u)))

    def _output(self, after: float, state: Vector) -> tuple[Vector, float]:
        robot, servo = self._dynamics.robot, self._servo
        q, v = state[: robot.nq], state[robot.nq :]
        if not robot.is_euclidean:
            q = robot.normalize(q)
        self._dynamics.move(self._t + after, q, v)
        rows = servo.write(self._dynamics.snapshot)
        y = np.where(servo.holonomic, rows.phi, rows.beta)
        return y[self._rows].copy(), float(np.abs(state).max(initial=0.0))


def _orders(trial: _Trial) -> list[int | None]:
    """Return with which power of time the inputs reach each row; None where none is seen."""
    best: list[int | None] = []
    for u in trial.inputs:
        if u.any():
            orders = _orders_of(functools.partial(trial.difference, u))
            if not best:
                best = list(orders)
            for k, order in enumerate(orders):
                others = best[k]
                if order is not None and (others is None or order < others):
                    best[k] = order
    return best or [None] * trial.errors(np.zeros(len(trial.inputs)), SHORTEST)[0].size


def _orders_of(
    difference: Callable[[float], tuple[Vector, Vector]],
) -> list[int | None]:
    """Return the slopes of the differences over time, on logarithmic scales."""
    clear: list[list[float]] = []
    tau = SHORTEST
    while tau <= LONGEST:
        try:
            grown, noise = difference(tau)
        except (UkctrlError, ArithmeticError):
            break
        clear = clear or [[] for _ in grown]
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
    return None
