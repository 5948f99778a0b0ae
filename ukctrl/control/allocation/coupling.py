r"""How a closed chain's reaction is thought to answer the input.

The reaction moves with the input: $a = a_\mathrm{free} + G u$ with $G = W B$. Read word by word,
the servo paper computes the reaction with the motors off and keeps it, $a = a_\mathrm{free} +
M^{-1} B u$. Both are the same where the motors leave the closure alone.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from ukctrl.core.algebra import kernels
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.dynamics import Dynamics

Coupling = Literal["exact", "frozen", "stacked"]
"""How the reaction of passive rows is thought to answer the input."""


class Equation(NamedTuple):
    """The rows that an input shall meet: ``A (a_free + G u) = b``."""

    A: Matrix
    b: Vector
    a_free: Vector
    G: Matrix


def free_response(dynamics: Dynamics) -> Matrix:
    """Return ``M^-1 B``, the acceleration per unit input if no reaction answered it."""
    if not len(dynamics.passive):
        return dynamics.G
    B = dynamics.snapshot.B
    answer: Matrix = np.empty(B.shape)
    kernels.free_response(dynamics.L, B, answer)
    return answer


def equation(coupling: Coupling, A: Matrix, demand: Vector, dynamics: Dynamics) -> Equation:
    """Return what the input must satisfy under a reading of the coupling.

    Without passive rows all readings are one.
    """
    if coupling == "exact" or not len(dynamics.passive):
        return Equation(A, demand, dynamics.a_free, dynamics.G)
    G = free_response(dynamics)
    if coupling == "frozen":
        return Equation(A, demand, dynamics.a_free, G)
    A_p = dynamics.passive.rows.A
    at_rest = A_p @ dynamics.a_free  # what the reaction to motors at rest already gives
    return Equation(np.vstack((A, A_p)), np.concatenate((demand, at_rest)), dynamics.a_free, G)
