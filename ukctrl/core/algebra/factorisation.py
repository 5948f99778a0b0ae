"""Small dense factorisations, compiled.

NumPy's call overhead on a 4 x 4 matrix is ten times its arithmetic, so the control tick
uses these loops instead. They are plain textbook algorithms: Cholesky, and row-pivoted
Gram-Schmidt with reorthogonalisation, which reveals the rank of a constraint matrix and
tells *which rows* carry it. All arrays are C-contiguous float64; nothing is checked here.

Compiled functions write arrays element by element, or by `copy_into`: an assignment such as
``x[:] = y`` or ``rows[i] *= 2.0`` compiles fifty times longer, into ten times the machine code,
for the message it would give if the shapes differed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, deferred, inlined
from ukctrl.core.tie_breaking import TIE_RTOL

NEGLIGIBLE_RTOL = 1e-12
"""A row shorter than this fraction of the longest one is rounding."""
MIN_UNROLLED = 8
"""Sums of so many terms are worth adding up for four rows at a time."""
MIN_UNROLLED_SUM = 16
"""Sums of so many terms are worth adding up in four parts, which do not wait for each other."""
MIN_BLOCKED = 48
"""Rows of so many entries are worth taking several at a time, and looking for where they end."""


class PivotedLQ(NamedTuple):
    """``H[order] = L Q`` with orthonormal rows in ``Q`` and the rank it reveals."""

    L: Matrix
    """Lower trapezoidal, shape ``(m, n)``; only the first ``rank`` columns are used."""
    Q: Matrix
    """Orthonormal rows, shape ``(m, n)``; only the first ``rank`` are used."""
    order: NDArray[np.int64]
    """Row order: the first ``rank`` rows of ``H`` in this order are independent."""
    rank: int
    """Rows whose part outside the span of the earlier ones exceeds the threshold."""


@compiled
def copy_into(x: NDArray[Any], target: NDArray[Any]) -> None:
    """Write ``x`` into an array of the same shape that is no part of it."""
    if x.ndim == 1:
        for i in range(len(x)):
            target[i] = x[i]
    elif x.ndim == 2:
        for i in range(x.shape[0]):
            for k in range(x.shape[1]):
                target[i, k] = x[i, k]
    else:
        entries, into = x.reshape(-1), target.reshape(-1)
        for i in range(len(entries)):
            into[i] = entries[i]


@compiled
def gather_rows(X: Matrix, order: Indices, into: Matrix) -> None:
    """Write some rows of a matrix in some order."""
    for i in range(len(order)):
        copy_into(X[order[i]], into[i])


@compiled
def dot(x: Vector, y: Vector) -> float:
    """Return ``x' y``."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@compiled
def matvec(X: Matrix, x: Vector, y: Vector) -> None:
    """Write ``y = X x``."""
    for i in range(len(y)):
        y[i] = 0.0
        for k in range(len(x)):
            y[i] += X[i, k] * x[k]


@compiled
def matvec_transposed(x: Vector, X: Matrix, y: Vector) -> None:
    """Write ``y = X' x``."""
    for k in range(len(y)):
        y[k] = 0.0
    for i in range(len(x)):
        factor, row = x[i], X[i]
        if factor != 0.0:
            for k in range(len(y)):
                y[k] += row[k] * factor


@compiled
def symmetric_matvec(X: Matrix, x: Vector, y: Vector) -> None:
    """Write ``(X + X') x`` of a square matrix."""
    for i in range(len(x)):
        y[i] = 0.0
        for j in range(len(x)):
            y[i] += (X[i, j] + X[j, i]) * x[j]


@compiled
def add_scaled_into(x: Vector, scale: float, y: Vector, total: Vector) -> None:
    """Write ``x + scale y``."""
    for i in range(x.shape[0]):
        total[i] = x[i] + scale * y[i]


