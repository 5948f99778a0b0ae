r"""The equations of motion that the literature offers, each as it is printed, on plain arrays.

All of them answer one question: which acceleration obeys the rows $A a = b$ and differs from the
free motion $M a = Q$ only by a force $A^\top \lambda$? They differ in what they assume of $M$ and
$A$, and in what they cost. Every function here has one signature,

    form(M, Q, A, b, inverse, rtol) -> a

and trusts its arguments: float64, of matching shapes, rows of about unit length, coordinates
scaled so that the diagonal of ``M`` is about one. `ukctrl_papers.motion.solve` sees to that, and
turns a `LinAlgError` from here into a message with names. ``inverse(X, rtol)`` returns $X^+$.

The letters are ours; de Falco, Pennestri & Vita (2009) write $\Psi_q$ for $A$, $\gamma$ for $b$,
$F$ for $Q$ and $\ddot q_f$ for $M^{-1} Q$. Their multiplier has the opposite sign.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import unknown_name
from ukctrl_papers.pseudoinverse import METHODS, MethodName, pinv

Inverse = Callable[[Matrix, float], Matrix]
"""``inverse(X, rtol)`` returns the pseudoinverse of ``X``; singular values below ``rtol`` of the
largest count as zero."""
Equation = Callable[[Matrix, Vector, Matrix, Vector, Inverse, float], Vector]
"""``form(M, Q, A, b, inverse, rtol)`` returns the acceleration."""
Form = Literal[
    "schur",
    "udwadia_kalaba",
    "multiplier",
    "partitioned",
    "udwadia_phohomsiri",
    "kkt",
    "null_space",
    "projection",
    "recursive",
]

MASSLESS = 1e-11
"""A direction in which a mass matrix of unit diagonal has less than this carries no mass."""
EPS = float(np.finfo(np.float64).eps)


def inverse_by(method: MethodName) -> Inverse:
    """Return the pseudoinverse of `ukctrl_papers.pseudoinverse` by a method.

    A threshold below what the method can tell from rounding is raised to that.
    """

    def inverse(X: Matrix, rtol: float) -> Matrix:
        return pinv(X, method, max(rtol, METHODS[method].least_rtol(X.shape))).matrix

    if method not in METHODS:
        raise unknown_name("pseudoinverse method", method, METHODS)
    return inverse


def schur(M: Matrix, Q: Vector, A: Matrix, b: Vector, inverse: Inverse, rtol: float) -> Vector:
    r"""Return $a = a_f + M^{-1} A^\top (A M^{-1} A^\top)^{-1} (b - A a_f)$, $a_f = M^{-1} Q$.

    Equation (26) of de Falco et al.: eliminate $a$ from the Lagrange equations by partitioning.
    Two Cholesky factorisations; ``M`` must be positive definite and the rows independent.
    """
    L = _cholesky(M)
    D, free = triangular(L, A.T), triangular(L, Q)
    C, info = lapack.dpotrf(D.T @ D, lower=1)
    if info or (len(b) and float(C.diagonal().min()) ** 2 <= _squared_rtol(rtol, len(b))):
        raise np.linalg.LinAlgError("rows are dependent")
    lam = lapack.dpotrs(C, b - D.T @ free, lower=1)[0] if len(b) else b
    return triangular(L, free + D @ lam, trans=True)


def udwadia_kalaba(
    M: Matrix, Q: Vector, A: Matrix, b: Vector, inverse: Inverse, rtol: float
) -> Vector:
    r"""Return $a = a_f + M^{-1/2} D^+ (b - A a_f)$ with $D = A M^{-1/2}$.

    Equation (31) of de Falco et al., from Udwadia & Kalaba (1992); with a stabilised ``b`` it is
    (32), see `ukctrl_papers.motion.stabilised`. The Cholesky factor $L^{-\top}$ stands for
    $M^{-1/2}$: both have $X X^\top = M^{-1}$, and nothing else of the root enters the answer.
    ``M`` must be positive definite; rows may be redundant.
    """
    L = _cholesky(M)
    D, free = triangular(L, A.T).T, triangular(L, Q)
    return triangular(L, free + inverse(D, rtol) @ (b - D @ free), trans=True)


def multiplier(M: Matrix, Q: Vector, A: Matrix, b: Vector, inverse: Inverse, rtol: float) -> Vector:
    r"""Return $a = (I - H A) M^{-1} Q + H b$ with $H = M^{-1} A^\top (A M^{-1} A^\top)^+$.

    Equation (35) of de Falco et al., the least-squares solution of the Lagrange equations. The
    pseudoinverse is that of an ``m`` by ``m`` matrix, whose singular values are the squares of
    those of (31): a row is told from a redundant one only down to the root of the rounding.
    ``M`` must be positive definite; rows may be redundant.
    """
    L = _cholesky(M)
    D, free = triangular(L, A.T), triangular(L, Q)
    lam = inverse(D.T @ D, _squared_rtol(rtol, max(A.shape))) @ (b - D.T @ free)
    return triangular(L, free + D @ lam, trans=True)


def partitioned(
    M: Matrix, Q: Vector, A: Matrix, b: Vector, inverse: Inverse, rtol: float
) -> Vector:
    r"""Return $a = (E M E)^+ Q + (A^+ - (E M E)^+ M A^+)\, b$ with $E = I - A^+ A$.

    Equation (41) of de Falco et al., from the pseudoinverse (40) of the whole Lagrange matrix.
    ``M`` may be singular and rows redundant; what is left undetermined gets the least norm.
    """
    A_plus = inverse(A, rtol)
    E = np.eye(len(M)) - A_plus @ A
    reduced = E @ M @ E
    # A mechanism without freedoms leaves rounding here, which no relative threshold would drop.
    if np.abs(reduced).max(initial=0.0) <= MASSLESS * np.abs(M).max(initial=0.0):
        G = np.zeros_like(M)
    else:
        G = inverse(0.5 * (reduced + reduced.T), MASSLESS)
    a_p = A_plus @ b
    return np.asarray(a_p + G @ (Q - M @ a_p))


def udwadia_phohomsiri(
    M: Matrix, Q: Vector, A: Matrix, b: Vector, inverse: Inverse, rtol: float
) -> Vector:
    r"""Return $a = \bar M^+ (Q; b)$ with $\bar M$ the rows $(I - A^+ A) M$ above the rows $A$.

    Equation (43) of de Falco et al. with $\eta = 0$, from Udwadia & Phohomsiri (2006). A nonideal
    force $C$ is part of ``Q``. ``M`` may be singular and rows redundant; what is left undetermined
    gets the least norm.
    """
    M_bar = np.vstack([M - inverse(A, rtol) @ (A @ M), A])
    return np.asarray(inverse(M_bar, MASSLESS) @ np.concatenate([Q, b]))


def kkt(M: Matrix, Q: Vector, A: Matrix, b: Vector, inverse: Inverse, rtol: float) -> Vector:
    r"""Return $a$ from $\begin{pmatrix} M & A^\top \\ A & 0 \end{pmatrix} (a; -\lambda) = (Q; b)$.

    Equation (23) of de Falco et al., on a set of independent rows, by the symmetric indefinite
    factorisation of Bunch and Kaufman. ``M`` may be singular and rows redundant.
    """
    n = len(M)
    _, _, order, rank = pivoted_qr(A.T, rtol)
    chosen = order[:rank]
    K = np.zeros((n + rank, n + rank))
    K[:n, :n], K[n:, :n] = M, A[chosen]
    right = np.concatenate([Q, b[chosen]])
    _, _, solution, info = lapack.dsysv(K, right, lwork=64 * len(K), lower=1)
    if info:
        raise np.linalg.LinAlgError("the Lagrange matrix is singular")
    return np.asarray(solution[:n])


def null_space(M: Matrix, Q: Vector, A: Matrix, b: Vector, inverse: Inverse, rtol: float) -> Vector:
    r"""Return $a = a_p + Z (Z^\top M Z)^{-1} Z^\top (Q - M a_p)$ with $A Z = 0$ and $A a_p = b$.

    The orthogonal complement: independent accelerations along the columns of ``Z``, which one
    pivoted QR factorisation of $A^\top$ gives together with the rank and $a_p$. ``M`` may be
    singular and rows redundant. Orsino (2017), eq (3.4) with an orthogonal complement for $S_r$.
    """
    factored, tau, order, rank = pivoted_qr(A.T, rtol)
    coefficients = np.zeros(len(M))
    basis = np.eye(len(M))
    if rank:
        R = factored[:rank, :rank]
        coefficients[:rank] = triangular(R, b[order[:rank]], lower=False, trans=True)
        basis = lapack.dormqr("L", "N", factored[:, : len(tau)], tau, basis, 64 * len(M))[0]
    Z, a_p = basis[:, rank:], basis @ coefficients
    reduced, info = lapack.dpotrf(Z.T @ M @ Z, lower=1)
    if info:
        raise np.linalg.LinAlgError("the reduced mass matrix is singular")
    if rank == len(M):
        return np.asarray(a_p)
    free = lapack.dpotrs(reduced, Z.T @ (Q - M @ a_p), lower=1)[0]
    return np.asarray(a_p + Z @ free)


def projection(M: Matrix, Q: Vector, A: Matrix, b: Vector, inverse: Inverse, rtol: float) -> Vector:
    r"""Return $a$ from $(M + P M - M P)\, a = P Q + M A^+ b$ with $P = I - A^+ A$.

    Aghili (2005): the projected equation $P M a = P Q$, completed by $M (I - P)\, a = M A^+ b$. Its
    matrix is ``M`` and a skew part, thus invertible whatever the rank of ``A``, as long as
    ``M`` is positive definite.
    """
    A_plus = inverse(A, rtol)
    PM = M - A_plus @ (A @ M)
    right = Q - A_plus @ (A @ Q) + M @ (A_plus @ b)
    _, _, a, info = lapack.dgesv(M + PM - PM.T, right)
    if info:
        raise np.linalg.LinAlgError("the projected mass matrix is singular")
    return np.asarray(a)


def recursive(M: Matrix, Q: Vector, A: Matrix, b: Vector, inverse: Inverse, rtol: float) -> Vector:
    r"""Enforce the rows one by one: $a \leftarrow a + K (b_r - H_r a)$, $P \leftarrow P - K H_r P$.

    Orsino (2017), (4.14)-(4.16) with one row a level, in mass-weighted coordinates; the same
    arithmetic as a Kalman filter fed with exact measurements. A row that the earlier ones imply
    has $H_r P = 0$ and changes nothing. ``M`` must be positive definite.
    `ukctrl_papers.motion.Hierarchy` does this level by level and tells what it found.
    """
    L = _cholesky(M)
    H, x = triangular(L, A.T).T, triangular(L, Q)
    P = np.eye(len(M))
    for h, right in zip(H, b, strict=True):
        length = float(np.sqrt(h @ h))
        new = P @ h
        size = float(np.sqrt(new @ new))
        if size <= rtol * length:
            continue
        new = P @ (new / size)  # once more: a small remainder carries the rounding of P
        new /= np.sqrt(new @ new)
        x = x + new * ((right - h @ x) / (h @ new))
        P -= np.outer(new, new)
    return triangular(L, x, trans=True)


class Card(NamedTuple):
    """What is known of a form: its function, its place in the literature, what it needs."""

    equation: Equation
    source: str
    definite: bool = False
    """It needs a positive definite mass matrix."""
    independent: bool = False
    """It needs independent rows."""
    inverts: bool = False
    """It takes a pseudoinverse, so its cost depends on how that is computed."""
    least_norm: bool = False
    """It gives an undetermined part the least norm."""


_FALCO = "de Falco, Pennestri & Vita 2009, eq"
FORMS: dict[Form, Card] = {
    "schur": Card(schur, f"{_FALCO} (26)", definite=True, independent=True),
    "udwadia_kalaba": Card(
        udwadia_kalaba, f"Udwadia & Kalaba 1992; {_FALCO} (31)", definite=True, inverts=True
    ),
    "multiplier": Card(multiplier, f"{_FALCO} (35)", definite=True, inverts=True),
    "partitioned": Card(partitioned, f"{_FALCO} (41)", inverts=True, least_norm=True),
    "udwadia_phohomsiri": Card(
        udwadia_phohomsiri,
        f"Udwadia & Phohomsiri 2006; {_FALCO} (43)",
        inverts=True,
        least_norm=True,
    ),
    "kkt": Card(kkt, f"{_FALCO} (23)"),
    "null_space": Card(null_space, "Orsino 2017, eq (3.4)"),
    "projection": Card(projection, "Aghili 2005", definite=True, inverts=True),
    "recursive": Card(recursive, "Orsino 2017, eqs (4.14)-(4.16)", definite=True),
}
"""Every form by its name."""


def _cholesky(M: Matrix) -> Matrix:
    L, info = lapack.dpotrf(M, lower=1)
    if info or float(L.diagonal().min(initial=1.0)) ** 2 <= MASSLESS:
        raise np.linalg.LinAlgError("M is not positive definite")
    return np.asarray(L)


def triangular(T: Matrix, X: Matrix | Vector, lower: bool = True, trans: bool = False) -> Matrix:
    """Return ``T^-1 X``, or ``T^-T X``, for a triangular ``T``.

    By BLAS: OpenBLAS runs LAPACK's trtrs on all cores whatever the size, and on a busy machine a
    9 by 9 system then waits milliseconds for them.
    """
    if not X.size:
        return np.zeros(X.shape)
    if X.ndim == 1:
        return np.asarray(blas.dtrsv(T, X, lower=lower, trans=trans))
    return np.asarray(blas.dtrsm(1.0, T, X, lower=lower, trans_a=trans))


def _squared_rtol(rtol: float, size: int) -> float:
    """Return the threshold for squares of singular values; it cannot lie below their rounding."""
    return max(rtol**2, 8.0 * size * EPS)


def pivoted_qr(X: Matrix, rtol: float) -> tuple[Matrix, Vector, NDArray[np.intp], int]:
    """Return the QR factorisation of ``X`` with column pivoting, and its rank."""
    if not X.size:
        return X, np.zeros(0), np.arange(X.shape[1]), 0
    factored, order, tau, _, _ = lapack.dgeqp3(X, lwork=64 * (X.shape[1] + 1))
    size = np.abs(factored.diagonal())
    return factored, tau, order - 1, int(np.sum(size > rtol * size[0]))
