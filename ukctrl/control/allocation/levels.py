"""Rows in levels, and an input that serves one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl import uk
from ukctrl.control.allocation.allocation import (
    Allocator,
    own_stack,
    row_miss,
    row_unit,
)
from ukctrl.control.allocation.least_norm import CLOSEST, InMetric
from ukctrl.control.allocation.metric import AnyMetric, InputMetric
from ukctrl.control.allocation.null_space import AnyNullSpace, bind
from ukctrl.control.allocation.row_order import Order, Ordered, row_scale
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.answer_checks import allowed_miss, raise_if_missed
from ukctrl.core.algebra.factorisation import copy_into, dot
from ukctrl.core.algebra.grip import drop_lost, lengths
from ukctrl.core.algebra.priorities import hierarchy_input
from ukctrl.core.algebra.products import times
from ukctrl.core.algebra.rank_policy import Threshold
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.extremes import max_abs
from ukctrl.core.fields import Fraction, Positive, spec
from ukctrl.core.program import Call, Step
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics


class InOrder(NamedTuple):
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
def by_levels(
    A: Matrix,
    demand: Vector,
    a_free: Vector,
    G: Matrix,
    L: Matrix,
    B: Matrix,
    order: Indices,
    ends: NDArray[np.int64],
    scale: Vector,
    S: Matrix,
    near: Vector,
    damping: float,
    rtol: float,
    u0: Vector,
    asked: InOrder,
    u: Vector,
    sigma: Vector,
    bound: Vector,
) -> None:
    """Put rows in their order, and write the input of `hierarchy_input` for them."""
    for i in range(len(order)):
        asked.demand[i] = asked.d[i] = demand[order[i]]
        for c in range(len(a_free)):
            asked.A[i, c] = A[order[i], c]
            asked.d[i] -= asked.A[i, c] * a_free[c]
    copy_into(times(asked.A, G), asked.H)
    drop_lost(asked.H, lengths(L, asked.A, B), rtol)
    copy_into(u0, u)
    hierarchy_input(asked.H, asked.d, ends, scale, S, near, damping, rtol, u, sigma, bound)


@compiled
def misses(
    asked: InOrder,
    a_free: Vector,
    order: Indices,
    u: Vector,
    strict: int,
    reach: float,
    miss: Vector,
) -> bool:
    """Write what an input leaves of all rows; return whether the first ``strict`` are met."""
    met = True
    for i in range(len(order)):
        left = dot(asked.H[i], u) - asked.d[i]
        miss[order[i]] = left
        if i < strict:  # NaN is over too
            met = met and abs(left) <= allowed_miss(asked.A[i], asked.demand[i], a_free, reach)
    return met


class LevelAllocator(Allocator):
    """Serves level after level, and damps those that lose their grip.

    Args:
        spec: The allocation.
        task: The task.
        stack: Its rows.
        levels: Their levels.
        near: Singular value at which each level is damped; zero: not at all.
    """

    _strict = 0
    """How many rows must be met, or the run stops."""

    def __init__(
        self, spec: Damped | Prioritized, task: Task, stack: Stack, levels: Ordered, near: Vector
    ) -> None:
        self._names, self._unit = stack.names, row_unit(task, stack.names)
        self._levels, self._near = levels, near
        self._null_space = bind(spec.null_space, task)
        self._metric = InputMetric(spec.metric, task)
        self._scale = row_scale(stack, self._metric, task)[levels.rows]
        self._rank, self._damping = task.rank, spec.damping
        self._sigma, self._bound = np.zeros(len(near)), np.zeros(len(near))
        self._miss = np.zeros(len(stack))

    def steps(self, rows: Rows, demand: Vector, dynamics: Dynamics, u: Vector) -> Iterator[Step]:
        u0, steps = self._null_space.steps(dynamics)
        yield from steps
        S, steps = self._metric.freedom_steps(dynamics)
        yield from steps
        n, d, m = dynamics.robot.nv, dynamics, len(demand)
        asked = InOrder(np.zeros((m, n)), np.zeros(m), np.zeros((m, len(u))), np.zeros(m))
        servo = rows.A, demand, d.a_free, d.G, d.L, d.snapshot.B, self._levels.rows
        numbers = float(self._damping), float(self._rank.servo)
        order = self._levels.ends, self._scale, S, self._near, *numbers
        yield Call(by_levels, *servo, *order, u0, asked, u, self._sigma, self._bound)
        R, _ = self._metric.steps(dynamics)
        yield from self._null_space.adjust(u, rows.A, R, dynamics)
        first, reach = self._strict, float(self._rank.reach)
        given = asked, d.a_free, self._levels.rows, u, first, reach, self._miss

        def missed(code: int) -> None:
            self._refuse(asked, dynamics.a_free)

        yield Call(misses, *given, fault=missed)

    def _refuse(self, asked: InOrder, a_free: Vector) -> None:
        """Raise `InfeasibleConstraint`: rows of the first level are missed."""
        n = self._strict
        at = self._levels.rows[:n]
        H = np.ascontiguousarray(asked.H[:n])
        rank = uk.rank_report(H, rtol=self._rank.servo).rank if not self._sigma[0] else n
        raise_if_missed(
            asked.A[:n],
            asked.demand[:n],
            a_free,
            self._miss[at],
            int(rank),
            self._rank,
            tuple(self._names[i] for i in at),
            closest=CLOSEST,
        )


@spec
class Damped(InMetric):
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
        return _Damped(self, task, rows)


@final
class _Damped(LevelAllocator):
    def __init__(self, spec: Damped, task: Task, rows: tuple[str, ...]) -> None:
        stack = own_stack(task, rows, "damped")
        together = Ordered((tuple(dict.fromkeys(stack.blocks)),), stack)
        super().__init__(spec, task, stack, together, np.array([spec.near]))

    def signals(self) -> Mapping[str, Signal]:
        """Return the smallest singular value, how much it lets the rows be missed, and the miss."""
        bound = float(self._bound[0] * max_abs(self._scale))
        words = "smallest singular value"
        return {
            "sigma": Signal(float(self._sigma[0]), "1", words),
            "miss_bound": Signal(bound, self._unit, "bound of the miss"),
            "row_miss": row_miss(self._miss, self._names, self._unit),
        }


@spec
class Prioritized(InMetric):
    r"""Blocks of rows in strict order: each comes as close as it can without disturbing the last.

    The input is built level by level, $u_k = u_{k-1} + S_{k-1} (H_k S_{k-1})^{\oplus} (d_k - H_k
    u_{k-1})$, with columns $S_k$ that span what levels 1 to $k$ leave free: the recursion of
    `ukctrl.mechanics.motion.Hierarchy`, with the input for the acceleration and the metric for the
    mass. The first level holds exactly, or the run stops as infeasible. Where levels do not
    conflict the input is that of `LeastNorm`.

    A lower level that is about to lose its freedom to the higher ones asks for ever larger inputs;
    it is damped there, as `Damped` is, and disturbs no other level by that.

    References:
        Siciliano & Slotine, ICAR 1991; Chiaverini 1997; Orsino 2017.
    """

    kind: Literal["prioritized"] = "prioritized"
    order: Order | None = None
    """Blocks of servo rows, highest priority first; a list inside it is one level of several.
    Absent: as the task lists them."""
    near: Fraction = 0.01
    """Singular value at which levels below the first are damped; of a row at the start, 1."""
    damping: Positive = 1.0
    """Damping where such a level has lost all freedom in a direction, as a fraction of ``near``."""
    null_space: AnyNullSpace | None = None
    """What the motors do where the last level leaves them free; absent: nothing."""

    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        return _Prioritized(self, task, rows)

    def levels(self, stack: Stack) -> tuple[tuple[str, ...], ...]:
        order = Ordered(self.order, stack)
        parts = np.split(order.rows, order.ends[:-1])
        return tuple(tuple(dict.fromkeys(stack.blocks[i] for i in part.tolist())) for part in parts)


@final
class _Prioritized(LevelAllocator):
    def __init__(self, spec: Prioritized, task: Task, rows: tuple[str, ...]) -> None:
        stack = own_stack(task, rows, "prioritized")
        levels = Ordered(spec.order, stack)
        near = np.where(np.arange(len(levels.names)) > 0, spec.near, 0.0)
        super().__init__(spec, task, stack, levels, near)
        self._strict = int(levels.ends[0])

    def signals(self) -> Mapping[str, Signal]:
        """Return by how much rows and levels are missed."""
        at, ends = self._levels.rows, self._levels.ends
        parts = np.split(self._miss[at], ends[:-1])
        missed = np.array([np.linalg.norm(part) for part in parts])
        names = self._levels.names
        words = "smallest singular value left"
        return {
            "row_miss": row_miss(self._miss, self._names, self._unit),
            "level_miss": Signal(missed, self._unit, "missed by the level", names),
            "level_sigma": Signal(self._sigma.copy(), "1", words, names),
        }
