r"""Input-output linearisation of servo rows of any relative degree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple, final

import numpy as np

from ukctrl.control.command import LawBuffers
from ukctrl.control.controller import Controller, Law
from ukctrl.control.error_dynamics_spec import ErrorSpec, PoleCount
from ukctrl.control.task import Signal, Task
from ukctrl.core.algebra.blas_threads import one_blas_thread
from ukctrl.core.algebra.column_space import column_space
from ukctrl.core.algebra.factorisation import (
    least_norm_solution,
    matvec,
    normalise_rows,
    pivoted_lq,
)
from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.core.errors import InfeasibleConstraint, InputError, quoted
from ukctrl.core.fields import Rate, RateSquared, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.derivatives import check_smooth, jets_of
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.relative_degree import (
    VectorRelativeDegree,
    advice,
    decoupling_rank,
    relative_degrees,
    vector_relative_degree,
)

INDEPENDENT_ROW_TOLERANCE = 1e-4
"""A row of which more is left beside the others is independent of them, whatever measures it."""
RESIDUAL_RTOL = 1e-7
"""Part of its terms that a row may be missed by."""


def error_polynomial(alpha: float, beta: float, degree: int) -> Vector:
    r"""Return the coefficients of the error polynomial of a row, constant first.

    $$ (s^2 + \alpha s + \beta)^{\lfloor r/2 \rfloor} \, (s + \sqrt\beta)^{r \bmod 2} , $$

    so that the two gains mean for every relative degree r what they mean for r = 2. At critical
    damping, $\alpha = 2 \sqrt\beta$, it is the binomial $(s + \sqrt\beta)^r$.

    Args:
        alpha: Gain [1/s].
        beta: Gain [1/s^2].
        degree: The relative degree r.

    Returns:
        Coefficients of 1, s, ..., s^r, shape ``(degree + 1,)``; the last is 1.
    """
    coefficients = np.ones(1)
    for _ in range(degree // 2):
        coefficients = np.convolve(coefficients, [beta, alpha, 1.0])
    if degree % 2:
        coefficients = np.convolve(coefficients, [np.sqrt(beta), 1.0])
    return coefficients


@spec
class IoLinearisation(Controller):
    r"""Rows differentiated until the inputs appear, and given an error that decays.

    A row of relative degree r obeys $y^{(r)} = L_f^r h + L_G L_f^{r-1} h\, u$. With one row above
    the other, the decoupling matrix $E$ gives the input of least norm with

    $$ E u = -L_f^r h - c_{r-1} y^{(r-1)} - \dots - c_0 y , \qquad
       s^r + c_{r-1} s^{r-1} + \dots + c_0
         = (s^2 + \alpha s + \beta)^{\lfloor r/2 \rfloor} (s + \sqrt\beta)^{r \bmod 2} . $$

    Every row needs a path with r - 1 continuous derivatives. Where the relative degrees add up to
    less than the states, the rest are internal dynamics, which the law leaves to themselves.

    References:
        Isidori, "Nonlinear Control Systems", 1995, sections 4.2 and 5.3.
    """

    needs_grip: ClassVar[bool] = False
    poles_aimed_at: ClassVar[PoleCount | None] = 2

    kind: Literal["io_linearisation"] = "io_linearisation"
    alpha: Rate
    """Gain of the rate in every quadratic factor of the error polynomial [1/s]."""
    beta: RateSquared
    """Gain of the error in every quadratic factor [1/s^2]."""

    def gains_for(self, terms: ErrorSpec, inertia: Callable[[], Vector]) -> Mapping[str, Any]:
        beta, alpha = terms.second_order()
        return {"alpha": alpha, "beta": beta}

    def start(self, task: Task) -> Law:
        with one_blas_thread():
            return _IoLinearisationLaw(self, task)


class DecouplingArrays(NamedTuple):
    """How inputs reach the rows; see `Decoupling`."""

    drift: Matrix
    last_derivatives: Vector
    E: Matrix
    input_scale: Vector


@compiled
def input_scales(a_free: Vector, G: Matrix, push: Vector) -> None:
    """Write inputs that accelerate the robot as its own forces do."""
    # at least this, for at rest without gravity a robot has no forces of its own
    usual = 1.0
    for i in range(len(a_free)):
        usual = max(usual, abs(a_free[i]))
    for k in range(len(push)):
        peak = 0.0
        for i in range(len(a_free)):
            peak = max(peak, abs(G[i, k]))
        push[k] = usual / peak if peak > 0.0 else usual


@compiled
def write_direct_decoupling(
    A: Matrix,
    b: Vector,
    beta: Vector,
    phi: Vector,
    holonomic: Flags,
    a_free: Vector,
    G: Matrix,
    reached: DecouplingArrays,
) -> None:
    """Write how inputs reach rows that they accelerate at once."""
    matvec(A, a_free, reached.last_derivatives)
    for i in range(len(b)):
        reached.last_derivatives[i] -= b[i]
        reached.drift[0, i] = phi[i] if holonomic[i] else beta[i]
        reached.drift[1, i] = beta[i] if holonomic[i] else reached.last_derivatives[i]
        for k in range(G.shape[1]):
            reached.E[i, k] = 0.0
            for c in range(len(a_free)):
                reached.E[i, k] += A[i, c] * G[c, k]


@compiled
def write_last_derivatives(degrees: Indices, drift: Matrix, last: Vector) -> None:
    """Write the derivative of each row that inputs reach, without input."""
    for i in range(len(degrees)):
        last[i] = drift[degrees[i], i]


@allocating
def decoupled_input(
    gains: Matrix, reached: DecouplingArrays, target: Vector, H: Matrix, u: Vector
) -> bool:
    """Write the least input that gives the last derivatives what the gains want.

    Returns whether all rows are reached, far from any doubt: in units of what inputs of a usual
    size do, and in rows of unit length.
    """
    E, push = reached.E, reached.input_scale
    m, nu = E.shape
    for i in range(m):
        target[i] = -reached.last_derivatives[i]
        for k in range(len(gains)):
            target[i] -= gains[k, i] * reached.drift[k, i]
        for k in range(nu):
            H[i, k] = E[i, k] * push[k]
    # in inputs of a usual size: the unit of a motor decides no rank
    sure = surely_independent(H)
    for i in range(m):
        for k in range(nu):
            H[i, k] = E[i, k]
    normalise_rows(H, target, np.empty(m))
    factor = pivoted_lq(H, INDEPENDENT_ROW_TOLERANCE)
    step = least_norm_solution(factor, target)
    total = 0.0
    for k in range(nu):
        u[k] = step[k]
        total += step[k]
    return sure and factor.rank == m and bool(np.isfinite(total))


@allocating
def surely_independent(H: Matrix) -> bool:
    """Return whether rows are independent, far from any doubt."""
    units = H.copy()
    normalise_rows(units, np.zeros(len(H)), np.empty(len(H)))
    return bool(pivoted_lq(units, INDEPENDENT_ROW_TOLERANCE).rank == len(H))


@final
class _IoLinearisationLaw(Law):
    def __init__(self, spec: IoLinearisation, task: Task) -> None:
        super().__init__(task)
        if not len(self.stack):
            raise InputError('servo must have rows for kind = "io_linearisation"; got none.')
        dynamics = Dynamics(task.robot, task.rank, task.gains)
        self.vector_degree, self.degrees = self._measure_degrees(dynamics)
        check_smooth(self.stack, self.degrees)
        order = max(self.degrees)
        usual = np.where(self.stack.holonomic, 2, 1)
        self._jets = None
        # jets cost more than the tick: rows that motors accelerate at once need none
        if (np.array(self.degrees) > usual).any():
            self._jets = jets_of(self.stack, order, task.rank)
        polynomials = [error_polynomial(spec.alpha, spec.beta, r) for r in self.degrees]
        self._gains: Matrix = np.zeros((order, len(self.stack)))
        for row, polynomial in enumerate(polynomials):
            self._gains[: len(polynomial) - 1, row] = polynomial[:-1]

    def _measure_degrees(self, dynamics: Dynamics) -> tuple[VectorRelativeDegree, list[int]]:
        """Return how the rows reach the inputs at the start.

        Raises:
            InputError: Not each through a channel of its own.
        """
        task, stack = self.task, self.stack
        state = task.start, task.q, task.v
        alone = relative_degrees(dynamics, stack, *state)
        whole = vector_relative_degree(dynamics, stack, *state, [one.value for one in alone])
        if whole.extended:
            raise InputError(
                'servo rows must each have an input of their own for kind = "io_linearisation"; '
                f"{whole.sentence} {whole.advice}"
            )
        unknown = [one for one in alone if one.value is None]
        if unknown or whole.orders is None:
            names = quoted(one.name for one in unknown) or f"{quoted(stack.names)} together"
            reasons = " ".join(f"Row '{one.name}': {one.sentence}" for one in unknown)
            reasons = reasons or "Nearby they reach the inputs through more channels than here."
            raise InputError(
                "servo rows must have a relative degree at the start for kind = "
                f'"io_linearisation"; that of {names} is not certain. {reasons} Start beside this '
                "state."
            )
        return whole, list(whole.orders)

    def steps(self, dynamics: Dynamics, tick: LawBuffers) -> Iterator[KernelStep]:
        s, m, nu, order = dynamics.snapshot, len(self.stack), len(tick.u), max(self.degrees)
        reached = DecouplingArrays(
            np.zeros((order + 1, m)), np.zeros(m), np.zeros((m, nu)), np.zeros(nu)
        )
        degrees = np.array(self.degrees, dtype=np.int64)
        yield BoundKernel(input_scales, dynamics.a_free, dynamics.G, reached.input_scale)
        if self._jets is None:
            rows, holonomic = self.stack.rows, self.stack.holonomic
            yield from self.stack.steps(s).items
            yield BoundKernel(
                write_direct_decoupling, *rows, holonomic, dynamics.a_free, dynamics.G, reached
            )
        else:
            args = self.degrees, reached.input_scale, reached.drift, reached.E
            yield from self._jets.with_inputs_steps(s, *args)
            yield BoundKernel(
                write_last_derivatives, degrees, reached.drift, reached.last_derivatives
            )

        def with_care(code: int) -> Exception | None:
            return self._careful_input(reached, tick.u)

        target, H = np.zeros(m), np.zeros((m, nu))
        yield BoundKernel(decoupled_input, self._gains, reached, target, H, tick.u, fault=with_care)

    def _careful_input(self, reached: DecouplingArrays, u: Vector) -> Exception | None:
        """Write the input by `column_space`, where the quick one is not sure, or say which rows
        miss.
        """
        target = -(self._gains * reached.drift[: len(self._gains)]).sum(axis=0)
        demand = target - reached.last_derivatives
        scale = np.abs(reached.E).max(axis=1)
        scale = np.where(scale > 0.0, scale, 1.0)
        H, d = reached.E / scale[:, None], demand / scale
        felt = np.linalg.norm(H * reached.input_scale, axis=1)
        u[:] = column_space(H, 1.0 / reached.input_scale, self.task.rank.servo, rows=felt).solve(d)
        miss = np.abs(H @ u - d)
        usual = np.abs(H) @ (np.abs(u) + reached.input_scale)
        bad = ~(
            miss <= RESIDUAL_RTOL * (np.abs(d) + np.abs(reached.last_derivatives) / scale + usual)
        )  # NaN is bad
        if not bad.any():
            return None
        rows = [self.stack.names[i] for i in np.flatnonzero(bad)]
        rank = decoupling_rank(reached.E * reached.input_scale)
        missed = (miss * scale)[bad].tolist()
        return InfeasibleConstraint(rows, missed, rank, len(miss), self._rank_advice(rank))

    def _rank_advice(self, rank: int) -> str:
        return (
            f"Here the decoupling matrix of their relative degrees, "
            f"{', '.join(map(str, self.degrees))}, has rank {rank}: lead the path around this "
            f"position. {advice(self.task.robot, self.vector_degree)}"
        )

    def signals(self, dynamics: Dynamics, memory: Vector) -> Mapping[str, Signal]:
        """Return the relative degrees, and how many states are left as internal dynamics."""
        return {
            "relative_degree": Signal(
                np.array(self.degrees, dtype=np.float64), "", "relative degree", self.stack.names
            ),
            "internal_states": Signal(
                float(self.vector_degree.internal), "", "states left as internal dynamics"
            ),
        }
