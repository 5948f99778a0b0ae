r"""Chen's input, which lies in the row space of $A M^{-1} B$."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, final

import numpy as np

from ukctrl import uk
from ukctrl.control.allocation.allocation import Allocation, Allocator
from ukctrl.control.allocation.least_norm import LEAST_SQUARES_ADVICE
from ukctrl.control.allocation.null_space import AnyNullSpace, bind_null_space
from ukctrl.control.task import Task
from ukctrl.core.algebra import dynamics_kernels, least_norm_input
from ukctrl.core.algebra.factorisation import copy_into, dot
from ukctrl.core.algebra.input_authority import authority_scales, zero_uncontrolled_rows
from ukctrl.core.algebra.solution_checks import all_within_tolerance, raise_if_infeasible
from ukctrl.core.algebra.sparse_products import column_norms, matmul
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating
from ukctrl.core.fields import spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics

RESTRICTION_ADVICE = (
    "The motors do reach them, but not within the row space of A M^-1 B, where this allocation "
    'looks; use controller.allocation.kind = "least_norm".'
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
        return _ChenAllocator(self, task, rows)


@final
class _ChenAllocator(Allocator):
    def __init__(self, spec: Chen, task: Task, rows: tuple[str, ...]) -> None:
        self._null_space = bind_null_space(spec.null_space, task)
        self._rank, self._names = task.rank, rows

    def steps(
        self, rows: Rows, demand: Vector, dynamics: Dynamics, u: Vector
    ) -> Iterator[KernelStep]:
        u0, steps = self._null_space.steps(dynamics)
        yield from steps
        d, m, nu = dynamics, len(demand), len(u)
        buffers = ChenBuffers(
            np.zeros((nu, m)), np.zeros((m, nu)), np.zeros(m), np.zeros(len(d.a_free)),
            np.zeros(m), np.zeros(m),
        )  # fmt: skip
        N, H, missing, a, mu, miss = buffers
        limits = float(self._rank.servo), float(self._rank.reach)

        def care(code: int) -> None:
            rank = least_norm_input.LOST_AUTHORITY - code
            # the fast factor is not certain of the rank: solved again in scaled units
            if code == least_norm_input.UNDECIDED:
                norms = np.linalg.norm(N, axis=0)
                args = H, missing, np.zeros(nu), N, np.eye(nu), norms, uk.NO_METRIC, np.zeros(m)
                rank = least_norm_input.servo_input(
                    least_norm_input.ServoProblem(*args, limits[0]), mu, miss
                )
                u[:] = u0 + N @ mu
            # the restriction is to blame only if the rows themselves are within the motors' reach
            if rank < m:
                lost = RESTRICTION_ADVICE if uk.rank_report(H).rank > rank else None
                missed = rows.A, demand, a, miss, rank, self._rank, self._names
                raise_if_infeasible(*missed, advice=lost, closest=LEAST_SQUARES_ADVICE)

        reacts = len(d.passive) > 0
        robot = d.a_free, d.G, d.L, d.snapshot.B, reacts
        yield BoundKernel(
            row_space_input, rows.A, demand, *robot, u0, *limits, buffers, u, fault=care
        )
        yield from self._null_space.adjustment_steps(u, rows.A, uk.NO_METRIC, dynamics)


class ChenBuffers(NamedTuple):
    """What `row_space_input` writes on its way, for ``m`` rows and ``nu`` inputs."""

    N: Matrix
    """Shape ``(nu, m)``."""
    H: Matrix
    """Shape ``(m, nu)``."""
    demand_residual: Vector
    """What ``u0`` leaves of the demand, shape ``(m,)``."""
    a: Vector
    """Acceleration under ``u0``, shape ``(nv,)``."""
    mu: Vector
    """Shape ``(m,)``."""
    residual: Vector
    """``H N mu`` without what is missing, shape ``(m,)``."""


@allocating
def row_space_input(
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
    buffers: ChenBuffers,
    u: Vector,
) -> int:
    """Write the input of `Chen`; return its rank, `UNDECIDED`, or `LOST_AUTHORITY` minus the rank.

    `LOST_AUTHORITY` and less says that rows are missed. ``reacts`` says whether there are passive
    rows.
    """
    N, H, missing, a, mu, miss = buffers
    m, nu = H.shape
    length, answer = authority_scales(L, A, B), np.empty(G.shape)
    if reacts:
        dynamics_kernels.unconstrained_response(L, B, answer)
    else:
        copy_into(G, answer)
    row_space, pushed = matmul(A, answer), matmul(A, G)
    zero_uncontrolled_rows(row_space, length, rtol)
    zero_uncontrolled_rows(pushed, length, rtol)
    dynamics_kernels.apply_input(a_free, G, u0, a)
    for i in range(m):
        missing[i] = demand[i] - dot(A[i], a)
        for k in range(nu):
            N[k, i], H[i, k] = row_space[i, k], pushed[i, k]
    norms = np.empty(m)
    column_norms(N, norms)
    args = H, missing, np.zeros(nu), N, np.eye(nu), norms, np.zeros((0, 0)), np.zeros(m)
    rank = least_norm_input.fast_input(least_norm_input.ServoProblem(*args, rtol), mu, miss)
    for k in range(nu):
        u[k] = u0[k] + dot(N[k], mu)
    if 0 <= rank < m and not all_within_tolerance(A, demand, a, miss, reach):
        return least_norm_input.LOST_AUTHORITY - rank
    return rank