@compiled
def cholesky(M: Matrix, L: Matrix) -> int:
    """Write the lower factor of ``M = L L'`` into ``L``; return 0, or 1 + the failing pivot."""
    n = M.shape[0]
    # the envelope pays from there on, and finds the blocks of a swarm (decision 0113)
    if n >= MIN_BLOCKED:
        return envelope_cholesky(M, L)
    for j in range(n):
        total = M[j, j]
        for k in range(j):
            total -= L[j, k] * L[j, k]
        if not total > 0.0:
            return j + 1
        L[j, j] = np.sqrt(total)
        scale, i = 1.0 / L[j, j], j + 1
        # each row is summed in the order that it would be alone: unrolling moves no bit here
        while j >= MIN_UNROLLED and i + 3 < n:  # four rows at a time, each as it would be alone
            a, b, c, d = M[i, j], M[i + 1, j], M[i + 2, j], M[i + 3, j]
            for k in range(j):
                factor = L[j, k]
                a -= L[i, k] * factor
                b -= L[i + 1, k] * factor
                c -= L[i + 2, k] * factor
                d -= L[i + 3, k] * factor
            L[i, j], L[i + 1, j], L[i + 2, j] = a * scale, b * scale, c * scale
            L[i + 3, j] = d * scale
            L[j, i] = L[j, i + 1] = L[j, i + 2] = L[j, i + 3] = 0.0
            i += 4
        while i < n:
            total = M[i, j]
            for k in range(j):
                total -= L[i, k] * L[j, k]
            L[i, j] = total * scale
            L[j, i] = 0.0
            i += 1
    return 0


@deferred
def envelope_cholesky(M: Matrix, L: Matrix) -> int:
    """Factor a mass matrix as `cholesky`, along the rows of memory, four of them at a time.

    Row i of the upper factor is made above the diagonal and kept as column i below it, up to where
    it or a row above has its last entry, ``ends``: the factor of many separate bodies takes little
    longer than to look for that.
    """
    n = M.shape[0]
    ends = np.empty(n, dtype=np.int64)
    end, begin = 0, 0
    for i in range(n):
        for j in range(n):
            L[i, j] = 0.0
    for i in range(n):
        last = n
        while last > end and last > i + 1 and M[i, last - 1] == 0.0:
            last -= 1
        ends[i] = end = max(end, last)
        while ends[begin] <= i:
            begin += 1
        for j in range(i, end):
            L[i, j] = M[i, j]
        row = L[i, i:end]
        for k in range(begin, i - 3, 4):
            f, g, h, e = L[i, k], L[i, k + 1], L[i, k + 2], L[i, k + 3]
            a, b, c, d = L[k, i:end], L[k + 1, i:end], L[k + 2, i:end], L[k + 3, i:end]
            for j in range(row.shape[0]):
                row[j] -= (f * a[j] + g * b[j]) + (h * c[j] + e * d[j])
        for k in range(i - (i - begin) % 4, i):
            f, a = L[i, k], L[k, i:end]
            for j in range(row.shape[0]):
                row[j] -= f * a[j]
        if not L[i, i] > 0.0:
            return i + 1
        L[i, i] = np.sqrt(L[i, i])
        for j in range(i + 1, end):
            L[i, j] /= L[i, i]
            L[j, i] = L[i, j]
    for i in range(n):
        for j in range(i + 1, ends[i]):
            L[i, j] = 0.0
    return 0


@compiled
def ldl_factor(M: Matrix, K: Matrix) -> int:
    """Factor ``M = K D K'`` with ones on the diagonal of ``K``; return 0, or 1 + the failing pivot.

    It needs no roots, which the next row would wait for. Below its diagonal ``K`` is that factor,
    on it stands ``1 / D``, and above it ``D K'``.
    """
    for i in range(len(M)):
        pivot = M[i, i]
        for j in range(i):
            entry = M[i, j]
            for k in range(j):
                entry -= K[j, k] * K[k, i]
            K[j, i] = entry
            K[i, j] = entry * K[j, j]
            pivot -= entry * K[i, j]
        if not pivot > 0.0:
            return i + 1
        K[i, i] = 1.0 / pivot
    return 0


@compiled
def ldl_solve(K: Matrix, x: Vector) -> None:
    """Overwrite the vector ``x`` with ``M^-1 x``, by the factor of `ldl_factor`."""
    n = len(x)
    for i in range(n):
        entry = x[i]
        for k in range(i):
            entry -= K[i, k] * x[k]
        x[i] = entry
    for i in range(n - 1, -1, -1):
        entry = x[i] * K[i, i]
        for k in range(i + 1, n):
            entry -= K[k, i] * x[k]
        x[i] = entry


@inlined
def unrolled_dot(x: Vector, y: Vector, n: int) -> tuple[float, int]:
    """Return a sum of the first products ``x_k y_k`` of many, ``n``, and how many those are.

    That is all but three at most.
    """
    a, b, c, d, k = 0.0, 0.0, 0.0, 0.0, 0
    while k + 3 < n:
        a += x[k] * y[k]
        b += x[k + 1] * y[k + 1]
        c += x[k + 2] * y[k + 2]
        d += x[k + 3] * y[k + 3]
        k += 4
    return (a + b) + (c + d), k


