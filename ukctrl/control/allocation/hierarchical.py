"""Rows in levels, and an input that serves one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, final

import numpy as np

from ukctrl import uk
from ukctrl.control.allocation.allocation import (
    Allocator,
    require_task_rows,
    row_acceleration_unit,
    row_residual,
)
from ukctrl.control.allocation.input_metric import AnyMetric, InputMetric
from ukctrl.control.allocation.least_norm import LEAST_SQUARES_ADVICE, MetricAllocation
from ukctrl.control.allocation.null_space import AnyNullSpace, bind_null_space
from ukctrl.control.allocation.priority_levels import PriorityLevels, PriorityOrder, row_scale
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.dynamics_kernels import AccelerationMap
from ukctrl.core.algebra.factorisation import copy_into, dot
from ukctrl.core.algebra.input_authority import authority_scales, zero_uncontrolled_rows
from ukctrl.core.algebra.rank_policy import Threshold
from ukctrl.core.algebra.solution_checks import raise_if_infeasible, residual_tolerance
from ukctrl.core.algebra.sparse_products import matmul
from ukctrl.core.algebra.task_hierarchy import LevelReport, LevelTable, hierarchical_input
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.fields import Fraction, Positive, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.core.tie_breaking import max_abs
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics


class OrderedRows(NamedTuple):
    """The rows, highest priority first."""

    A: Matrix
    """Shape ``(m, nv)``."""
    demand: Vector
    """Shape ``(m,)``."""
    H: Matrix
    """Rows per unit input, zero where the grip is lost, shape ``(m, nu)``."""
    d: Vector
    """What inputs shall give of the demand, shape ``(m,)``."""


@allocating
def ordered_hierarchical_input(
    A: Matrix,
    demand: Vector,
    answer: AccelerationMap,
    B: Matrix,
    order: Indices,
    levels: LevelTable,
    S: Matrix,
    u0: Vector,
    ordered_rows: OrderedRows,
    u: Vector,
    report: LevelReport,
) -> None:
    """Put rows in their order, and write the input of `hierarchical_input` for them."""
    a_free = answer.a_free
    for i in range(len(order)):
        ordered_rows.demand[i] = ordered_rows.d[i] = demand[order[i]]
        for c in range(len(a_free)):
            ordered_rows.A[i, c] = A[order[i], c]
            ordered_rows.d[i] -= ordered_rows.A[i, c] * a_free[c]
    copy_into(matmul(ordered_rows.A, answer.G), ordered_rows.H)
    # now, before rows are measured by each other: rounding is no direction
    scales = authority_scales(answer.L, ordered_rows.A, B)
    zero_uncontrolled_rows(ordered_rows.H, scales, levels.rtol)
    copy_into(u0, u)
    hierarchical_input(ordered_rows.H, ordered_rows.d, levels, S, u, report)


@compiled
def write_row_residuals(
    ordered_rows: OrderedRows,
    a_free: Vector,
    order: Indices,
    u: Vector,
    strict: int,
    reach: float,
    miss: Vector,
) -> bool:
    """Write what an input leaves of all rows; return whether the first ``strict`` are met."""
    is_feasible = True
    for i in range(len(order)):
        residual = dot(ordered_rows.H[i], u) - ordered_rows.d[i]
        miss[order[i]] = residual
        if i < strict:
            # one comparison refuses what is over and NaN alike
            is_feasible = is_feasible and abs(residual) <= residual_tolerance(
                ordered_rows.A, ordered_rows.demand, i, a_free, reach
            )
    return is_feasible


class HierarchicalAllocator(Allocator):
    """Serves level after level, and damps those that lose their grip.

    Args:
        spec: The allocation.
        task: The task.
        stack: Its rows.
        levels: Their levels.
        near: Singular value at which each level is damped; zero: not at all.
    """

    _n_strict = 0
    """How many rows must be met, or the run stops."""

    def __init__(
        self,
        spec: Damped | Prioritized,
        task: Task,
        stack: Stack,
        levels: PriorityLevels,
        near: Vector,
    ) -> None:
        self._names, self._unit = stack.names, row_acceleration_unit(task, stack.names)
        self._levels, self._damping_threshold = levels, near
        self._null_space = bind_null_space(spec.null_space, task)
        self._metric = InputMetric(spec.metric, task)
        self._scale = row_scale(stack, self._metric, task)[levels.rows]
        self._rank, self._damping = task.rank, spec.damping
        self._sigma, self._bound = np.zeros(len(near)), np.zeros(len(near))
        self._residual = np.zeros(len(stack))

    def steps(
        self, rows: Rows, demand: Vector, dynamics: Dynamics, u: Vector
    ) -> Iterator[KernelStep]:
        u0, steps = self._null_space.steps(dynamics)
        yield from steps
        S, steps = self._metric.root_inverse_steps(dynamics)
        yield from steps
        n, d, m = dynamics.robot.nv, dynamics, len(demand)
        ordered_rows = OrderedRows(
            np.zeros((m, n)), np.zeros(m), np.zeros((m, len(u))), np.zeros(m)
        )
        answer = AccelerationMap(d.L, d.a_free, d.G, d.motors)
        servo = rows.A, demand, answer, d.snapshot.B, self._levels.rows
        levels = LevelTable(
            ends=self._levels.ends,
            scale=self._scale,
            near=self._damping_threshold,
            damping=float(self._damping),
            rtol=float(self._rank.servo),
        )
        report = LevelReport(self._sigma, self._bound)
        yield BoundKernel(
            ordered_hierarchical_input, *servo, levels, S, u0, ordered_rows, u, report
        )
        R, _ = self._metric.steps(dynamics)
        yield from self._null_space.adjustment_steps(u, rows.A, R, dynamics)
        first, reach = self._n_strict, float(self._rank.reach)
        args = ordered_rows, d.a_free, self._levels.rows, u, first, reach, self._residual

        def missed(code: int) -> None:
            self._raise_infeasible(ordered_rows, dynamics.a_free)

        yield BoundKernel(write_row_residuals, *args, fault=missed)

    def _raise_infeasible(self, ordered_rows: OrderedRows, a_free: Vector) -> None:
        """Raise `InfeasibleConstraint`: rows of the first level are missed."""
        n = self._n_strict
        at = self._levels.rows[:n]
        H = np.ascontiguousarray(ordered_rows.H[:n])
        # sigma is zero where rows depend on each other; only then the rank is open
        rank = uk.rank_report(H, rtol=self._rank.servo).rank if not self._sigma[0] else n
        raise_if_infeasible(
            ordered_rows.A[:n],
            ordered_rows.demand[:n],
            a_free,
            self._residual[at],
            int(rank),
            self._rank,
            tuple(self._names[i] for i in at),
            closest=LEAST_SQUARES_ADVICE,
        )


@spec
class Damped(MetricAllocation):
    r"""The least-norm input, damped in the directions in which the rows lose their grip.

    With the singular values $\sigma_i$ of $D^{-1} H R^{-1/2}$, where $D$ holds the lengths of the
    rows at the start of the task,

    $$ u = u_0 + R^{-1/2} \sum_i \frac{\sigma_i}{\sigma_i^2 + \lambda^2(\sigma_i)}\, q_i p_i^\top
       D^{-1} (d - H u_0), \qquad
       \lambda(\sigma) = \delta \epsilon (1 - \sigma^2 / \epsilon^2)
       \ \text{for}\ \sigma < \epsilon, \ \text{else}\ 0 . $$

    Away from singularities this is `LeastNorm`. Near one, the rows are missed by at most

    $$ \lVert D^{-1} (H u - d) \rVert \le
       \frac{\lambda^2(\sigma_{\min})}{\sigma_{\min}^2 + \lambda^2(\sigma_{\min})}
       \lVert D^{-1} (d - H u_0) \rVert , $$

    recorded as ``miss_bound`` beside the true ``row_miss``.

    References:
        Nakamura & Hanafusa 1986; Maciejewski & Klein 1988.
    """

    kind: Literal["damped"] = "damped"
    near: Threshold = 0.02
    r"""Singular value $\epsilon$ at which damping begins; of a row at the start of the task, 1."""
    damping: Positive = 1.0
    r"""Damping $\delta$ at the singularity, as a fraction of ``near``. More of it misses more of
    the rows; less lets inputs grow more."""
    metric: AnyMetric = "effort"
    r"""Input metric ``R``, as of ``least_norm``. It decides what is near a singularity: with one
    motor a freedom, ``resolved_acceleration`` makes the singular values those of the geometry,
    $D^{-1} A$; in ``effort`` light wrists beside heavy shoulders spread them over decades."""

    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        return _DampedAllocator(self, task, rows)


@final
class _DampedAllocator(HierarchicalAllocator):
    def __init__(self, spec: Damped, task: Task, rows: tuple[str, ...]) -> None:
        stack = require_task_rows(task, rows, "damped")
        # damped is one level of all rows
        together = PriorityLevels((tuple(dict.fromkeys(stack.blocks)),), stack)
        super().__init__(spec, task, stack, together, np.array([spec.near]))

    def signals(self) -> Mapping[str, Signal]:
        """Return the smallest singular value, how much it lets the rows be missed, and the miss."""
        bound = float(self._bound[0] * max_abs(self._scale))
        words = "smallest singular value"
        return {
            "sigma": Signal(float(self._sigma[0]), "1", words),
            "miss_bound": Signal(bound, self._unit, "bound of the miss"),
            "row_miss": row_residual(self._residual, self._names, self._unit),
        }


@spec
class Prioritized(MetricAllocation):
    r"""Blocks of rows in strict order: each comes as close as it can without disturbing the last.

    The input is built level by level, $u_k = u_{k-1} + S_{k-1} (H_k S_{k-1})^{\oplus} (d_k - H_k
    u_{k-1})$, with columns $S_k$ that span what levels 1 to $k$ leave free: the recursion of
    `ukctrl.motion.Hierarchy`, with the input for the acceleration and the metric for the
    mass. The first level holds exactly, or the run stops as infeasible. Where levels do not
    conflict the input is that of `LeastNorm`.

    A lower level that is about to lose its freedom to the higher ones asks for ever larger inputs;
    it is damped there, as `Damped` is, and disturbs no other level by that.

    References:
        Siciliano & Slotine, ICAR 1991; Chiaverini 1997; Orsino 2017.
    """

    kind: Literal["prioritized"] = "prioritized"
    order: PriorityOrder | None = None
    """Blocks of servo rows, highest priority first; a list inside it is one level of several.
    Absent: as the task lists them."""
    near: Fraction = 0.01
    """Singular value at which levels below the first are damped; of a row at the start, 1."""
    damping: Positive = 1.0
    """Damping where such a level has lost all freedom in a direction, as a fraction of ``near``."""
    null_space: AnyNullSpace | None = None
    """What the motors do where the last level leaves them free; absent: nothing."""

    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        return _PrioritizedAllocator(self, task, rows)

    def levels(self, stack: Stack) -> tuple[tuple[str, ...], ...]:
        order = PriorityLevels(self.order, stack)
        levels = np.split(order.rows, order.ends[:-1])
        return tuple(
            tuple(dict.fromkeys(stack.blocks[i] for i in level.tolist())) for level in levels
        )


@final
class _PrioritizedAllocator(HierarchicalAllocator):
    def __init__(self, spec: Prioritized, task: Task, rows: tuple[str, ...]) -> None:
        stack = require_task_rows(task, rows, "prioritized")
        levels = PriorityLevels(spec.order, stack)
        # the first level is never damped: it is met, or refused
        near = np.where(np.arange(len(levels.names)) > 0, spec.near, 0.0)
        super().__init__(spec, task, stack, levels, near)
        self._n_strict = int(levels.ends[0])

    def signals(self) -> Mapping[str, Signal]:
        """Return by how much rows and levels are missed."""
        at, ends = self._levels.rows, self._levels.ends
        residuals = np.split(self._residual[at], ends[:-1])
        missed = np.array([np.linalg.norm(residual) for residual in residuals])
        names = self._levels.names
        words = "smallest singular value left"
        return {
            "row_miss": row_residual(self._residual, self._names, self._unit),
            "level_miss": Signal(missed, self._unit, "missed by the level", names),
            "level_sigma": Signal(self._sigma.copy(), "1", words, names),
        }
