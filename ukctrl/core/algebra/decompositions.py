"""Singular values, what rows do not span, and inverses of small matrices, compiled.

They stand for LAPACK, whose bits hang on the processor and which no exported controller has. Rules
as in `ukctrl.core.algebra.factorisation`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into, dot, long_dot
from ukctrl.core.algebra.sparse_products import transpose_into
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

MAX_SWEEPS = 40
"""A sweep squares what is left; five suffice but where entries are no numbers."""
MIN_SINGULAR_RATIO = 1e-140
"""A smaller part of the largest singular value is zero: its square is no normal number."""


class SVD(NamedTuple):
    """``X = U diag(sigma) Vt`` of a matrix of shape ``(m, n)``."""

    U: Matrix
    """Left singular vectors as columns, shape ``(m, m)``."""
    sigma: Vector
    """Singular values, largest first, shape ``(min(m, n),)``."""
    Vt: Matrix
    """Right singular vectors as rows, shape ``(n, n)``."""


@allocating
def svd(X: Matrix) -> SVD:
    """Return the singular value decomposition, all of both bases; NaN where an entry is not finite.

    By Jacobi's rotations of one side, which make the rows of ``X`` or of its transpose orthogonal,
    whichever are fewer: small singular values come out as exact as large ones where only the rows'
    lengths differ (Demmel and Veselic, SIAM J. Matrix Anal. Appl. 13, 1992).
    """
    m, n = X.shape
    k, is_wide, is_finite = min(m, n), m <= n, True
    W, largest = np.empty((k, max(m, n))), 0.0
    if is_wide:
        copy_into(X, W)
    else:
        transpose_into(X, W)
    for i in range(k):
        for c in range(W.shape[1]):
            is_finite = is_finite and np.isfinite(W[i, c])
            largest = max(largest, abs(W[i, c]))
    if not is_finite:
        return SVD(np.full((m, m), np.nan), np.full(k, np.nan), np.full((n, n), np.nan))
    # squares must neither overflow nor vanish
    scale = largest if largest > 0.0 else 1.0
    for i in range(k):
        for c in range(W.shape[1]):
            W[i, c] /= scale
    few, sigma = np.eye(k), np.empty(k)
    rank = _orthogonalise_rows(W, few, sigma)
    for i in range(k):
        sigma[i] *= scale
    # rows of no length, and what no row spans, are filled up to a basis
    many, rest = np.empty((W.shape[1], W.shape[1])), orthogonal_complement(W[:rank])
    copy_into(W[:rank], many[:rank])
    transpose_into(rest, many[rank:])
    if is_wide:
        return SVD(few.T.copy(), sigma, many)
    return SVD(many.T.copy(), sigma, few)


@compiled
def _orthogonalise_rows(W: Matrix, turned: Matrix, sigma: Vector) -> int:
    """Turn rows until they are orthogonal, then to unit length, longest first.

    Writes the lengths, and turns ``turned`` likewise. Returns how many rows have a length.
    """
    k, n = W.shape
    tolerance, moved, sweeps = np.sqrt(n) * np.finfo(np.float64).eps, k > 1, 0
    while moved and sweeps < MAX_SWEEPS:
        moved, sweeps = False, sweeps + 1
        for i in range(k - 1):
            for j in range(i + 1, k):
                p, q = W[i], W[j]
                a, b, along = long_dot(p, p), long_dot(q, q), long_dot(p, q)
                # not of zero: nothing is turned away from a row of no length
                if not abs(along) > tolerance * np.sqrt(a * b):
                    # largest first: fewer sweeps (de Rijk, SIAM J. Sci. Stat. Comput. 10, 1989)
                    if b > a:
                        # once more: a pair that has changed places was not looked at
                        moved = True
                        _turn(p, q, 0.0, 1.0)
                        _turn(turned[i], turned[j], 0.0, 1.0)
                    continue
                moved, zeta = True, (b - a) / (2.0 * along)
                tangent = np.copysign(1.0, zeta) / (abs(zeta) + np.sqrt(1.0 + zeta * zeta))
                cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
                sine = cosine * tangent
                # the other of the two angles leaves the longer row first
                if b > a:
                    cosine, sine = abs(sine), -np.copysign(cosine, zeta)
                _turn(p, q, cosine, sine)
                _turn(turned[i], turned[j], cosine, sine)
    rank = 0
    for i in range(k):
        sigma[i] = np.sqrt(long_dot(W[i], W[i]))
        rank += int(sigma[i] > MIN_SINGULAR_RATIO * sigma[0])
    for i in range(k):
        for c in range(n):
            W[i, c] = W[i, c] / sigma[i] if i < rank else 0.0
        sigma[i] = sigma[i] if i < rank else 0.0
    return rank


@compiled
def _turn(p: Vector, q: Vector, cosine: float, sine: float) -> None:
    """Overwrite two rows by ``cosine p - sine q`` and ``sine p + cosine q``."""
    for c in range(len(p)):
        p[c], q[c] = cosine * p[c] - sine * q[c], sine * p[c] + cosine * q[c]


@allocating
def orthogonal_complement(Q: Matrix) -> Matrix:
    """Return orthonormal columns of all that orthonormal rows do not span, shape ``(n, n - m)``.

    By Householder's reflections, which take the rows to the first axes, and the other axes back.
    """
    m, n = Q.shape
    free = np.zeros((n - m, n))
    _householder_complement(Q.copy(), free, np.empty(m))
    return free.T.copy()


@compiled
def _householder_complement(V: Matrix, free: Matrix, size: Vector) -> None:
    """Write as rows what `orthogonal_complement` returns, with orthonormal rows ``V``, which are
    overwritten.
    """
    m = len(V)
    for k in range(m):
        V[k, k] += np.copysign(np.sqrt(dot(V[k, k:], V[k, k:])), V[k, k])
        size[k] = dot(V[k, k:], V[k, k:])
        for i in range(k + 1, m):
            reflect(V[k, k:], size[k], V[i, k:])
    for j in range(len(free)):
        free[j, m + j] = 1.0
        for k in range(m - 1, -1, -1):
            reflect(V[k, k:], size[k], free[j, k:])


@compiled
def reflect(v: Vector, size: float, x: Vector) -> None:
    """Overwrite ``x`` with its mirror image, across ``v`` of the squared length ``size``."""
    along = 2.0 * long_dot(v, x) / size
    for c in range(len(x)):
        x[c] -= along * v[c]


@allocating
def inverse(X: Matrix) -> Matrix:
    """Return the inverse of a square matrix; of a singular one entries that are no numbers.

    Gauss-Jordan elimination in place, the largest entry of a column first.
    """
    n, Y, Z, order = len(X), X.copy(), np.empty(X.shape), np.arange(len(X))
    _eliminate(Y, order, np.empty(n))
    for k in range(n):
        for i in range(n):
            Z[i, order[k]] = Y[i, k]
    return Z


@allocating
def determinant(X: Matrix) -> float:
    """Return the determinant of a square matrix."""
    return float(_eliminate(X.copy(), np.arange(len(X)), np.empty(len(X))))


@compiled
def _eliminate(Y: Matrix, order: Indices, factors: Vector) -> float:
    """Overwrite a matrix with the inverse but for the order of its columns, which is written.

    Returns the determinant.
    """
    n, determinant = len(Y), 1.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(Y[i, k]) > abs(Y[pivot, k]):
                pivot = i
        order[k], order[pivot] = order[pivot], order[k]
        determinant *= Y[pivot, k] if pivot == k else -Y[pivot, k]
        for c in range(n):
            Y[k, c], Y[pivot, c] = Y[pivot, c], Y[k, c]
        scale, Y[k, k], row = 1.0 / Y[k, k], 1.0, Y[k]
        for c in range(n):
            row[c] *= scale
        for i in range(n):
            factors[i], Y[i, k] = (Y[i, k], 0.0) if i != k else (0.0, Y[i, k])
        for i in range(0, n - 3, 4):  # four rows at a time
            f, g, h, e = factors[i], factors[i + 1], factors[i + 2], factors[i + 3]
            p, q, r, s = Y[i], Y[i + 1], Y[i + 2], Y[i + 3]
            for c in range(n):
                p[c], q[c] = p[c] - f * row[c], q[c] - g * row[c]
                r[c], s[c] = r[c] - h * row[c], s[c] - e * row[c]
        for i in range(n - n % 4, n):
            p, f = Y[i], factors[i]
            for c in range(n):
                p[c] -= f * row[c]
    return determinant
