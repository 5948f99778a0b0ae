"""The same questions as one dense Lagrange matrix with fifty digits.

The Karush-Kuhn-Tucker matrix holds accelerations, inputs and multipliers at once and is solved by
Gaussian elimination of mpmath. Nothing is projected or eliminated by thought. Rows that repeat
each other are told by singular values of as many digits: of what is mass-weighted and of unit
length, as ranks are decided in the loop.
"""

from __future__ import annotations

from typing import NamedTuple

import mpmath as mp
import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

DIGITS = 50
ROUNDING = 1e-11
"""A row that is shorter than this beside the longest is the rounding of one that holds by itself,
and a singular value below this that of rows that repeat each other."""


class Rows(NamedTuple):
    """Rows as combinations that are independent, exactly."""

    A: mp.matrix
    """Independent combinations, shape ``(r, n)``."""
    b: mp.matrix
    to_rows: mp.matrix
    """From their multipliers to those of the rows, shape ``(m, r)``."""
    idle: mp.matrix
    """Multipliers that push on nothing, shape ``(m, m - r)``."""
    sigma: Vector
    """Singular values of the rows, of unit length and mass-weighted, largest first."""


class Exact:
    """A robot with passive rows, exactly as its arrays are.

    Args:
        M: Mass matrix.
        Q: Impressed force.
        B: Actuation.
        rows: Passive rows ``A`` and ``b``.
        rank: How many directions of them count; the others are left out.
    """

    def __init__(
        self, M: Matrix, Q: Vector, B: Matrix, rows: tuple[Matrix, Vector], rank: int
    ) -> None:
        self.M, self.Q, self.B = mp.matrix(M.tolist()), _column(Q), mp.matrix(B.tolist())
        self.L = mp.cholesky(self.M)
        self.rows = self._independent(*rows, rank)

    def _independent(self, A: Matrix, b: Vector, r: int) -> Rows:
        m, n = A.shape
        if not m:
            empty = mp.matrix(0, 0)
            return Rows(mp.matrix(0, n), mp.matrix(0, 1), empty, empty, np.zeros(0))
        exact = mp.matrix(A.tolist())
        weighted = _lower_solve(self.L, exact.T).T
        length = [mp.norm(weighted[i, :]) for i in range(m)]
        longest = max(length)
        scale = [1 / each if each > ROUNDING * longest else mp.mpf(0) for each in length]
        unit = mp.diag(scale) * weighted
        value, vector = mp.eigsy(unit * unit.T)
        sigma = np.array([float(mp.sqrt(max(value[m - 1 - k], 0))) for k in range(m)])
        turned = mp.matrix([[vector[i, m - 1 - k] for k in range(m)] for i in range(m)])
        combine = mp.diag(scale) * turned[:, :r]
        return Rows(
            combine.T * exact,
            combine.T * _column(b),
            combine,
            mp.diag([each or 1 for each in scale]) * turned[:, r:],
            sigma,
        )

    def motion(self, u: Vector) -> tuple[Vector, Vector, Vector]:
        """Return the acceleration, the reaction and the least multipliers under an input."""
        n, r = len(self.Q), self.rows.A.rows
        K = mp.matrix(n + r, n + r)
        _put(K, 0, 0, self.M)
        right = mp.matrix(n + r, 1)
        _put(right, 0, 0, self.Q + self.B * _column(u) if len(u) else self.Q)
        if r:
            _put(K, 0, n, -self.rows.A.T)
            _put(K, n, 0, self.rows.A)
            _put(right, n, 0, self.rows.b)
        x = mp.lu_solve(K, right)
        if not r:
            return _floats(x), np.zeros(n), np.zeros(0)
        y = x[n:, :]
        lam = self.rows.to_rows * y
        idle = self.rows.idle
        if idle.cols:
            lam -= idle * mp.lu_solve(idle.T * idle, idle.T * lam)
        return _floats(x[:n, :]), _floats(self.rows.A.T * y), _floats(lam)

    def respond(self) -> None:
        """Work out the acceleration per unit input."""
        n, r = len(self.Q), self.rows.A.rows
        K = mp.matrix(n + r, n + r)
        _put(K, 0, 0, self.M)
        if r:
            _put(K, 0, n, -self.rows.A.T)
            _put(K, n, 0, self.rows.A)
        self._G = mp.inverse(K)[:n, :n] * self.B

    def grip(self, A: Matrix) -> Matrix:
        """Return ``A G``, each entry to the last digit of a float."""
        H = mp.matrix(A.tolist()) * self._G
        return np.array(H.tolist(), dtype=np.float64).reshape(A.shape[0], -1)

    def least_input(self, A: Matrix, b: Vector, weights: Vector, u0: Vector) -> Vector:
        """Return the input that meets the rows with the least weighted distance from ``u0``.

        One matrix over accelerations, inputs, reactions and the multipliers of all conditions.
        """
        n, nu, r, m = len(self.Q), self.B.cols, self.rows.A.rows, len(b)
        x, e = n + nu + r, n + r + m
        E, right = mp.matrix(e, x), mp.matrix(e, 1)
        _put(E, 0, 0, self.M)
        _put(E, 0, n, -self.B)
        _put(right, 0, 0, self.Q)
        if r:
            _put(E, 0, n + nu, -self.rows.A.T)
            _put(E, n, 0, self.rows.A)
            _put(right, n, 0, self.rows.b)
        _put(E, n + r, 0, mp.matrix(A.tolist()))
        _put(right, n + r, 0, _column(b))
        K, whole = mp.matrix(x + e, x + e), mp.matrix(x + e, 1)
        for k in range(nu):
            K[n + k, n + k] = mp.mpf(weights[k])
            whole[n + k] = mp.mpf(weights[k]) * mp.mpf(u0[k])
        _put(K, 0, x, E.T)
        _put(K, x, 0, E)
        _put(whole, x, 0, right)
        return _floats(mp.lu_solve(K, whole)[n : n + nu, :])


def _column(values: Vector) -> mp.matrix:
    return mp.matrix([mp.mpf(float(value)) for value in values])


def _floats(column: mp.matrix) -> Vector:
    return np.array([float(value) for value in column], dtype=np.float64)


def _put(K: mp.matrix, row: int, col: int, block: mp.matrix) -> None:
    for i in range(block.rows):
        for j in range(block.cols):
            K[row + i, col + j] = block[i, j]


def _lower_solve(L: mp.matrix, X: mp.matrix) -> mp.matrix:
    n, count = X.rows, X.cols
    Y = X.copy()
    for c in range(count):
        for i in range(n):
            total = Y[i, c]
            for k in range(i):
                total -= L[i, k] * Y[k, c]
            Y[i, c] = total / L[i, i]
    return Y
