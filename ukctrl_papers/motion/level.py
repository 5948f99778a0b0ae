"""One level of a hierarchy: what is enforced, what it showed, and the step that enforces it."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from ukctrl.core.algebra.solution_checks import expect_shape, matrix, vector
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import GainError, ShapeError
from ukctrl_papers.motion.equation_forms import pivoted_qr, triangular


@dc.dataclass(frozen=True)
class Level:
    r"""Rows $A a = b$ that are enforced together, exactly or with a clearance.

    A clearance is a covariance ``R`` of the rows' accelerations, (4.17)-(4.18): the motion then
    minimises $(a - a_0)^\top M (a - a_0) + (b - A a)^\top R^{-1} (b - A a)$, so $R^{-1}$ is a
    virtual mass that resists violation. It softens the *acceleration*; it is no gap in metres, and
    the constraint drifts unless ``b`` is stabilised.
    """

    name: str
    A: Matrix
    """Rows over all coordinates of the system, shape ``(m, n)``."""
    b: Vector
    """Right-hand side, shape ``(m,)``."""
    R: Matrix | None = None
    """Clearance, symmetric positive definite, shape ``(m, m)``; absent: enforced exactly."""
    rows: tuple[str, ...] = ()
    """Names of the rows; absent: the level's name and a number."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "A", matrix("A", self.A))
        object.__setattr__(self, "b", vector("b", self.b))
        m = len(self.b)
        expect_shape("A", self.A.shape, (m, self.A.shape[1]))
        if self.R is not None:
            object.__setattr__(self, "R", matrix("R", self.R))
            expect_shape("R", self.R.shape, (m, m))
        if not self.rows:
            object.__setattr__(self, "rows", tuple(f"{self.name} {i}" for i in range(m)))
        if len(self.rows) != m:
            raise ShapeError(f"rows must name {m} rows; got {len(self.rows)} names.")


class Finding(NamedTuple):
    """What enforcing a level showed."""

    level: str
    rank: int
    """Freedoms that the level took; a level with clearance takes none."""
    redundant: tuple[str, ...]
    """Rows that lower levels, or other rows of this one, already imply."""
    variance: Vector
    r"""Innovation variance $A_i W A_i^\top$ (and the clearance) of each row before the level was
    enforced; zero where the lower levels leave the row no choice."""


def cancellation_scale(A: Matrix, S: Matrix) -> Matrix:
    """Return how large each row of ``A S`` could be without cancellation, shape ``(m, 1)``.

    What is left of a row is compared with this. A level that the lower ones imply as a whole is
    nothing but rounding, which has no scale of its own.
    """
    size = np.linalg.norm(np.abs(A) @ np.abs(S), axis=1, keepdims=True)
    size[size == 0.0] = 1.0
    return np.asarray(size)


def enforce_exactly(
    S: Matrix, X: Matrix, missing: Vector, rtol: float
) -> tuple[Vector, Matrix, Sequence[int]]:
    r"""Enforce rows exactly; return the step of the acceleration and the freedoms left.

    With $X^\top = C (R; 0)$, the first columns of $S C$ are what the rows fix, and the others
    stay free: (3.8) of Orsino with an orthonormal $C_{r+1}$, and (4.14) with $K = S X^+$.

    Args:
        S: Freedoms, shape ``(n, k)``.
        X: Rows in these freedoms, ``A S``, in units in which one is much, shape ``(m, k)``.
        missing: Acceleration that the rows lack, ``b - A a``, in the same units.
        rtol: Remainders below this are none.

    Returns:
        The step, shape ``(n,)``; the new freedoms, shape ``(n, k - rank)``; the redundant rows.
    """
    factored, tau, order, _ = pivoted_qr(X.T, rtol)
    rank = int(np.sum(np.abs(factored.diagonal()) > rtol)) if X.size else 0
    if not rank:
        return np.zeros(len(S)), S, range(len(X))
    R = factored[:rank, :rank]
    y = triangular(R, missing[order[:rank]], lower=False, trans=True)
    turned = lapack.dormqr("R", "N", factored[:, : len(tau)], tau, S, 64 * len(S))[0]
    freedoms = np.ascontiguousarray(turned[:, rank:])
    return turned[:, :rank] @ y, freedoms, sorted(order[rank:].tolist())


def enforce_with_clearance(
    S: Matrix, X: Matrix, missing: Vector, R: Matrix
) -> tuple[Vector, Matrix]:
    r"""Enforce rows with clearance ``R``; return as `enforce_exactly` does, all freedoms being
    left.

    (4.17)-(4.18) by the singular values of the rows in units of their clearance, $R^{-1/2} X =
    U \sigma V^\top$: each direction $S V$ keeps $1 / (1 + \sigma^2)$ of its variance. No sums of
    large and small numbers are formed, so a clearance may be as small as one likes.
    """
    root, info = lapack.dpotrf(R, lower=1)
    if info or not np.allclose(R, R.T, rtol=1e-9, atol=0.0):
        raise GainError(
            "clearance R must be symmetric positive definite; it is not. "
            "Rows without clearance belong to a level of their own."
        )
    if not X.size:
        return np.zeros(len(S)), S
    white = triangular(root, np.column_stack([X, missing]))
    U, sigma, V = np.linalg.svd(white[:, :-1])
    S_turned = S @ V.T
    rank = len(sigma)
    along = sigma / (1.0 + sigma**2) * (U[:, :rank].T @ white[:, -1])
    step = S_turned[:, :rank] @ along
    S_turned[:, :rank] /= np.sqrt(1.0 + sigma**2)
    return np.asarray(step), np.asarray(S_turned)
