"""What drift does to passive rows, and what undoes it: stabilisation and projection, compiled."""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.factorisation import (
    NEGLIGIBLE_RTOL,
    cholesky,
    solve_upper,
    zero_rounding_lengths,
)
from ukctrl.core.algebra.gram_factor import (
    MIN_GRAM_ROWS,
    gram_factor,
    gram_factor_buffers,
    project_columns_onto_rows,
)
from ukctrl.core.algebra.row_space import (
    BLEND_FACTOR,
    CLEARANCE_FACTOR,
    add_solution,
    mass_weighted_unit_columns,
    mass_weighted_unit_columns_into,
    row_space,
)
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

DRIFT_FACTOR = 4.0
"""How many times its estimate the drift of passive rows may explain of a miss."""
SMALL_ACCELERATION = 1e-3
"""An acceleration this small is rounding beside those that robots have [rad/s^2 or m/s^2]."""


@allocating
def least_mass_weighted_change(
    M: Matrix, A: Matrix, d: Vector, rtol: float, L: Matrix, x: Vector
) -> int:
    """Write the ``x`` with ``A x = d`` of least ``x' M x``, in the sense of least squares.

    Returns the rank of the rows, or ``-1 - i`` when ``M`` is not positive definite at i.
    """
    failed = cholesky(M, L)
    if failed > 0:
        return -failed
    x[:] = 0.0
    if A.shape[0] >= MIN_GRAM_ROWS:
        factor_buffers, right = (
            gram_factor_buffers(A.shape[1], A.shape[0]),
            d.copy().reshape((1, -1)),
        )
        mass_weighted_unit_columns_into(L, A, factor_buffers.T, right)
        gram = gram_factor(factor_buffers)
        # squares cost half the digits: only where surely all rows count in full
        if gram.smallest_singular >= CLEARANCE_FACTOR * BLEND_FACTOR * rtol:
            project_columns_onto_rows(gram, right, x.reshape((-1, 1)))
            solve_upper(L, x)
            return gram.rank
    weighted, right = mass_weighted_unit_columns(L, A, d.reshape((1, -1)))
    space = row_space(weighted.T.copy(), right, rtol)
    add_solution(space, x, 0)
    solve_upper(L, x)
    return space.rank


@compiled
def write_stabilised_rhs(
    alpha: float, beta: float, b: Vector, rate: Vector, error: Vector, b_p: Matrix
) -> None:
    """Write ``b`` and ``-alpha rate - beta error`` as rows, then add the second to ``b``.

    Errors that are NaN count as none.
    """
    for i in range(b.shape[0]):
        b_p[0, i] = b[i]
        b_p[1, i] = -alpha * rate[i]
        if error[i] == error[i]:
            b_p[1, i] -= beta * error[i]
        b[i] += b_p[1, i]


@allocating
def count_conflicts(
    A: Matrix,
    b: Vector,
    a: Vector,
    v: Vector,
    rate: Vector,
    error: Vector,
    reach: float,
    loose: float,
    sigma_min: float,
    allowed: Vector,
) -> int:
    r"""Count the rows that ``a`` misses by more than rounding and drift explain.

    Rows that agree on the exact manifold differ off it, in units of coordinates (each row over
    its length $|A_i|$) by some $|\varphi|(|a| + |v|^2) + |\beta||v|$. A few times that is allowed,
    over the smallest singular value ``sigma_min`` (a row that depends on others is a sum of them
    with weights up to its inverse, which is large near a singular position), beside the fraction
    ``reach`` of the row's own terms and the fraction ``loose`` of $|a|$: the singular values with
    which directions count as free, or only in part. The stabilisation of the rows must be in
    neither ``b`` nor ``a``, or it would hide a conflict behind the drift that the conflict itself
    causes. Writes what is ``allowed``.
    """
    m, n = A.shape
    length = np.empty(m)
    phi, phi_dot, longest = 0.0, 0.0, 0.0
    for i in range(m):
        total = 0.0
        for c in range(n):
            total += A[i, c] * A[i, c]
        length[i] = np.sqrt(total)
        longest = max(longest, length[i])
    zero_rounding_lengths(length)
    for i in range(m):
        # a row that is rounding has no drift to measure
        if length[i] > 0.0:
            phi_dot = max(phi_dot, abs(rate[i]) / length[i])
            if error[i] == error[i]:
                phi = max(phi, abs(error[i]) / length[i])
    speed, size = 0.0, 0.0
    for c in range(n):
        speed += v[c] * v[c]
        size += a[c] * a[c]
    size = np.sqrt(size)
    # a row that depends on others sums their drift with weights up to the inverse of sigma_min
    drift = (phi * (size + speed) + phi_dot * np.sqrt(speed)) / min(
        max(sigma_min, NEGLIGIBLE_RTOL), 1.0
    )
    bad = 0
    for i in range(m):
        miss, terms = -b[i], abs(b[i])
        for c in range(n):
            miss += A[i, c] * a[c]
            terms += abs(A[i, c]) * (abs(a[c]) + SMALL_ACCELERATION)
        terms += SMALL_ACCELERATION * longest  # a row of zeros may still have some rounding in b
        allowed[i] = reach * terms + (DRIFT_FACTOR * drift + loose * size) * length[i]
        # NaN counts as bad
        if not abs(miss) <= allowed[i]:
            bad += 1
    return bad
