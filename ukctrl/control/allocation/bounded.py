r"""Inputs within the motors' limits: the task is met, or given up in a stated way."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Self, final

import numpy as np
from pydantic import model_validator

from ukctrl.control.allocation.allocation import (
    Allocator,
    own_stack,
    row_miss,
    row_unit,
)
from ukctrl.control.allocation.input_limits import InputLimits, Limits
from ukctrl.control.allocation.least_norm import CLOSEST, InMetric
from ukctrl.control.allocation.metric import SINGULAR, InputMetric
from ukctrl.control.allocation.null_space import bind
from ukctrl.control.allocation.row_order import Order, Ordered, row_scale
from ukctrl.control.allocation.within_limits import Problem, relaxed, scaled
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.answer_checks import missed, raise_if_missed
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.least_input import Demand, judged, quick_input, servo_input
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError, InputError, quoted
from ukctrl.core.fields import spec
from ukctrl.core.program import Call, Step
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics

AT_LIMIT = 1e-9
"""An input within this fraction of its range counts as at its limit."""


@spec
class Bounded(InMetric):
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


class _Account(NamedTuple):
    """What one input cost."""

    scale: Vector
    """The share of the demand that was served; 1 under ``relax``, shape ``(1,)``."""
    binding: Vector
    """Of each motor: 1 at its upper limit, -1 at its lower, 0 where no limit changed the input."""
    miss: Vector
    """``H u - d``, shape ``(m,)``."""


@compiled
def within(
    demand: Demand, reach: float, low: Vector, high: Vector, u: Vector, account: _Account
) -> bool:
    """Write the input of `quick_input`; return whether that serves the task within the limits."""
    account.scale[0] = 1.0
    for k in range(len(u)):
        account.binding[k] = 0.0
    if judged(quick_input(demand, u, account.miss), demand, account.miss, reach) < 0:
        return False
    inside = True
    for k in range(len(u)):
        inside = inside and low[k] <= u[k] <= high[k]
    return inside


@final
class _Bounded(Allocator):
    def __init__(self, spec: Bounded, task: Task, rows: tuple[str, ...]) -> None:
        importlib.import_module("daqp")  # now, so that no tick waits for it, or finds it missing
        self._null_space = bind(spec.null_space, task)
        self._metric = InputMetric(spec.metric, task)
        self._limits = InputLimits(spec.limit, task)
        self._limits.require()
        self._rank, self._names, nu = task.rank, rows, task.robot.nu
        self._levels = None
        if spec.on_limit == "relax":
            stack = own_stack(task, rows, "bounded")
            self._levels = Ordered(spec.order, stack)
            self._scale = row_scale(stack, self._metric, task)[self._levels.rows]
        self._unit = row_unit(task, rows)
        self._account = _Account(np.ones(1), np.zeros(nu), np.zeros(len(rows)))
        slow = self._limits.slow if spec.rate_limits == "keep" else ()
        if slow and task.period is None:
            raise GainError(
                f"the rate limit of motor {quoted(slow[:1])} can be kept from one control tick to "
                "the next alone; give timing.control, or say allocation.rate_limits = "
                '"ignore".'
            )
        self._period = task.period
        if slow:
            self.memory = np.zeros(nu + 1)  # the last input, and whether there was one
        self._last: Vector = np.full(len(self.memory), np.nan)

    def steps(self, rows: Rows, demand: Vector, dynamics: Dynamics, u: Vector) -> Iterator[Step]:
        s, d = dynamics.snapshot, dynamics
        low, high = np.zeros(len(u)), np.zeros(len(u))
        yield from self._limits.steps(s, self._last, low, high)
        R, steps = self._metric.steps(d)
        yield from steps
        u0, steps = self._null_space.steps(d)
        yield from steps
        robot = d.a_free, d.G, d.L, d.motors
        asked = Demand(rows.A, demand, *robot, R, u0, float(self._rank.servo))

        def care(code: int) -> None:
            self._within(asked, low, high, d, u)

        reach = float(self._rank.reach)
        yield Call(within, asked, reach, low, high, u, self._account, fault=care)

    def look_back(self, memory: Vector) -> None:
        """Take the last input, and whether there was one."""
        self._last[:] = memory

    def look_back_steps(self, last: Vector) -> Sequence[Step]:
        return (Call(copy_into, last, self._last),)

    def memory_rate(self, u: Vector, memory: Vector) -> Vector:
        """Return the rate at which the memory becomes ``u`` within one control period."""
        rate = np.zeros(len(memory))
        towards(u, memory, float(self._period or np.inf), rate)
        return rate

    def memory_steps(self, u: Vector, memory: Vector, rate: Vector) -> Sequence[Step]:
        return (Call(towards, u, memory, float(self._period or np.inf), rate),)

    def _within(
        self, asked: Demand, low: Vector, high: Vector, dynamics: Dynamics, u: Vector
    ) -> None:
        """Write the input within the limits, and its account, with care."""
        A, demand, a_free, u0 = asked.A, asked.b, asked.a_free, asked.u0
        account = self._account
        rank_or_failure = servo_input(asked, u, account.miss)
        if rank_or_failure < 0:
            raise GainError(SINGULAR)
        missing = A, demand, a_free, account.miss
        if rank_or_failure < len(demand) and self._levels is None:
            checked = *missing, rank_or_failure, self._rank, self._names
            raise_if_missed(*checked, closest=CLOSEST)
        served = rank_or_failure == len(demand) or not missed(*missing, self._rank).any()
        if served and (u >= low).all() and (u <= high).all():
            return
        H = dynamics.servo_matrix(A)
        d = demand - A @ a_free
        S = self._metric.freedoms(dynamics)
        if self._levels is None:
            problem = Problem(H, S, u0, low, high, rank_or_failure)
            u[:], account.scale[0] = scaled(problem, u, dynamics)
        else:
            at = self._levels.rows
            problem = Problem(H[at], S, u0, low, high, rank_or_failure)
            u[:] = relaxed(problem, d[at], self._levels.ends, self._scale, self._rank)
        account.binding[:] = _sides(u, low, high)
        account.miss[:] = H @ u - d

    def signals(self) -> Mapping[str, Signal]:
        """Return which motors were at their limits, and what that cost."""
        account, names = self._account, self._limits.names
        words = "limits: upper 1, lower -1"
        signals = {
            "binding": Signal(account.binding.copy(), "1", words, names),
            "row_miss": row_miss(account.miss, self._names, self._unit),
        }
        if self._levels is None:
            share = Signal(float(account.scale[0]), "1", "share of the demand served")
            signals["task_scale"] = share
        return signals


@compiled
def towards(u: Vector, memory: Vector, period: float, rate: Vector) -> None:
    """Write the rate at which a memory becomes an input, and that there was one."""
    for k in range(len(rate)):
        later = u[k] if k < len(u) else 1.0
        rate[k] = (later - memory[k]) / period


def _sides(u: Vector, low: Vector, high: Vector) -> Vector:
    """Return 1 where an input is at its upper limit, -1 at its lower, else 0."""
    near = AT_LIMIT * np.where(np.isfinite(high - low), high - low, np.abs(u) + 1.0)
    return np.where(u >= high - near, 1.0, np.where(u <= low + near, -1.0, 0.0))
