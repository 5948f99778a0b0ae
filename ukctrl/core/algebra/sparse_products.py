"""Products, columns and lengths of matrices that may be almost empty, compiled.

Those of many bodies are: entries that are zero cost a comparison. Rules as in
`ukctrl.core.algebra.factorisation`.
"""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.factorisation import MIN_UNROLLED, dot, solve_lower_columns
from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, deferred, inlined


@allocating
def nonzero_ranges(X: Matrix) -> Indices:
    """Return where the entries of each row that are not zero begin and end, shape ``(n, 2)``."""
    n, count = X.shape
    ends = np.zeros((n, 2), dtype=np.int64)
    for i in range(n):
        end = count
        while end > 0 and X[i, end - 1] == 0.0:
            end -= 1
        begin = 0
        while begin < end and X[i, begin] == 0.0:
            begin += 1
        ends[i, 0], ends[i, 1] = begin, end
    return ends


@allocating
def gram(T: Matrix) -> Matrix:
    """Return ``T' T``, shape ``(m, m)``."""
    S = np.empty((T.shape[1], T.shape[1]))
    banded_gram_into(T, nonzero_ranges(T), S)
    return S


@compiled
def banded_gram_into(T: Matrix, ends: Indices, S: Matrix) -> None:
    """Write what `gram` returns, of a matrix with the `nonzero_ranges` ``ends``."""
    for i in range(len(S)):
        for k in range(len(S)):
            S[i, k] = 0.0
    for c in range(len(T)):
        row = T[c, ends[c, 0] : ends[c, 1]]
        for i in range(row.shape[0]):
            if row[i] != 0.0:
                into = S[ends[c, 0] + i, ends[c, 0] : ends[c, 1]]
                for k in range(row.shape[0]):
                    into[k] += row[i] * row[k]


@allocating
def matmul(A: Matrix, G: Matrix) -> Matrix:
    """Return ``A G``, where much of ``A`` may be zero."""
    H = np.empty((A.shape[0], G.shape[1]))
    matmul_into(A, G, H)
    return H


@allocating
def matmul_transposed(A: Matrix, B: Matrix) -> Matrix:
    """Return ``A B'``."""
    across = np.empty((B.shape[1], B.shape[0]))
    transpose_into(B, across)
    return matmul(A, across)


@compiled
def matmul_into(A: Matrix, G: Matrix, H: Matrix) -> None:
    """Write what `matmul` returns: sums of few columns, or rows of many, four of them at a time."""
    n, count = G.shape
    # a swarm of particles: no sums at all
    if count >= MIN_UNROLLED and is_diagonal(G):
        for i in range(len(H)):
            for k in range(count):
                H[i, k] = A[i, k] * G[k, k]
        return
    for i in range(len(H)):
        # one sum an entry, in order; rows of many columns take four terms at a time, with other
        # last bits
        if count < MIN_UNROLLED:
            for k in range(count):
                total = 0.0
                for c in range(n):
                    total += A[i, c] * G[c, k]
                H[i, k] = total
            continue
        row = H[i]
        for k in range(count):
            row[k] = 0.0
        for c in range(0, n - 3, 4):
            p, q, r, s = A[i, c], A[i, c + 1], A[i, c + 2], A[i, c + 3]
            if p != 0.0 or q != 0.0 or r != 0.0 or s != 0.0:
                d, e, f, g = G[c], G[c + 1], G[c + 2], G[c + 3]
                for k in range(count):
                    row[k] += (p * d[k] + q * e[k]) + (r * f[k] + s * g[k])
        for c in range(n - n % 4, n):
            p, d = A[i, c], G[c]
            if p != 0.0:
                for k in range(count):
                    row[k] += p * d[k]


@deferred
def is_diagonal(X: Matrix) -> bool:
    """Return whether a matrix is square and has no entry beside its diagonal."""
    n, last = X.shape
    if n != last:
        return False
    for i in range(n):
        for k in range(n):
            if X[i, k] != 0.0 and i != k:
                return False
    return True


@compiled
def gram_into(X: Matrix, S: Matrix) -> None:
    """Write the lower half of ``X' X``, by sums of few columns or by rows of many."""
    n, m = X.shape
    for i in range(m):
        for j in range(i + 1):
            total = 0.0
            if m < MIN_UNROLLED:
                for k in range(n):
                    total += X[k, i] * X[k, j]
            S[i, j] = total
    if m < MIN_UNROLLED:
        return
    for k in range(n):
        row = X[k]
        for i in range(m):
            entry, into = row[i], S[i]
            if entry != 0.0:
                for j in range(i + 1):
                    into[j] += entry * row[j]


@compiled
def row_gram_into(X: Matrix, S: Matrix) -> None:
    """Write the lower half of ``X X'``."""
    for i in range(len(X)):
        for j in range(i + 1):
            S[i, j] = dot(X[i], X[j])


@compiled
def column_norms(X: Matrix, lengths: Vector) -> None:
    """Write the length of every column."""
    for k in range(X.shape[1]):
        lengths[k] = 0.0
    for c in range(X.shape[0]):
        for k in range(X.shape[1]):
            lengths[k] += X[c, k] * X[c, k]
    for k in range(X.shape[1]):
        lengths[k] = np.sqrt(lengths[k])


@inlined
def transpose_into(X: Matrix, Y: Matrix) -> None:
    """Write ``X'``."""
    for i in range(X.shape[0]):
        for c in range(X.shape[1]):
            Y[c, i] = X[i, c]


@allocating
def mass_weighted_columns(L: Matrix, A: Matrix) -> Matrix:
    """Return ``L^-1 A'``, the rows of ``A`` in mass-weighted coordinates, as columns."""
    columns = np.empty((A.shape[1], A.shape[0]))
    mass_weighted_columns_into(L, A, columns)
    return columns


@compiled
def mass_weighted_columns_into(L: Matrix, A: Matrix, columns: Matrix) -> None:
    """Write what `mass_weighted_columns` returns."""
    transpose_into(A, columns)
    solve_lower_columns(L, columns)
