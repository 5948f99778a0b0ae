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

from ukctrl.core.algebra.compiled import compiled
from ukctrl.core.algebra.factorisation import (
    copy_into,
    factor_rows,
    solve_lower,
    solve_lower_columns,
)
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.extremes import EQUAL_RTOL, first_largest, first_smallest

Hold = Literal["held", "weak", "lost"]
"""What a grip amounts to."""
GRAVITY = 9.81
"""[m/s^2]."""
WEAK = 1e-3
"""Grip below this is weak: a thousandth of the input serves the row."""
MANY = 48
"""More rows than this are not taken together: each has the grip that it has alone."""


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


def hold_of(weakest: float, lost: float) -> Hold:
    """Return what a grip amounts to; ``lost`` is the threshold at which it counts as none."""
    if not weakest > lost:
        return "lost"
    return "weak" if weakest < WEAK else "held"


@compiled
def lengths(L: Matrix, A: Matrix, B: Matrix) -> Lengths:
    """Return the lengths of rows and of motors' pushes, ``M = L L'``."""
    (m, n), nu = A.shape, B.shape[1]
    rows, motors = np.zeros(m), np.zeros(nu)
    row = np.empty(n)
    for i in range(m):
        copy_into(A[i], row)
        solve_lower(L, row)
        for c in range(n):
            rows[i] += row[c] * row[c]
        rows[i] = np.sqrt(rows[i])
    push = B.copy()
    solve_lower_columns(L, push)
    for c in range(n):
        for k in range(nu):
            motors[k] += push[c, k] * push[c, k]
    for k in range(nu):
        motors[k] = np.sqrt(motors[k])
    return Lengths(rows, motors)


def plain_lengths(A: Matrix, G: Matrix) -> Lengths:
    """Return the lengths of rows and columns as they are: of a free robot of unit masses."""
    return Lengths(np.linalg.norm(A, axis=1), np.linalg.norm(G, axis=0))


@compiled
def row_grips(H: Matrix, length: Lengths) -> Vector:
    """Return the grip of every row of ``H = A G`` alone, shape ``(m,)``."""
    grips = np.zeros(H.shape[0])
    for i in range(H.shape[0]):
        for k in range(H.shape[1]):
            could = length.rows[i] * length.motors[k]
            if could > 0.0:
                share = H[i, k] / could
                grips[i] += share * share
        grips[i] = np.sqrt(grips[i])
    return grips


@compiled
def drop_lost(H: Matrix, length: Lengths, rtol: float) -> Vector:
    """Set the rows of ``H`` to zero whose grip is not above ``rtol``: they are rounding.

    Returns the floors of all rows, shape ``(m,)``: the part of a row that must be left outside the
    span of others for the motors to have grip of it, ``rtol`` over its own.
    """
    grips = row_grips(H, length)
    floors = np.zeros(len(grips))
    for i in range(H.shape[0]):
        if grips[i] <= rtol:
            H[i, :] = 0.0
        else:
            floors[i] = rtol / grips[i]
    return floors


@compiled
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


@compiled
def together(L: Matrix, A: Matrix, G: Matrix, length: Lengths, rtol: float) -> tuple[float, Vector]:
    """Return the grip of all rows together, and how much each has of its direction.

    That is 1 and nothing without rows; ``rtol`` says which rows depend on each other.
    """
    rows, Q, pushed = along_rows(L, A, G, length, rtol)
    rank, nu = pushed.shape
    parts = np.zeros(len(rows))
    if rank == 0:
        return 1.0, parts
    if nu == 0 or not np.isfinite(np.sum(pushed)):
        return 0.0 if nu == 0 else np.nan, parts
    U, sigma, _ = np.linalg.svd(pushed)
    weakest = sigma[rank - 1] if rank <= nu else 0.0
    for j in range(rank):
        beside = sigma[j] if j < nu else 0.0
        if beside <= max(rtol, (1.0 + EQUAL_RTOL) * weakest):  # no single one is determined
            along = rows @ (np.ascontiguousarray(U[:, j]) @ Q)
            for i in range(len(parts)):
                parts[i] += along[i] * along[i]
    return weakest, parts


@compiled
def firm(L: Matrix, A: Matrix, G: Matrix, B: Matrix, rtol: float, grips: Vector) -> bool:
    """Return whether the grip of all rows together is not weak, for sure; write that of each.

    Cheaper than `together`: the inverse of a triangle bounds the smallest singular value.
    """
    length = lengths(L, A, B)
    copy_into(row_grips(A @ G, length), grips)
    pushed = along_rows(L, A, G, length, rtol)[2]
    triangle, _, _, rank = factor_rows(pushed, 0.0)
    if rank < len(pushed):
        return False
    square = 0.0
    for j in range(rank):
        column = np.zeros(rank)
        column[j] = 1.0
        solve_lower(triangle[:, :rank], column)
        square += np.sum(column * column)
    return square * WEAK * WEAK <= 1.0


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
        weakest = float(alone[i])
    else:
        weakest, parts = together(L, A, G, length, lost)
        i = first_largest(parts)
    return Grip(alone, weakest, names[i], hold_of(weakest, lost))
