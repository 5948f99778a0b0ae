r"""Derivatives along a motion, measured on any robot by a spectral method.

The derivative of order k of the acceleration at a state depends on the motion up to its derivative
of order k - 1 in the velocity. So the motion is found order by order: along the curve

$$ v(\tau) = \sum_{j \le k} v^{(j)} \frac{\tau^j}{j!} , \qquad
   \xi(\tau) = \sum_{j \le k} \xi^{(j)} \frac{\tau^j}{j!} , \qquad q = q_0 \oplus \xi , \qquad
   \dot\xi = J^{-1}(\xi)\, v , $$

which shares with the motion what is known of it, accelerations are evaluated at Chebyshev points
$\tau_i$ of $[-h, h]$. The derivative of their polynomial at the centre is the next of the motion;
along the last curve those of the rows' $\ddot\phi = A a - b$ are the rows'. The error falls
geometrically with the number of points; what is left is rounding, which the derivative of order k
raises by about $(n/h)^k$. ``h`` is chosen so that the polynomial just resolves the
accelerations: the largest that does has the least rounding.
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
    derivatives: Matrix
    """Values to the derivatives at 0, shape ``(n, n)``."""


class _Curve(NamedTuple):
    """A curve through a state that goes on as the motion does, as far as that is known."""

    t: float
    q: Vector
    v: list[Vector]
    """The velocity and its derivatives."""
    xi: list[Vector]
    """The derivatives of the coordinates about the configuration, from the first on."""
    U: Matrix


def _grid(n: int) -> _Grid:
    points = np.cos((2.0 * np.arange(n) + 1.0) * np.pi / (2.0 * n))
    points[n // 2] = 0.0
    weights = np.full(n, 2.0 / n)
    weights[0] = 1.0 / n
    angles = (2.0 * np.arange(n) + 1.0) * np.pi / (2.0 * n)
    coefficients = weights[:, None] * np.cos(np.outer(np.arange(n), angles))
    basis = np.eye(n)
    at_zero = np.zeros((n, n))
    for j, b in enumerate(basis):
        for k in range(n):
            at_zero[k, j] = (
                chebyshev.chebval(0.0, chebyshev.chebder(b, k))
                if k
                else (chebyshev.chebval(0.0, b))
            )
    return _Grid(points, coefficients, at_zero @ coefficients)


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
        robot, n = self.robot, self.robot.nv
        self._dynamics.move(t, q, v)
        here = self._dynamics.acceleration(U[0] if len(U) else np.zeros(robot.nu))
        curve = _Curve(t, q, [v, np.array(here)], [v], U)
        noise = RESOLVED
        self._h = WIDEST  # at every state anew: the answer depends on nothing that came before
        last = len(found) - 1 - int(self.first.min(initial=2))
        for order in range(1, last + 1):
            values, tail = self._resolved(curve, order == last, noise)
            noise = max(noise, tail)
            slopes = self._grid.derivatives[order] @ values / self._h**order
            curve.v.append(slopes[:n])
            curve.xi.append(slopes[n : 2 * n])
        self._finish(found, values[:, 2 * n :], noise)

    def _resolved(self, curve: _Curve, whole: bool, noise: float) -> tuple[Matrix, float]:
        """Return values along a curve that a polynomial resolves, and its tail beside them.

        Args:
            curve: The curve.
            whole: Whether the rows are wanted too.
            noise: A tail as small as that is one of rounding.
        """
        wider: tuple[float, Matrix, float] | None = None
        slow = False
        for _ in range(TRIES):
            with np.errstate(over="ignore", invalid="ignore"):  # intervals too wide run away
                values = self._values(curve, self._h, whole)
            if values is not None:
                size = np.abs(self._grid.coefficients @ values)
                tail = float((size[-2:].max(axis=0) / (size.max(axis=0) + TINY)).max())
                before, slow = slow, wider is not None and tail > FLOOR * wider[2]
                if wider is not None and slow and (before or wider[2] <= SMALL):
                    self._h, values, tail = wider  # what is left is rounding, in both
                elif tail > noise:
                    wider = self._h, values, tail
                    values = None
            if values is not None:
                return values, tail
            self._h *= 0.6
            if self._h < NARROWEST:
                break
        raise Unresolved(
            f"a motion from the state at t = {curve.t:.6g} s must be smooth enough to be "
            "differentiated; it was not resolved within any time."
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

    def _values(self, curve: _Curve, h: float, whole: bool) -> Matrix | None:
        """Return, at the points, accelerations, rates of the coordinates and, of the whole, the
        rows' accelerations, a row each; None where there are none.
        """
        dynamics, robot, n = self._dynamics, self.robot, self.robot.nv
        taus = h * self._grid.points
        inputs = _polynomial(curve.U, taus, robot.nu)
        velocities = _polynomial(np.array(curve.v), taus, n)
        turned = curve.v if robot.is_euclidean else curve.xi
        xi = taus[:, None] * _polynomial(np.array(turned), taus, n, 1)
        values = np.zeros((POINTS, 2 * n + len(self.stack)))
        for i, tau in enumerate(taus.tolist()):
            try:
                dynamics.move(curve.t + tau, robot.integrate(curve.q, xi[i]), velocities[i])
                a = dynamics.acceleration(inputs[i])
            except (UkctrlError, ArithmeticError, ValueError):
                return None
            values[i, :n] = a
            values[i, n : 2 * n] = velocities[i]
            if not robot.is_euclidean:
                turning = robot.integrate_jacobian(curve.q, xi[i])
                values[i, n : 2 * n] = np.linalg.solve(turning, velocities[i])
            if whole:
                rows = self._own.write(dynamics.snapshot)
                values[i, 2 * n :] = rows.A @ a - rows.b
        return values if np.isfinite(values).all() else None


def _polynomial(U: Matrix, taus: Vector, size: int, first: int = 0) -> Matrix:
    r"""Return $\sum_k U_k \tau^k / (k + \mathrm{first})!$ at times, shape ``(len(taus), size)``;
    ``first`` is 0 or 1.
    """
    values = np.zeros((len(taus), size))
    for k in reversed(range(len(U))):
        values = values * (taus / (k + 1 + first))[:, None] + U[k]
    return values
