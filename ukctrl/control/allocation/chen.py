r"""Chen's input on a closed chain: in the row space of $A M^{-1} B$."""

from __future__ import annotations

from typing import Literal, final

import numpy as np

from ukctrl import uk
from ukctrl.control.allocation.allocation import Allocation, Allocator
from ukctrl.control.allocation.least_norm import free_response
from ukctrl.control.allocation.null_space import AnyNullSpace, bind
from ukctrl.control.task import Task
from ukctrl.core.algebra import kernels
from ukctrl.core.algebra.answer_checks import raise_if_missed
from ukctrl.core.arrays import Vector
from ukctrl.core.fields import spec
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics

OTHERWISE = (
    "The motors do reach them, but not within the row space of A M^-1 B, where this allocation "
    'looks; use allocation.kind = "least_norm".'
)
"""What to do where only the restriction stands in the way."""


@spec
class Chen(Allocation):
    r"""The input in the row space of $C \bar B = A M^{-1} B$ that meets the rows exactly.

    Chen's $u = (C \bar B)^+ \bar b$ lies in that row space. On an open chain it is the input of
    least norm. On a closed chain the reaction moves with the input, so that $\bar b$ contains
    $u$, and the equation is solved for the multiplier:

    $$ u = u_0 + N \mu, \qquad N = (A M^{-1} B)^\top, \qquad H N \mu = d - H u_0 . $$

    The rows and the closure hold exactly; the norm is not the least. It is also the limit that
    the formula reaches when it is fed, again and again, the reaction of its own last input.

    References:
        Chen, J. Vib. Control 15(3), 2009; Liu et al. 2015, eqs (35), (71) and Figures 9-14.
    """

    kind: Literal["chen"] = "chen"
    null_space: AnyNullSpace | None = None
    """What the motors do where the task leaves them free; absent: nothing."""

    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        return _Chen(self, task, rows)


@final
class _Chen(Allocator):
    def __init__(self, spec: Chen, task: Task, rows: tuple[str, ...]) -> None:
        self._null_space = bind(spec.null_space, task)
        self._rank, self._names = task.rank, rows
        self._mu, self._miss = np.empty(len(rows)), np.empty(len(rows))
        self._still, self._each = np.zeros(len(rows)), np.eye(len(rows))

    def input(self, rows: Rows, demand: Vector, dynamics: Dynamics) -> Vector:
        N = (rows.A @ free_response(dynamics)).T
        u0 = self._null_space.preference(dynamics)
        a_free = dynamics.acceleration(u0)
        H = uk.servo_matrix(rows.A, dynamics.G, self._rank)
        grip = H @ N
        could = np.linalg.norm(H, axis=1) * np.linalg.norm(N)
        grip[np.linalg.norm(grip, axis=1) <= self._rank.servo * could] = 0.0  # rounding, not grip
        d = demand - rows.A @ a_free
        mu, miss, still = self._mu, self._miss, self._still
        rank_or_failure = kernels.servo_input(
            grip, d, still, self._each, uk.NO_METRIC, still, self._rank.servo, mu, miss
        )
        if rank_or_failure < len(demand):
            raise_if_missed(
                rows.A,
                demand,
                a_free,
                miss,
                rank_or_failure,
                self._rank,
                self._names,
                advice=OTHERWISE if uk.rank_report(H).rank > rank_or_failure else None,
            )
        u: Vector = u0 + N @ mu
        return self._null_space.adjust(u, rows.A, uk.NO_METRIC, dynamics)
