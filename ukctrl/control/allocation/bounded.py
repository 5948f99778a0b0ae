r"""Inputs within the motors' limits: the task is met, or given up in a stated way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Self, final

import numpy as np
from pydantic import model_validator

from ukctrl.control.allocation.allocation import (
    Allocator,
    require_task_rows,
    row_acceleration_unit,
    row_residual,
)
from ukctrl.control.allocation.bounded_input import (
    BoundedInputProblem,
    relax_by_levels,
    scale_demand,
)
from ukctrl.control.allocation.input_limits import InputLimits, InputLimitSpec
from ukctrl.control.allocation.input_metric import INDEFINITE_METRIC, InputMetric
from ukctrl.control.allocation.least_norm import LEAST_SQUARES_ADVICE, MetricAllocation
from ukctrl.control.allocation.null_space import bind_null_space
from ukctrl.control.allocation.priority_levels import PriorityLevels, PriorityOrder, row_scale
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.factorisation import copy_into
from ukctrl.core.algebra.least_norm_input import ServoProblem, fast_input, rank_or_lost, servo_input
from ukctrl.core.algebra.solution_checks import raise_if_infeasible, violated_rows
from ukctrl.core.arrays import Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError, InputError, quoted
from ukctrl.core.fields import spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics

ACTIVE_RTOL = 1e-9
"""An input within this fraction of its range counts as at its limit."""


@spec
class Bounded(MetricAllocation):
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
    order: PriorityOrder | None = None
    """Of ``relax``: blocks of rows, the one to keep longest first; absent: as the task lists
    them."""
    limit: InputLimitSpec | None = None
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
        return _BoundedAllocator(self, task, rows)


class _BoundedInputReport(NamedTuple):
    """What one input cost."""

    demand_share: Vector
    """The share of the demand that was served; 1 under ``relax``, shape ``(1,)``."""
    active: Vector
    """Of each motor: 1 at its upper limit, -1 at its lower, 0 where no limit changed the input."""
    residual: Vector
    """``H u - d``, shape ``(m,)``."""


@compiled
def fast_bounded_input(
    demand: ServoProblem,
    reach: float,
    low: Vector,
    high: Vector,
    u: Vector,
    account: _BoundedInputReport,
) -> bool:
    """Write the input of `fast_input`; return whether that serves the task within the limits."""
    account.demand_share[0] = 1.0
    for k in range(len(u)):
        account.active[k] = 0.0
    # the input without limits first: within them nearly always, and then nothing else is solved
    if rank_or_lost(fast_input(demand, u, account.residual), demand, account.residual, reach) < 0:
        return False
    inside = True
    for k in range(len(u)):
        inside = inside and low[k] <= u[k] <= high[k]
    return inside


@final
class _BoundedAllocator(Allocator):
    def __init__(self, spec: Bounded, task: Task, rows: tuple[str, ...]) -> None:
        self._null_space = bind_null_space(spec.null_space, task)
        self._metric = InputMetric(spec.metric, task)
        self._limits = InputLimits(spec.limit, task)
        self._limits.require_any()
        self._rank, self._names, nu = task.rank, rows, task.robot.nu
        self._levels = None
        if spec.on_limit == "relax":
            stack = require_task_rows(task, rows, "bounded")
            self._levels = PriorityLevels(spec.order, stack)
            self._scale = row_scale(stack, self._metric, task)[self._levels.rows]
        self._unit = row_acceleration_unit(task, rows)
        self._report = _BoundedInputReport(np.ones(1), np.zeros(nu), np.zeros(len(rows)))
        slow = self._limits.rate_limited if spec.rate_limits == "keep" else ()
        if slow and task.period is None:
            raise GainError(
                f"the rate limit of motor {quoted(slow[:1])} can be kept from one control tick to "
                "the next alone; give timing.control, or say allocation.rate_limits = "
                '"ignore".'
            )
        self._period = task.period
        if slow:
            self.memory = np.zeros(nu + 1)  # the last input, and whether there was one
        # NaN until a law looks back: then it is told
        self._last_input: Vector = np.full(len(self.memory), np.nan)

    def steps(
        self, rows: Rows, demand: Vector, dynamics: Dynamics, u: Vector
    ) -> Iterator[KernelStep]:
        s, d = dynamics.snapshot, dynamics
        low, high = np.zeros(len(u)), np.zeros(len(u))
        yield from self._limits.steps(s, self._last_input, low, high)
        R, steps = self._metric.steps(d)
        yield from steps
        u0, steps = self._null_space.steps(d)
        yield from steps
        robot = d.a_free, d.G, d.L, d.motors
        servo_problem = ServoProblem(rows.A, demand, *robot, R, u0, float(self._rank.servo))

        def care(code: int) -> None:
            self._solve_in_bounds(servo_problem, low, high, d, u)

        reach = float(self._rank.reach)
        yield BoundKernel(
            fast_bounded_input, servo_problem, reach, low, high, u, self._report, fault=care
        )

    def look_back(self, memory: Vector) -> None:
        """Take the last input, and whether there was one."""
        self._last_input[:] = memory

    def look_back_steps(self, last: Vector) -> Sequence[KernelStep]:
        return (BoundKernel(copy_into, last, self._last_input),)

    def memory_rate(self, u: Vector, memory: Vector) -> Vector:
        """Return the rate at which the memory becomes ``u`` within one control period."""
        rate = np.zeros(len(memory))
        deadbeat_rate(u, memory, float(self._period or np.inf), rate)
        return rate

    def memory_steps(self, u: Vector, memory: Vector, rate: Vector) -> Sequence[KernelStep]:
        return (BoundKernel(deadbeat_rate, u, memory, float(self._period or np.inf), rate),)

    def _solve_in_bounds(
        self, servo_problem: ServoProblem, low: Vector, high: Vector, dynamics: Dynamics, u: Vector
    ) -> None:
        """Write the input within the limits, and its account, with care."""
        A, demand, a_free, u0 = (
            servo_problem.A,
            servo_problem.b,
            servo_problem.a_free,
            servo_problem.u0,
        )
        account = self._report
        rank_or_failure = servo_input(servo_problem, u, account.residual)
        if rank_or_failure < 0:
            raise GainError(INDEFINITE_METRIC)
        missing = A, demand, a_free, account.residual
        # dependent rows that contradict each other have no common share to be scaled to
        if rank_or_failure < len(demand) and self._levels is None:
            checked = *missing, rank_or_failure, self._rank, self._names
            raise_if_infeasible(*checked, closest=LEAST_SQUARES_ADVICE)
        served = rank_or_failure == len(demand) or not violated_rows(*missing, self._rank).any()
        # only a fast rank that was not certain has led here
        if served and (u >= low).all() and (u <= high).all():
            return
        H = dynamics.servo_matrix(A)
        d = demand - A @ a_free
        S = self._metric.root_inverse(dynamics)
        if self._levels is None:
            problem = BoundedInputProblem(H, S, u0, low, high, rank_or_failure)
            u[:], account.demand_share[0] = scale_demand(problem, u, dynamics)
        else:
            at = self._levels.rows
            problem = BoundedInputProblem(H[at], S, u0, low, high, rank_or_failure)
            u[:] = relax_by_levels(problem, d[at], self._levels.ends, self._scale, self._rank)
        account.active[:] = _active_bounds(u, low, high)
        account.residual[:] = H @ u - d

    def signals(self) -> Mapping[str, Signal]:
        """Return which motors were at their limits, and what that cost."""
        account, names = self._report, self._limits.names
        words = "limits: upper 1, lower -1"
        signals = {
            "binding": Signal(account.active.copy(), "1", words, names),
            "row_miss": row_residual(account.residual, self._names, self._unit),
        }
        if self._levels is None:
            share = Signal(float(account.demand_share[0]), "1", "share of the demand served")
            signals["task_scale"] = share
        return signals


@compiled
def deadbeat_rate(u: Vector, memory: Vector, period: float, rate: Vector) -> None:
    """Write the rate at which a memory becomes an input, and that there was one."""
    for k in range(len(rate)):
        later = u[k] if k < len(u) else 1.0
        rate[k] = (later - memory[k]) / period


def _active_bounds(u: Vector, low: Vector, high: Vector) -> Vector:
    """Return 1 where an input is at its upper limit, -1 at its lower, else 0."""
    # a limit is met to the digits of its range
    near = ACTIVE_RTOL * np.where(np.isfinite(high - low), high - low, np.abs(u) + 1.0)
    return np.where(u >= high - near, 1.0, np.where(u <= low + near, -1.0, 0.0))
