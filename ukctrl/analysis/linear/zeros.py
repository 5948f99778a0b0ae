"""Invariant zeros of a state-space system of any shape."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix

SINGULAR = 1e-9
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
    small = SINGULAR * float(np.linalg.norm(whole)) if whole.size else 0.0
    A, B, C, D = _inside(A, B, C, D, small)
    A, C, B, D = (each.T for each in _inside(A.T, C.T, B.T, D.T, small))
    if not len(A):
        return np.zeros(0, dtype=np.complex128)
    return np.asarray(np.linalg.eigvals(A - B @ np.linalg.solve(D, C)), dtype=np.complex128)


def _inside(
    A: Matrix, B: Matrix, C: Matrix, D: Matrix, small: float
) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """Return the system on the states that can go unseen; its ``D`` has full row rank."""
    while True:
        U, sigma, _ = np.linalg.svd(D)
        rank = int(np.count_nonzero(sigma > small))
        C, D = U.T @ C, U.T @ D
        _, sigma, Vt = np.linalg.svd(C[rank:])
        seen = int(np.count_nonzero(sigma > small))
        if not seen:
            return A, B, C[:rank], D[:rank]
        V = np.roll(Vt.T, -seen, axis=1)  # what the outputs determine comes last
        n = len(A) - seen
        A, B, C = V.T @ A @ V, V.T @ B, C @ V
        C, D = np.vstack([C[:rank, :n], A[n:, :n]]), np.vstack([D[:rank], B[n:]])
        A, B = A[:n, :n], B[:n]
