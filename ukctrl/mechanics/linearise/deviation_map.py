"""How all deviations of a robot follow from those that are chosen to stand for them, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import copy_into, gather_rows, matvec_transposed
from ukctrl.core.arrays import Indices, Matrix
from ukctrl.core.compiled import allocating
from ukctrl.mechanics.linearise.constraint_null_space import constraint_directions, write_tangent
from ukctrl.mechanics.linearise.directional_differences import (
    DifferenceTables,
    directional_differences,
)


class DeviationMap(NamedTuple):
    """What `write_deviation_map` writes, of ``m`` rows, ``i`` positions and ``j`` velocities."""

    full: Matrix
    """All deviations ``(dq, dv)`` from those that are chosen, shape ``(2 n, i + j)``."""
    least: Matrix
    """Least solutions of the rows, shape ``(n, m)``."""
    free: Matrix
    """What they leave free, shape ``(n, j)``."""
    moved: Matrix
    """Deviations of positions alone, shape ``(2 n, i)``."""
    slopes: Matrix
    """How the rows' errors of velocity change along them, shape ``(m, i)``."""

    @staticmethod
    def zeros(n: int, m: int, i: int, j: int) -> DeviationMap:
        """Return one to write into."""
        shapes = (2 * n, i + j), (n, m), (n, j), (2 * n, i), (m, i)
        return DeviationMap(*map(np.zeros, shapes))


OTHER_FREEDOMS = -10
"""What `write_deviation_map` returns where rows leave another number of freedoms than expected."""


@allocating
def write_deviation_map(
    slip: DifferenceTables,
    L: Matrix,
    A: Matrix,
    position_rows: Indices,
    rtol: float,
    chosen: tuple[Indices, Indices],
    out: DeviationMap,
) -> int:
    """Write how all deviations follow from chosen ones, see `ukctrl.mechanics.linearise`.

    Args:
        slip: Differences of the rows' errors of velocity.
        L: Cholesky factor of the mass matrix, shape ``(n, n)``.
        A: Passive rows, shape ``(m, n)``.
        position_rows: Those that hold positions.
        rtol: As of `ConstraintNullSpace`.
        chosen: Positions and velocities that stand for all.
        out: Receives it.

    Returns:
        0, `OTHER_FREEDOMS`, or what the differences met.
    """
    (i, j), full, n = chosen, out.full, len(L)
    least, free = constraint_directions(L, A, rtol)
    of_positions = free
    if len(position_rows) < len(A):
        rows = np.empty((len(position_rows), n))
        gather_rows(A, position_rows, rows)
        _, of_positions = constraint_directions(L, rows, rtol)
    if free.shape[1] != len(j) or of_positions.shape[1] != len(i):
        return OTHER_FREEDOMS
    copy_into(least, out.least)
    copy_into(free, out.free)
    N_q, N_v = np.empty((n, len(i))), np.empty((n, len(j)))
    write_tangent(of_positions, i, N_q)
    write_tangent(free, j, N_v)
    for r in range(n):
        for c in range(len(i)):
            full[r, c], full[n + r, c] = N_q[r, c], 0.0
            out.moved[r, c], out.moved[n + r, c] = N_q[r, c], 0.0
        for c in range(len(j)):
            full[r, len(i) + c], full[n + r, len(i) + c] = 0.0, N_v[r, c]
    if len(A) == 0:
        return 0
    # off the tangent in position, velocity must bend to stay within the rows
    code = directional_differences(slip, out.moved, out.slopes)
    if code < 0:
        return code
    bend = np.empty((n, len(i)))
    for r in range(n):
        matvec_transposed(least[r], out.slopes, bend[r])
    for r in range(n):
        for c in range(len(i)):
            full[n + r, c] = -bend[r, c]
            for k in range(len(j)):
                full[n + r, c] += N_v[r, k] * bend[j[k], c]
    return 0
