r"""Methods on the Gram matrix: cheap, and blind below the square root of rounding."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from ukctrl.core.arrays import Matrix
from ukctrl.core.errors import UnresolvedRank
from ukctrl.mechanics.pseudoinverse.method_result import EPS, Found

PASSES = 200
"""Proximal steps after which a singular value near the threshold is blamed."""
SETTLED = 1e-10
"""A proximal step that moves ``A X`` by less is the last (or ``16 eps / rtol``: rounding)."""


def cholesky(A: Matrix, rtol: float) -> Found:
    r"""Return $A^+$ from a pivoted Cholesky factor of the smaller Gram matrix (LAPACK ``pstrf``).

    For $A$ with no more rows than columns, with $L$ of full column rank,

    $$ \Pi^\top A A^\top \Pi = L L^\top, \qquad
       A^+ = A^\top \Pi\, L (L^\top L)^{-2} L^\top \Pi^\top , $$

    and transposed for a tall $A$. A pivot counts while its root exceeds ``rtol`` times the first
    one's; that root is the diagonal entry of the pivoted QR of $A$. Full rank is (6) and (11).
    """
    if A.shape[0] > A.shape[1]:
        transposed = cholesky(A.T, rtol)
        return transposed._replace(X=transposed.X.T)
    gram = A @ A.T
    m, largest = len(gram), float(np.diagonal(gram).max())
    packed, order, rank, _ = lapack.dpstrf(gram, tol=rtol**2 * largest, lower=1)
    order = order - 1
    L = np.tril(packed)[:, :rank]
    rest = np.diagonal(gram)[order] - (L * L).sum(axis=1)
    sizes = np.concatenate([np.diagonal(L), np.sqrt(np.maximum(rest[rank:], 0.0))])
    if rank == m:
        inner = lapack.dpotri(packed, lower=1)[0]
        inner = np.tril(inner) + np.tril(inner, -1).T
    else:
        small = lapack.dpotrf(L.T @ L, lower=1)[0]
        half = lapack.dpotrs(small, L.T, lower=1)[0]
        inner = half.T @ half
    unpivoted = np.empty_like(inner)
    unpivoted[np.ix_(order, order)] = inner
    sizes /= sizes[0]
    dropped = float(sizes[rank:].max(initial=0.0))
    return Found(A.T @ unpivoted, rank, float(sizes[rank - 1]), dropped)


def proximal(A: Matrix, rtol: float) -> Found:
    r"""Return the limit of the proximal iteration.

    Each step solves a regular least-squares problem that stays close to the last answer,

    $$ X_{k+1} = (A^\top A + \mu I)^{-1} (A^\top + \mu X_k), \quad X_0 = 0 , $$

    here with $\mu = (\mathtt{rtol}\, \max_i |a_i|)^2$. After $k$ steps a direction of singular
    value $\sigma$ still misses the share $(\mu / (\mu + \sigma^2))^k$: a hundredth per step at ten
    times the threshold, half per step at the threshold. What should be suppressed enters
    with $k \sigma / \mu$ instead of $1 / \sigma$. The iteration ends when a step moves $A X$ by
    less than `SETTLED`; a direction near the threshold keeps it from that. Rounding enters null
    directions amplified by $1/\mu$; one product $(X A)^\top X$ at the end takes it out to first
    order.

    Raises:
        UnresolvedRank: It has not settled after `PASSES` steps.
    """
    if A.shape[0] < A.shape[1]:
        transposed = proximal(A.T, rtol)
        return transposed._replace(X=transposed.X.T)
    gram = A.T @ A
    largest = float(np.sqrt(np.diagonal(gram).max()))
    mu = (rtol * largest) ** 2
    L = lapack.dpotrf(gram + mu * np.eye(len(gram)), lower=1)[0]
    X: Matrix = np.zeros(A.T.shape)
    settled = max(SETTLED, 16.0 * EPS / rtol)
    passes = 0
    while passes < PASSES:
        passes += 1
        before, X = X, lapack.dpotrs(L, A.T + mu * X, lower=1)[0]
        step = X - before
        if np.sum(step * (gram @ step)) <= settled**2:  # |A step|^2
            break
    else:
        raise UnresolvedRank(
            f"the proximal iteration must settle in {PASSES} steps; it did not, because a singular "
            f"value lies near rtol = {rtol:.1e}. Choose rtol well inside a gap of the singular "
            "values, or method = 'svd'."
        )
    X = (X @ A).T @ X
    rank = round(float(np.trace(X @ A)))
    return Found(X, rank, 1.0 / (largest * float(np.linalg.norm(X))), np.nan, passes)
