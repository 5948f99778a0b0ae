r"""Derivatives along a motion, measured on any robot by a spectral method.

On Chebyshev points $\tau_i$ of $[-h, h]$ the motion that passes the state at $\tau = 0$ is found by
iterating its integral equation,

$$ v(\tau) = v_0 + \int_0^\tau a(q, v, u)\, d\tau', \qquad
   \xi(\tau) = \int_0^\tau J^{-1}(\xi)\, v\, d\tau', \qquad q = q_0 \oplus \xi , $$

whose integrals are those of the interpolating polynomial. There the rows' $\ddot\phi = A a - b$ are
known exactly; their derivatives at the centre of the interval are those of their polynomial. The
error falls geometrically with the number of points; what is left is rounding, which the derivative
of order k raises by about $(n/h)^{k-2}$. ``h`` is chosen so that the polynomial just resolves the
motion: the largest that does has the least rounding.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, final

import numpy as np
from numpy.polynomial import chebyshev

from ukctrl.core.algebra.rank_policy import RUN_RANK, RankPolicy
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives.jets import Jets
from ukctrl.mechanics.derivatives.paths import osculating
from ukctrl.mechanics.dynamics import Dynamics, Gains

POINTS = 19
"""Chebyshev points; an odd number, so that one is the state itself."""
ROUNDS = 40
"""Most rounds of the integral equation."""
RESOLVED = 3e-14
"""Last coefficients of a polynomial that resolves its function, beside the largest."""
FLOOR = 0.02
"""A tail that falls by no more than this from one interval to the next is made of rounding, if it
is small already, or falls no faster after that."""
SMALL = 1e-9
WIDEST, NARROWEST = 0.25, 1e-5
"""Half lengths of the interval that are tried, from the one down to the other [s]."""
TINY, EPS = 1e-300, float(np.finfo(np.float64).eps)
TRIES = 24
"""Most intervals that are tried at one state."""


class Unresolved(UkctrlError, ArithmeticError):
    """A motion cannot be followed near a state, however closely one looks."""


class _Grid(NamedTuple):
    """Polynomials on the points of [-1, 1]."""

    points: Vector
    coefficients: Matrix
    """Values to Chebyshev coefficients, shape ``(n, n)``."""
    integral: Matrix
    """Values to integrals from 0, shape ``(n, n)``."""
    derivatives: Matrix
    """Values to the derivatives at 0, shape ``(n, n)``."""


def _grid(n: int) -> _Grid:
    points = np.cos((2.0 * np.arange(n) + 1.0) * np.pi / (2.0 * n))
    points[n // 2] = 0.0
    weights = np.full(n, 2.0 / n)
    weights[0] = 1.0 / n
    angles = (2.0 * np.arange(n) + 1.0) * np.pi / (2.0 * n)
    coefficients = weights[:, None] * np.cos(np.outer(np.arange(n), angles))
    basis = np.eye(n)
    integrals = np.array([chebyshev.chebval(points, chebyshev.chebint(b, lbnd=0)) for b in basis])
    at_zero = np.zeros((n, n))
    for j, b in enumerate(basis):
        for k in range(n):
            at_zero[k, j] = (
                chebyshev.chebval(0.0, chebyshev.chebder(b, k))
                if k
                else (chebyshev.chebval(0.0, b))
            )
    return _Grid(points, coefficients, integrals.T @ coefficients, at_zero @ coefficients)


@final
class SampledJets(Jets):
    """Derivatives of any rows, of any robot.

    Args:
        stack: The rows.
        rank: When passive rows count as dependent.

    Attributes:
        uncertainty: Of the last answer, by order, shape ``(order + 1,)``: about how far rounding
            and the tail of the polynomial may have moved it.
    """

    exact: ClassVar[bool] = False
    _grid: ClassVar[_Grid] = _grid(POINTS)

    def __init__(self, stack: Stack, rank: RankPolicy = RUN_RANK) -> None:
        super().__init__(stack)
        constraints, self._paths = osculating(stack.constraints)
        self._own = Stack(constraints, self.robot)
        # Along the motion the errors of passive rows stay as they are: nothing to stabilise.
        self._dynamics = Dynamics(self.robot, rank, Gains(0.0, 0.0))
        self._h = WIDEST
        self.uncertainty: Vector = np.zeros(0)

    def derivatives(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Matrix:
        for path in self._paths:
            path.about(t, max(order + 1, 3))
        jets = np.empty((order + 1, len(self.stack)))
        self._dynamics.move(t, q, v)
        rows = self._own.write(self._dynamics.snapshot)
        jets[0] = np.where(self.stack.holonomic, rows.phi, rows.beta)
        if order:
            jets[1] = rows.beta
        if order > self.first.min(initial=2):
            self._along(jets, t, np.array(q), np.array(v), U)
            return jets
        # The first derivative that an input can reach is known without a motion, to rounding.
        self.uncertainty = np.full(order + 1, EPS)
        known = self.first == order
        if known.any():
            u = U[0] if len(U) else np.zeros(self.robot.nu)
            jets[order, known] = (rows.A @ self._dynamics.acceleration(u) - rows.b)[known]
        return jets

    def _along(self, found: Matrix, t: float, q: Vector, v: Vector, U: Matrix) -> None:
        """Write the derivatives from the acceleration on."""
        self._h = WIDEST  # at every state anew: the answer depends on nothing that came before
        wider: tuple[float, Matrix, float] | None = None
        slow = False
        for _ in range(TRIES):
            with np.errstate(over="ignore", invalid="ignore"):  # intervals too wide run away
                values = self._motion(t, q, v, U, self._h)
            if values is not None:
                size = np.abs(self._grid.coefficients @ values)
                tail = float((size[-2:].max(axis=0) / (size.max(axis=0) + TINY)).max())
                before, slow = slow, wider is not None and tail > FLOOR * wider[2]
                if wider is not None and slow and (before or wider[2] <= SMALL):
                    self._h, values, tail = wider  # what is left is rounding, in both
                elif tail > RESOLVED:
                    wider = self._h, values, tail
                    values = None
            if values is None:
                self._h *= 0.6
                if self._h < NARROWEST:
                    break
                continue
            self._finish(found, values[:, self.robot.nv :], max(tail, EPS))
            return
        raise Unresolved(
            f"a motion from the state at t = {t:.6g} s must be smooth enough to be differentiated; "
            "it was not resolved within any time."
        )

    def _finish(self, found: Matrix, values: Matrix, noise: float) -> None:
        order, h = len(found) - 1, self._h
        self.uncertainty = np.full(order + 1, EPS)
        weights = self._grid.derivatives
        size = np.abs(values).max(initial=0.0)
        for row, first in enumerate(self.first.tolist()):
            for k in range(first, order + 1):
                found[k, row] = weights[k - first] @ values[:, row] / h ** (k - first)
        for k in range(1, order + 1):
            j = max(0, k - int(self.first.min(initial=2)))
            self.uncertainty[k] = noise * size * np.abs(weights[j]).sum() / h**j

    def _motion(self, t: float, q: Vector, v: Vector, U: Matrix, h: float) -> Matrix | None:
        """Return accelerations and the rows' at the points; None where they were not found."""
        grid, dynamics, robot = self._grid, self._dynamics, self.robot
        taus = h * grid.points
        inputs = _polynomial(U, taus, robot.nu)
        n = robot.nv
        dynamics.move(t, q, v)
        a = np.tile(dynamics.acceleration(inputs[POINTS // 2]), (POINTS, 1))
        values = np.empty((POINTS, n + len(self.stack)))
        rates = np.tile(v, (POINTS, 1))
        last = np.inf
        for _ in range(ROUNDS):
            velocities = v + h * (grid.integral @ a)
            if robot.is_euclidean:
                rates = velocities
            xi = h * (grid.integral @ rates)
            change = 0.0
            for i, tau in enumerate(taus.tolist()):
                try:
                    here = robot.integrate(q, xi[i])
                    dynamics.move(t + tau, here, velocities[i])
                    new = dynamics.acceleration(inputs[i])
                except (UkctrlError, ArithmeticError, ValueError):
                    return None
                change = max(change, float(np.abs(new - a[i]).max(initial=0.0)))
                a[i] = new
                if not robot.is_euclidean:
                    rates[i] = np.linalg.solve(robot.integrate_jacobian(q, xi[i]), velocities[i])
                rows = self._own.write(dynamics.snapshot)
                values[i, n:] = rows.A @ new - rows.b
            if not np.isfinite(change):
                return None
            size = 1.0 + float(np.abs(a).max(initial=0.0))
            if change < 4e-15 * size or (change < 1e-12 * size and change >= 0.5 * last):
                values[:, :n] = a
                return values
            last = change
        return None


def _polynomial(U: Matrix, taus: Vector, nu: int) -> Matrix:
    """Return the input at times, shape ``(len(taus), nu)``."""
    values = np.zeros((len(taus), nu))
    for k in reversed(range(len(U))):
        values = values * (taus / (k + 1))[:, None] + U[k]
    return values
