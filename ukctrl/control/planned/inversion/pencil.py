r"""What a task leaves to move near a state: its internal dynamics, to first order.

About a state the robot is $\dot x = A x + B\, \delta u$ and the rows are $C x$. The states from
which some input keeps $C x = 0$ for ever are the largest subspace $V$ of the kernel of $C$ with

$$ A V = V \Lambda - B\, U, $$

and $\Lambda$ is how they move then; its eigenvalues are the invariant zeros. $V$ is found by
narrowing down, with a rank decision at each step, because the eigenvalues of the whole pencil at
infinity (five of them in one chain for a crane) do not stand rounding.

References:
    Wonham, "Linear Multivariable Control: a Geometric Approach", 1985, section 4.3.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.task import Task
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.linearise import Linearization, Linearizer, output_matrix

RANK = 1e-8
"""A smaller singular value counts as zero, in a system scaled to about 1."""


class Internal(NamedTuple):
    """The internal dynamics of a task about a state."""

    V: Matrix
    """Orthonormal basis of the states that can keep the rows, shape ``(n, k)``."""
    rate: Matrix
    """How they move, ``z_dot = rate z`` with ``x = V z``, shape ``(k, k)``."""

    @property
    def eigenvalues(self) -> NDArray[np.complex128]:
        """Return the eigenvalues [1/s], shape ``(k,)``."""
        return np.asarray(np.linalg.eigvals(self.rate), dtype=np.complex128)

    def part(self, unstable: bool) -> Matrix:
        """Return a basis of the states that belong to eigenvalues on one side, shape ``(n, j)``."""
        from scipy.linalg import schur

        if not len(self.rate):
            return self.V
        side = "rhp" if unstable else "lhp"
        _, Z, count = schur(self.rate, output="real", sort=side)
        basis: Matrix = self.V @ Z[:, :count]
        return basis


def internal(A: Matrix, B: Matrix, C: Matrix) -> Internal:
    """Return the internal dynamics of a linear system with the outputs ``C x`` kept at zero.

    Args:
        A: Of the system, shape ``(n, n)``; all three are scaled to entries of about 1.
        B: Shape ``(n, m)``.
        C: Shape ``(m, n)``.

    Raises:
        InputError: Some input moves nothing that the rows see, ever.
    """
    V = _kernel(C)
    while V.shape[1]:
        reach = np.hstack([V, B])
        left = _kernel(reach.T)  # what neither the subspace nor the inputs reach
        narrower = V @ _kernel(left.T @ A @ V) if left.shape[1] else V
        if narrower.shape[1] == V.shape[1]:
            break
        V = narrower
    whole = np.hstack([V, -B])
    if np.linalg.matrix_rank(whole, rtol=RANK) < whole.shape[1]:
        raise InputError(
            "the task must determine every input; to first order some combination of inputs moves "
            "nothing that its rows ever see. Hold what that input drives by a row of its own."
        )
    rate = np.linalg.lstsq(whole, A @ V, rcond=None)[0][: V.shape[1]]
    return Internal(V, np.asarray(rate, dtype=np.float64))


def _kernel(A: Matrix) -> Matrix:
    """Return an orthonormal basis of ``A x = 0``, by columns."""
    if not A.shape[0]:
        return np.eye(A.shape[1])
    _, sigma, Vt = np.linalg.svd(A)
    rank = int(np.count_nonzero(sigma > RANK * max(1.0, sigma.max(initial=0.0))))
    return np.ascontiguousarray(Vt[rank:].T)


class About(NamedTuple):
    """A task near a state, as a linear system with outputs, in scaled time."""

    linear: Linearization
    """The robot."""
    A: Matrix
    B: Matrix
    C: Matrix
    clock: float
    """Unit of time in which velocities and ``A`` are written [s]."""


def about(task: Task, t: float, q: Vector, v: Vector, u: Vector) -> About:
    """Return a task as a linear system about a state.

    Velocities are in units of the robot's own time scale, so that ranks do not depend on units.
    """
    robot = task.robot
    linear = Linearizer(robot, task.rank).at(t, q, v, u)
    stack = Stack(task.servo, robot)
    C = output_matrix(stack, linear, t) @ linear.full
    clock = 1.0 / max(1.0, float(np.abs(linear.poles()).max(initial=0.0)))
    count = len(linear.positions)
    scale = np.ones(len(linear.A))
    scale[count:] = 1.0 / clock
    A = clock * linear.A * scale / scale[:, None]
    B = clock * linear.B / scale[:, None]
    B = B / np.maximum(np.linalg.norm(B, axis=0), 1e-300)
    C = C * scale
    return About(linear, A, B, C / np.maximum(np.linalg.norm(C, axis=1), 1e-300)[:, None], clock)
