r"""How firmly motors hold rows: the number, and its two thresholds.

In lengths measured by the mass matrix, $|A_i|^2 = A_i M^{-1} A_i^\top$ of a row and
$|M^{-1} B_k|^2 = B_k^\top M^{-1} B_k$ of what a motor does to the free robot, the share

$$ N_{ik} = \frac{A_i\, G_k}{|A_i|\, |M^{-1} B_k|} $$

is 1 where motor $k$ pushes along row $i$, and 0 where it pushes across it or against passive rows
alone. It knows no units, of rows, motors or coordinates, and no masses: passive rows count in
$G = W B$, not in what it is compared with, which is never rounding.

The length of $N_i$ is the grip of row $i$, and the least length of $N$ along a direction of unit
length that the rows span is that of all of them together: their smallest singular value, of
orthonormal rows. Grip that is not above `RankPolicy.servo` is *lost*, and the row of $H$ counts as
zero. Below `WEAK` it is *weak*: inputs grow as its inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.factorisation import (
    cholesky,
    copy_into,
    dot,
    factor_rows,
    solve_lower,
    solve_lower_columns,
)
from ukctrl.core.algebra.products import column_lengths, times, weighted_columns, write_gram
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, deferred
from ukctrl.core.extremes import EQUAL_RTOL, first_largest, first_smallest

Hold = Literal["held", "weak", "lost"]
"""What a grip amounts to."""
GRAVITY = 9.81
"""[m/s^2]."""
WEAK = 1e-3
"""Grip below this is weak: a thousandth of the input serves the row."""
MANY = 128
"""More rows than this, unless firm together, are judged each alone."""
SURE = 1e-12
"""What must be left beyond the rounding of squares, of rows that depend on each other."""
PRODUCT = 16.0 * float(np.finfo(np.float64).eps)
"""What rounding may make of a product of matrices, for each of its terms."""


class Lengths(NamedTuple):
    """What the grip of rows is compared with: what motors could do were the robot free."""

    rows: Vector
    """Of each row, ``|A_i|``, shape ``(m,)``."""
    motors: Vector
    """Of what each motor does to the free robot, ``|M^-1 B_k|``, shape ``(nu,)``."""

    @property
    def weights(self) -> Vector:
        """The weight of what each motor drives, shape ``(nu,)`` [N, or N m beside 1 m].

        The input that would accelerate the free robot by 9.81 along the motor.
        """
        weights: Vector = GRAVITY / np.where(self.motors > 0.0, self.motors, np.inf) ** 2
        return weights


class Grip(NamedTuple):
    """How firmly motors hold rows: 0 not at all, about 1 where they push along them."""

    rows: Vector
    """Of each row alone, shape ``(m,)``."""
    weakest: float
    """Of all rows together: along the direction that has least of it."""
    row: str
    """The row that has most of that direction; empty without rows."""
    hold: Hold
    """``held``; ``weak``, where inputs grow as the inverse of ``weakest``; or ``lost``."""

    @property
    def sentence(self) -> str:
        """What a user should know of it; empty where the rows are held."""
        if self.hold == "held":
            return ""
        return said(self.hold, self.row, self.weakest)


def said(hold: Hold, row: str, weakest: float) -> str:
    """Return what a grip that is not firm amounts to, as part of a sentence."""
    some = "no grip" if hold == "lost" else "a weak grip"
    return (
        f"the motors have {some} of row '{row}': {weakest:.1e} of what they could do to it were "
        "the robot free"
    )


@allocating
def lengths(L: Matrix, A: Matrix, B: Matrix) -> Lengths:
    """Return the lengths of rows and of motors' pushes, ``M = L L'``."""
    push, motors = B.copy(), np.empty(B.shape[1])
    solve_lower_columns(L, push)
    column_lengths(push, motors)
    return beside(L, A, motors)


@deferred
def beside(L: Matrix, A: Matrix, motors: Vector) -> Lengths:
    """Return the lengths of rows beside those of motors' pushes, which are known."""
    rows = np.empty(A.shape[0])
    column_lengths(weighted_columns(L, A), rows)
    return Lengths(rows, motors)


