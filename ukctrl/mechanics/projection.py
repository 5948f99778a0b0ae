"""Projection: a state moved onto the passive constraints of a robot, by the smallest change."""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.core.algebra import stabilisation
from ukctrl.core.algebra.answer_checks import raise_if_singular
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.dynamics import Dynamics

ON_MANIFOLD = 1e-15
"""Position error that rounding leaves, relative to 1 + |A| |q|."""
MAX_PROJECTIONS = 4
MOST_PER_ERROR = 1e6
"""A change larger than this many times the error it removes is none: in a singular position some
rows have no direction to be met in, and their rounding would move the state anywhere."""


@final
class Projector:
    r"""Moves a state onto the passive constraints of a robot, by the smallest change.

    $\min \delta^\top M \delta$ subject to $\varphi(q \oplus \delta) = 0$ by Gauss-Newton, then the
    same for the velocity, $A v = c$. The mass matrix makes the change independent of the units of
    the coordinates, and the change of the velocity that of an impulse of the reactions.

    Args:
        dynamics: The robot; its snapshot and passive rows are moved about.
    """

    def __init__(self, dynamics: Dynamics) -> None:
        self._dynamics = dynamics
        self._step: Vector = np.zeros(dynamics.robot.nv)
        self._holonomic = np.flatnonzero(dynamics.passive.holonomic)

    def __call__(self, t: float, q: Vector, v: Vector) -> tuple[Vector, Vector]:
        """Return the state on the constraints at time ``t`` that is nearest to ``(q, v)``."""
        dynamics, held = self._dynamics, self._holonomic
        s, robot = dynamics.snapshot, dynamics.robot
        last = np.inf
        for _ in range(MAX_PROJECTIONS):
            s.move(q, v, t)
            rows = dynamics.passive.write(s)
            A, phi = rows.A[held], rows.phi[held]
            size = float(np.abs(phi).max(initial=0.0))
            scale = 1.0 + float(np.abs(q).max(initial=0.0) * np.abs(A).max(initial=0.0))
            if not ON_MANIFOLD * scale < size < 0.5 * last:
                break
            last = size
            change = self._change(A, phi)
            if _beyond(change, phi):
                break
            q = robot.integrate(q, -change)
        change = self._change(rows.A, rows.beta)
        return q, v if _beyond(change, rows.beta) else v - change

    def _change(self, A: Matrix, d: Vector) -> Vector:
        dynamics = self._dynamics
        rank_or_failure = stabilisation.least_change(
            dynamics.snapshot.M, A, d, dynamics.rank.passive, dynamics.L, self._step
        )
        raise_if_singular(rank_or_failure)
        return self._step


def _beyond(change: Vector, error: Vector) -> bool:
    most = MOST_PER_ERROR * float(np.abs(error).max(initial=0.0))
    return not float(np.abs(change).max(initial=0.0)) <= most
