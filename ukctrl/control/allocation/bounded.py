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
    load_compensation,
    relax_by_levels,
    scale_demand,
)
from ukctrl.control.allocation.input_limits import InputLimits, InputLimitSpec
from ukctrl.control.allocation.input_metric import INDEFINITE_METRIC, InputMetric
from ukctrl.control.allocation.least_norm import LEAST_SQUARES_ADVICE, MetricAllocation
from ukctrl.control.allocation.null_space import bind_null_space
from ukctrl.control.allocation.priority_levels import PriorityLevels, PriorityOrder, row_scale
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.factorisation import copy_into, dot, matvec
from ukctrl.core.algebra.input_authority import authority_scales_from, zero_uncontrolled_rows
from ukctrl.core.algebra.least_norm_input import ServoProblem, fast_input, rank_or_lost, servo_input
from ukctrl.core.algebra.solution_checks import raise_if_infeasible, violated_rows
from ukctrl.core.algebra.sparse_products import matmul
from ukctrl.core.algebra.task_hierarchy import metric_root_inverse
from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import compiled, deferred
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


class RelaxedLevels(NamedTuple):
    """How levels are served that limits bind, as `PriorityLevels`; nothing where all is scaled."""

    rows: Indices
    ends: Indices
    scale: Vector


@compiled
def fast_bounded_input(
    demand: ServoProblem,
    reach: float,
    low: Vector,
    high: Vector,
    levels: RelaxedLevels,
    u: Vector,
    account: _BoundedInputReport,
) -> bool:
    """Write the input within the limits; return whether its rank is certain."""
    account.demand_share[0] = 1.0
    for k in range(len(u)):
        account.active[k] = 0.0
    # the input without limits first: within them nearly always, and then nothing else is solved
    rank = rank_or_lost(fast_input(demand, u, account.residual), demand, account.residual, reach)
    if rank < 0:
        return False
    inside = True
    for k in range(len(u)):
        inside = inside and low[k] <= u[k] <= high[k]
    return inside or limited_input(demand, rank, low, high, levels, u, account)


@deferred
def limited_input(
    demand: ServoProblem,
    rank: int,
    low: Vector,
    high: Vector,
    levels: RelaxedLevels,
    u: Vector,
    account: _BoundedInputReport,
) -> bool:
    """Overwrite the input without limits by one within them; return whether the metric has one."""
    A, b, a_free, G, L, motors, R, u0, rtol = demand
    H, d, S = matmul(A, G), np.empty(len(b)), np.empty((len(u), len(u)))
    zero_uncontrolled_rows(H, authority_scales_from(L, A, motors), rtol)
    for i in range(len(b)):
        d[i] = b[i] - dot(A[i], a_free)
    if not metric_root_inverse(R, S):
        return False
    if len(levels.ends) == 0:
        load = np.empty(len(u))
        load_compensation(L, G, a_free, load)
        scale_demand(BoundedInputProblem(H, S, u0, low, high, rank), load, u, account.demand_share)
    else:
        ordered, right = np.empty(H.shape), np.empty(len(b))
        for i in range(len(b)):
            copy_into(H[levels.rows[i]], ordered[i])
            right[i] = d[levels.rows[i]]
        problem = BoundedInputProblem(ordered, S, u0, low, high, rank)
        relax_by_levels(problem, right, levels.ends, levels.scale, rtol, u)
    for k in range(len(u)):
        # a limit is met to the digits of its range
        wide = high[k] - low[k]
        near = ACTIVE_RTOL * (wide if np.isfinite(wide) else abs(u[k]) + 1.0)
        if u[k] >= high[k] - near:
            account.active[k] = 1.0
        elif u[k] <= low[k] + near:
            account.active[k] = -1.0
    matvec(H, u, account.residual)
    for i in range(len(b)):
        account.residual[i] -= d[i]
    return True


@final
class _BoundedAllocator(Allocator):
    def __init__(self, spec: Bounded, task: Task, rows: tuple[str, ...]) -> None:
        self._null_space = bind_null_space(spec.null_space, task)
        self._metric = InputMetric(spec.metric, task)
        self._limits = InputLimits(spec.limit, task)
        self._limits.require_any()
        self._rank, self._names, nu = task.rank, rows, task.robot.nu
        none = np.zeros(0, dtype=np.int64)
        self._levels = RelaxedLevels(none, none, np.zeros(0))
        self._is_relaxed = spec.on_limit == "relax"
        if self._is_relaxed:
            stack = require_task_rows(task, rows, "bounded")
            levels = PriorityLevels(spec.order, stack)
            scale = row_scale(stack, self._metric, task)[levels.rows]
            self._levels = RelaxedLevels(levels.rows.astype(np.int64), levels.ends, scale)
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
            self._solve_in_bounds(servo_problem, low, high, u)

        args = servo_problem, float(self._rank.reach), low, high, self._levels, u, self._report
        yield BoundKernel(fast_bounded_input, *args, fault=care)

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
        self, servo_problem: ServoProblem, low: Vector, high: Vector, u: Vector
    ) -> None:
        """Write the input within the limits, and its account, with care."""
        A, demand, a_free, account = *servo_problem[:3], self._report
        rank = servo_input(servo_problem, u, account.residual)
        if rank < 0:
            raise GainError(INDEFINITE_METRIC)
        missing = A, demand, a_free, account.residual
        # dependent rows that contradict each other have no common share to be scaled to
        if rank < len(demand) and not self._is_relaxed:
            checked = *missing, rank, self._rank, self._names
            raise_if_infeasible(*checked, closest=LEAST_SQUARES_ADVICE)
        served = rank == len(demand) or not violated_rows(*missing, self._rank).any()
        # only a fast rank that was not certain has led here
        if served and (u >= low).all() and (u <= high).all():
            return
        if not limited_input(servo_problem, rank, low, high, self._levels, u, account):
            raise GainError(INDEFINITE_METRIC)

    def signals(self) -> Mapping[str, Signal]:
        """Return which motors were at their limits, and what that cost."""
        account, names = self._report, self._limits.names
        words = "limits: upper 1, lower -1"
        signals = {
            "binding": Signal(account.active.copy(), "1", words, names),
            "row_miss": row_residual(account.residual, self._names, self._unit),
        }
        if not self._is_relaxed:
            share = Signal(float(account.demand_share[0]), "1", "share of the demand served")
            signals["task_scale"] = share
        return signals


@compiled
def deadbeat_rate(u: Vector, memory: Vector, period: float, rate: Vector) -> None:
    """Write the rate at which a memory becomes an input, and that there was one."""
    for k in range(len(rate)):
        later = u[k] if k < len(u) else 1.0
        rate[k] = (later - memory[k]) / period
