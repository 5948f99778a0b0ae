r"""Inputs within the motors' limits: the task is met, or given up in a stated way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, Self, final

import numpy as np
from pydantic import model_validator

from ukctrl.control.allocation.allocation import (
    Allocation,
    Allocator,
    own_stack,
    row_miss,
    row_unit,
)
from ukctrl.control.allocation.least_norm import CLOSEST, LeastNorm
from ukctrl.control.allocation.levels import Order, Ordered, row_scale
from ukctrl.control.allocation.metric import SINGULAR, AnyMetric, InputMetric
from ukctrl.control.allocation.null_space import AnyNullSpace, bind
from ukctrl.control.allocation.within_limits import Problem, relaxed, scaled
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra import least_input
from ukctrl.core.algebra.answer_checks import missed, raise_if_missed
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import GainError, InputError, quoted, unknown_name
from ukctrl.core.fields import ByName, spec
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Robot
from ukctrl.robot.motor import LIMIT_SCHEMA, Pair, read_limit

Limits = Annotated[float | Pair | dict[str, float | Pair], ByName(read_limit, LIMIT_SCHEMA)]
"""A limit of all motors, or a table of them by motor; each a number or a lower and an upper one."""


@final
class InputLimits:
    """The lowest and the highest input at every moment.

    Raises:
        GainError: Limits contradict each other, or there are none.
        UnknownName: The robot has no such motor.
    """

    def __init__(self, own: float | Pair | dict[str, float | Pair] | None, task: Task) -> None:
        robot = task.robot
        self._robot, self._period = robot, task.period
        self._low, self._high = np.full((2, robot.nu), [[-np.inf], [np.inf]])
        self._narrow(own, robot)
        bounds = robot.actuation.bounds
        self._falls = bounds.falls
        self._low_at_rest = np.clip(self._low, bounds.lower, bounds.upper)
        self._high_at_rest = np.clip(self._high, bounds.lower, bounds.upper)
        if not (np.isfinite(self._low_at_rest) | np.isfinite(self._high_at_rest)).any():
            raise GainError(
                f"bounded needs the limit of some motor; robot '{robot.name}' has none. Write them "
                "into its robot.toml, or give the allocation a limit."
            )
        self._rate = robot.input_rate_limit

    def _narrow(self, own: float | Pair | dict[str, float | Pair] | None, robot: Robot) -> None:
        """Take the user's limits, which must leave some of the motor's range."""
        given = own if isinstance(own, dict) else dict.fromkeys(robot.actuators, own)
        bounds = robot.actuation.bounds
        for name, limit in given.items():
            if name not in robot.actuators:
                raise unknown_name("motor (in limit)", name, robot.actuators)
            if limit is None:
                continue
            k = robot.actuators.index(name)
            low, high = limit if isinstance(limit, tuple) else (-limit, limit)
            if low > bounds.upper[k] or high < bounds.lower[k]:
                raise GainError(
                    f"limit of motor '{name}' must leave it some input; {low:g} to {high:g} has "
                    f"nothing in common with the motor's own {bounds.lower[k]:g} to "
                    f"{bounds.upper[k]:g}."
                )
            self._low[k], self._high[k] = low, high

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the motors."""
        return self._robot.actuators

    @property
    def slow(self) -> tuple[str, ...]:
        """Names of the motors with a rate limit."""
        names = self._robot.actuators
        return tuple(names[i] for i in np.flatnonzero(np.isfinite(self._rate)))

    def at(self, rate: Vector) -> tuple[Vector, Vector]:
        """Return the lowest and the highest input at the rates ``v @ B``, each ``(nu,)``.

        The motors' own come first: where a speed leaves a motor less than the user's lower limit,
        that is its limit.
        """
        if not self._falls:
            return self._low_at_rest, self._high_at_rest
        low, high = self._robot.actuation.bounds.at(rate)
        return np.clip(self._low, low, high), np.clip(self._high, low, high)

    def after(self, before: Vector, rate: Vector) -> tuple[Vector, Vector]:
        """Return the same one control period after the input ``before``.

        Torque limits come first: where they move faster than the motor may, it follows them.
        """
        low, high = self.at(rate)
        step = self._rate * (self._period or 0.0)
        return np.clip(before - step, low, high), np.clip(before + step, low, high)


