"""Methods that LAPACK does not have: Greville's recursion and modified Gram-Schmidt."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas

from ukctrl.core.algebra.factorisation import copy_into, pivoted_lq
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating
from ukctrl_papers.pseudoinverse.lapack_methods import EPS, RawPseudoinverse, UnresolvedRank

NOISE_FACTOR = 4.0
"""Roundings that a remainder of Greville's recursion must exceed."""


def greville(A: Matrix, rtol: float) -> RawPseudoinverse:
    r"""Return $A^+$ built up row by row; eq (22) on, corrected.

    With $d_i = a_i A_{i-1}^+$ and $c_i = a_i - d_i A_{i-1}$,

    $$ A_i^+ = \begin{bmatrix} A_{i-1}^+ - b_i^\top d_i & b_i^\top \end{bmatrix}, \qquad
       b_i = \begin{cases} c_i / (c_i c_i^\top) & c_i \ne 0 \\
       d_i (A_{i-1}^+)^\top / (1 + d_i d_i^\top) & c_i = 0 . \end{cases} $$

    $c_i$ is computed twice over, or the loss of orthogonality of one step would feed the next; it
    counts as zero up to ``rtol`` times the longest row. Its error is $\epsilon (1 + |d_i|_1)$ and
    what a third time would take away: large where nearly dependent rows came early, since
    the order of the rows is given.
    A tall $A$ is taken by columns. The paper prints $b_i^\top$ outside the brackets,
    and $A_{i-1}^+$ without its transpose in the second case.

    Raises:
        UnresolvedRank: Some $c_i$ is above ``rtol`` but not above its rounding.
    """
    if A.shape[0] > A.shape[1]:
        transposed = greville(np.ascontiguousarray(A.T), rtol)
        return transposed._replace(X=transposed.X.T)
    largest = float(np.sqrt((A * A).sum(axis=1).max()))
    size, noise = np.empty(len(A)), np.empty(len(A))
    X, rank = _greville(A, rtol * largest, size, noise)
    size, noise = size / largest, noise / largest
    unclear = np.flatnonzero((size > rtol) & (size <= noise))
    if unclear.size:
        i = int(unclear[0])
        raise UnresolvedRank(
            "what Greville's recursion leaves of a direction must be below rtol or above rounding; "
            f"of direction {i}, {size[i]:.1e} is left, rtol = {rtol:.1e}, rounding {noise[i]:.1e}. "
            "Raise rtol, or choose method = 'svd'."
        )
    independent = size > rtol
    return RawPseudoinverse(
        X, rank, float(size[independent].min()), float(size[~independent].max(initial=0.0))
    )


@allocating
def _greville(A: Matrix, threshold: float, size: Vector, noise: Vector) -> tuple[Matrix, int]:
    """Return pseudoinverse and rank; write the length of each ``c_i`` and its error."""
    m, n = A.shape
    X = np.zeros((n, m))
    lengths = np.empty(m)
    for i in range(m):
        lengths[i] = np.sqrt((A[i] * A[i]).sum())
    rank = 0
    c, d, b, step = np.empty(n), np.empty(m), np.empty(n), np.empty(m)
    for i in range(m):
        copy_into(A[i], c)
        d[:i] = 0.0
        for sweep in range(3):
            step[:i] = 0.0
            for k in range(n):
                for j in range(i):
                    step[j] += c[k] * X[k, j]
            if sweep == 2:
                break
            for j in range(i):
                d[j] += step[j]
                for k in range(n):
                    c[k] -= step[j] * A[j, k]
        square = (c * c).sum()
        size[i] = np.sqrt(square)
        noise[i] = NOISE_FACTOR * EPS * (lengths[i] + (np.abs(d[:i]) * lengths[:i]).sum())
        noise[i] += (np.abs(step[:i]) * lengths[:i]).sum()
        if size[i] > threshold:
            rank += 1
            copy_into(c / square, b)
        else:
            weight = 1.0 + (d[:i] * d[:i]).sum()
            for k in range(n):
                b[k] = (X[k, :i] * d[:i]).sum() / weight
        for k in range(n):
            for j in range(i):
                X[k, j] -= b[k] * d[j]
            X[k, i] = b[k]
    return X, rank


def gram_schmidt(A: Matrix, rtol: float) -> RawPseudoinverse:
    r"""Return the minimum-norm least-squares solutions of $A x = e_i$ by modified Gram-Schmidt.

    The rows of $A$ are orthogonalised with pivoting and once more
    (`ukctrl.core.algebra.factorisation`), $\Pi A = L Q$, and the columns of $L$ likewise where
    dependent rows make it tall, $L \Pi_2 = K S$:

    $$ A^+ = Q^\top L^+ \Pi, \qquad L^+ = \Pi_2\, S^{-1} K^\top $$

    Golub & Van Loan 1996, section 5.2.8. The paper's code is Wampler's (1979), with iterative
    refinement in place of the second orthogonalisation.
    """
    first = pivoted_lq(A, rtol)
    m, r = len(A), first.rank
    diagonal = np.diagonal(first.L)
    smallest = float(diagonal[r - 1] / diagonal[0]) if r else 0.0
    remainder = (
        np.sqrt((first.Q[r:] ** 2).sum(axis=1).max(initial=0.0)) if r < min(A.shape) else 0.0
    )
    L = np.ascontiguousarray(first.L[:, :r])
    if r == m:
        inner = blas.dtrsm(1.0, L, np.eye(m), lower=1)
    else:
        second = pivoted_lq(np.ascontiguousarray(L.T), 0.0)
        inner = np.empty((r, m))
        inner[second.order] = blas.dtrsm(1.0, second.L[:, :r], second.Q, lower=1, trans_a=1)
    X = np.empty((A.shape[1], m))
    X[:, first.order] = first.Q[:r].T @ inner
    return RawPseudoinverse(X, r, smallest, float(remainder / diagonal[0]) if r else 0.0)
