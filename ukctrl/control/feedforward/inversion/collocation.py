"""Collocation at Radau's points, and steps of it from state to state by Newton's method."""

from __future__ import annotations

import functools
from typing import NamedTuple, final

import numpy as np

from ukctrl.control.feedforward.inversion.servo_dae_equations import DaeTerms, ServoDaeEquations
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, UkctrlError
from ukctrl.core.tie_breaking import first_largest, max_abs

MAX_STAGES = 9
"""More stages than this gain nothing in double precision."""


class CollocationScheme(NamedTuple):
    """A collocation scheme on the unit step."""

    nodes: Vector
    """The stages in (0, 1], the last one at the end, shape ``(s,)``."""
    D: Matrix
    """Derivative at the stages of the polynomial through the start and the stages, from its values
    there, shape ``(s, s + 1)``."""


@functools.cache
def radau_scheme(stages: int) -> CollocationScheme:
    """Return Radau's scheme IIA; with one stage it is the backward Euler method.

    References:
        Hairer & Wanner, "Solving Ordinary Differential Equations II", 1996, section IV.5.
    """
    from scipy.special import roots_jacobi

    inner = roots_jacobi(stages - 1, 1.0, 0.0)[0] if stages > 1 else np.zeros(0)
    # Radau: the end is a node, and the method damps what is stiff
    nodes = np.append(0.5 * (inner + 1.0), 1.0)
    return CollocationScheme(nodes, differentiation_matrix(np.append(0.0, nodes))[1:])


def differentiation_matrix(nodes: Vector) -> Matrix:
    """Return the derivatives at the nodes of the polynomial with given values there."""
    weights = barycentric_weights(nodes)
    gaps = nodes[:, None] - nodes
    np.fill_diagonal(gaps, 1.0)
    D = weights / weights[:, None] / gaps
    np.fill_diagonal(D, 0.0)
    # the negative sum: constants have no derivative, to the last bit
    np.fill_diagonal(D, -D.sum(axis=1))
    derivative: Matrix = D
    return derivative


def interpolation_matrix(nodes: Vector, points: Vector) -> Matrix:
    """Return the values at places of the polynomial with given values at the nodes."""
    weights = barycentric_weights(nodes)
    gaps = points[:, None] - nodes
    # at a node the barycentric formula is 0/0
    hits = np.abs(gaps) < 1e-14
    at_node = hits.any(axis=1)
    weight: Matrix = hits.astype(np.float64)
    terms = weights / gaps[~at_node]
    weight[~at_node] = terms / terms.sum(axis=1, keepdims=True)
    return weight


def barycentric_weights(nodes: Vector) -> Vector:
    """Return the weights of the barycentric formula (Berrut & Trefethen 2004)."""
    gaps = nodes[:, None] - nodes
    np.fill_diagonal(gaps, 1.0)
    weights: Vector = 1.0 / gaps.prod(axis=1)
    return weights


MAX_ITERATIONS = 25
NEWTON_RTOL = 1e-9
"""A Newton step that is smaller than this fraction of the unknowns may be the last."""
MAX_STEP_MOTION = 10.0
"""What moves further within a step is no robot any more [rad or m]."""
NEWTON_FLOOR_RTOL = 1e-13
"""One that is smaller is rounding."""


class CollocationStep(NamedTuple):
    """A step's polynomial, by its values at the start and at the stages."""

    start: float
    """Time of the start [s]."""
    base: Vector
    """Configuration of the start, about which ``xi`` is a tangent step."""
    xi: Matrix
    """Shape ``(s + 1, n)``."""
    v: Matrix
    """Shape ``(s + 1, n)``."""
    u: Matrix
    """At the stages alone, shape ``(s, m)``."""