FIRST = 0.5
"""Below this, the last entry of the memory says that there was no input yet."""
AT_LIMIT = 1e-9
"""An input within this fraction of its range counts as at its limit."""


@spec
class Bounded(Allocation):
    r"""The least-norm input, within the limits of the motors.

    Where the input of `LeastNorm` keeps $\underline u \le u \le \bar u$ it is returned as it is.
    Where it does not, but another input that serves the task does, the nearest to $u_0$ of those is
    returned. Where none does, the task gives way as ``on_limit`` says:

    | on_limit | what is asked for instead |
    |---|---|
    | ``scale`` | $A a = y_0 + s\,(y - y_0)$ with the greatest $s \in [0, 1]$ that can be given |
    | ``relax`` | each block in ``order`` as close as the motors and the blocks before it let it |

    $y$ is the demanded row acceleration, and $y_0$ what the rows do while the motors only carry the
    load, as far as they can: scaling keeps the direction of the demand, and the robot does not sag.
    ``relax`` is a lexicographic quadratic program, strict priorities with limits.

    The limits are those of `Robot.input_bounds` at the present speed, narrowed by ``limit``. Rate
    limits hold from control tick to control tick, after the first, which is free.
    """

    kind: Literal["bounded"] = "bounded"
    on_limit: Literal["scale", "relax"] = "scale"
    """What gives way where no input within the limits serves the task."""
    order: Order | None = None
    """Of ``relax``: blocks of rows, the one to keep longest first; absent: as the task lists
    them."""
    limit: Limits | None = None
    """Narrower limits [N m or N]: a number or a pair for all motors, or a table by motor."""
    rate_limits: Literal["keep", "ignore"] = "keep"
    """Whether the motors' rate limits are kept; that needs a control period."""
    metric: AnyMetric = "effort"
    """Input metric ``R``, as of ``least_norm``."""
    null_space: AnyNullSpace | None = None
    """What the motors do where the task leaves them free; absent: nothing."""

    @model_validator(mode="after")
    def _order_is_for_relax(self) -> Self:
        if self.order is not None and self.on_limit != "relax":
            raise InputError(f'order goes with on_limit = "relax"; got "{self.on_limit}".')
        if self.null_space is not None and self.null_space.kind == "internal_force":
            raise InputError(
                "null_space: an internal force is added to an input that serves the task, whatever "
                'the limits; use it with kind = "least_norm".'
            )
        return self

    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        return _Bounded(self, task, rows)

    def exact(self) -> Allocation:
        return LeastNorm(metric=self.metric, null_space=self.null_space)


class _Account(NamedTuple):
    """What one input cost."""

    scale: float
    """The share of the demand that was served; 1 under ``relax``."""
    binding: Vector
    """Of each motor: 1 at its upper limit, -1 at its lower, 0 where no limit changed the input."""
    miss: Vector