@deferred
def row_grips(H: Matrix, length: Lengths) -> Vector:
    """Return the grip of every row of ``H = A G`` alone, shape ``(m,)``."""
    grips = np.empty(H.shape[0])
    for i in range(H.shape[0]):
        grips[i] = row_grip(H, length, i)
    return grips


@compiled
def row_grip(H: Matrix, length: Lengths, i: int) -> float:
    """Return the grip of one row of ``H = A G`` alone."""
    total = 0.0
    for k in range(H.shape[1]):
        could = length.rows[i] * length.motors[k]
        if could > 0.0 and H[i, k] != 0.0:
            share = H[i, k] / could
            total += share * share
    return float(np.sqrt(total))


@deferred
def drop_lost(H: Matrix, length: Lengths, rtol: float) -> None:
    """Set the rows of ``H`` to zero whose grip is not above ``rtol``: they are rounding."""
    for i in range(H.shape[0]):
        if row_grip(H, length, i) <= rtol:
            for k in range(H.shape[1]):
                H[i, k] = 0.0


@deferred
def held_rows(
    L: Matrix, A: Matrix, G: Matrix, length: Lengths, rtol: float, order: NDArray[np.int64]
) -> int:
    """Write a row order whose first rows the motors hold, each beside the others; return how many.

    What is left of a row outside the span of those before it, of unit length, must be above
    ``rtol``; what motors do to that, outside the span of what they do to those, above ``rtol`` of
    what they could; and above its rounding, which is tracked to first order.
    """
    (m, n), nu = A.shape, G.shape[1]
    rows, pushed, rounding = np.zeros((m, n)), np.zeros((m, nu)), np.zeros(m)
    for i in range(m):
        order[i] = i
        if not length.rows[i] > 0.0:
            continue
        copy_into(A[i], rows[i])
        solve_lower(L, rows[i])
        for c in range(n):
            rows[i, c] /= length.rows[i]
        for k in range(nu):
            could = length.rows[i] * length.motors[k]
            if could > 0.0:
                terms = 0.0
                for c in range(n):
                    pushed[i, k] += A[i, c] * G[c, k] / could
                    terms += abs(A[i, c] * G[c, k] / could)
                rounding[i] += terms * terms
        rounding[i] = PRODUCT * n * np.sqrt(rounding[i])
    for held in range(m):
        best, pivot = 0.0, -1
        for i in range(held, m):
            left, own = np.sqrt(dot(pushed[i], pushed[i])), np.sqrt(dot(rows[i], rows[i]))
            counts = own > rtol and left > max(rtol * own, rounding[i])
            if counts and left > (1.0 + EQUAL_RTOL) * best:
                best, pivot = left, i
        if pivot < 0:
            return held
        for X in (rows, pushed):
            size = np.sqrt(dot(X[pivot], X[pivot]))
            for c in range(X.shape[1]):
                X[pivot, c], X[held, c] = X[held, c], X[pivot, c] / size
        order[held], order[pivot] = order[pivot], order[held]
        rounding[held], rounding[pivot] = rounding[pivot], rounding[held]
        for i in range(held + 1, m):
            along = dot(pushed[held], pushed[i])
            rounding[i] = np.hypot(rounding[i], along * rounding[held] / best)
            for X in (rows, pushed):
                for _ in range(2):
                    along = dot(X[held], X[i])
                    for c in range(X.shape[1]):
                        X[i, c] -= along * X[held, c]
    return int(m)


@allocating
def along_rows(
    L: Matrix, A: Matrix, G: Matrix, length: Lengths, rtol: float
) -> tuple[Matrix, Matrix, Matrix]:
    """Return unit rows, what they span, and what motors do along that; measured by mass.

    Rows of shape ``(m, n)``, orthonormal directions ``(k, n)``, and shares ``(k, nu)``, where
    ``rtol`` says which rows depend on each other.
    """
    (m, n), nu = A.shape, G.shape[1]
    rows = np.zeros((m, n))
    for i in range(m):
        if length.rows[i] > 0.0:
            copy_into(A[i], rows[i])
            solve_lower(L, rows[i])
            for c in range(n):
                rows[i, c] /= length.rows[i]
    factor = factor_rows(rows, rtol)
    Q = factor.Q[: factor.rank].copy()
    pushed = np.zeros((factor.rank, nu))
    for r in range(factor.rank):
        for c in range(n):
            along = 0.0
            for j in range(c + 1):
                along += L[c, j] * Q[r, j]
            for k in range(nu):
                pushed[r, k] += along * G[c, k]
    for k in range(nu):
        unit = 1.0 / length.motors[k] if length.motors[k] > 0.0 else 0.0
        for r in range(factor.rank):
            pushed[r, k] *= unit
    return rows, Q, pushed


