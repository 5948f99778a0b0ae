r"""Inputs that meet the rows exactly, of least norm in a metric.

All inputs that meet the rows differ by null-space motion; the metric $R$ and the null-space
input $u_0$ choose among them, $\min (u - u_0)^\top R (u - u_0)$. On a closed chain the reaction
moves with the input: $a = a_\mathrm{free} + G u$ with $G = W B$. Read word by word, the servo paper
computes the reaction with the motors off and keeps it, $a = a_\mathrm{free} + M^{-1} B u$. Both are
the same where the motors leave the closure alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, Self, final

import numpy as np
from pydantic import model_validator

from ukctrl.control.allocation.allocation import Allocation, Allocator
from ukctrl.control.allocation.input_metric import (
    INDEFINITE_METRIC,
    AnyMetric,
    InputMetric,
    MetricName,
)
from ukctrl.control.allocation.null_space import AnyNullSpace, bind_null_space
from ukctrl.control.task import Task
from ukctrl.core.algebra import dynamics_kernels, least_norm_input
from ukctrl.core.algebra.column_space import column_space
from ukctrl.core.algebra.factorisation import add_scaled_into
from ukctrl.core.algebra.solution_checks import raise_if_infeasible
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.errors import GainError, InputError
from ukctrl.core.fields import spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints import Rows
from ukctrl.mechanics.dynamics import Dynamics

LEAST_SQUARES_ADVICE = (
    "accept the closest motion with the allocation { kind = "
    '"least_norm", on_infeasible = "least_squares" }'
)
"""What else a user may do where an allocation has no `on_infeasible` of its own."""
ReactionCoupling = Literal["exact", "frozen", "stacked"]
"""How the reaction of passive rows is thought to answer the input."""


class InputEquation(NamedTuple):
    """The rows that an input shall meet: ``A (a_free + G u) = b``."""

    A: Matrix
    b: Vector
    a_free: Vector
    G: Matrix


def input_equation(
    coupling: ReactionCoupling, A: Matrix, demand: Vector, dynamics: Dynamics
) -> tuple[InputEquation, Sequence[KernelStep]]:
    """Return what the input must satisfy under a reading of the coupling, and what writes it.

    Without passive rows all readings are one.
    """
    a_free = dynamics.a_free
    # without passive rows no reaction couples inputs, and all readings are this one
    if coupling == "exact" or not len(dynamics.passive):
        return InputEquation(A, demand, a_free, dynamics.G), ()
    answer: Matrix = np.zeros(dynamics.G.shape)
    steps: list[KernelStep] = [
        BoundKernel(
            dynamics_kernels.unconstrained_response, dynamics.L, dynamics.snapshot.B, answer
        )
    ]
    if coupling == "frozen":
        return InputEquation(A, demand, a_free, answer), steps
    A_p = dynamics.passive.rows.A
    A_full, b = np.zeros((len(A) + len(A_p), A.shape[1])), np.zeros(len(A) + len(A_p))
    steps.append(BoundKernel(_stack_passive_rows, A, demand, A_p, a_free, A_full, b))
    return InputEquation(A_full, b, a_free, answer), steps


@compiled
def _stack_passive_rows(
    A: Matrix, demand: Vector, A_p: Matrix, a_free: Vector, A_full: Matrix, b: Vector
) -> None:
    """Write the servo rows, and below them what the reaction to motors at rest already gives."""
    m, n = A.shape
    for i in range(len(b)):
        b[i] = demand[i] if i < m else 0.0
        for c in range(n):
            A_full[i, c] = A[i, c] if i < m else A_p[i - m, c]
            if i >= m:
                b[i] += A_full[i, c] * a_free[c]


@spec
class MetricAllocation(Allocation):
    """An allocation that weighs inputs by a metric: of least norm where nothing is in the way."""

    kind: str
    metric: AnyMetric = "effort"
    """Input metric ``R``: a name, a table of weights by motor, or a symmetric positive definite
    matrix ``(nu, nu)``."""
    null_space: AnyNullSpace | None = None
    """What the motors do where the task leaves them free; absent: nothing."""

    @property
    def nearness(self) -> AnyMetric:
        return self.metric

    def exact(self) -> Allocation:
        return LeastNorm(metric=self.metric, null_space=self.null_space)


@spec
class LeastNorm(MetricAllocation):
    r"""The input of least norm, $u_0 + R^{-1} H^\top (H R^{-1} H^\top)^+ (d - H u_0)$.

    On a closed chain the reaction moves with the input, and ``coupling`` says whether the law
    knows:

    | coupling | H | what comes of it |
    |---|---|---|
    | ``exact`` | $A W B$ | the rows and the closures hold |
    | ``frozen`` | $A M^{-1} B$ | the rows are missed: the reaction is taken as with motors off |
    | ``stacked`` | $[A; A_p] M^{-1} B$ | both hold; the motors leave the reaction where it was |
    """

    kind: Literal["least_norm"] = "least_norm"
    feedback_metric: MetricName | None = None
    """Metric in which the share of the feedback, what it adds to the exact motion, is least;
    absent: ``metric`` for the whole."""
    coupling: ReactionCoupling = "exact"
    """How the reaction of passive rows is thought to answer the input; ``frozen`` is there to
    show what goes wrong."""
    on_infeasible: Literal["raise", "least_squares"] = "raise"
    """What to do when the motors cannot give the demand: stop, or come as close as possible."""

    @model_validator(mode="after")
    def _check_feedback_metric(self) -> Self:
        if self.feedback_metric is not None and self.coupling != "exact":
            raise InputError(
                f'feedback_metric goes with coupling = "exact"; got "{self.coupling}".'
            )
        return self

    def attach(self, task: Task, rows: tuple[str, ...]) -> Allocator:
        return _LeastNormAllocator(self, task, rows)


@final
class _LeastNormAllocator(Allocator):
    def __init__(self, spec: LeastNorm, task: Task, rows: tuple[str, ...]) -> None:
        self._null_space = bind_null_space(spec.null_space, task)
        self._rank = task.rank
        self._coupling = spec.coupling
        self._names = rows
        self._has_constant_matrix = all(one.has_constant_matrix for one in task.servo)
        if spec.coupling == "stacked":
            self._names = (*rows, *Dynamics(task.robot, task.rank).passive.names)
        self._raises = spec.on_infeasible == "raise"
        self._metric = InputMetric(spec.metric, task, spec.coupling == "exact")
        self._feedback = spec.feedback_metric and InputMetric(spec.feedback_metric, task)

    def steps(
        self, rows: Rows, demand: Vector, dynamics: Dynamics, u: Vector
    ) -> Iterator[KernelStep]:
        equation, steps = input_equation(self._coupling, rows.A, demand, dynamics)
        yield from steps
        R, steps = self._metric.steps(dynamics)
        yield from steps
        u0, steps = self._null_space.steps(dynamics)
        yield from steps
        if self._feedback:
            R_feedback, steps = self._feedback.steps(dynamics)
            yield from steps
            # the rest is then least beside both: the preferred input and the feedback's share
            preferred, u0 = u0, np.zeros(len(u0))
            yield from self._feedback_input(rows, demand, R_feedback, dynamics, preferred, u0)
        is_constant = self._has_constant_matrix and equation.A is rows.A
        yield self._least_norm_step(equation, R, u0, dynamics, u, is_constant=is_constant)
        yield from self._null_space.adjustment_steps(u, rows.A, R, dynamics)

    def _least_norm_step(
        self,
        equation: InputEquation,
        R: Matrix,
        u0: Vector,
        dynamics: Dynamics,
        u: Vector,
        *,
        is_constant: bool = False,
    ) -> KernelStep:
        """Return what writes the least input that meets the rows."""
        A, b, a_free, G = equation
        miss, rtol = np.zeros(len(b)), float(self._rank.servo)
        reach = float(self._rank.reach) if self._raises else 0.0
        servo_problem = least_norm_input.ServoProblem(
            *equation, dynamics.L, dynamics.motors, R, u0, rtol
        )

        def care(code: int) -> Exception | None:
            rank = least_norm_input.LOST_AUTHORITY - code
            # the fast rank is not certain: again in scaled units
            if code == least_norm_input.UNDECIDED:
                rank = least_norm_input.servo_input(servo_problem, u, miss)
            if -1 in (code, rank):
                return GainError(INDEFINITE_METRIC)
            if rank < len(b) and self._raises:
                raise_if_infeasible(A, b, a_free, miss, rank, self._rank, self._names)
            elif rank < len(b):
                H, length = A @ G, dynamics.lengths(A)
                served = column_space(H, length.motors, rtol, rows=length.rows)
                u[:] = u0 + served.solve(b - A @ a_free - H @ u0, R if R.size else None)
            return None

        problem = servo_problem, reach, u, miss, care
        return dynamics.input_step(*problem, is_constant=is_constant)

    def _feedback_input(
        self,
        rows: Rows,
        demand: Vector,
        R: Matrix,
        dynamics: Dynamics,
        u0: Vector,
        total: Vector,
    ) -> Iterator[KernelStep]:
        """Yield what adds the least input, in the feedback's own metric, for what it adds to b."""
        n, nu, m = dynamics.robot.nv, dynamics.robot.nu, len(demand)
        share, still, none, u = np.zeros(m), np.zeros(n), np.zeros(nu), np.zeros(nu)
        G, L, rtol = dynamics.G, dynamics.L, float(self._rank.servo)
        servo_problem = least_norm_input.ServoProblem(
            rows.A, share, still, G, L, dynamics.motors, R, none, rtol
        )
        args = servo_problem, u, np.zeros(m)

        def care(code: int) -> None:
            least_norm_input.servo_input(*args)

        yield BoundKernel(add_scaled_into, demand, -1.0, rows.b, share)
        yield BoundKernel(least_norm_input.fast_input, *args, fault=care)
        yield BoundKernel(add_scaled_into, u0, 1.0, u, total)