@final
class _Bounded(Allocator):
    def __init__(self, spec: Bounded, task: Task, rows: tuple[str, ...]) -> None:
        self._null_space = bind(spec.null_space, task)
        self._metric = InputMetric(spec.metric, task)
        self._limits = InputLimits(spec.limit, task)
        self._rank, self._names, self._nu = task.rank, rows, task.robot.nu
        self._levels = None
        if spec.on_limit == "relax":
            stack = own_stack(task, rows, "bounded")
            self._levels = Ordered(spec.order, stack)
            self._scale = row_scale(stack, self._metric, task)[self._levels.rows]
        self._none, self._unit = np.zeros(self._nu), row_unit(task, rows)
        self._account = _Account(1.0, self._none, np.zeros(len(rows)))
        slow = self._limits.slow if spec.rate_limits == "keep" else ()
        if slow and task.period is None:
            raise GainError(
                f"the rate limit of motor {quoted(slow[:1])} can be kept from one control tick to "
                "the next alone; give timing.control, or say allocation.rate_limits = "
                '"ignore".'
            )
        self._period = task.period
        self._last: Vector | None = None
        if slow:
            self.memory = np.zeros(self._nu + 1)  # the last input, and whether there was one

    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        s, last = dynamics.snapshot, self._last
        rate = s.v @ s.B
        if not self.memory.size or (last is not None and last[-1] < FIRST):
            return self._within(rows, demand, dynamics, *self._limits.at(rate))
        if last is None:
            raise GainError(
                "a rate limit needs the input of the last tick; a law of one's own must call "
                "allocator.look_back(memory) before every input, or say "
                'allocation.rate_limits = "ignore".'
            )
        return self._within(rows, demand, dynamics, *self._limits.after(last[:-1], rate))

    def look_back(self, memory: Vector) -> None:
        """Take the last input, and whether there was one."""
        self._last = memory

    def memory_rate(self, u: Vector, memory: Vector) -> Vector:
        """Return the rate at which the memory becomes ``u`` within one control period."""
        return (np.append(u, 1.0) - memory) / (self._period or np.inf)

    def _within(
        self, rows: Rows, demand: Vector, dynamics: Dynamics, low: Vector, high: Vector
    ) -> Vector:
        A, a_free, G = rows.A, dynamics.a_free, dynamics.G
        R, u0 = self._metric.at(dynamics), self._null_space.preference(dynamics)
        u: Vector = np.empty(self._nu)
        miss = np.empty(len(demand))
        L, motors, rtol = dynamics.L, dynamics.motors, self._rank.servo
        rank_or_failure = least_input.servo_input(
            A, demand, a_free, G, L, motors, R, u0, rtol, u, miss
        )
        if rank_or_failure < 0:
            raise GainError(SINGULAR)
        if rank_or_failure < len(demand) and self._levels is None:
            raise_if_missed(
                A, demand, a_free, miss, rank_or_failure, self._rank, self._names, closest=CLOSEST
            )
        served = rank_or_failure == len(demand)
        served = served or not missed(A, demand, a_free, miss, self._rank).any()
        if served and (u >= low).all() and (u <= high).all():
            self._account = _Account(1.0, self._none, miss)
            return u
        H = dynamics.servo_matrix(A)
        d = demand - A @ a_free
        S, scale = self._metric.freedoms(dynamics), 1.0
        if self._levels is None:
            u, scale = scaled(Problem(H, S, u0, low, high, rank_or_failure), u, dynamics)
        else:
            at = self._levels.rows
            problem = Problem(H[at], S, u0, low, high, rank_or_failure)
            u = relaxed(problem, d[at], self._levels.ends, self._scale, self._rank)
        self._account = _Account(scale, _sides(u, low, high), H @ u - d)
        return u

    def signals(self) -> Mapping[str, Signal]:
        """Return which motors were at their limits, and what that cost."""
        account, names = self._account, self._limits.names
        words = "limits: upper 1, lower -1"
        signals = {
            "binding": Signal(account.binding, "1", words, names),
            "row_miss": row_miss(account.miss, self._names, self._unit),
        }
        if self._levels is None:
            share = Signal(account.scale, "1", "share of the demand served")
            signals["task_scale"] = share
        return signals


def _sides(u: Vector, low: Vector, high: Vector) -> Vector:
    """Return 1 where an input is at its upper limit, -1 at its lower, else 0."""
    near = AT_LIMIT * np.where(np.isfinite(high - low), high - low, np.abs(u) + 1.0)
    return np.where(u >= high - near, 1.0, np.where(u <= low + near, -1.0, 0.0))
