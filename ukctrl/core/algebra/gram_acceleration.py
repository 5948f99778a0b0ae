r"""The answer under passive rows that are clear of each other, by their Gram matrix; compiled.

Unit rows in mass-weighted coordinates are the columns of $T$, and $S = T^\top T = K D K^\top$. What
moves $x$ onto $T^\top x = d$ by the least is $T S^{-1} (d - T^\top x)$. It asks for no memory, and
takes half of the time of orthonormal rows (`ukctrl.core.algebra.row_space`), which decide wherever
rows come near each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.dynamics_kernels import AccelerationMap, EquationOfMotion, PassiveRows
from ukctrl.core.algebra.factorisation import (
    cholesky,
    copy_into,
    dot,
    ldl_factor,
    ldl_solve,
    solve_lower,
    solve_lower_columns,
    solve_upper,
    solve_upper_columns,
    zero_rounding_lengths,
)
from ukctrl.core.algebra.gram_input import MIN_GRAM_EIGENVALUE, eigenvalue_lower_bound
from ukctrl.core.algebra.row_space import (
    BLEND_FACTOR,
    CLEARANCE_FACTOR,
    zero_rounding_columns,
)
from ukctrl.core.algebra.sparse_products import column_norms, gram_into, mass_weighted_columns_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled

WELL_CONDITIONED = 0.1
"""Squared singular values of unit rows above which squaring loses nothing."""
ITERATIONS = 6
"""Steps of inverse iteration for the smallest singular value."""


class GramBuffers(NamedTuple):
    """What `gram_acceleration` writes on its way; without rows it is not asked."""

    T: Matrix
    """Shape ``(n, m)``."""
    S: Matrix
    """And then its factor, as of `ldl_factor`; shape ``(m, m)``."""
    per_row: Matrix
    """Lengths of the rows, ones, both demands for unit rows, and scratch, shape ``(5, m)``."""
    components: Matrix
    """What inputs have of the rows, shape ``(m, nu)``."""


LENGTH, ONES, DEMAND, STABILISED, SCRATCH = range(5)


def gram_buffers(n: int, m: int, nu: int) -> GramBuffers:
    """Return room for so many velocities, rows and inputs."""
    return GramBuffers(np.zeros((n, m)), np.zeros((m, m)), np.ones((5, m)), np.zeros((m, nu)))


@compiled
def gram_acceleration(
    buffers: GramBuffers, pushed: EquationOfMotion, passive: PassiveRows, answer: AccelerationMap
) -> int:
    """Write the acceleration map under passive rows, by their Gram matrix; return 0 where rows are
    not clear of each other.
    """
    T, S, per_row, m = buffers.T, buffers.S, buffers.per_row, len(passive.A)
    (M, nle, f, B), (L, a_free, G, motors) = pushed, answer
    A, b, rtol, a_0, margins = passive
    length, demand, both = per_row[LENGTH], per_row[DEMAND], per_row[STABILISED]
    failed = cholesky(M, L)
    if failed > 0:
        return -failed
    mass_weighted_columns_into(L, A, T)
    column_norms(T, length)
    zero_rounding_lengths(length)
    for i in range(m):
        # 0 refuses this route: a row of rounding has no unit length
        if not length[i] > 0.0:
            return 0
        demand[i] = b[0, i] / length[i]
        both[i] = demand[i] + b[1, i] / length[i]
        scale = 1.0 / length[i]
        for c in range(len(T)):
            T[c, i] *= scale
    gram_into(T, S)
    if ldl_factor(S, S) > 0:
        return 0
    lower_bound, border = (
        eigenvalue_lower_bound(S, per_row[ONES], per_row[SCRATCH]),
        CLEARANCE_FACTOR * BLEND_FACTOR * rtol,
    )
    # far from the threshold of ranks, so that no smooth weight counts, and from where squaring
    # costs digits
    if not lower_bound > max(MIN_GRAM_EIGENVALUE, border * border):
        return 0
    margins[0], margins[1] = smallest_singular_value(S, per_row[SCRATCH]), 0.0
    # well-conditioned rows are at rounding after one pass; a second one undoes the squaring
    times = 1 if lower_bound > WELL_CONDITIONED else 2
    for i in range(len(a_0)):
        a_0[i] = f[i] - nle[i]
    solve_lower(L, a_0)
    project_onto_rows(buffers, demand, times, a_0)
    copy_into(a_0, a_free)
    project_onto_rows(buffers, both, times, a_free)
    solve_upper(L, a_0)
    solve_upper(L, a_free)
    copy_into(B, G)
    solve_lower_columns(L, G)
    column_norms(G, motors)
    for _ in range(times):
        project_out_rows(buffers, G)
    zero_rounding_columns(motors, G)
    solve_upper_columns(L, G)
    return m


@compiled
def smallest_singular_value(S: Matrix, x: Vector) -> float:
    """Return that of unit rows from the factor of their Gram matrix; ``x`` is scratch.

    An estimate from above, by inverse iteration; the start leans on every direction.
    """
    length = 1.0
    for i in range(len(x)):
        x[i] = np.sin((i + 1.0) * (i + 1.0))
    length = np.sqrt(dot(x, x))
    for _ in range(ITERATIONS):
        for i in range(len(x)):
            x[i] /= length
        ldl_solve(S, x)
        length = np.sqrt(dot(x, x))
    return float(1.0 / np.sqrt(length))


@compiled
def project_onto_rows(buffers: GramBuffers, demand: Vector, times: int, x: Vector) -> None:
    """Move ``x`` by the least that makes ``T' x`` the demand."""
    T, z = buffers.T, buffers.per_row[SCRATCH]
    for _ in range(times):
        copy_into(demand, z)
        for c in range(len(x)):
            for i in range(len(z)):
                z[i] -= T[c, i] * x[c]
        ldl_solve(buffers.S, z)
        for c in range(len(x)):
            for i in range(len(z)):
                x[c] += T[c, i] * z[i]


@compiled
def project_out_rows(buffers: GramBuffers, X: Matrix) -> None:
    """Take from every column of ``X`` what the rows have of it."""
    T, S, Z = buffers.T, buffers.S, buffers.components
    (m, count), n = Z.shape, len(T)
    for i in range(m):
        for k in range(count):
            Z[i, k] = 0.0
        for c in range(n):
            for k in range(count):
                Z[i, k] += T[c, i] * X[c, k]
        for j in range(i):
            for k in range(count):
                Z[i, k] -= S[i, j] * Z[j, k]
    for i in range(m - 1, -1, -1):
        for k in range(count):
            Z[i, k] *= S[i, i]
        for j in range(i + 1, m):
            for k in range(count):
                Z[i, k] -= S[j, i] * Z[j, k]
    for c in range(n):
        for i in range(m):
            for k in range(count):
                X[c, k] -= T[c, i] * Z[i, k]
