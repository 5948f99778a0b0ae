"""Methods on orthogonal factors, by LAPACK: SVD, two QRs, least squares, complete orthogonal.

Triangles are solved by BLAS ``trsm``: OpenBLAS runs LAPACK's ``trtrs`` on threads whatever the
size, and beside other work a 12 by 12 system then took 10 ms instead of a microsecond.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.pseudoinverse.method_result import Found, cut

BLOCK = 64
"""Columns that LAPACK may treat at a time."""


def svd(A: Matrix, rtol: float) -> Found:
    r"""Return $A^+ = V \Sigma^+ U^\top$ from $A = U \Sigma V^\top$ (LAPACK ``gesdd``); eq (19)."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    rank, kept, dropped = cut(sigma, rtol)
    X: Matrix = (Vt[:rank].T / sigma[:rank]) @ U[:, :rank].T
    return Found(X, rank, kept, dropped)


class PivotedQR(NamedTuple):
    r"""$A \Pi = U R$ with the larger columns first (LAPACK ``geqp3``)."""

    packed: Matrix
    """``R`` on and above the diagonal, the reflections below it."""
    tau: Vector
    order: NDArray[np.intp]
    """Column ``k`` of ``A Pi`` is column ``order[k]`` of ``A``."""
    rank: int
    kept: float
    dropped: float


def pivoted_qr(A: Matrix, rtol: float) -> PivotedQR:
    r"""Factor $A \Pi = U R$; column $k$ counts while $|R_{kk}| > \mathtt{rtol}\, |R_{11}|$."""
    packed, order, tau, _, _ = lapack.dgeqp3(A, lwork=BLOCK * (A.shape[1] + 2))
    sizes = np.abs(np.diagonal(packed))
    return PivotedQR(packed, tau, order - 1, *cut(sizes, rtol))


def range_basis(qr: PivotedQR) -> Matrix:
    """Return the orthonormal columns ``U_1``, shape ``(m, rank)``."""
    r = qr.rank
    U1: Matrix = lapack.dorgqr(qr.packed[:, :r], qr.tau[:r], lwork=BLOCK * r)[0]
    return U1


def unpivot(qr: PivotedQR, rows: Matrix) -> Matrix:
    r"""Return $\Pi$ times the rows."""
    X = np.empty_like(rows)
    X[qr.order] = rows
    return X


def varga(A: Matrix, rtol: float) -> Found:
    r"""Return $A^+$ from two Householder QRs; eqs (20) and (21) with the pivoting they need.

    $$ A \Pi = U_1 G_1, \quad G_1^\top = V_1 G_2^\top, \quad
       A^+ = \Pi\, V_1 G_2^{-1} U_1^\top $$

    The paper's plain QR does not give $G_1$ of full row rank when $A$ is deficient: the columns
    must be pivoted, and then $\Pi$ enters (21).
    """
    qr = pivoted_qr(A, rtol)
    r, n = qr.rank, A.shape[1]
    G1 = np.triu(qr.packed[:r])
    second, tau, _, _ = lapack.dgeqrf(G1.T, lwork=BLOCK * r)
    inner = np.zeros((n, A.shape[0]), order="F")
    inner[:r] = blas.dtrsm(1.0, second[:r], range_basis(qr).T, trans_a=1)
    rows = lapack.dormqr("L", "N", second, tau, inner, lwork=BLOCK * A.shape[0])[0]
    return Found(unpivot(qr, rows), r, qr.kept, qr.dropped)


def complete_orthogonal(A: Matrix, rtol: float) -> Found:
    r"""Return $A^+$ from the complete orthogonal decomposition.

    $$ A \Pi = U_1 \begin{bmatrix} T & 0 \end{bmatrix} Z, \quad
       A^+ = \Pi\, Z^\top \begin{bmatrix} T^{-1} \\ 0 \end{bmatrix} U_1^\top $$

    LAPACK ``geqp3`` for the first factor, ``tzrzf`` for the second. Eqs (12) to (14), where (13)
    lacks a transpose; Golub & Van Loan 1996, section 5.4.2.
    """
    qr = pivoted_qr(A, rtol)
    r, n = qr.rank, A.shape[1]
    R = np.asfortranarray(np.triu(qr.packed[:r]))
    rows = np.zeros((n, A.shape[0]), order="F")
    if r == n:
        rows[:r] = blas.dtrsm(1.0, R, range_basis(qr).T)
    else:
        rz, tau, _ = lapack.dtzrzf(R, lwork=BLOCK * r)
        rows[:r] = blas.dtrsm(1.0, rz[:, :r], range_basis(qr).T)
        rows = lapack.dormrz(rz, tau, rows, trans="T", lwork=BLOCK * A.shape[0])[0]
    return Found(unpivot(qr, rows), r, qr.kept, qr.dropped)


def householder(A: Matrix, rtol: float) -> Found:
    r"""Return the minimum-norm least-squares solutions of $A x = e_i$ as columns; eq (17).

    LAPACK ``gelsy`` for all unit vectors at once; it estimates the extreme singular values while
    it grows the triangle, and stops when their ratio would pass ``rtol``. The bordered systems
    (16) and (18) of the paper are singular where the rank is deficient; minimum norm and
    least squares together are what $A^+$ needs.
    """
    m, n = A.shape
    right = np.zeros((max(m, n), m), order="F")
    right[:m] = np.eye(m)
    lwork = 3 * min(m, n) + 1 + BLOCK * (m + n + 1)
    T, X, _, rank, _ = lapack.dgelsy(A, right, np.zeros(n, dtype=np.int32), rtol, lwork)
    size = np.abs(np.diagonal(T))
    kept = float(size[rank - 1] / size[0]) if rank else 0.0
    dropped = float(size[rank] / size[0]) if rank < len(size) else 0.0
    return Found(np.ascontiguousarray(X[:n]), int(rank), kept, dropped)
