r"""Inputs of rows that are clear of each other, by their Gram matrix; compiled.

$S = H R^{-1} H^\top = K D K^\top$ squares the rows, which one correction undoes. That they are
clear, and how far from lost, is proved by a bound of its eigenvalues; else
`ukctrl.core.algebra.least_norm_input` goes on with orthonormal rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.factorisation import (
    MIN_BLOCKED,
    dot,
    ldl_factor,
    ldl_solve,
    matvec,
    matvec_transposed,
    solve_lower_columns,
    solve_upper,
)
from ukctrl.core.algebra.sparse_products import gram_into, row_gram_into, transpose_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

MIN_GRAM_EIGENVALUE = 1e-8
"""Rows of unit length whose squared singular values are above this are solved by their Gram matrix;
one correction takes what that loses."""
ROUNDING_RTOL = 8.0 * float(np.finfo(np.float64).eps)
"""What may be missed without a correction, of the demand and of the input."""


class InputBuffers(NamedTuple):
    """What `least_input` writes on its way."""

    H: Matrix
    """Acceleration of the rows per unit input, shape ``(m, nu)``."""
    rows: Matrix
    """The same of unit length, in the metric, and then orthonormal."""
    factor: Matrix
    """Of these; see `ukctrl.core.algebra.factorisation.PivotedLQ`."""
    Ht: Matrix
    """``H`` as columns, in the metric, shape ``(nu, m)``."""
    gram: Matrix
    """Products of these, and their factor, shape ``(m, m)``."""
    columns: Matrix
    """The rows measured by mass, shape ``(n, m)``."""
    root: Matrix
    """Cholesky factor of the metric."""
    per_row: Matrix
    """Numbers of the rows, shape ``(5, m)``."""
    order: NDArray[np.int64]
    """Rows, the independent ones first."""
    per_input: Matrix
    """Numbers of the inputs, shape ``(2, nu)``."""


@allocating
def input_buffers(m: int, n: int, nu: int, weighed: bool) -> InputBuffers:
    """Return room for so many rows, velocities and inputs, with a metric or without.

    Few allocations, for a tick may make it anew.
    """
    by_row, per_row, order = np.empty((3, m, nu)), np.empty((5, m)), np.empty(m, dtype=np.int64)
    k = nu if weighed else 0
    Ht, gram, columns = np.empty((nu, m)), np.empty((m, m)), np.empty((n, m))
    return InputBuffers(
        by_row[0],
        by_row[1],
        by_row[2],
        Ht,
        gram,
        columns,
        np.empty((k, k)),
        per_row,
        order,
        np.empty((2, nu)),
    )


DEMAND, UNIT_DEMAND, ROW_NORM, MASS_WEIGHTED_NORM, ROW_SCRATCH = range(5)
"""Rows of `InputBuffers.per_row`: what is missed, and that in units of their length, which is the
next; their length measured by mass; scratch."""
STEP, INPUT_SCRATCH = range(2)
"""Rows of `InputBuffers.per_input`: the input without ``u0``, and scratch."""


@compiled
def gram_input(buffers: InputBuffers, motors: Vector, rtol: float, miss: Vector) -> bool:
    r"""Write the step that rows clear of each other need, and what it misses; return if they are.

    By their Gram matrix $S = H R^{-1} H^\top$. If no eigenvalue of that of unit rows is below
    $\sigma^2$, every row has at least $\sigma$ left beside all others, in whatever order.
    """
    H, across, S, step, m = buffers.H, buffers.Ht, buffers.gram, buffers.per_input[STEP], len(miss)
    y, size, reach, d = (
        buffers.per_row[UNIT_DEMAND],
        buffers.per_row[ROW_NORM],
        buffers.per_row[MASS_WEIGHTED_NORM],
        buffers.per_row[DEMAND],
    )
    # more rows than inputs are dependent; of many, disjoint ones are looked for first
    # (`pivoted_input`)
    if m == 0 or m > len(step) or m >= MIN_BLOCKED:
        return False
    if len(buffers.root) > 0:
        transpose_into(H, across)
        solve_lower_columns(buffers.root, across)
        gram_into(across, S)
    else:
        row_gram_into(H, S)
    for i in range(m):
        size[i], y[i] = S[i, i], d[i]
    if ldl_factor(S, S) > 0:
        return False
    # a proof and no test: beside all others each row keeps the smallest singular value of its own
    # length, and that is above what counts as lost, in whatever scaling of the inputs
    lower_bound = eigenvalue_lower_bound(S, size, buffers.per_row[ROW_SCRATCH])
    clear, stretch = (
        lower_bound > MIN_GRAM_EIGENVALUE,
        input_scale_bound(motors, buffers.root, step),
    )
    for i in range(m):
        threshold = rtol * stretch * reach[i]
        clear = clear and lower_bound * size[i] > threshold * threshold
    if not clear:
        return False
    ldl_solve(S, y)
    weighted_transpose_product(buffers, y, step)
    long, off = dot(y, d), False  # the step's squared length, in the metric
    for i in range(m):
        miss[i] = dot(H[i], step) - d[i]
        off = off or miss[i] * miss[i] > ROUNDING_RTOL * ROUNDING_RTOL * size[i] * long
    if off:
        residual, more = buffers.per_row[ROW_SCRATCH], buffers.per_input[INPUT_SCRATCH]
        for i in range(m):
            residual[i] = -miss[i]
        ldl_solve(S, residual)
        weighted_transpose_product(buffers, residual, more)
        for k in range(len(step)):
            step[k] += more[k]
        for i in range(m):
            miss[i] = dot(H[i], step) - d[i]
    return True


@compiled
def eigenvalue_lower_bound(K: Matrix, size: Vector, z: Vector) -> float:
    r"""Return a lower bound of all eigenvalues of a Gram matrix, of rows of unit length.

    $\delta / \mathrm{e}$ with the determinant $\delta$, for the other eigenvalues have a mean of
    about one; where that is too low, the inverse of the trace of its inverse.

    Args:
        K: Factor of the Gram matrix $S$ as it is; see `ldl_factor`.
        size: The diagonal of $S$.
        z: Scratch.
    """
    lower_bound, trace, m = 1.0 / math.e, 0.0, len(size)
    for i in range(m):
        lower_bound /= K[i, i] * size[i]
    # suffices in nearly all ticks; the trace of the inverse takes O(m^3) (decision 0119)
    if lower_bound > MIN_GRAM_EIGENVALUE:
        return lower_bound
    for i in range(m):
        z[i] = 1.0
        entry = float(K[i, i])
        for k in range(i + 1, m):
            z[k] = 0.0
            for j in range(i, k):
                z[k] -= K[k, j] * z[j]
            entry += z[k] * z[k] * K[k, k]
        trace += size[i] * entry
    return 1.0 / trace


@compiled
def weighted_transpose_product(buffers: InputBuffers, y: Vector, step: Vector) -> None:
    """Write ``R^-1 H' y``."""
    if len(buffers.root) > 0:
        matvec(buffers.Ht, y, step)
        solve_upper(buffers.root, step)
    else:
        matvec_transposed(y, buffers.H, step)


@compiled
def input_scale_bound(motors: Vector, L: Matrix, z: Vector) -> float:
    """Return a number that is not below `input_scale`, found in a fraction of its time.

    No entry of ``L^-1`` is larger than that of the inverse of ``L`` with all entries beside the
    diagonal negative, of which it sums the rows. ``z`` is scratch.
    """
    total = 0.0
    for i in range(len(motors)):
        if len(L) > 0:
            z[i] = motors[i]
            for k in range(i):
                z[i] += abs(L[i, k]) * z[k]
            z[i] /= L[i, i]
            total += z[i]
        else:
            total += motors[i]
    return total
