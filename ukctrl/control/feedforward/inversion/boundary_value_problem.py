"""The DAE of a task over a whole horizon at once, as a boundary-value problem."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

from ukctrl.control.feedforward.inversion.collocation import CollocationStep, radau_scheme
from ukctrl.control.feedforward.inversion.servo_dae_equations import ServoDaeEquations
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.tie_breaking import first_largest, max_abs
from ukctrl.robot import Robot

MAX_ITERATIONS = 15
NEWTON_RTOL = 1e-9
"""A Newton step that is smaller than this fraction of the unknowns is the last."""
MAX_RESIDUAL_GROWTH = 3.0
"""By so much the equations' residual may grow in a step of Newton's method."""
JACOBIAN_REUSE_RATIO = 0.05
"""A step that leaves a smaller part of it is followed by one with the same derivative."""
MIN_STEP_FRACTION = 0.2
"""The smallest part of such a step that is tried."""


JacobianBlock = tuple[int, int, Matrix]
"""A block of the derivative: its first row, its first column, and the block."""


class BoundaryCondition(NamedTuple):
    """What must hold at an end: ``conditions @ (dq, dv) = 0`` about a state at rest."""

    q: Vector
    conditions: Matrix
    """Shape ``(k, 2 n)``."""


@final
class BoundaryValueSolver:
    """Newton's method for all steps together.

    Args:
        equations: The DAE.
        start: Time at which the horizon begins [s].
        step: Length of a step [s].
        stages: Stages of a step.
    """

    def __init__(
        self, equations: ServoDaeEquations, start: float, step: float, stages: int
    ) -> None:
        self._equations, self._t, self._h = equations, start, step
        self._scheme, self._s = radau_scheme(stages), stages
        self._size = 2 * equations.n * (stages + 1) + equations.m * stages
        self._bases, self._count = np.zeros((0, 0)), 0
        self._xi = self._v = self._u = np.zeros((0, 0, 0))

    def quasistatic_guess(self, q: Matrix, u: Matrix) -> list[CollocationStep]:
        """Return steps through states of rest, one at each step's start and one at the end."""
        robot, nodes = self._equations.robot, self._scheme.nodes[:, None]
        steps = []
        for k in range(len(q) - 1):
            displacement = robot.difference(q[k], q[k + 1])
            xi = np.append(0.0, self._scheme.nodes)[:, None] * displacement
            v = np.tile(displacement / self._h, (self._s + 1, 1))
            inputs = (1.0 - nodes) * u[k] + nodes * u[k + 1]
            steps.append(CollocationStep(self._t + k * self._h, q[k], xi, v, inputs))
        return steps

    def solve(
        self, guess: list[CollocationStep], ends: tuple[BoundaryCondition, BoundaryCondition]
    ) -> list[CollocationStep]:
        """Return the steps that solve the DAE.

        Args:
            guess: Steps near them.
            ends: What must hold at the ends; together as many conditions as a state has numbers.

        Raises:
            InputError: Newton's method does not converge; the worst time and row are named.
        """
        self._set_guess(guess)
        residual = self._assemble(ends)
        sizes, fresh = np.ones(len(residual)), True
        for _ in range(MAX_ITERATIONS):
            if fresh:
                solve, sizes = self._factorise(ends)
            # rows in units of their largest entry: a residual then says how far off the unknowns
            # are
            change = -solve(residual / sizes)
            norm, old = max_abs(residual / sizes), (self._xi, self._v, self._u)
            fraction = 1.0
            while True:
                self._xi, self._v, self._u = self._add_step(old, fraction * change)
                new_norm = np.inf
                # a step may lead to where the robot is not defined: shorter, then
                with contextlib.suppress(UkctrlError, np.linalg.LinAlgError):
                    residual = self._assemble(ends)
                    new_norm = max_abs(residual / sizes)
                # rows of high index may leave more for a step and still converge
                if new_norm <= max(NEWTON_RTOL, MAX_RESIDUAL_GROWTH * norm):
                    break
                fraction *= 0.5
                # shorter steps come from a guess too far off, and creep
                if fraction < MIN_STEP_FRACTION:
                    raise self._convergence_error()
            moved = self._relative_state_step(change)
            if moved <= NEWTON_RTOL and fraction == 1.0:
                return self._steps()
            # the factor serves again while it contracts: it costs more than all else
            fresh = new_norm > JACOBIAN_REUSE_RATIO * norm
        raise self._convergence_error()

    def _factorise(
        self, ends: tuple[BoundaryCondition, BoundaryCondition]
    ) -> tuple[Callable[[Vector], Vector], Vector]:
        """Return what solves with the derivative of all equations, and the sizes of its rows."""
        from scipy.sparse import coo_array
        from scipy.sparse.linalg import splu

        blocks: list[JacobianBlock] = []
        residual = self._assemble(ends, blocks)
        rows = [np.repeat(r + np.arange(len(b)), b.shape[1]) for r, _, b in blocks]
        columns = [np.tile(c + np.arange(b.shape[1]), len(b)) for _, c, b in blocks]
        values = np.concatenate([b.ravel() for _, _, b in blocks])
        at = np.concatenate(rows), np.concatenate(columns)
        sizes = np.zeros(len(residual))
        np.maximum.at(sizes, at[0], np.abs(values))
        sizes[sizes == 0.0] = 1.0
        shape = (len(residual), self._count * self._size)
        whole = coo_array((values / sizes[at[0]], at), shape)
        try:
            factor = splu(whole.tocsc())
        except RuntimeError:
            raise self._convergence_error("its matrix is singular") from None
        solve: Callable[[Vector], Vector] = factor.solve
        return solve, sizes

    def _set_guess(self, guess: list[CollocationStep]) -> None:
        """Begin at a guess, with each step's own start as its base."""
        robot = self._equations.robot
        self._count = len(guess)
        self._bases = np.array([robot.integrate(step.base, step.xi[0]) for step in guess])
        self._xi = np.array(
            [
                [robot.difference(base, robot.integrate(step.base, xi)) for xi in step.xi]
                for base, step in zip(self._bases, guess, strict=True)
            ]
        )
        self._v = np.array([step.v for step in guess])
        self._u = np.array([step.u for step in guess])

    def _relative_state_step(self, change: Vector) -> float:
        """Return how far a step moves the states, beside them.

        Inputs of rows that they reach late are known to fewer digits, by the step's length to the
        power of what the index is above 1.
        """
        states = change.reshape(self._count, -1)[:, : 2 * self._equations.n * (self._s + 1)]
        return max_abs(states) / (1.0 + max_abs(self._v))

    def _add_step(
        self, old: tuple[Matrix, Matrix, Matrix], change: Vector
    ) -> tuple[Matrix, Matrix, Matrix]:
        n, s = self._equations.n, self._s
        by_step = change.reshape(self._count, -1)
        states = by_step[:, : 2 * n * (s + 1)].reshape(self._count, s + 1, 2 * n)
        inputs = by_step[:, 2 * n * (s + 1) :].reshape(self._count, s, -1)
        return old[0] + states[..., :n], old[1] + states[..., n:], old[2] + inputs

    def _assemble(
        self,
        ends: tuple[BoundaryCondition, BoundaryCondition],
        blocks: list[JacobianBlock] | None = None,
    ) -> Vector:
        """Return what is left of all equations; append the blocks of their derivative if asked."""
        equations, s, h = self._equations, self._s, self._h
        n, m, D = equations.n, equations.m, self._scheme.D
        size, state = self._size, 2 * n
        rests: list[Vector] = []
        top = 0

        def add(residual: Vector, *entries: tuple[int, Matrix]) -> None:
            nonlocal top
            rests.append(residual)
            if blocks is not None:
                blocks.extend((top, column, block) for column, block in entries)
            top += len(residual)

        first, last = ends
        add(*self._boundary_residual(first, 0, 0))
        by_slope = np.zeros((state + m, state))
        by_slope[:n, :n] = np.eye(n)
        for k in range(self._count):
            offset = k * size
            if k:
                add(*self._continuity_residual(k))
            xi, v, u, base = self._xi[k], self._v[k], self._u[k], self._bases[k]
            slopes = np.stack([D @ xi, D @ v], axis=1)
            for i in range(s):
                t = self._t + h * (k + self._scheme.nodes[i])
                if blocks is None:
                    terms = equations.evaluate(t, base, xi[i + 1], v[i + 1], u[i])
                    add(equations.residual(h, terms, slopes[i], equations.projection()))
                    continue
                terms, by = equations.derivative(t, base, xi[i + 1], v[i + 1], u[i])
                P = equations.projection()
                jacobian = equations.residual_jacobian(h, by, P)
                by_slope[n : n + len(P), n:] = P
                state_block = np.kron(D[i], by_slope)
                state_block[:, state * (i + 1) : state * (i + 2)] += jacobian[:, :state]
                inputs = offset + state * (s + 1) + m * i
                add(
                    equations.residual(h, terms, slopes[i], P),
                    (offset, state_block),
                    (inputs, jacobian[:, state:]),
                )
        add(*self._boundary_residual(last, self._count - 1, s))
        return np.concatenate(rests)

    def _boundary_residual(
        self, end: BoundaryCondition, k: int, node: int
    ) -> tuple[Vector, tuple[int, Matrix]]:
        robot, n = self._equations.robot, self._equations.n
        xi = self._xi[k, node]
        q = robot.integrate(self._bases[k], xi)
        off = np.concatenate([robot.difference(end.q, q), self._v[k, node]])
        turn = _chart_change(robot, self._bases[k], xi, end.q, off[:n])
        by = np.hstack([end.conditions[:, :n] @ turn, end.conditions[:, n:]])
        return end.conditions @ off, (k * self._size + 2 * n * node, by)

    def _continuity_residual(self, k: int) -> tuple[Vector, tuple[int, Matrix], tuple[int, Matrix]]:
        """Return that a step begins where the one before ends."""
        robot, n, s = self._equations.robot, self._equations.n, self._s
        xi_end = self._xi[k - 1, s]
        xi_start = robot.difference(self._bases[k], robot.integrate(self._bases[k - 1], xi_end))
        turn = np.eye(2 * n)
        # the end of one chart seen from the next
        turn[:n, :n] = _chart_change(robot, self._bases[k - 1], xi_end, self._bases[k], xi_start)
        residual = np.concatenate([self._xi[k, 0] - xi_start, self._v[k, 0] - self._v[k - 1, s]])
        end = (k - 1) * self._size + 2 * n * s
        return residual, (k * self._size, np.eye(2 * n)), (end, -turn)

    def _steps(self) -> list[CollocationStep]:
        blocks = []
        for k in range(self._count):
            t = self._t + k * self._h
            blocks.append(CollocationStep(t, self._bases[k], self._xi[k], self._v[k], self._u[k]))
        return blocks

    def _convergence_error(self, reason: str = "") -> InputError:
        worst, message = -1.0, ""
        for k in range(self._count):
            try:
                terms = self._equations.evaluate(
                    self._t + self._h * (k + 1),
                    self._bases[k],
                    self._xi[k, -1],
                    self._v[k, -1],
                    self._u[k, -1],
                )
            except UkctrlError:
                continue
            miss = np.where(np.isfinite(terms.row), np.abs(terms.row), np.inf)
            if miss.max() > worst:
                worst, row = float(miss.max()), self._equations.stack.names[first_largest(miss)]
                message = (
                    f"; at t = {self._t + self._h * (k + 1):.4g} s row '{row}' is left with an "
                )
                message += f"acceleration error of {worst:.2g}"
        return InputError(
            f"stable_inversion finds no bounded motion: Newton's method does not converge{message}"
            f"{'; ' + reason if reason else ''}. Make the path slower or smoother, or shorten "
            "controller.along.step."
        )


def _chart_change(
    robot: Robot, base: Vector, xi: Vector, new_base: Vector, new_xi: Vector
) -> Matrix:
    """Return how a tangent step about another base changes with the one about this base."""
    # charts differ by a shift alone
    if robot.is_euclidean:
        return np.eye(robot.nv)
    jacobian = np.linalg.solve(
        robot.integrate_jacobian(new_base, new_xi), robot.integrate_jacobian(base, xi)
    )
    return np.asarray(jacobian)
