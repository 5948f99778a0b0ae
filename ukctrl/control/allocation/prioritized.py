r"""Strict priorities: lower blocks of rows use only what higher ones leave."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, final

import numpy as np

from ukctrl import uk
from ukctrl.control.allocation.allocation import (
    Allocation,
    Allocator,
    own_stack,
    row_miss,
    row_unit,
)
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.allocation.metric import AnyMetric, InputMetric
from ukctrl.control.allocation.null_space import AnyNullSpace, bind
from ukctrl.control.allocation.order import Order, Ordered
from ukctrl.control.allocation.scale import input_freedoms, row_scale
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.answer_checks import raise_if_missed
from ukctrl.core.algebra.priorities import hierarchy_input
from ukctrl.core.arrays import Vector
from ukctrl.core.fields import Fraction, Positive, spec
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics


@spec
class Prioritized(Allocation):
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
    metric: AnyMetric = "effort"
    """Input metric ``R``, as of ``least_norm``."""
    null_space: AnyNullSpace | None = None
    """What the motors do where the last level leaves them free; absent: nothing."""

    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        return _Prioritized(self, task, rows)

    def levels(self, stack: Stack) -> tuple[tuple[str, ...], ...]:
        order = Ordered(self.order, stack)
        parts = np.split(order.rows, order.ends[:-1])
        return tuple(tuple(dict.fromkeys(stack.blocks[i] for i in part.tolist())) for part in parts)

    def exact(self) -> Allocation:
        return LeastNorm(metric=self.metric, null_space=self.null_space)


@final
class _Prioritized(Allocator):
    def __init__(self, spec: Prioritized, task: Task, rows: tuple[str, ...]) -> None:
        stack = own_stack(task, rows, "prioritized")
        self._names, self._unit = rows, row_unit(task, rows)
        self._levels = Ordered(spec.order, stack)
        self._null_space = bind(spec.null_space, task)
        self._metric = InputMetric(spec.metric, task)
        self._scale = row_scale(stack, self._metric, task)[self._levels.rows]
        self._rank, self._damping = task.rank, spec.damping
        count = len(self._levels.names)
        self._near = np.where(np.arange(count) > 0, spec.near, 0.0)
        self._sigma, self._bound = np.zeros(count), np.zeros(count)
        self._miss = np.zeros(len(stack))
        self._first = tuple(stack.names[i] for i in self._levels.rows[: self._levels.ends[0]])

    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        at, ends = self._levels.rows, self._levels.ends
        A, b = rows.A[at], demand[at]
        H = uk.servo_matrix(A, dynamics.G, self._rank)
        d = b - A @ dynamics.a_free
        u: Vector = self._null_space.preference(dynamics).copy()
        hierarchy_input(
            H,
            d,
            ends,
            self._scale,
            input_freedoms(self._metric, dynamics),
            self._near,
            self._damping,
            self._rank.servo,
            u,
            self._sigma,
            self._bound,
        )
        u = self._null_space.adjust(u, rows.A, self._metric.at(dynamics), dynamics)
        miss = H @ u - d
        self._miss[at] = miss
        n = ends[0]
        rank = uk.rank_report(H[:n], rtol=self._rank.servo).rank if not self._sigma[0] else n
        raise_if_missed(A[:n], b[:n], dynamics.a_free, miss[:n], int(rank), self._rank, self._first)
        return u

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
