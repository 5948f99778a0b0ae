r"""The servo-constraint DAE of a task, projected, at one moment.

$$ \dot q = v, \qquad \dot v = a(q, v, u, t), \qquad c(q, v, t) = 0, $$

with $a = a_\mathrm{free} + G u$ the robot's answer to its inputs, past the reactions of its passive
constraints, and $c$ the errors of the servo rows: $\phi$, or $\beta$ of a nonholonomic row. Where
inputs do not accelerate a row at once this has an index of up to 5. The directions that the rows
$A$ constrain and those that they leave, $A D = 0$, are taken apart, and along the constrained ones
the rows, differentiated, stand for the equation of motion:

$$ \dot q = v, \qquad D^\top M (\dot v - a) = 0, \qquad A\, a - b = 0, \qquad c = 0, $$

which lowers the index by two. As many equations as unknowns $q, v, u$ are left where the task has
as many rows as the robot has inputs. They can be solved for rows of a relative degree that is not
too high.

References:
    Blajer & Kolodziejczyk, "A geometric approach to solving problems of control constraints:
    theory and a DAE framework", Multibody Syst. Dyn. 11, 2004; Betsch, Uhlar, Quasem, "On the
    incorporation of servo constraints into a rotationless formulation of flexible multibody
    dynamics", ECCOMAS 2007.
"""

from __future__ import annotations

from typing import NamedTuple, final

import numpy as np

from ukctrl.control.task import Task
from ukctrl.core.algebra.finite_differences import central_jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError, quoted
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.derivatives import check_smooth
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.relative_degree import (
    HIGHEST_OF_DAE,
    advice,
    relative_degrees,
    shared_channel_degree,
)

SQUARE_TASK_ADVICE = "Drop rows, or take further ones for what the inputs leave free."


class DaeTerms(NamedTuple):
    """What the equations are made of, at one moment."""

    rate: Vector
    r"""Rate of the tangent step $\xi$ that velocities make, shape ``(n,)``."""
    a: Vector
    """Acceleration, shape ``(n,)``."""
    row: Vector
    """``A a - b``, shape ``(m,)``."""
    c: Vector
    """Errors of the rows, shape ``(m,)``."""


