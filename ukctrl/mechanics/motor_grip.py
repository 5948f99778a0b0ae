"""What the motors of a robot hold and reach at the current state."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra import grip
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.algebra.span import Span, span
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.uk import RankReport, reported


class MotorGrip:
    """How firmly motors hold rows, and what they reach; see `Dynamics`, which has its arrays."""

    rank: RankPolicy
    L: Matrix
    a_free: Vector
    G: Matrix
    motors: Vector

    def lengths(self, A: Matrix) -> grip.Lengths:
        """Return what the grip of rows is compared with: what motors do to the free robot.

        Args:
            A: Rows at the current state, shape ``(m, nv)``.
        """
        return grip.beside(self.L, A, self.motors)

    def grip(self, A: Matrix, names: Sequence[str]) -> grip.Grip:
        """Return how firmly the motors hold rows at the current state; see `ukctrl.uk.grip`."""
        return grip.grip(self.L, A, self.G, self.lengths(A), self.rank.servo, names)

    def firm(self, A: Matrix, grips: Vector) -> int:
        """Return the rank of rows whose grip is firm, or 0; write that of each, ``(m,)``."""
        return int(grip.firm(self.L, A, self.G, self.motors, grips))

    def servo_report(self, A: Matrix, names: Sequence[str]) -> RankReport:
        """Return of which rows the motors have grip, each beside the others, and by how much."""
        return reported(self.servo_matrix(A), names, *self.held(A))

    def held(self, A: Matrix) -> tuple[int, NDArray[np.int64]]:
        """Return how many rows the motors hold, each beside the others, and an order of them."""
        order = np.arange(len(A))
        if len(A) > grip.MANY and self.firm(A, np.empty(len(A))):
            return len(A), order
        rank = grip.held_rows(self.L, A, self.G, self.lengths(A), self.rank.servo, order)
        return int(rank), order

    def reached(self) -> Matrix:
        """Return an orthonormal basis of what the motors reach, shape ``(nv, k)``.

        In mass-weighted accelerations ``L' a``; a direction counts whose `grip` is not lost.
        """
        return self._reach().basis

    def _reach(self) -> Span:
        none: Matrix = np.zeros((0, len(self.L)))
        return span(self.L.T @ self.G, self.lengths(none).motors, self.rank.servo)

    def least_input(self, a: Vector) -> Vector:
        """Return the smallest input whose acceleration is nearest to ``a``, shape ``(nu,)``.

        Nearest in Gauss's sense, as the mass matrix measures it.
        """
        return self._reach().least(self.L.T @ (a - self.a_free))

    def least_push(self, force: Matrix) -> Matrix:
        """Return the smallest inputs that move the robot most nearly as generalised forces would.

        Args:
            force: Shape ``(nv,)``, or ``(nv, k)`` for several of them.
        """
        pushes: Matrix = np.asarray(np.linalg.solve(self.L, force))
        return self._reach().least(pushes)

    def servo_matrix(self, A: Matrix) -> Matrix:
        """Return ``H = A G``, shape ``(m, nu)``; rows of which the grip is lost are zero."""
        H: Matrix = A @ self.G
        grip.drop_lost(H, self.lengths(A), self.rank.servo)
        return H