@inlined
def long_dot(x: Vector, y: Vector) -> float:
    """Return ``x' y``, added up in parts where it has many terms."""
    total, k, n = 0.0, 0, len(x)
    # four partial sums do not wait for each other; the order, and with it the last bits, is another
    if n >= MIN_UNROLLED_SUM:
        total, k = unrolled_dot(x, y, n)
    while k < n:
        total += x[k] * y[k]
        k += 1
    return total


@compiled
def solve_lower(L: Matrix, x: Vector) -> None:
    """Overwrite the vector ``x`` with ``L^-1 x``."""
    for i in range(x.shape[0]):
        total, k = x[i], 0
        # as in `long_dot`: another order of the sum from there on
        if i >= MIN_UNROLLED_SUM:
            done, k = unrolled_dot(L[i], x, i)
            total -= done
        while k < i:
            total -= L[i, k] * x[k]
            k += 1
        x[i] = total / L[i, i]


@compiled
def solve_upper(L: Matrix, x: Vector) -> None:
    """Overwrite the vector ``x`` with ``L^-T x``."""
    for k in range(x.shape[0] - 1, -1, -1):
        entry = x[k] / L[k, k]
        x[k] = entry
        for i in range(k):
            x[i] -= L[k, i] * entry


@compiled
def solve_lower_columns(L: Matrix, X: Matrix) -> None:
    """Overwrite the matrix ``X`` with ``L^-1 X``.

    As `solve_lower` column by column, but along the rows of memory: the processor then takes
    several columns at once. Nothing is done for entries of ``L`` that are
    zero, nor for columns beyond the last in which a row has an entry so far.
    """
    n, count = X.shape
    width = 0
    for i in range(n):
        c = count
        while c > width and X[i, c - 1] == 0.0:
            c -= 1
        width = max(width, c)
        for k in range(i):
            factor = L[i, k]
            if factor != 0.0:
                for c in range(width):
                    X[i, c] -= factor * X[k, c]
        scale = 1.0 / L[i, i]
        for c in range(width):
            X[i, c] *= scale


@compiled
def solve_upper_columns(L: Matrix, X: Matrix) -> None:
    """Overwrite the matrix ``X`` with ``L^-T X``; see `solve_lower_columns`."""
    n, count = X.shape
    for k in range(n - 1, -1, -1):
        scale = 1.0 / L[k, k]
        for c in range(count):
            X[k, c] *= scale
        for i in range(k):
            factor = L[k, i]
            if factor != 0.0:
                for c in range(count):
                    X[i, c] -= factor * X[k, c]


@allocating
def pivoted_lq(H: Matrix, rtol: float) -> PivotedLQ:
    """Factor ``H[order] = L Q`` by Gram-Schmidt with row pivoting.

    Each step takes the row with the largest part outside the span of those taken so far.
    It is orthogonalised a second time ("twice is enough", Giraud et al. 2005), so ``Q`` is
    orthonormal to rounding even for an ill-conditioned ``H``. Rows left with less than
    ``rtol`` times the largest row of ``H`` count as dependent.
    """
    m, n = H.shape
    L, Q, order = np.empty((m, n)), np.empty((m, n)), np.empty(m, dtype=np.int64)
    copy_into(H, Q)
    rank = pivoted_lq_in_place(Q, rtol, L, order, np.empty(m))
    return PivotedLQ(L, Q, order, rank)


@compiled
def pivoted_lq_in_place(
    Q: Matrix, rtol: float, L: Matrix, order: NDArray[np.int64], squared_norms: Vector
) -> int:
    """Overwrite ``H`` by the ``Q`` of `pivoted_lq`, write the rest, and return the rank."""
    m, n = Q.shape
    for i in range(m):
        order[i], squared_norms[i] = i, row_norm_squared(Q, i)
        for c in range(n):
            L[i, c] = 0.0
    rank, threshold = 0, 0.0
    for k in range(min(m, n)):
        pivot = k
        for i in range(k + 1, m):
            if squared_norms[i] > squared_norms[pivot]:
                pivot = i
        if k == 0:
            threshold = rtol * np.sqrt(squared_norms[pivot])
        if pivot != k:
            order[k], order[pivot], squared_norms[pivot] = order[pivot], order[k], squared_norms[k]
            for c in range(n):
                Q[k, c], Q[pivot, c] = Q[pivot, c], Q[k, c]
            for c in range(k):
                L[k, c], L[pivot, c] = L[pivot, c], L[k, c]
        for j in range(k):
            L[k, j] += orthogonalise_row(Q, j, k)
        norm = np.sqrt(row_norm_squared(Q, k))
        if not norm > threshold:
            break
        rank += 1
        L[k, k] = norm
        for c in range(n):
            Q[k, c] /= norm
        for i in range(k + 1, m):
            L[i, k] = orthogonalise_row(Q, k, i)
            squared_norms[i] = row_norm_squared(Q, i)
    return rank


