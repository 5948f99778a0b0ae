"""The search for the coefficients of an exciting motion: cost and limits with their gradients."""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl_identification.effort_information import CriterionKind, EffortEquations, Rows, criterion
from ukctrl_identification.fourier_series import FourierSeries, RestingSeries
from ukctrl_identification.independent_joints import States
from ukctrl_identification.motion_limits import MotionLimits, rate_of_change
from ukctrl_identification.sequential_programming import Slopes, Values, least_cost

FORWARD_STEP = 1e-6
"""Of differences of rows and limits [rad or m, and its rates]."""
COST_TOLERANCE = 2e-5
"""Of the logarithm of deviations: where steps gain less, the search ends."""


class _Sampled(NamedTuple):
    """A motion at all instants."""

    states: States
    rows: list[Rows]
    u: Matrix
    pull: Matrix
    """Derivative of the cost with the information."""
    values: Values


@final
class ExcitationSearch:
    """Cost and limits of motions from rest to rest.

    Args:
        equations: What the motion is to tell.
        limits: What it keeps.
        space: The series.
        speeds: Unit of the coefficients of each joint, shape ``(k,)`` [rad/s or m/s].
        times: Instants of one period at which limits are kept, evenly spaced, shape ``(n,)`` [s].
        kind: The criterion.
        guard: What is left of each limit, shape ``(m,)``.
    """

    def __init__(
        self,
        equations: EffortEquations,
        limits: MotionLimits,
        space: RestingSeries,
        speeds: Vector,
        times: Vector,
        kind: CriterionKind,
        guard: Vector,
    ) -> None:
        self.equations, self.limits, self.space = equations, limits, space
        self.speeds, self.times, self.kind, self.guard = speeds, times, kind, guard
        self._basis, self._scale = space.basis(times), equations.scale()
        self._step = float(times[1] - times[0])
        self._last: tuple[Vector, _Sampled | None] | None = None

    def best_near(self, series: FourierSeries) -> FourierSeries:
        """Return the best motion near one from rest to rest that exists."""
        z = self.space.coordinates(series) / self.speeds
        best = least_cost(self, z.ravel(), COST_TOLERANCE)
        return self.space.series(best.reshape(z.shape) * self.speeds)

    def values(self, z: Vector) -> Values | None:
        """Return cost and limits; None of a motion that a closed chain cannot follow."""
        sampled = self._sampled(z)
        return None if sampled is None else sampled.values

    def slopes(self, z: Vector) -> Slopes:
        """Return their derivatives with the coefficients."""
        at = self._sampled(z)
        assert at is not None
        limits, (n, p, k) = self.limits, (*self._basis.shape[1:], len(self.speeds))
        pulls = [2.0 * at.pull[np.ix_(columns, columns)] @ X for columns, X in at.rows]
        slack = limits.slack(at.states, at.u)
        by_cost, by_slack = np.zeros((3, n, k)), np.zeros((3, n, slack.shape[1], k))
        by_u = np.zeros((3, n, at.u.shape[1], k))
        for order in range(3):
            for j in range(k):
                near = limits.joints.shifted(at.states, order, j, FORWARD_STEP)
                rows, u = self.equations.rows(near)
                for (_, X), (_, X_near), pull in zip(at.rows, rows, pulls, strict=True):
                    by_cost[order, :, j] += ((X_near - X) * pull).sum(axis=0)
                by_slack[order, :, :, j] = limits.slack(near, u) - slack
                by_u[order, :, :, j] = u - at.u
        # from differences to derivatives, in the units of coefficients
        scale = self.speeds / FORWARD_STEP
        gradient = scale * np.einsum("onj,onp->pj", by_cost, self._basis)
        jacobian = scale * self._chained(by_slack)
        if len(limits.rated):
            of_u = rate_of_change(scale * self._chained(by_u[:, :, limits.rated]), self._step)
            _, sign = limits.rate_slack(at.u, self._step)
            jacobian = np.hstack([jacobian, sign[..., None, None] * of_u])
        return Slopes(gradient.ravel(), jacobian.reshape(-1, p * k))

    def _sampled(self, z: Vector) -> _Sampled | None:
        if self._last is None or not np.array_equal(self._last[0], z):
            self._last = z.copy(), self._evaluated(z)
        return self._last[1]

    def _evaluated(self, z: Vector) -> _Sampled | None:
        coordinates = z.reshape(-1, len(self.speeds)) * self.speeds
        states = self.limits.joints.states(self.times, *(self._basis @ coordinates))
        if states is None:
            return None
        rows, u = self.equations.rows(states)
        value = criterion(self.equations.information(rows), self._scale, self.kind)
        if value is None:
            return None
        slack = self.limits.whole_slack(states, u) - self.guard
        return _Sampled(states, rows, u, value[1], Values(value[0], slack.ravel()))

    def _chained(self, by_state: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return derivatives with coefficients, ``(n, m, p, k)``.

        Args:
            by_state: Those with displacement, velocity and acceleration, ``(3, n, m, k)``.
        """
        parts = [
            by[:, :, None, :] * basis[:, None, :, None]
            for by, basis in zip(by_state, self._basis, strict=True)
        ]
        return np.asarray(parts[0] + parts[1] + parts[2])
