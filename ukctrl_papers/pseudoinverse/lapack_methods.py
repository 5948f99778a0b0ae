"""What a method hands back, and the methods by LAPACK: on orthogonal factors and the Gram matrix.

Those on the Gram matrix are cheap, and blind below the square root of rounding.

Triangles are solved by BLAS ``trsm``: OpenBLAS runs LAPACK's ``trtrs`` on threads whatever the
size, and beside other work a 12 by 12 system then took 10 ms instead of a microsecond.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import UkctrlError

EPS = float(np.finfo(np.float64).eps)


class UnresolvedRank(UkctrlError, RuntimeError):
    """A singular value lies so near the rank threshold that a method cannot tell its side."""


class RawPseudoinverse(NamedTuple):
    """A pseudoinverse and where the rank was cut."""

    X: Matrix
    """The pseudoinverse, shape ``(n, m)``."""
    rank: int
    smallest_kept: float
    """What is left of the last direction that counts, relative to the first."""
    largest_dropped: float
    """The same of the largest that does not; NaN where the method does not learn it."""
    iterations: int = 1
    """Passes over the matrix; more than one for an iteration only."""


def cut_rank(sizes: Vector, rtol: float) -> tuple[int, float, float]:
    """Return the rank, the smallest size kept and the largest dropped, of falling sizes."""
    small = np.flatnonzero(sizes <= rtol * sizes[0])
    rank = int(small[0]) if small.size else len(sizes)
    smallest = float(sizes[rank - 1] / sizes[0]) if rank else 0.0
    dropped = float(sizes[rank:].max() / sizes[0]) if 0 < rank < len(sizes) else 0.0
    return rank, smallest, dropped


BLOCK = 64
"""Columns that LAPACK may treat at a time."""


def svd(A: Matrix, rtol: float) -> RawPseudoinverse:
    r"""Return $A^+ = V \Sigma^+ U^\top$ from $A = U \Sigma V^\top$ (LAPACK ``gesdd``); eq (19)."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    rank, smallest, dropped = cut_rank(sigma, rtol)
    X: Matrix = (Vt[:rank].T / sigma[:rank]) @ U[:, :rank].T
    return RawPseudoinverse(X, rank, smallest, dropped)


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
    return PivotedQR(packed, tau, order - 1, *cut_rank(sizes, rtol))


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


def varga(A: Matrix, rtol: float) -> RawPseudoinverse:
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
    return RawPseudoinverse(unpivot(qr, rows), r, qr.kept, qr.dropped)


def complete_orthogonal(A: Matrix, rtol: float) -> RawPseudoinverse:
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
    return RawPseudoinverse(unpivot(qr, rows), r, qr.kept, qr.dropped)


def householder(A: Matrix, rtol: float) -> RawPseudoinverse:
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
    smallest = float(size[rank - 1] / size[0]) if rank else 0.0
    dropped = float(size[rank] / size[0]) if rank < len(size) else 0.0
    return RawPseudoinverse(np.ascontiguousarray(X[:n]), int(rank), smallest, dropped)


MAX_PASSES = 200
"""Proximal steps after which a singular value near the threshold is blamed."""
CONVERGENCE_TOLERANCE = 1e-10
"""A proximal step that moves ``A X`` by less is the last (or ``16 eps / rtol``: rounding)."""


def cholesky(A: Matrix, rtol: float) -> RawPseudoinverse:
    r"""Return $A^+$ from a pivoted Cholesky factor of the smaller Gram matrix (LAPACK ``pstrf``).

    For $A$ with no more rows than columns, with $L$ of full column rank,

    $$ \Pi^\top A A^\top \Pi = L L^\top, \qquad
       A^+ = A^\top \Pi\, L (L^\top L)^{-2} L^\top \Pi^\top , $$

    and transposed for a tall $A$. A pivot counts while its root exceeds ``rtol`` times the first
    one's; that root is the diagonal entry of the pivoted QR of $A$. Full rank is (6) and (11).
    """
    if A.shape[0] > A.shape[1]:
        transposed = cholesky(A.T, rtol)
        return transposed._replace(X=transposed.X.T)
    gram = A @ A.T
    m, largest = len(gram), float(np.diagonal(gram).max())
    packed, order, rank, _ = lapack.dpstrf(gram, tol=rtol**2 * largest, lower=1)
    order = order - 1
    L = np.tril(packed)[:, :rank]
    remainder = np.diagonal(gram)[order] - (L * L).sum(axis=1)
    sizes = np.concatenate([np.diagonal(L), np.sqrt(np.maximum(remainder[rank:], 0.0))])
    if rank == m:
        inner = lapack.dpotri(packed, lower=1)[0]
        inner = np.tril(inner) + np.tril(inner, -1).T
    else:
        small = lapack.dpotrf(L.T @ L, lower=1)[0]
        half = lapack.dpotrs(small, L.T, lower=1)[0]
        inner = half.T @ half
    unpivoted = np.empty_like(inner)
    unpivoted[np.ix_(order, order)] = inner
    sizes /= sizes[0]
    dropped = float(sizes[rank:].max(initial=0.0))
    return RawPseudoinverse(A.T @ unpivoted, rank, float(sizes[rank - 1]), dropped)


def proximal(A: Matrix, rtol: float) -> RawPseudoinverse:
    r"""Return the limit of the proximal iteration.

    Each step solves a regular least-squares problem that stays close to the last answer,

    $$ X_{k+1} = (A^\top A + \mu I)^{-1} (A^\top + \mu X_k), \quad X_0 = 0 , $$

    here with $\mu = (\mathtt{rtol}\, \max_i |a_i|)^2$. After $k$ steps a direction of singular
    value $\sigma$ still misses the share $(\mu / (\mu + \sigma^2))^k$: a hundredth per step at ten
    times the threshold, half per step at the threshold. What should be suppressed enters
    with $k \sigma / \mu$ instead of $1 / \sigma$. The iteration ends when a step moves $A X$ by
    less than `CONVERGENCE_TOLERANCE`; a direction near the threshold keeps it from that. Rounding
    enters null directions amplified by $1/\mu$; one product $(X A)^\top X$ at the end takes it out
    to first order.

    Raises:
        UnresolvedRank: It has not settled after `MAX_PASSES` steps.
    """
    if A.shape[0] < A.shape[1]:
        transposed = proximal(A.T, rtol)
        return transposed._replace(X=transposed.X.T)
    gram = A.T @ A
    largest = float(np.sqrt(np.diagonal(gram).max()))
    mu = (rtol * largest) ** 2
    L = lapack.dpotrf(gram + mu * np.eye(len(gram)), lower=1)[0]
    X: Matrix = np.zeros(A.T.shape)
    settled = max(CONVERGENCE_TOLERANCE, 16.0 * EPS / rtol)
    passes = 0
    while passes < MAX_PASSES:
        passes += 1
        X_old, X = X, lapack.dpotrs(L, A.T + mu * X, lower=1)[0]
        step = X - X_old
        if np.sum(step * (gram @ step)) <= settled**2:  # |A step|^2
            break
    else:
        raise UnresolvedRank(
            f"the proximal iteration must settle in {MAX_PASSES} steps; it did not, because a "
            "singular "
            f"value lies near rtol = {rtol:.1e}. Choose rtol well inside a gap of the singular "
            "values, or method = 'svd'."
        )
    X = (X @ A).T @ X
    rank = round(float(np.trace(X @ A)))
    return RawPseudoinverse(X, rank, 1.0 / (largest * float(np.linalg.norm(X))), np.nan, passes)
