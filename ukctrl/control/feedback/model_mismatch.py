r"""What a wrong model does to the rows of a task: the numbers that robust laws are designed with.

An allocation that is linear in its demand turns $b + w$ into an input of which it believes that
$A a = b + w$. On the true robot

$$ A a = b + w + \delta + E w , $$

with the acceleration $\delta$ that is left even of the exact demand, and with $E$, by which the
motors' grip on the rows is another one. Both are measured here by asking: the allocation for
inputs, and both robots for what these do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, final

import numpy as np

from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.robot import Robot


class RowMismatch(NamedTuple):
    """What the wrong model does at one state."""

    left: Vector
    r"""$\delta$, the row acceleration that is left of the demand ``b``, shape ``(m,)``."""
    grip: Matrix
    r"""$E$, what becomes of a further demand besides itself, shape ``(m, m)``."""
    beta: Vector
    """Velocity error of the rows there, shape ``(m,)``."""

    def lost(self, weight: Vector | float = 1.0) -> float:
        r"""Return how much of a push against an error may be lost, $e$ of `ChenRobust`.

        The largest $e$ with $x^\top (I + P^{1/2} E P^{-1/2}) x = (1 - e) |x|^2$, zero at least.
        """
        scale = np.sqrt(np.broadcast_to(np.asarray(weight, dtype=np.float64), self.left.shape))
        weighed = scale[:, None] * self.grip / scale
        return max(0.0, -float(np.linalg.eigvalsh(0.5 * (weighed + weighed.T))[0]))

    def row_sum(self, unit: Vector | float = 1.0) -> float:
        r"""Return the largest row sum of $|E|$ with rows in these units, $\mu$ of `Sliding`."""
        units = np.broadcast_to(np.asarray(unit, dtype=np.float64), self.left.shape)
        return float(np.abs(self.grip * units / units[:, None]).sum(axis=1).max())

    def on_surface(self, rate: Vector | float) -> Vector:
        r"""Return $\eta = \delta - E \lambda \beta$, the uncertainty on $s = \beta + \lambda \phi$.

        The surface itself asks for $-\lambda\beta$, which the motors do not quite give either.
        """
        eta: Vector = self.left - self.grip @ (rate * self.beta)
        return eta


@final
class ModelMismatch:
    """A believed robot beside a true one, on the rows of a task.

    Args:
        task: The task, with the believed robot.
        truth: The true robot.
        allocation: How demands become inputs; it must be linear in the demand.
    """

    def __init__(self, task: Task, truth: Robot, allocation: Allocation | None = None) -> None:
        self._stack = Stack(task.servo, task.robot)
        names = self._stack.names
        self._allocator = (allocation or LeastNorm()).attach(task, names)
        self._believed = Dynamics(task.robot, task.rank, task.gains)
        self._truth = Dynamics(truth, task.rank, task.gains)

    def at(self, t: float, q: Vector, v: Vector) -> RowMismatch:
        """Return what the wrong model does at a state.

        Raises:
            InfeasibleConstraint: The rows are out of the believed robot's reach there.
        """
        self._believed.move(t, q, v)
        self._truth.move(t, q, v)
        rows = self._stack.write(self._believed.snapshot)
        nominal = self._true_row_acceleration(rows.b)
        m = len(rows.b)
        grip: Matrix = np.empty((m, m))
        for i, unit in enumerate(np.eye(m)):
            grip[:, i] = self._true_row_acceleration(rows.b + unit) - nominal - unit
        return RowMismatch(nominal - rows.b, grip, rows.beta.copy())

    def along(self, time: Vector, q: Matrix, v: Matrix) -> Iterable[RowMismatch]:
        """Yield it at the samples of a run."""
        for k, t in enumerate(time):
            yield self.at(float(t), np.ascontiguousarray(q[k]), np.ascontiguousarray(v[k]))

    def _true_row_acceleration(self, demand: Vector) -> Vector:
        """Return the true acceleration of the rows that a demand comes to."""
        u = self._allocator.input(self._stack.rows, demand, self._believed)
        row_a: Vector = self._stack.rows.A @ self._truth.acceleration(u)
        return row_a