@final
class CollocationSolver:
    """Solves the DAE of a task step by step with one scheme.

    Args:
        equations: The DAE.
        scheme: The scheme.
        step: Length of a step [s].
        key: Where a shorter step can be asked for, for complaints.
    """

    def __init__(
        self, equations: ServoDaeEquations, scheme: CollocationScheme, step: float, key: str
    ) -> None:
        self._equations, self._scheme, self._h, self._key = equations, scheme, step, key
        self._with_start = np.append(0.0, scheme.nodes)

    def step(self, t: float, q: Vector, v: Vector, guess: CollocationStep) -> CollocationStep:
        """Return the step that leaves from a state.

        Args:
            t: Time of the start [s].
            q: Configuration there.
            v: Velocity there.
            guess: A step near it, such as `constant_guess` or `extrapolated_guess`.

        Raises:
            InputError: Newton's method finds no step; time and row are named.
        """
        robot = self._equations.robot
        try:
            stages = self._newton(t, q, v, guess)
        except InputError:
            # extrapolated over a bend the guess may be too far: once more from a constant one
            stages = self._newton(t, q, v, self.constant_guess(t, q, v, guess.u[-1]))
        far = np.abs(stages.xi[-1])
        # no step of a motion that stays bounded goes so far: the internal dynamics diverge
        if far.max() > MAX_STEP_MOTION:
            k = first_largest(far)
            worst, unit = robot.dofs[k], robot.dof_units[k].removesuffix("/s")
            raise InputError(
                f"servo_dae follows a motion that grows without bound: while the rows are kept, "
                f"'{worst}' moves by {far.max():.2g} {unit} within {self._h:g} s from t = {t:.4g} "
                's on. Use kind = "stable_inversion", or let the rows hold another point.'
            )
        return stages

    def march(self, t: float, q: Vector, v: Vector, u: Vector, count: int) -> list[CollocationStep]:
        """Return so many steps forwards in time from a state, whose input is about ``u``.

        Raises:
            InputError: Some step cannot be made; time and row are named.
        """
        guess, steps = self.constant_guess(t, q, v, u), list[CollocationStep]()
        for k in range(count):
            stages = self.step(t + k * self._h, q, v, guess)
            steps.append(stages)
            self._equations.task.reached(t + k * self._h)
            q, v = self._equations.robot.integrate(q, stages.xi[-1]), stages.v[-1]
            guess = self.extrapolated_guess(stages)
        return steps

    def constant_guess(self, t: float, q: Vector, v: Vector, u: Vector) -> CollocationStep:
        """Return the step at constant velocity and input."""
        count = len(self._with_start)
        xi = self._h * self._with_start[:, None] * v
        return CollocationStep(t, q, xi, np.tile(v, (count, 1)), np.tile(u, (count - 1, 1)))

    def extrapolated_guess(self, last: CollocationStep) -> CollocationStep:
        """Return the step that goes on as the last one did."""
        robot, nodes = self._equations.robot, self._with_start
        # the last polynomial, one step further on
        weights = interpolation_matrix(nodes, 1.0 + nodes)
        q = robot.integrate(last.base, last.xi[-1])
        xi = np.array(
            [robot.difference(q, robot.integrate(last.base, d)) for d in weights @ last.xi]
        )
        u = last.u
        if len(u) > 1:
            u = interpolation_matrix(self._scheme.nodes, 1.0 + self._scheme.nodes) @ u
        return CollocationStep(last.start + self._h, q, xi, weights @ last.v, u)

    def _newton(self, t: float, q: Vector, v: Vector, guess: CollocationStep) -> CollocationStep:
        xi, w, u = guess.xi.copy(), guess.v.copy(), guess.u.copy()
        xi[0], w[0] = 0.0, v
        if not all(np.isfinite(array).all() for array in (xi, w, u)):
            raise self._convergence_error(t, None)
        equations, nodes = self._equations, self._scheme.nodes
        n, s = equations.n, len(nodes)
        size, last, terms = 2 * n + equations.m, np.inf, None
        for iteration in range(MAX_ITERATIONS):
            slopes = np.stack([self._scheme.D @ xi, self._scheme.D @ w], axis=1)
            whole, residual = np.zeros((s, size, s, size)), np.zeros((s, size))
            try:
                for i, node in enumerate(nodes.tolist()):
                    at = t + self._h * node
                    terms, by = equations.derivative(at, q, xi[i + 1], w[i + 1], u[i])
                    P = equations.projection()
                    residual[i] = equations.residual(self._h, terms, slopes[i], P)
                    whole[i, :, i] = equations.residual_jacobian(self._h, by, P)
                    by_slope = self._scheme.D[i, 1:, None]
                    whole[i, :n, :, :n] += np.eye(n)[:, None, :] * by_slope
                    whole[i, n : n + len(P), :, n : 2 * n] += P[:, None, :] * by_slope
                change = -_equilibrated_solve(
                    whole.reshape(s * size, -1), residual.ravel()
                ).reshape(s, size)
            except np.linalg.LinAlgError:
                raise self._convergence_error(t, terms, "its matrix is singular") from None
            except UkctrlError as error:
                raise self._convergence_error(t, terms, str(error).removesuffix(".")) from None
            xi[1:] += change[:, :n]
            w[1:] += change[:, n : 2 * n]
            u += change[:, 2 * n :]
            moved = max(
                max_abs(change[:, :n]) / (1.0 + max_abs(xi)),
                max_abs(change[:, n : 2 * n]) / (1.0 + max_abs(w)),
            )
            if not np.isfinite(moved):
                break
            # converged, or as near as rounding of the Jacobian lets it come
            if moved <= NEWTON_FLOOR_RTOL or (moved <= NEWTON_RTOL and moved > 0.2 * last):
                return CollocationStep(t, q, xi, w, u)
            # it creeps below the tolerance: good enough
            if iteration > 5 and moved <= NEWTON_RTOL:
                return CollocationStep(t, q, xi, w, u)
            last = moved
        raise self._convergence_error(t, terms)

    def _convergence_error(self, t: float, terms: DaeTerms | None, reason: str = "") -> InputError:
        lines = ["Newton's method does not converge"]
        if terms is not None:
            stack = self._equations.stack
            sizes = np.where(np.isfinite(terms.c), np.abs(terms.c), np.inf)
            k = first_largest(sizes)
            off = f"off by {sizes[k]:.2g} {stack.units[k]}".rstrip()
            lines += [f"row '{stack.names[k]}' is {off if sizes[k] < np.inf else 'no number'}"]
        lines += [reason] if reason else []
        kind = self._equations.kind
        other = '; where the inner motion grows without bound, use kind = "stable_inversion"'
        return InputError(
            f"{kind} finds no motion that keeps the rows from t = {t:.4g} s on: "
            f"{'; '.join(lines)}. Shorten {self._key}, smooth the path there, or bring it within "
            f"reach{other if kind == 'servo_dae' else ''}."
        )


def _equilibrated_solve(A: Matrix, b: Vector) -> Vector:
    """Solve with rows and columns of about one size."""
    rows = np.abs(A).max(axis=1, keepdims=True)
    rows[rows == 0.0] = 1.0
    scaled = A / rows
    columns = np.abs(scaled).max(axis=0)
    columns[columns == 0.0] = 1.0
    x: Vector = np.linalg.solve(scaled / columns, b / rows[:, 0]) / columns
    return x
