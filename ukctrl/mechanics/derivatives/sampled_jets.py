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

Where the slopes of the acceleration have a closed form (`has_closed_form_jacobians`), those of
rigid bodies give the first of these derivatives, and `input_lie_derivatives` what inputs add,
without a motion of its own for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, final

import numpy as np
from numpy.polynomial import chebyshev

from ukctrl.core.algebra.rank_policy import RUN_RANK, RankPolicy
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives.input_lie_derivatives import input_lie_derivatives
from ukctrl.mechanics.derivatives.jets import Jets
from ukctrl.mechanics.derivatives.path_smoothness import taylor_paths
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains
from ukctrl.mechanics.linearise.plant_jacobians import (
    AccelerationJacobians,
    has_closed_form_jacobians,
)

N_POINTS = 19
"""Chebyshev points; an odd number, so that one is the state itself."""
TAIL_RTOL = 3e-14
"""Last coefficients of a polynomial that resolves its function, beside the largest."""
ROUNDING_DECAY = 0.02
"""A tail that falls by no more than this from one interval to the next is made of rounding, if it
is small already, or not large and falls no faster after that."""
SMALL_TAIL, LARGEST_ROUNDING_TAIL = 1e-9, 1e-6
FLAT_RATIO, FLAT_TAIL = 0.1, 1e-11
"""A tail as small as the second that is more than the first part of the coefficients six places
before is made of rounding at once."""
NEGLIGIBLE_RATIO = 1e-2
"""Accelerations below this part of the largest are resolved beside that: some are rounding."""
MAX_HALF_WIDTH, USUAL_HALF_WIDTH, MIN_HALF_WIDTH = 0.25, 0.09, 1e-5
"""Half lengths of the interval that are tried, down to the last [s]: from the first where rounding
matters, for more than two derivatives; else from one that resolves most motions at once."""
WIDTH_FACTOR, PREDICTABLE_TAIL = 0.6, 1e-2
"""How much shorter the next one is; below a tail of the second it is foretold, since the tail falls
as the power of the length that the number of points is."""
TINY, EPS = 1e-300, float(np.finfo(np.float64).eps)
LAST_BITS = 4.0 * EPS
"""By which part of a state's size it is changed to see what rounding does to accelerations."""
MAX_INTERVALS = 24
"""Most intervals that are tried at one state."""


class UnresolvedMotion(UkctrlError, ArithmeticError):
    """A motion cannot be followed near a state, however closely one looks."""


class _ChebyshevGrid(NamedTuple):
    """Polynomials on the points of [-1, 1]."""

    points: Vector
    coefficients: Matrix
    """Values to Chebyshev coefficients, shape ``(n, n)``."""
    derivatives: Matrix
    """Values to the derivatives at 0, shape ``(n, n)``."""


class _TaylorCurve(NamedTuple):
    """A curve through a state that goes on as the motion does, as far as that is known."""

    t: float
    q: Vector
    v: list[Vector]
    """The velocity and its derivatives."""
    xi: list[Vector]
    """The derivatives of the coordinates about the configuration, from the first on."""
    U: Matrix


