"""The least input that gives rows what they ask for; compiled.

Decided twice: quickly, as inputs are measured, which is sure of almost every robot; and with care,
as `ukctrl.core.algebra.grip` measures, where motors or bodies are most unlike or a row is lost.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.compiled import compiled
from ukctrl.core.algebra.factorisation import (
    cholesky,
    copy_into,
    factor_rows,
    least_norm,
    solve_lower,
    solve_upper,
    unit_rows,
)
from ukctrl.core.algebra.grip import Lengths, drop_lost, held_rows, lengths
from ukctrl.core.arrays import Matrix, Vector


@compiled
def servo_input(
    A: Matrix,
    b: Vector,
    a_free: Vector,
    G: Matrix,
    L: Matrix,
    B: Matrix,
    R: Matrix,
    u0: Vector,
    rtol: float,
    u: Vector,
    miss: Vector,
) -> int:
    """Write ``u = u0 + R^-1 H' (H R^-1 H')^+ (d - H u0)`` with ``H = A G``, ``d = b - A a_free``.

    Rows whose grip is lost count as zero; ``L``, the factor of the mass matrix, and ``B`` say
    what it is compared with. An empty ``R`` (shape ``(0, 0)``)
    stands for the identity. ``miss = H u - d``, row by row, is the certificate. Returns the rank
    of ``H``, or -1 when ``R`` is not positive definite. With a rank below the number of rows, the
    independent rows are met and ``miss`` tells of the others. Ranks decided as inputs are measured
    are sure where enough is left of every row however unlike the motors are.
    """
    length = lengths(L, A, B)
    m, n = A.shape
    nu = G.shape[1]
    H = np.zeros((m, nu))
    d = np.empty(m)
    for i in range(m):
        total = b[i]
        for c in range(n):
            total -= A[i, c] * a_free[c]
            for k in range(nu):
                H[i, k] += A[i, c] * G[c, k]
        for k in range(nu):
            total -= H[i, k] * u0[k]
        d[i] = total
    drop_lost(H, length, rtol)
    weighted, right, size = H.copy(), d.copy(), np.empty(m)
    root = np.empty(R.shape)
    if R.shape[0] > 0:
        if cholesky(R, root) > 0:
            return -1
        for i in range(m):
            solve_lower(root, weighted[i])
    for i in range(m):
        size[i] = np.sqrt(np.sum(weighted[i] * weighted[i]))
    unit_rows(weighted, right)
    factor = factor_rows(weighted, rtol)
    sure = factor.rank == m
    stretch = motor_stretch(length.motors, root)
    for i in range(factor.rank):
        k = factor.order[i]
        sure = sure and factor.L[i, i] * size[k] > rtol * length.rows[k] * stretch
    step = least_norm(factor, right)
    if R.shape[0] > 0:
        solve_upper(root, step)
    for i in range(m):
        total = -d[i]
        for k in range(nu):
            total += H[i, k] * step[k]
        miss[i] = total
    for k in range(nu):
        u[k] = u0[k] + step[k]
    if sure:
        return factor.rank
    return careful_input(L, A, G, length, R, rtol, H, d, u0, factor.order[: factor.rank], u, miss)


@compiled
def motor_stretch(motors: Vector, L: Matrix) -> float:
    """Return how much longer inputs can be than in units of what motors do, in a metric ``L L'``.

    A bound, and for an empty ``L`` that of the identity.
    """
    total = 0.0
    for k in range(len(motors)):
        if L.shape[0] == 0:
            total += motors[k] * motors[k]
        else:
            unit = np.zeros(len(motors))
            unit[k] = motors[k]
            solve_lower(L, unit)
            total += np.sum(unit * unit)
    return float(np.sqrt(total))


@compiled
def careful_input(
    L: Matrix,
    A: Matrix,
    G: Matrix,
    length: Lengths,
    R: Matrix,
    rtol: float,
    H: Matrix,
    d: Vector,
    u0: Vector,
    found: NDArray[np.int64],
    u: Vector,
    miss: Vector,
) -> int:
    """Overwrite the input and its misses where grip holds other rows than those ``found``.

    Rank and rows are decided, and solved for, in units of what the rows and motors could do.
    """
    m, nu = H.shape
    if not np.isfinite(np.sum(H) + np.sum(d)):
        return len(found)
    order = np.empty(m, dtype=np.int64)
    rank = held_rows(L, A, G, length, rtol, order)
    if rank < m and rank == len(found) and (np.sort(order[:rank]) == np.sort(found)).all():
        return rank
    could = np.ones(nu)
    for k in range(nu):
        if length.motors[k] > 0.0:
            could[k] = length.motors[k]
    rows, right = np.empty((rank, nu)), np.empty(rank)
    for i in range(rank):
        copy_into(H[order[i]] / could, rows[i])
        right[i] = d[order[i]]
    unit_rows(rows, right)
    step = least_norm(factor_rows(rows, 0.0), right) / could
    if rank < nu:
        idle = np.eye(nu)
        if rank > 0:
            idle = np.ascontiguousarray(np.linalg.svd(rows, True)[2][rank:].T)
        idle = idle / could.reshape(nu, 1)
        root = np.eye(nu)
        if R.shape[0] > 0:
            root = np.ascontiguousarray(np.linalg.cholesky(R).T)
        Q, T = np.linalg.qr(root @ idle)
        along = np.ascontiguousarray(Q.T) @ (root @ step)
        step -= idle @ np.linalg.solve(T, along)
    copy_into(u0 + step, u)
    copy_into(H @ step - d, miss)
    return rank
