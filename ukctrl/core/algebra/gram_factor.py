"""Many independent rows, by the Cholesky factor of their Gram matrix; compiled.

`ukctrl.core.algebra.row_space` makes the directions that rows span orthogonal, each to all before
it. The Gram matrix of bodies that hang together in a chain is a narrow band, and so is its factor:
the time of both grows with the number of bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import dot, envelope_cholesky
from ukctrl.core.algebra.sparse_products import banded_gram_into, nonzero_ranges
from ukctrl.core.arrays import Indices, Matrix
from ukctrl.core.compiled import allocating, compiled

MIN_GRAM_ROWS = 24
"""From so many rows on it is faster."""
ITERATIONS = 6
"""Steps of inverse iteration for the smallest singular value."""


class GramFactorBuffers(NamedTuple):
    """What `gram_factor` reads and writes; megabytes, which are not asked for at every state."""

    T: Matrix
    """Unit rows as columns, shape ``(n, m)``."""
    S: Matrix
    """Their Gram matrix, shape ``(m, m)``."""
    L: Matrix
    """Its factor, shape ``(m, m)``."""


@allocating
def gram_factor_buffers(n: int, m: int) -> GramFactorBuffers:
    """Return buffers for ``m`` rows of ``n`` velocities; of few rows, empty ones."""
    many = m if m >= MIN_GRAM_ROWS else 0
    return GramFactorBuffers(np.empty((n, many)), np.empty((many, many)), np.empty((many, many)))


class GramFactor(NamedTuple):
    """Unit rows as columns ``T``, and the factor ``L L' = T' T`` of their Gram matrix."""

    T: Matrix
    """Shape ``(n, m)``; a row that is nothing is a column of zeros."""
    ends: Indices
    """The `nonzero_ranges` of ``T``."""
    L: Matrix
    """Shape ``(m, m)``."""
    begins: Indices
    """The first column of each row of ``L`` that is not zero, shape ``(m,)``."""
    rank: int
    """Rows that are not zero."""
    smallest_singular: float
    """Their smallest singular value; 0 where they depend on each other."""


@allocating
def gram_factor(buffers: GramFactorBuffers) -> GramFactor:
    """Return the factor for the unit rows in ``buffers.T``."""
    (T, S, L), m, rank = buffers, buffers.T.shape[1], 0
    ends, begins = nonzero_ranges(T), np.empty(m, dtype=np.int64)
    banded_gram_into(T, ends, S)
    for i in range(m):
        rank += S[i, i] > 0.0
        # a row that is nothing shall not stop the factor
        if S[i, i] == 0.0:
            S[i, i] = 1.0
    if envelope_cholesky(S, L) > 0:
        return GramFactor(T, ends, L, begins, rank, 0.0)
    for i in range(m):
        begins[i] = 0
        while L[i, begins[i]] == 0.0:
            begins[i] += 1
    return GramFactor(T, ends, L, begins, rank, _smallest_singular_value(L, begins))


@compiled
def _solve(L: Matrix, begins: Indices, Z: Matrix) -> None:
    """Overwrite ``Z`` with ``(L L')^-1 Z``."""
    m, count = Z.shape
    for i in range(m):
        for k in range(begins[i], i):
            for c in range(count):
                Z[i, c] -= L[i, k] * Z[k, c]
        for c in range(count):
            Z[i, c] /= L[i, i]
    for i in range(m - 1, -1, -1):
        for c in range(count):
            Z[i, c] /= L[i, i]
        for k in range(begins[i], i):
            for c in range(count):
                Z[k, c] -= L[i, k] * Z[i, c]


@allocating
def _smallest_singular_value(L: Matrix, begins: Indices) -> float:
    """Return the smallest singular value of rows from the factor of their Gram matrix.

    From above, within some percent, by inverse iteration. The start leans on every direction:
    it is no smooth function of the index, to which the slowest modes of a chain may be orthogonal.
    """
    m = L.shape[0]
    x = np.empty((m, 1))
    for i in range(m):
        x[i, 0] = np.sin((i + 1.0) ** 2)
    length = 1.0
    for _ in range(ITERATIONS):
        for i in range(m):
            x[i, 0] /= length
        _solve(L, begins, x)
        length = np.sqrt(dot(x.reshape(-1), x.reshape(-1)))
    return float(1.0 / np.sqrt(length))


@allocating
def project_columns_onto_rows(gram: GramFactor, demands: Matrix, X: Matrix) -> None:
    """Move the columns of ``X`` by the least that makes ``T' X`` the demands, shape ``(c, m)``.

    Columns that have none, beyond those, get ``T' X = 0``. The second time undoes what squaring
    the rows has cost.
    """
    T, ends = gram.T, gram.ends
    count = X.shape[1]
    Z = np.empty((T.shape[1], count))
    for _ in range(2):
        for i in range(len(Z)):
            for k in range(count):
                Z[i, k] = demands[k, i] if k < len(demands) else 0.0
        for c in range(len(T)):
            for i in range(ends[c, 0], ends[c, 1]):
                for k in range(count):
                    Z[i, k] -= T[c, i] * X[c, k]
        _solve(gram.L, gram.begins, Z)
        for c in range(len(T)):
            for i in range(ends[c, 0], ends[c, 1]):
                for k in range(count):
                    X[c, k] += T[c, i] * Z[i, k]
