r"""Damped least squares: an input that stays bounded where the rows lose their grip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal, final

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
from ukctrl.control.allocation.scale import input_freedoms, row_scale
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.priorities import hierarchy_input
from ukctrl.core.arrays import Vector
from ukctrl.core.fields import Positive, Quantity, spec
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics

Near = Annotated[float, Quantity("1", minimum=0.0, open_minimum=True, maximum=1.0)]
"""Fraction above zero, up to 1."""


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
    near: Near = 0.02
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
class _Damped(Allocator):
    def __init__(self, spec: Damped, task: Task, rows: tuple[str, ...]) -> None:
        stack = own_stack(task, rows, "damped")
        self._names, self._unit = rows, row_unit(task, rows)
        m = len(stack)
        self._null_space = bind(spec.null_space, task)
        self._metric = InputMetric(spec.metric, task)
        self._scale = row_scale(stack, self._metric, task)
        self._rank, self._damping = task.rank, spec.damping
        self._ends, self._near = np.array([m]), np.array([spec.near])
        self._sigma, self._bound, self._miss = np.zeros(1), np.zeros(1), np.zeros(m)

    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        H = uk.servo_matrix(rows.A, dynamics.G, self._rank)
        d = demand - rows.A @ dynamics.a_free
        u: Vector = self._null_space.preference(dynamics).copy()
        hierarchy_input(
            H,
            d,
            self._ends,
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
        self._miss = H @ u - d
        return u

    def signals(self) -> Mapping[str, Signal]:
        """Return the smallest singular value, how much it lets the rows be missed, and the miss."""
        bound = float(self._bound[0] * self._scale.max(initial=0.0))
        words = "smallest singular value"
        return {
            "sigma": Signal(float(self._sigma[0]), "1", words),
            "miss_bound": Signal(bound, self._unit, "bound of the miss"),
            "row_miss": row_miss(self._miss, self._names, self._unit),
        }
