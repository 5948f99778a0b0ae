r"""Inputs of rows that are clear of each other, by their Gram matrix; compiled.

$S = H R^{-1} H^\top = K D K^\top$ squares the rows, which one correction undoes. That they are
clear, and how far from lost, is proved by a bound of its eigenvalues; else
`ukctrl.core.algebra.least_input` goes on with orthonormal rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.factorisation import (
    LONG,
    dot,
    factor_unrooted,
    multiplied,
    multiplied_across,
    solve_lower_columns,
    solve_unrooted,
    solve_upper,
)
from ukctrl.core.algebra.products import transposed, write_gram, write_gram_of_rows
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled

SQUARED = 1e-8
"""Rows of unit length whose squared singular values are above this are solved by their Gram matrix;
one correction takes what that loses."""
ROUNDED = 8.0 * float(np.finfo(np.float64).eps)
"""What may be missed without a correction, of the demand and of the input."""


class Desk(NamedTuple):
    """What `input_on` writes on its way."""

    H: Matrix
    """Acceleration of the rows per unit input, shape ``(m, nu)``."""
    rows: Matrix
    """The same of unit length, in the metric, and then orthonormal."""
    factor: Matrix
    """Of these; see `ukctrl.core.algebra.factorisation.RowFactor`."""
    across: Matrix
    """``H`` as columns, in the metric, shape ``(nu, m)``."""
    gram: Matrix
    """Products of these, and their factor, shape ``(m, m)``."""
    columns: Matrix
    """The rows measured by mass, shape ``(n, m)``."""
    root: Matrix
    """Cholesky factor of the metric."""
    each: Matrix
    """Numbers of the rows, shape ``(5, m)``."""
    order: NDArray[np.int64]
    """Rows, the independent ones first."""
    inputs: Matrix
    """Numbers of the inputs, shape ``(2, nu)``."""


def desk_for(m: int, n: int, nu: int, weighed: bool) -> Desk:
    """Return room for so many rows, velocities and inputs, with a metric or without."""
    return Desk(
        H=np.zeros((m, nu)),
        rows=np.zeros((m, nu)),
        factor=np.zeros((m, nu)),
        across=np.zeros((nu, m)),
        gram=np.zeros((m, m)),
        columns=np.zeros((n, m)),
        root=np.zeros((nu, nu) if weighed else (0, 0)),
        each=np.zeros((5, m)),
        order=np.zeros(m, dtype=np.int64),
        inputs=np.zeros((2, nu)),
    )


D, RIGHT, SIZE, ROWS, LEFT = range(5)
"""Rows of `Desk.each`: what is missed, and that in units of their length, which is the next; their
length measured by mass; scratch."""
STEP, BESIDE = range(2)
"""Rows of `Desk.inputs`: the input without ``u0``, and scratch."""


@compiled
def clear_input(desk: Desk, motors: Vector, rtol: float, miss: Vector) -> bool:
    r"""Write the step that rows clear of each other need, and what it misses; return if they are.

    By their Gram matrix $S = H R^{-1} H^\top$. If no eigenvalue of that of unit rows is below
    $\sigma^2$, every row has at least $\sigma$ left beside all others, in whatever order.
    """
    H, across, S, step, m = desk.H, desk.across, desk.gram, desk.inputs[STEP], len(miss)
    y, size, reach, d = desk.each[RIGHT], desk.each[SIZE], desk.each[ROWS], desk.each[D]
    if m == 0 or m > len(step) or m >= LONG:
        return False
    if len(desk.root) > 0:
        transposed(H, across)
        solve_lower_columns(desk.root, across)
        write_gram(across, S)
    else:
        write_gram_of_rows(H, S)
    for i in range(m):
        size[i], y[i] = S[i, i], d[i]
    if factor_unrooted(S, S) > 0:
        return False
    least = least_eigenvalue(S, size, desk.each[LEFT])
    clear, stretch = least > SQUARED, stretch_bound(motors, desk.root, step)
    for i in range(m):
        beside = rtol * stretch * reach[i]
        clear = clear and least * size[i] > beside * beside
    if not clear:
        return False
    solve_unrooted(S, y)
    write_step(desk, y, step)
    long, off = dot(y, d), False  # the step's squared length, in the metric
    for i in range(m):
        miss[i] = dot(H[i], step) - d[i]
        off = off or miss[i] * miss[i] > ROUNDED * ROUNDED * size[i] * long
    if off:
        rest, more = desk.each[LEFT], desk.inputs[BESIDE]
        for i in range(m):
            rest[i] = -miss[i]
        solve_unrooted(S, rest)
        write_step(desk, rest, more)
        for k in range(len(step)):
            step[k] += more[k]
        for i in range(m):
            miss[i] = dot(H[i], step) - d[i]
    return True


@compiled
def least_eigenvalue(K: Matrix, size: Vector, z: Vector) -> float:
    r"""Return a lower bound of all eigenvalues of a Gram matrix, of rows of unit length.

    $\delta / \mathrm{e}$ with the determinant $\delta$, for the other eigenvalues have a mean of
    about one; where that is too low, the inverse of the trace of its inverse.

    Args:
        K: Factor of the Gram matrix $S$ as it is; see `factor_unrooted`.
        size: The diagonal of $S$.
        z: Scratch.
    """
    least, trace, m = 1.0 / math.e, 0.0, len(size)
    for i in range(m):
        least /= K[i, i] * size[i]
    if least > SQUARED:
        return least
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
def write_step(desk: Desk, y: Vector, step: Vector) -> None:
    """Write ``R^-1 H' y``."""
    if len(desk.root) > 0:
        multiplied(desk.across, y, step)
        solve_upper(desk.root, step)
    else:
        multiplied_across(y, desk.H, step)


@compiled
def stretch_bound(motors: Vector, L: Matrix, z: Vector) -> float:
    """Return a number that is not below `motor_stretch`, found in a fraction of its time.

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
