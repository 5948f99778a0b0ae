"""Rows in levels: their order, their lengths, and an input that serves one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl import uk
from ukctrl.control.allocation.allocation import (
    Allocation,
    Allocator,
    own_stack,
    row_miss,
    row_unit,
)
from ukctrl.control.allocation.least_norm import CLOSEST, LeastNorm
from ukctrl.control.allocation.metric import AnyMetric, InputMetric
from ukctrl.control.allocation.null_space import AnyNullSpace, bind
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.answer_checks import raise_if_missed
from ukctrl.core.algebra.priorities import hierarchy_input, row_lengths
from ukctrl.core.algebra.rank_policy import Threshold
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import GainError, unknown_name
from ukctrl.core.extremes import max_abs
from ukctrl.core.fields import Fraction, Listed, Positive, Text, spec
from ukctrl.mechanics.constraints import Rows, Stack
from ukctrl.mechanics.dynamics import Dynamics

Order = Annotated[tuple[Text | tuple[Text, ...], ...], Listed()]
"""Blocks of servo rows, highest priority first; a list inside it is one level of several."""


@final
class Ordered:
    """The servo rows of a task, level by level; without an order, block by block.

    Raises:
        GainError: A block has no place in the order, or two.
        UnknownName: The task has no such block.
    """

    def __init__(self, order: Order | None, stack: Stack) -> None:
        known = tuple(dict.fromkeys(stack.blocks))
        given = known if order is None else order
        levels = [(entry,) if isinstance(entry, str) else entry for entry in given]
        if () in levels:
            raise GainError("order must not have empty levels; remove the empty list.")
        named = [block for level in levels for block in level]
        for block in named:
            if block not in known:
                raise unknown_name("block of servo rows (in order)", block, known)
            if named.count(block) > 1:
                raise GainError(f"order must name every block once; '{block}' comes twice.")
        missing = [block for block in known if block not in named]
        if missing:
            raise GainError(f"order must name every block; '{missing[0]}' is missing.")
        blocks = np.array(stack.blocks)
        parts = [np.flatnonzero(np.isin(blocks, level)) for level in levels]
        self.names: tuple[str, ...] = tuple("+".join(level) for level in levels)
        """Name of every level."""
        self.rows: NDArray[np.intp] = np.concatenate(parts)
        """The rows, highest priority first."""
        self.ends: NDArray[np.int64] = np.cumsum([len(part) for part in parts])
        """One past the last row of every level."""


def row_scale(stack: Stack, metric: InputMetric, task: Task) -> Vector:
    """Return the length of every servo row at the start of the task, shape ``(m,)``.

    The length is that of ``H_i`` in the input metric, of the longest row of the same block and
    unit: a singular pose shortens rows, and one that starts there must not hide it. So a singular
    value of rows divided by it does not depend on units, nor on how strong the motors are.
    """
    dynamics = Dynamics(task.robot, task.rank, task.gains)
    dynamics.move(task.start, task.q, task.v)
    H = dynamics.servo_matrix(stack.write(dynamics.snapshot).A)
    lengths = np.empty(len(stack))
    row_lengths(H, metric.freedoms(dynamics), lengths)
    groups = list(zip(stack.blocks, stack.units, strict=True))
    longest = dict.fromkeys(groups, 0.0)
    for group, length in zip(groups, lengths.tolist(), strict=True):
        longest[group] = max(longest[group], length)
    scale = np.array([longest[group] for group in groups])
    scale[scale == 0.0] = max_abs(scale) or 1.0
    return scale


class Served(NamedTuple):
    """What an input does to the rows, level by level."""

    u: Vector
    """Input, shape ``(nu,)``."""
    H: Matrix
    """Rows per unit input, highest priority first, shape ``(m, nu)``."""
    miss: Vector
    """``H u - d``, shape ``(m,)``."""


class LevelAllocator(Allocator):
    """Serves level after level, and damps those that lose their grip.

    Args:
        spec: The allocation.
        task: The task.
        stack: Its rows.
        levels: Their levels.
        near: Singular value at which each level is damped; zero: not at all.
    """

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

    def _serve(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Served:
        at = self._levels.rows
        A = rows.A[at]
        H = dynamics.servo_matrix(A)
        d = demand[at] - A @ dynamics.a_free
        u: Vector = self._null_space.preference(dynamics).copy()
        hierarchy_input(
            H,
            d,
            self._levels.ends,
            self._scale,
            self._metric.freedoms(dynamics),
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
        return Served(u, H, miss)


@spec
class Damped(Allocation):
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
    null_space: AnyNullSpace | None = None
    """What the motors do where the task leaves them free; absent: nothing."""

    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        return _Damped(self, task, rows)

    def exact(self) -> Allocation:
        return LeastNorm(metric=self.metric, null_space=self.null_space)


@final
class _Damped(LevelAllocator):
    def __init__(self, spec: Damped, task: Task, rows: tuple[str, ...]) -> None:
        stack = own_stack(task, rows, "damped")
        together = Ordered((tuple(dict.fromkeys(stack.blocks)),), stack)
        super().__init__(spec, task, stack, together, np.array([spec.near]))

    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        return self._serve(rows, demand, dynamics).u

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
class _Prioritized(LevelAllocator):
    def __init__(self, spec: Prioritized, task: Task, rows: tuple[str, ...]) -> None:
        stack = own_stack(task, rows, "prioritized")
        levels = Ordered(spec.order, stack)
        near = np.where(np.arange(len(levels.names)) > 0, spec.near, 0.0)
        super().__init__(spec, task, stack, levels, near)
        self._first = tuple(stack.names[i] for i in levels.rows[: levels.ends[0]])

    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        u, H, miss = self._serve(rows, demand, dynamics)
        n = self._levels.ends[0]
        at = self._levels.rows[:n]
        rank = uk.rank_report(H[:n], rtol=self._rank.servo).rank if not self._sigma[0] else n
        raise_if_missed(
            rows.A[at],
            demand[at],
            dynamics.a_free,
            miss[:n],
            int(rank),
            self._rank,
            self._first,
            closest=CLOSEST,
        )
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