@final
class ServoDaeEquations:
    r"""The terms of the DAE of a task, and their derivatives.

    A configuration is $q = q_b \oplus \xi$ about a base, so that every kind of joint is served.

    Args:
        task: The task.
        kind: What complaints call the inversion.

    Raises:
        InputError: The task does not have one row for every input.
    """

    def __init__(self, task: Task, kind: str) -> None:
        self.task, self.robot, self.kind = task, task.robot, kind
        robot = task.robot
        self.dynamics = Dynamics(robot, task.rank, task.gains)
        self.stack = Stack(task.servo, robot)
        self.n, self.m = robot.nv, len(self.stack)
        self._is_euclidean = robot.is_euclidean
        if self.m != robot.nu:
            raise InputError(
                f"{kind} needs a task with as many rows as the robot has inputs; got {self.m} "
                f"{'row' if self.m == 1 else 'rows'} ({', '.join(self.stack.names)}) for "
                f"{robot.nu} ({', '.join(robot.actuators)}). {SQUARE_TASK_ADVICE}"
            )

    def evaluate(self, t: float, base: Vector, xi: Vector, v: Vector, u: Vector) -> DaeTerms:
        """Return the terms at a state; `dynamics` and `stack` are left there."""
        self.dynamics.move(t, self.robot.integrate(base, xi), v)
        a = self.dynamics.acceleration(u)
        rows = self.stack.write(self.dynamics.snapshot)
        rate = v if self._is_euclidean else self.robot.chart_rate(xi, v)
        c = np.where(self.stack.holonomic, rows.phi, rows.beta)
        return DaeTerms(rate, a, rows.A @ a - rows.b, c)

    def derivative(
        self, t: float, base: Vector, xi: Vector, v: Vector, u: Vector
    ) -> tuple[DaeTerms, Matrix]:
        """Return the terms, and how they all change with ``xi``, ``v`` and ``u``.

        The second, one below the other, has shape ``(2 n + 2 m, 2 n + m)``. `dynamics` and `stack`
        are left at the state.
        """
        n, m = self.n, self.m

        def terms(d: Vector) -> Vector:
            return np.concatenate(self.evaluate(t, base, xi + d[:n], v + d[n:], u))

        jacobian = np.zeros((2 * n + 2 * m, 2 * n + m))
        # inputs act affinely: their columns are exact, differences are left to the state
        jacobian[:, : 2 * n] = central_jacobian(terms, 2 * n)
        # last, for the differences have moved `dynamics` and `stack` away
        values = self.evaluate(t, base, xi, v, u)
        jacobian[n : 2 * n, 2 * n :] = self.dynamics.G
        jacobian[2 * n : 2 * n + m, 2 * n :] = self.stack.rows.A @ self.dynamics.G
        return values, jacobian

    def projection(self) -> Matrix:
        """Return ``D' M`` where `at` was last, shape ``(n - m, n)``; ``D`` is orthonormal.

        Raises:
            InputError: Some rows say the same.
        """
        A = self.stack.rows.A
        _, sigma, Vt = np.linalg.svd(A)
        if sigma[-1] <= self.dynamics.rank.passive * sigma[0]:
            raise InputError(
                f"the task's rows must be independent; at t = {self.dynamics.snapshot.t:.4g} s "
                f"{quoted(self.stack.names)} are not. Drop the ones that repeat others."
            )
        projection: Matrix = Vt[self.m :] @ self.dynamics.snapshot.M
        return projection

    def residual(self, h: float, terms: DaeTerms, slopes: Matrix, P: Matrix) -> Vector:
        """Return what a stage leaves of the projected equations, shape ``(2 n + m,)``.

        Args:
            h: Length of the step [s].
            terms: Of the stage.
            slopes: Derivatives of ``xi`` and ``v`` in the unit step, shape ``(2, n)``.
            P: The `projection` there.
        """
        slope_xi, slope_v = slopes
        along = P @ (slope_v - h * terms.a)
        return np.concatenate([slope_xi - h * terms.rate, along, h * terms.row, terms.c])

    def residual_jacobian(self, h: float, by: Matrix, P: Matrix) -> Matrix:
        """Return how a stage's own unknowns change what it leaves, but for the slopes.

        These enter the first ``n`` equations as they are, and the next ones by ``P``.
        """
        n, m = self.n, self.m
        rate, a, row, c = np.split(by, [n, 2 * n, 2 * n + m])
        residual: Matrix = np.vstack([-h * rate, -h * (P @ a), h * row, c])
        return residual


ACTUATED_DEGREE = 2
"""Rows of this degree are followed on any path, as by the laws that look at accelerations."""


def require_low_index(
    equations: ServoDaeEquations, task: Task, q: Vector, v: Vector, kind: str
) -> None:
    """Refuse rows that the DAE's index is too high for, and paths that jump where they must not.

    Args:
        equations: The DAE.
        task: The task.
        q: Configuration at the start.
        v: Velocity there.
        kind: What complaints call the inversion.

    Raises:
        InputError: The row is named, and what serves it.
    """
    dynamics, stack = equations.dynamics, equations.stack
    alone = relative_degrees(dynamics, stack, task.start, q, v)
    whole = shared_channel_degree(dynamics, stack, task.start, q, v, alone)
    degrees = [one.value or ACTUATED_DEGREE for one in alone]
    if whole is not None and whole.orders is not None:
        degrees = list(whole.orders)
    worst = max(range(len(degrees)), key=degrees.__getitem__)
    if degrees[worst] > HIGHEST_OF_DAE:
        raise InputError(
            f"{kind} needs rows of relative degree {HIGHEST_OF_DAE} at most; that of row "
            f"'{stack.names[worst]}' is {degrees[worst]}. {advice(task.robot, whole)}"
        )
    check_smooth(stack, [r if r > ACTUATED_DEGREE else 1 for r in degrees])
