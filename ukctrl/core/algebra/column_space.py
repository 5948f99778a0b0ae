"""What columns of any length span, and the least of them that gives a vector; no unit decides.

Rows and columns of a matrix each stand for something in a unit of its own: a task's row, a
motor, a coordinate. How many directions there are is decided of the matrix in units of what each
could be; what is near and what is least is so of the numbers as they are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Array, Matrix, Vector

ROUNDING_RTOL = 1e-13
"""What a decomposition leaves of a zero, beside the largest entry."""


class ColumnSpace(NamedTuple):
    """The directions that a matrix ``X``, shape ``(n, c)``, has, and its pseudoinverse."""

    basis: Matrix
    """Orthonormal directions of ``X`` in units of its rows, shape ``(n, k)``."""
    inverse: Matrix
    """Some way to give what ``X`` can give, ``X inverse X = X``, shape ``(c, n)``."""
    null_space: Matrix
    """Independent combinations of columns that give nothing, shape ``(c, c - k)``."""
    left_null_space: Matrix
    """Independent directions across all columns, shape ``(n, n - k)``."""

    def solve(self, y: Array, metric: Matrix | None = None) -> Array:
        """Return ``x`` of least ``x' metric x`` whose ``X x`` is nearest to ``y``: ``X^+ y``."""
        x: Array = self.inverse @ (y - self.residual(y))
        if metric is None:
            return x - self.null_space @ row_scaled_lstsq(self.null_space, x)
        root = np.linalg.cholesky(metric).T
        return x - self.null_space @ row_scaled_lstsq(root @ self.null_space, root @ x)

    def residual(self, y: Array) -> Array:
        """Return the part of ``y`` that no ``x`` gives."""
        residual: Array = self.left_null_space @ row_scaled_lstsq(self.left_null_space, y)
        return residual


def column_space(
    X: Matrix,
    columns: Vector,
    lost: float = 0.0,
    *,
    rows: Vector | None = None,
    rank: int | None = None,
) -> ColumnSpace:
    """Return what columns span.

    Args:
        X: The columns, shape ``(n, c)``.
        columns: The unit of each, as long as it could be, shape ``(c,)``; 0: it gives nothing.
        lost: A singular value of ``X`` in these units that is not above this counts as zero.
        rows: The unit of each row, shape ``(n,)``; 0: nothing gives it. Absent: 1.
        rank: How many directions count, where that is known.
    """
    rows = np.ones(len(X)) if rows is None else rows
    # a unit of zero becomes 0: what gives nothing is left out
    c, r = (1.0 / np.where(scale > 0.0, scale, np.inf) for scale in (columns, rows))
    U, sigma, Vt = np.linalg.svd(X * c * r[:, None])
    # a caller that knows the rank has asked a threshold already: two would disagree at the border
    k = int(np.count_nonzero(sigma > lost)) if rank is None else rank
    inverse = _zero_rounding(Vt[:k].T / sigma[:k] @ U[:, :k].T) * c[:, None] * r
    c, r = (np.where(scale > 0.0, scale, 1.0)[:, None] for scale in (c, r))
    return ColumnSpace(U[:, :k], inverse, c * _sparse_basis(Vt[k:].T), r * _sparse_basis(U[:, k:]))


def scaled_rank(X: Matrix, columns: Vector, lost: float) -> int:
    """Return how many directions columns have; the arguments are those of `column_space`."""
    unit = 1.0 / np.where(columns > 0.0, columns, np.inf)
    return int(np.count_nonzero(np.linalg.svd(X * unit, compute_uv=False) > lost))


def _sparse_basis(V: Matrix) -> Matrix:
    """Return another basis, in which what has nothing to do with each other has zeros."""
    if not V.size:
        return V
    from scipy.linalg import qr

    _, _, order = qr(V.T, mode="economic", pivoting=True)
    return _zero_rounding(np.linalg.solve(V[order[: V.shape[1]]].T, V.T).T)


def _zero_rounding(X: Matrix) -> Matrix:
    """Return a matrix without entries that are only rounding: in other units they are not small."""
    return np.where(np.abs(X) > ROUNDING_RTOL * np.abs(X).max(initial=0.0), X, 0.0)


def row_scaled_lstsq(X: Matrix, y: Array) -> Array:
    """Return ``c`` of the least ``|X c - y|``, of independent columns and rows of any size.

    QR with the largest rows first and column pivoting is stable row by row.

    References:
        Cox & Higham, "Stability of Householder QR factorization for weighted least squares
        problems", 1998.
    """
    c = np.zeros((X.shape[1], *y.shape[1:]))
    if X.shape[1]:
        from scipy.linalg import qr, solve_triangular

        order = np.argsort(-np.abs(X).max(axis=1), kind="stable")
        Q, R, at = qr(X[order], mode="economic", pivoting=True)
        c[at] = solve_triangular(R, Q.T @ y[order])
    return c
