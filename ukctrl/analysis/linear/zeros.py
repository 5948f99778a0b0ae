r"""Invariant zeros of a state-space system of any shape, and modes that are hidden.

A mode $s$ is beyond the inputs where $[A - s I, B]$ loses rank, and unseen where
$[A^\top - s I, C^\top]$ does: invariant zeros without outputs, or without inputs. How many such
modes there are is the size of what is left of the system once all that is reached, or seen, has
been taken out of it.

References:
    Hautus, "Controllability and observability conditions of linear autonomous systems",
    Indag. Math. 72, 1969.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.regulators.riccati import UNCONTROLLABLE_RTOL, states_of_mode
from ukctrl.core.arrays import Matrix
from ukctrl.core.tie_breaking import max_abs, tie_ranks

SINGULAR_RTOL = 1e-9
"""A singular value below this fraction of the system's norm counts as zero."""


def invariant_zeros(A: Matrix, B: Matrix, C: Matrix, D: Matrix) -> NDArray[np.complex128]:
    r"""Return the finite invariant zeros: where the system's matrix loses rank, shape ``(k,)``.

    $$ \operatorname{rank}\begin{pmatrix} A - z I & B \\ C & D \end{pmatrix} < \text{its usual
       rank} . $$

    The system need not be square. States that the outputs determine are taken out one set after
    another, then those that no input reaches; what is left is $A - B D^{-1} C$.

    Args:
        A: Shape ``(n, n)``.
        B: Shape ``(n, m)``.
        C: Shape ``(p, n)``.
        D: Shape ``(p, m)``.

    References:
        Emami-Naeini & Van Dooren, "Computation of zeros of linear multivariable systems",
        Automatica 18(4), 1982.
    """
    whole = np.block([[A, B], [C, D]])
    small = SINGULAR_RTOL * float(np.linalg.norm(whole)) if whole.size else 0.0
    A, B, C, D = _deflate(A, B, C, D, small)
    A, C, B, D = (matrix.T for matrix in _deflate(A.T, C.T, B.T, D.T, small))
    if not len(A):
        return np.zeros(0, dtype=np.complex128)
    return np.asarray(np.linalg.eigvals(A - B @ np.linalg.solve(D, C)), dtype=np.complex128)


def _deflate(
    A: Matrix, B: Matrix, C: Matrix, D: Matrix, small: float
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """Return the system on the states that can go unseen; its ``D`` has full row rank."""
    while True:
        U, sigma, _ = np.linalg.svd(D)
        rank = int(np.count_nonzero(sigma > small))
        C, D = U.T @ C, U.T @ D
        _, sigma, Vt = np.linalg.svd(C[rank:])
        output_rank = int(np.count_nonzero(sigma > small))
        if not output_rank:
            return A, B, C[:rank], D[:rank]
        V = np.roll(Vt.T, -output_rank, axis=1)  # what the outputs determine comes last
        n = len(A) - output_rank
        A, B, C = V.T @ A @ V, V.T @ B, C @ V
        C, D = np.vstack([C[:rank, :n], A[n:, :n]]), np.vstack([D[:rank], B[n:]])
        A, B = A[:n, :n], B[:n]


POLE_RTOL = 1e-5
"""Poles this close, relative to the largest, are one mode; rounding scatters double zeros."""


class HiddenMode(NamedTuple):
    """A mode that the inputs do not reach, or the outputs do not show."""

    pole: complex
    """Its pole [1/s]; of a conjugate pair, the upper."""
    number: int
    """How many of its kind there are, conjugates included."""
    states: str
    """The states that make up most of it, as messages have them."""

    @property
    def grows(self) -> bool:
        """Whether it grows."""
        return self.pole.real > 0.0


def uncontrollable_modes(A: Matrix, B: Matrix, states: Sequence[str]) -> tuple[HiddenMode, ...]:
    """Return the modes that no input moves, the ones that grow most first."""
    n, m = B.shape
    poles = invariant_zeros(A, B, np.zeros((0, n)), np.zeros((0, m)))
    size = max(1.0, max_abs(np.linalg.eigvals(A)))
    poles = np.where(np.abs(poles) < POLE_RTOL * size, 0.0, poles)
    modes = []
    remaining = list(poles[poles.imag >= 0.0])
    while remaining:
        pole = complex(remaining[0])
        near = [p for p in remaining if abs(p - pole) <= POLE_RTOL * size]
        remaining = [p for p in remaining if abs(p - pole) > POLE_RTOL * size]
        U, sigma, _ = np.linalg.svd(np.hstack([A - pole * np.eye(n), B]))
        null_mask = sigma <= max(
            UNCONTROLLABLE_RTOL * sigma[0], sigma[-1]
        )  # at least what is nearest
        weights = np.linalg.norm(U[:, null_mask], axis=1)
        twice = 2 if abs(pole.imag) > POLE_RTOL * size else 1
        modes.append(HiddenMode(pole, twice * len(near), states_of_mode(weights, states)))
    order = np.argsort(
        tie_ranks((-mode.pole.real for mode in modes), POLE_RTOL * size), kind="stable"
    )
    return tuple(modes[k] for k in order)


def unobservable_modes(A: Matrix, C: Matrix, states: Sequence[str]) -> tuple[HiddenMode, ...]:
    """Return the modes that no output shows, the ones that grow most first."""
    return uncontrollable_modes(A.T, C.T, states)
