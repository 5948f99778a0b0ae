"""Anti-windup: what a law's memory does while a safety filter takes away what the law asks for.

The errors that it integrates or adapts to are then those of the limit, which no larger push undoes.
"""

from __future__ import annotations

from ukctrl.core.algebra.factorisation import dot
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled

RELAXATION_TOLERANCE = 1e-6
"""Less than this is nothing that a row gives up [m/s^2, rad/s^2]."""


@compiled
def clamp_integrals(A: Matrix, loss: Vector, rate: Vector) -> None:
    """Stop integrals of rows' errors that would ask for more of what the rows give up already.

    Args:
        A: The rows, shape ``(m, nv)``.
        loss: By how much less the robot accelerates than the law asked for, shape ``(nv,)``.
        rate: Of the integrals, shape ``(m,)``; receives zeros.
    """
    for i in range(len(rate)):
        given_up = dot(A[i], loss)
        # conditional integration (decision 0157): only what would ask for still more stands still
        if abs(given_up) > RELAXATION_TOLERANCE and rate[i] * given_up < 0.0:
            rate[i] = 0.0


@compiled
def hold_memory(A: Matrix, loss: Vector, rate: Vector) -> None:
    """Stop what adapts to the rows' errors while some row gives something up; see
    `clamp_integrals`.
    """
    for i in range(len(A)):
        # no direction in which it may go on: an adaptation to an error that a limit makes is wrong
        if abs(dot(A[i], loss)) > RELAXATION_TOLERANCE:
            for k in range(len(rate)):
                rate[k] = 0.0
            return
