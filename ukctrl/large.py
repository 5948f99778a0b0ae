"""The one equation for robots with many freedoms: as `ukctrl.kernels`, by LAPACK and by structure.

The compiled loops of `ukctrl.kernels` are made for matrices of a few rows. From `SIZE` freedoms on,
blocked factorisations are faster; and the matrices of many separate bodies are almost empty. Same
arguments, same answers to rounding.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from ukctrl.factor import Matrix, Vector, unit_rows

SIZE = 48
"""Robots with at least this many freedoms use this module."""
SPARSE = 0.1
"""A matrix with a smaller share of entries other than zero is multiplied as a sparse one."""


def plain_answer(
    M: Matrix, nle: Vector, f: Vector, B: Matrix, L: Matrix, a_free: Vector, G: Matrix
) -> int:
    """Write ``L``, ``a_free`` and ``G``; see `ukctrl.kernels.plain_answer`."""
    diagonal = M.diagonal()
    bad = np.flatnonzero(~(diagonal > 0.0))
    if bad.size:
        return -1 - int(bad[0])
    if np.count_nonzero(M) == len(diagonal):
        L[:] = 0.0
        np.fill_diagonal(L, np.sqrt(diagonal))
        a_free[:] = (f - nle) / diagonal
        np.divide(B, diagonal[:, None], out=G)
        return 0
    factor, failed = linalg.lapack.dpotrf(M, lower=1, clean=1)
    if failed:
        return -int(failed)
    L[:] = factor
    answer, _ = linalg.lapack.dpotrs(factor, np.column_stack((f - nle, B)), lower=1)
    a_free[:] = answer[:, 0]
    G[:] = answer[:, 1:]
    return 0


def servo_input(
    A: Matrix,
    b: Vector,
    a_free: Vector,
    G: Matrix,
    R: Matrix,
    u0: Vector,
    rtol: float,
    u: Vector,
    miss: Vector,
) -> int:
    """Write ``u`` and ``miss``; see `ukctrl.kernels.servo_input`."""
    H = product(A, G)
    could = np.einsum("ij,ij->i", A, A) * np.einsum("ij,ij->", G, G)
    H[np.einsum("ij,ij->i", H, H) <= rtol * rtol * could] = 0.0
    d = b - A @ a_free - H @ u0
    weighted, L = H, None
    if R.size:
        L, failed = linalg.lapack.dpotrf(R, lower=1, clean=1)
        if failed:
            return -1
        weighted = linalg.solve_triangular(L, H.T, lower=True, check_finite=False).T
    if rows_are_separate(weighted):
        square = np.einsum("ij,ij->i", weighted, weighted)
        held = square > 0.0
        scale = np.divide(d, square, out=np.zeros(len(d)), where=held)
        step, rank = weighted.T @ scale, int(held.sum())
    else:
        rows, right = np.ascontiguousarray(weighted).copy(), d.copy()
        unit_rows(rows, right)
        Q, T, order, rank = _factor(rows, rtol)
        step = _least_norm(Q, T, right[order[:rank]])
    if L is not None:
        step = linalg.solve_triangular(L, step, lower=True, trans=1, check_finite=False)
    miss[:] = H @ step - d
    u[:] = u0 + step
    return rank


def product(A: Matrix, G: Matrix) -> Matrix:
    """Return ``A G``, by a sparse product where ``A`` is almost empty."""
    if np.count_nonzero(A) <= SPARSE * A.size:
        result: Matrix = sparse.csr_array(A) @ G
        return np.ascontiguousarray(result)
    return np.asarray(A @ G)


def rows_are_separate(H: Matrix) -> bool:
    """Return whether no two rows share a column; they are then orthogonal."""
    return bool((np.count_nonzero(H, axis=0) <= 1).all())


def _factor(rows: Matrix, rtol: float) -> tuple[Matrix, Matrix, Vector, int]:
    """Factor ``rows[order].T = Q R`` with the largest remaining row first; cut at the rank."""
    Q, R, order = linalg.qr(rows.T, mode="economic", pivoting=True, check_finite=False)
    left = np.abs(R.diagonal())
    small = np.flatnonzero(~(left > rtol * left.max(initial=0.0)))
    rank = int(small[0]) if small.size else len(left)
    return Q[:, :rank], R[:rank, :rank], order, rank


def _least_norm(Q: Matrix, R: Matrix, right: Vector) -> Vector:
    x: Vector = Q @ linalg.solve_triangular(R, right, trans=1, check_finite=False)
    return x
