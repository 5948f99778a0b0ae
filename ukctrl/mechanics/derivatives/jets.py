"""What derivatives of rows along a motion are, however they are found."""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.program import KernelStep
from ukctrl.mechanics.constraints import Stack
from ukctrl.robot import Robot, Snapshot


class Jets(abc.ABC):
    r"""Derivatives of the rows of a stack along the motions of a robot.

    A row with a position level counts from its error $\phi$, one without from $\beta$.

    Attributes:
        robot: The robot.
        stack: The rows.
        first: How often each row is differentiated at least until an input can appear in it,
            shape ``(m,)``: 2, of a nonholonomic row 1.
    """

    exact: ClassVar[bool]
    """Whether the derivatives are those of formulas, right to rounding."""

    def __init__(self, stack: Stack) -> None:
        self.robot: Robot = stack.robot
        self.stack = stack
        self.first: NDArray[np.intp] = np.where(stack.holonomic, 2, 1)

    @abc.abstractmethod
    def derivatives(self, t: float, q: Vector, v: Vector, U: Matrix, order: int) -> Matrix:
        r"""Return the rows and their derivatives, shape ``(order + 1, m)``.

        Args:
            t: Time [s].
            q: Configuration, shape ``(nq,)``.
            v: Velocity, shape ``(nv,)``.
            U: The input and its derivatives, $u(\tau) = \sum_k U_k \tau^k/k!$, shape ``(n, nu)``;
                those beyond are zero.
            order: Highest derivative.

        Raises:
            UkctrlError: They do not exist at this state, or a path is not smooth enough.
        """

    def with_inputs(
        self, t: float, q: Vector, v: Vector, degrees: Sequence[int], push: Vector
    ) -> tuple[Matrix, Matrix]:
        r"""Return the rows' derivatives without input, and what inputs add to the last of each.

        Args:
            t: Time [s].
            q: Configuration, shape ``(nq,)``.
            v: Velocity, shape ``(nv,)``.
            degrees: Relative degree r of each row: the input enters its derivative of that order
                as $E_i u$, and none before.
            push: Inputs of a usual size, shape ``(nu,)``.

        Returns:
            Derivatives, shape ``(max(degrees) + 1, m)``, and ``E``, shape ``(m, nu)``.

        Raises:
            UkctrlError: As `derivatives`.
        """
        order, last = max(degrees), (list(degrees), np.arange(len(degrees)))
        drift, *pushed = (
            self.derivatives(t, q, v, U[None], order) for U in (np.zeros(len(push)), *np.diag(push))
        )
        E = [(answer[last] - drift[last]) / size for answer, size in zip(pushed, push, strict=True)]
        return drift, np.array(E).T.reshape(len(degrees), -1)

    def with_inputs_steps(
        self, s: Snapshot, degrees: Sequence[int], push: Vector, drift: Matrix, E: Matrix
    ) -> Iterable[KernelStep]:
        """Return what writes both of `with_inputs` at the state that a snapshot has then."""

        def write() -> None:
            drift[:], E[:] = self.with_inputs(s.t, s.q, s.v, degrees, push)

        return (write,)