def _grid(n: int) -> _ChebyshevGrid:
    angles = (2.0 * np.arange(n) + 1.0) * np.pi / (2.0 * n)
    points = np.cos(angles)
    # the middle point is the state itself, to the last bit
    points[n // 2] = 0.0
    weights = np.full(n, 2.0 / n)
    weights[0] = 1.0 / n
    coefficients = weights[:, None] * np.cos(np.outer(np.arange(n), angles))
    series = (chebyshev.chebder(np.eye(n), k) for k in range(n))
    at_zero = np.array([chebyshev.chebval(0.0, derivative) for derivative in series])
    return _ChebyshevGrid(points, coefficients, at_zero @ coefficients)


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
    _grid: ClassVar[_ChebyshevGrid] = _grid(N_POINTS)

    def __init__(self, stack: Stack, rank: RankPolicy = RUN_RANK) -> None:
        super().__init__(stack)
        constraints, self._paths = taylor_paths(stack.constraints)
        self._own = Stack(constraints, self.robot)
        # Along the motion the errors of passive rows stay as they are: nothing to stabilise.
        self._dynamics = Dynamics(self.robot, rank, StabilisationGains(0.0, 0.0))
        self._h = MAX_HALF_WIDTH
        self.uncertainty: Vector = np.zeros(0)
        self._sloped = has_closed_form_jacobians(self._dynamics)
        self._jacobians = AccelerationJacobians(self._dynamics)
        # Formulas may know the time, with which no slope tells how they change.
        self._timeless = self.robot.structure.is_autonomous
        n, m = self.robot.nv, len(stack)
        widths = (n, n, m, m * n, n * self.robot.nu)
        self._ends: list[int] = np.cumsum(widths).tolist()
        self._matrices: Matrix = np.zeros((N_POINTS, 0))
        self._slopes: tuple[Matrix, Matrix] | None = None

    def derivatives(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Matrix:
        for path in self._paths:
            # a path is replaced by its own Taylor polynomial: it may have an end, or a corner,
            # nearby
            path.expand_about(t, max(order + 1, 3))
        jets = np.empty((order + 1, len(self.stack)))
        self._dynamics.move(t, q, v)
        rows = self._own.write(self._dynamics.snapshot)
        jets[0] = np.where(self.stack.holonomic, rows.phi, rows.beta)
        if order:
            jets[1] = rows.beta
        # beyond what an input reaches at once only a motion tells
        if order > self.first.min(initial=2):
            self._along(jets, t, np.array(q), np.array(v), U)
            return jets
        # The first derivative that an input can reach is known without a motion, to rounding.
        self.uncertainty = np.full(order + 1, EPS)
        input_rows = self.first == order
        if input_rows.any():
            u = U[0] if len(U) else np.zeros(self.robot.nu)
            jets[order, input_rows] = (rows.A @ self._dynamics.acceleration(u) - rows.b)[input_rows]
        return jets

    def with_inputs(
        self, t: float, q: Vector, v: Vector, degrees: Sequence[int], push: Vector
    ) -> tuple[Matrix, Matrix]:
        excess = np.array(degrees) - self.first
        holonomic = self.stack.holonomic.all()
        # closed-form Lie derivatives are worked out for one and two orders beyond, of holonomic
        # rows
        if not self._sloped or not holonomic or excess.max(initial=0) not in (1, 2):
            return super().with_inputs(t, q, v, degrees, push)
        drift = self.derivatives(t, q, v, np.zeros((1, len(push))), max(degrees))
        robot, n, count = self.robot, self.robot.nv, len(degrees)
        rates = self._grid.derivatives[:3] @ self._matrices / self._h ** np.arange(3)[:, None]
        A, G = rates[:, : count * n].reshape(3, count, n), rates[:2, count * n :].reshape(2, n, -1)
        self._dynamics.move(t, q, v)
        a = self._dynamics.a_free
        slopes = self._slopes or self._jacobians(a)
        brackets = robot.bracket(v), robot.bracket(a)
        return drift, np.choose(excess[:, None], input_lie_derivatives(A, G, slopes, brackets))

    def _along(self, jets: Matrix, t: float, q: Vector, v: Vector, U: Matrix) -> None:
        """Write the derivatives from the acceleration on; the dynamics are at the state."""
        robot, n = self.robot, self.robot.nv
        a = np.array(self._dynamics.acceleration(U[0] if len(U) else np.zeros(robot.nu)))
        curve = _TaylorCurve(t, q, [v, a], [v], U)
        noise = TAIL_RTOL
        last = len(jets) - 1 - int(self.first.min(initial=2))
        # At every state anew: the answer depends on nothing that came before.
        self._h = MAX_HALF_WIDTH if last > 2 else USUAL_HALF_WIDTH
        self._slopes = None
        # the jerk by Jacobians saves one sampled curve
        if self._sloped and self._timeless and last > 1:
            self._slopes = by_q, by_v = self._jacobians(a)
            jerk = by_q @ v + by_v @ a
            curve.v.append(jerk + self._dynamics.G @ U[1] if len(U) > 1 else jerk)
            curve.xi.append(a)
        for order in range(len(curve.xi), last + 1):
            values, tail = self._resolved(curve, order == last, noise)
            # an order is no more accurate than those below, of which its motion is made
            noise = max(noise, tail)
            slopes = self._grid.derivatives[order] @ values / self._h**order
            curve.v.append(slopes[:n])
            curve.xi.append(slopes[n : 2 * n])
        rows, matrices = self._ends[1:3]
        self._matrices = values[:, matrices:]
        self._finish(jets, values[:, rows:matrices], noise)

    def _resolved(self, curve: _TaylorCurve, whole: bool, noise: float) -> tuple[Matrix, float]:
        """Return values along a curve that a polynomial resolves, and its tail beside them.

        Args:
            curve: The curve.
            whole: Whether the rows are wanted too.
            noise: A tail as small as that is one of rounding.
        """
        widest = self._h
        if (resolved := self._narrowed(curve, whole, noise, 0.0)) is not None:
            return resolved
        # near rest forces cancel, and rounding of each is all that is left of their sum: then a
        # tail is beside that as it else is beside accelerations
        self._h, rounding = widest, self._rounding(curve)
        resolved = self._narrowed(curve, whole, noise, rounding / TAIL_RTOL)
        if resolved is None:
            raise UnresolvedMotion(
                f"a motion from the state at t = {curve.t:.6g} s must be smooth enough to be "
                "differentiated; it was not resolved within any time."
            )
        values, tail = resolved
        return values, max(tail, rounding / np.abs(values).max(initial=TINY))

    def _rounding(self, curve: _TaylorCurve) -> float:
        """Return by how much the acceleration changes where the last bits of the state and the
        input do.
        """
        robot, v = self.robot, curve.v[0]
        u = curve.U[0] if len(curve.U) else np.zeros(robot.nu)
        size = LAST_BITS * float(np.abs(curve.q).max(initial=0.0))
        # along no direction that a motion of all joints together would have
        beside = robot.integrate(curve.q, size * np.sin((np.arange(robot.nv) + 1.0) ** 2))
        self._dynamics.move(curve.t, curve.q, v)
        here, changed = self._dynamics.acceleration(u).copy(), 0.0
        for q, rate, push in ((beside, v, u), (curve.q, v, u * (1.0 + LAST_BITS))):
            self._dynamics.move(curve.t, q, rate)
            changed += float(np.abs(self._dynamics.acceleration(push) - here).max(initial=0.0))
        return changed

    def _narrowed(
        self, curve: _TaylorCurve, whole: bool, noise: float, floor: float
    ) -> tuple[Matrix, float] | None:
        """Return the same of ever shorter intervals; None where none of them will do.

        Args:
            curve: The curve.
            whole: Whether the rows are wanted too.
            noise: A tail as small as that is one of rounding.
            floor: Accelerations below this are resolved beside it.
        """
        wider: tuple[float, Matrix, float] | None = None
        slow, tail = False, np.inf
        for _ in range(MAX_INTERVALS):
            with np.errstate(over="ignore", invalid="ignore"):  # intervals too wide run away
                values = self._values(curve, self._h, whole)
            if values is not None:
                unresolved, tail = self._tail(values, floor)
                if unresolved <= noise:
                    return values, tail
                # two tails in a row that hardly fall are rounding: the wider interval has less of
                # it
                was_slow, slow = slow, wider is not None and tail > ROUNDING_DECAY * wider[2]
                if (
                    wider is not None
                    and slow
                    and wider[2] <= (LARGEST_ROUNDING_TAIL if was_slow else SMALL_TAIL)
                ):
                    self._h, values, tail = wider  # what is left is rounding, in both
                    return values, tail
                wider = self._h, values, tail
            foretold = (
                (0.01 * noise / tail) ** (1.0 / N_POINTS)
                if tail < PREDICTABLE_TAIL
                else WIDTH_FACTOR
            )
            # tails fall as the width to the number of points: the width that will do is foretold,
            # from a tail small enough to tell
            self._h *= min(foretold, WIDTH_FACTOR)
            # narrower, rounding over the width would exceed what is looked for
            if self._h < MIN_HALF_WIDTH:
                break
        return None

    def _tail(self, values: Matrix, floor: float) -> tuple[float, float]:
        """Return the largest of the last coefficients that is not rounding, and of all of them."""
        size = np.abs(self._grid.coefficients @ values)
        size /= self._scale(size.max(axis=0), floor)
        tails, earlier = size[-2:].max(axis=0), size[-8:-6].max(axis=0)
        # a series whose last coefficients no longer fall has reached its rounding
        rounding = (tails <= FLAT_TAIL) & (tails > FLAT_RATIO * earlier)
        return float(tails[~rounding].max(initial=0.0)), float(tails.max(initial=0.0))

    def _scale(self, largest: Vector, floor: float) -> Vector:
        """Return what the coefficients of each value are compared with; some are zero."""
        v, xi, rows, matrix, inputs = np.split(largest, self._ends[:-1])
        A, v = matrix.reshape(len(rows), -1), np.maximum(v, floor)
        # what is small beside its like is not resolved for its own sake
        floors = [
            np.full(len(block), NEGLIGIBLE_RATIO * block.max(initial=0.0)) for block in (v, xi)
        ]
        floors[0] = np.maximum(floors[0], floor)
        floors.append((A * v).max(axis=1, initial=0.0))
        floors.append(np.repeat(A.max(axis=1, initial=0.0), len(v)))
        floors.append(np.full(len(inputs), inputs.max(initial=0.0)))
        scale: Vector = np.maximum(largest, np.concatenate(floors)) + TINY
        return scale

    def _finish(self, jets: Matrix, values: Matrix, noise: float) -> None:
        order, h = len(jets) - 1, self._h
        self.uncertainty = np.full(order + 1, EPS)
        weights = self._grid.derivatives
        size = np.abs(values).max(initial=0.0)
        for row, first in enumerate(self.first.tolist()):
            powers = h ** np.arange(order + 1 - first)
            jets[first:, row] = weights[: len(powers)] @ values[:, row] / powers
        for k in range(1, order + 1):
            j = max(0, k - int(self.first.min(initial=2)))
            self.uncertainty[k] = noise * size * np.abs(weights[j]).sum() / h**j

    def _values(self, curve: _TaylorCurve, h: float, whole: bool) -> Matrix | None:
        """Return, at the points, accelerations, rates of the coordinates and, of the whole, the
        rows' accelerations, their matrix and that of the inputs; None where there are none.
        """
        dynamics, robot, n = self._dynamics, self.robot, self.robot.nv
        taus = h * self._grid.points
        inputs = _polynomial(curve.U, taus, robot.nu)
        velocities = _polynomial(np.array(curve.v), taus, n)
        turned = curve.v if robot.is_euclidean else curve.xi
        xi = taus[:, None] * _polynomial(np.array(turned), taus, n, 1)
        values = np.zeros((N_POINTS, self._ends[-1]))
        a, rates, row_a, A, G = np.split(values, self._ends[:-1], axis=1)
        rates[:] = velocities
        straight = robot.is_euclidean
        for i, tau in enumerate(taus.tolist()):
            q = curve.q + xi[i] if straight else robot.integrate(curve.q, xi[i])
            try:
                dynamics.move(curve.t + tau, q, velocities[i])
                a[i] = dynamics.acceleration(inputs[i])
            except (UkctrlError, ArithmeticError, ValueError):
                # a motion that leaves the robot's domain says that the interval is too wide
                return None
            if not straight:
                rates[i] = robot.chart_rate(xi[i], velocities[i])
            if whole:
                rows = self._own.write(dynamics.snapshot)
                row_a[i] = rows.A @ a[i] - rows.b
                A[i], G[i] = rows.A.ravel(), dynamics.G.ravel()
        return values if np.isfinite(values).all() else None


def _polynomial(U: Matrix, taus: Vector, size: int, first: int = 0) -> Matrix:
    r"""Return $\sum_k U_k \tau^k / (k + \mathrm{first})!$ at times, shape ``(len(taus), size)``;
    ``first`` is 0 or 1.
    """
    values = np.zeros((len(taus), size))
    for k in reversed(range(len(U))):
        values = values * (taus / (k + 1 + first))[:, None] + U[k]
    return values