@inlined
def row_norm_squared(Q: Matrix, i: int) -> float:
    """Return the squared length of a row."""
    total = 0.0
    for c in range(Q.shape[1]):
        total += Q[i, c] * Q[i, c]
    return total


@inlined
def orthogonalise_row(Q: Matrix, k: int, i: int) -> float:
    """Take from row i its part along the unit row k, and return how long that was."""
    along = long_dot(Q[k], Q[i])
    for c in range(Q.shape[1]):
        Q[i, c] -= along * Q[k, c]
    return along


@allocating
def least_norm_solution(factor: PivotedLQ, d: Vector) -> Vector:
    """Return the smallest ``x`` that satisfies the independent rows of ``H x = d``."""
    L, Q, order, rank = factor
    x = np.empty(Q.shape[1])
    least_norm_into(L, Q, order, rank, d, np.empty(rank), x)
    return x


@compiled
def least_norm_into(
    L: Matrix,
    Q: Matrix,
    order: NDArray[np.int64],
    rank: int,
    d: Vector,
    y: Vector,
    x: Vector,
) -> None:
    """Write what `least_norm_solution` returns; ``y`` is scratch, of the rank's length at least."""
    for c in range(x.shape[0]):
        x[c] = 0.0
    for i in range(rank):
        total = d[order[i]]
        for k in range(i):
            total -= L[i, k] * y[k]
        y[i] = total / L[i, i]
        for c in range(x.shape[0]):
            x[c] += y[i] * Q[i, c]


@compiled
def zero_rounding_lengths(lengths: Vector) -> None:
    """Set the lengths of rows to zero that are only rounding beside the longest one.

    Such a row holds by itself, as the out-of-plane rows of a closure in a planar mechanism do. Who
    scales rows of a mechanism asks this first: at unit length, rounding is a row like any other.
    """
    longest = 0.0
    for i in range(len(lengths)):
        longest = max(longest, lengths[i])
    for i in range(len(lengths)):
        if lengths[i] <= NEGLIGIBLE_RTOL * longest:
            lengths[i] = 0.0


@compiled
def normalise_rows(H: Matrix, d: Vector, lengths: Vector) -> None:
    """Scale the rows of ``H`` to unit length in place, and ``d`` with them; zero rows stay.

    What depends on what must not depend on the units of the rows. Writes the lengths they had.
    """
    for i in range(H.shape[0]):
        norm = 0.0
        for c in range(H.shape[1]):
            if H[i, c] != 0.0:
                norm += H[i, c] * H[i, c]
        lengths[i] = norm = np.sqrt(norm)
        if norm > 0.0:
            d[i] /= norm
            for c in range(H.shape[1]):
                H[i, c] /= norm


@deferred
def solve_least_norm(H: Matrix, d: Vector, rtol: float, x: Vector) -> int:
    """Write the smallest ``x`` that meets the independent rows of ``H x = d``; return the rank.

    Rows of `zero_rounding_lengths` have no part in it.
    """
    rows, right, lengths = H.copy(), d.copy(), np.empty(len(d))
    normalise_rows(rows, right, lengths)
    zero_rounding_lengths(lengths)
    for i in range(len(d)):
        for c in range(rows.shape[1] if lengths[i] == 0.0 else 0):
            rows[i, c] = 0.0
    factor = pivoted_lq(rows, rtol)
    copy_into(least_norm_solution(factor, right), x)
    return factor.rank


@deferred
def independent_rows(H: Matrix, rtol: float, order: NDArray[np.int64]) -> int:
    """Write a row order whose first ``rank`` rows are independent; return the rank.

    Rows of unit length are equal but for rounding: of those, the first are taken.
    """
    rows = H.copy()
    normalise_rows(rows, np.zeros(H.shape[0]), np.empty(H.shape[0]))
    for i in range(len(rows)):
        for c in range(rows.shape[1]):
            rows[i, c] *= 1.0 - TIE_RTOL * i
    factor = pivoted_lq(rows, rtol)
    copy_into(factor.order, order)
    return factor.rank