@deferred
def together(
    L: Matrix, A: Matrix, G: Matrix, length: Lengths, rtol: float
) -> tuple[float, Vector, int]:
    """Return the grip of all rows together, how much each has of its direction, and their rank.

    That is 1 and nothing without rows; ``rtol`` says which rows depend on each other.
    """
    rows, Q, pushed = along_rows(L, A, G, length, rtol)
    rank, nu = pushed.shape
    parts = np.zeros(len(rows))
    if rank == 0:
        return 1.0, parts, rank
    if nu == 0 or not np.isfinite(np.sum(pushed)):
        return 0.0 if nu == 0 else np.nan, parts, rank
    U, sigma, _ = np.linalg.svd(pushed)
    weakest = sigma[rank - 1] if rank <= nu else 0.0
    for j in range(rank):
        beside = sigma[j] if j < nu else 0.0
        if beside <= max(rtol, (1.0 + EQUAL_RTOL) * weakest):  # no single one is determined
            along = rows @ (np.ascontiguousarray(U[:, j]) @ Q)
            for i in range(len(parts)):
                parts[i] += along[i] * along[i]
    return weakest, parts, rank


@allocating
def firm(L: Matrix, A: Matrix, G: Matrix, motors: Vector, grips: Vector) -> int:
    r"""Return the rank of rows whose grip together is not weak, for sure, or 0; write that of each.

    Along every $c$ it is $|c N| / |c W|$, of shares ``N`` and unit rows ``W``: above `WEAK` where
    $N N^\top - \epsilon^2 W W^\top$ has a Cholesky factor.
    """
    m, nu = len(A), G.shape[1]
    W, N, H, rows = weighted_columns(L, A), np.empty((nu, m)), times(A, G), np.empty(m)
    column_lengths(W, rows)
    for i in range(m):
        row = 1.0 / rows[i] if rows[i] > 0.0 else 1.0
        for c in range(W.shape[0]):
            W[c, i] *= row
        rows[i] = row
    for k in range(nu):
        motor = 1.0 / motors[k] if motors[k] > 0.0 else 0.0
        for i in range(m):
            N[k, i] = H[i, k] * rows[i] * motor
    column_lengths(N, grips)
    square, inner = np.empty((m, m)), np.empty((m, m))
    write_gram(N, square)
    write_gram(W, inner)
    for i in range(m):
        for k in range(i + 1):
            square[i, k] -= WEAK * WEAK * inner[i, k]
            square[k, i] = square[i, k]
        square[i, i] -= SURE
    return 0 if cholesky(square, inner) > 0 else m


def grip(
    L: Matrix, A: Matrix, G: Matrix, length: Lengths, lost: float, names: Sequence[str]
) -> Grip:
    """Return how firmly motors hold rows.

    Args:
        L: Cholesky factor of the mass matrix, shape ``(nv, nv)``.
        A: Rows, shape ``(m, nv)``.
        G: Acceleration per unit input, shape ``(nv, nu)``.
        length: What the grip is compared with.
        lost: Grip that is not above this is none.
        names: Names of the rows.
    """
    alone = row_grips(A @ G, length)
    if not len(A):
        return Grip(alone, 1.0, "", "held")
    if len(A) > MANY:
        i = first_smallest(alone)
        weak: Hold = "weak" if alone[i] < WEAK else "held"
        return Grip(alone, float(alone[i]), names[i], weak if alone[i] > lost else "lost")
    weakest, parts, rank = together(L, A, G, length, lost)
    held = held_rows(L, A, G, length, lost, np.empty(len(A), dtype=np.int64))
    hold: Hold = "lost" if held < rank else "weak" if weakest < WEAK else "held"
    return Grip(alone, weakest, names[first_largest(parts)], hold)
