r"""Chen's input, which lies in the row space of $A M^{-1} B$."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, final

import numpy as np

from ukctrl import uk
from ukctrl.control.allocation.allocation import Allocation, Allocator
from ukctrl.control.allocation.least_norm import CLOSEST
from ukctrl.control.allocation.null_space import AnyNullSpace, bind
from ukctrl.control.task import Task
from ukctrl.core.algebra import kernels, least_input
from ukctrl.core.algebra.answer_checks import all_met, raise_if_missed
from ukctrl.core.algebra.factorisation import copy_into, dot
from ukctrl.core.algebra.grip import drop_lost, lengths
from ukctrl.core.algebra.products import column_lengths, times
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating
from ukctrl.core.fields import spec
from ukctrl.core.program import Call, Step
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

    def steps(self, rows: Rows, demand: Vector, dynamics: Dynamics, u: Vector) -> Iterator[Step]:
        u0, steps = self._null_space.steps(dynamics)
        yield from steps
        d, m, nu = dynamics, len(demand), len(u)
        room = Room(
            np.zeros((nu, m)), np.zeros((m, nu)), np.zeros(m), np.zeros(len(d.a_free)),
            np.zeros(m), np.zeros(m),
        )  # fmt: skip
        N, H, missing, a, mu, miss = room
        limits = float(self._rank.servo), float(self._rank.reach)

        def care(code: int) -> None:
            rank = least_input.LOST - code
            if code == least_input.UNSURE:
                each = np.linalg.norm(N, axis=0)
                given = H, missing, np.zeros(nu), N, np.eye(nu), each, uk.NO_METRIC, np.zeros(m)
                rank = least_input.servo_input(least_input.Demand(*given, limits[0]), mu, miss)
                u[:] = u0 + N @ mu
            if rank < m:
                lost = OTHERWISE if uk.rank_report(H).rank > rank else None
                missed = rows.A, demand, a, miss, rank, self._rank, self._names
                raise_if_missed(*missed, advice=lost, closest=CLOSEST)

        reacts = len(d.passive) > 0
        robot = d.a_free, d.G, d.L, d.snapshot.B, reacts
        yield Call(in_row_space, rows.A, demand, *robot, u0, *limits, room, u, fault=care)
        yield from self._null_space.adjust(u, rows.A, uk.NO_METRIC, dynamics)


class Room(NamedTuple):
    """What `in_row_space` writes on its way, for ``m`` rows and ``nu`` inputs."""

    N: Matrix
    """Shape ``(nu, m)``."""
    H: Matrix
    """Shape ``(m, nu)``."""
    missing: Vector
    """What ``u0`` leaves of the demand, shape ``(m,)``."""
    a: Vector
    """Acceleration under ``u0``, shape ``(nv,)``."""
    mu: Vector
    """Shape ``(m,)``."""
    miss: Vector
    """``H N mu`` without what is missing, shape ``(m,)``."""


@allocating
def in_row_space(
    A: Matrix,
    demand: Vector,
    a_free: Vector,
    G: Matrix,
    L: Matrix,
    B: Matrix,
    reacts: bool,
    u0: Vector,
    rtol: float,
    reach: float,
    room: Room,
    u: Vector,
) -> int:
    """Write the input of `Chen`; return its rank, `UNSURE`, or `LOST` minus the rank.

    `LOST` and less says that rows are missed. ``reacts`` says whether there are passive rows.
    """
    N, H, missing, a, mu, miss = room
    m, nu = H.shape
    length, answer = lengths(L, A, B), np.empty(G.shape)
    if reacts:
        kernels.free_response(L, B, answer)
    else:
        copy_into(G, answer)
    own, pushed = times(A, answer), times(A, G)
    drop_lost(own, length, rtol)
    drop_lost(pushed, length, rtol)
    kernels.acceleration(a_free, G, u0, a)
    for i in range(m):
        missing[i] = demand[i] - dot(A[i], a)
        for k in range(nu):
            N[k, i], H[i, k] = own[i, k], pushed[i, k]
    each = np.empty(m)
    column_lengths(N, each)
    given = H, missing, np.zeros(nu), N, np.eye(nu), each, np.zeros((0, 0)), np.zeros(m)
    rank = least_input.quick_input(least_input.Demand(*given, rtol), mu, miss)
    for k in range(nu):
        u[k] = u0[k] + dot(N[k], mu)
    if 0 <= rank < m and not all_met(A, demand, a, miss, reach):
        return least_input.LOST - rank
    return rank
