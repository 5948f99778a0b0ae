r"""How firmly motors hold rows: the number, and its two thresholds.

In lengths measured by the mass matrix, $|A_i|^2 = A_i M^{-1} A_i^\top$ of a row and
$|M^{-1} B_k|^2 = B_k^\top M^{-1} B_k$ of what a motor does to the free robot, the share

$$ N_{ik} = \frac{A_i\, G_k}{|A_i|\, |M^{-1} B_k|} $$

is 1 where motor $k$ pushes along row $i$, and 0 where it pushes across it or against passive rows
alone. It knows no units, of rows, motors, coordinates or masses: passive rows count in
$G = W B$, not in what it is compared with, which is never rounding.

The length of $N_i$ is the grip of row $i$, and the least length of $N$ along a direction of unit
length that the rows span is that of all of them together: their smallest singular value, of
orthonormal rows. Grip that is not above `RankPolicy.servo` is *lost*, and the row of $H$ counts as
zero. Below `WEAK_AUTHORITY` it is *weak*: inputs grow as its inverse.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.algebra.decompositions import svd
from ukctrl.core.algebra.factorisation import (
    cholesky,
    copy_into,
    dot,
    matvec_transposed,
    pivoted_lq,
    solve_lower,
    solve_lower_columns,
)
from ukctrl.core.algebra.sparse_products import (
    column_norms,
    gram_into,
    mass_weighted_columns,
    matmul,
)
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled, deferred
from ukctrl.core.tie_breaking import TIE_RTOL, first_largest, first_smallest

AuthorityLevel = Literal["held", "weak", "lost"]
"""What a grip amounts to."""
GRAVITY = 9.81
"""[m/s^2]."""
WEAK_AUTHORITY = 1e-3
"""Grip below this is weak: a thousandth of the input serves the row."""
MAX_JOINT_ROWS = 128
"""More rows than this, unless firm together, are judged each alone."""
GRAM_ROUNDING = 1e-12
"""What must be left beyond the rounding of squares, of rows that depend on each other."""
PRODUCT_EPS = 16.0 * float(np.finfo(np.float64).eps)
"""What rounding may make of a product of matrices, for each of its terms."""


class AuthorityScales(NamedTuple):
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


class InputAuthority(NamedTuple):
    """How firmly motors hold rows: 0 not at all, about 1 where they push along them."""

    rows: Vector
    """Of each row alone, shape ``(m,)``."""
    weakest: float
    """Of all rows together: along the direction that has least of it."""
    row: str
    """The row that has most of that direction; empty without rows."""
    level: AuthorityLevel
    """``held``; ``weak``, where inputs grow as the inverse of ``weakest``; or ``lost``."""

    @property
    def text(self) -> str:
        """What a user should know of it; empty where the rows are held."""
        if self.level == "held":
            return ""
        return authority_text(self.level, self.row, self.weakest)


def authority_text(hold: AuthorityLevel, row: str, weakest: float) -> str:
    """Return what a grip that is not firm amounts to, as part of a sentence."""
    some = "no grip" if hold == "lost" else "a weak grip"
    return (
        f"the motors have {some} of row '{row}': {weakest:.1e} of their authority over it on the "
        "free robot"
    )


@allocating
def authority_scales(L: Matrix, A: Matrix, B: Matrix) -> AuthorityScales:
    """Return the lengths of rows and of motors' pushes, ``M = L L'``."""
    push, motors = B.copy(), np.empty(B.shape[1])
    solve_lower_columns(L, push)
    column_norms(push, motors)
    return authority_scales_from(L, A, motors)


@deferred
def authority_scales_from(L: Matrix, A: Matrix, motors: Vector) -> AuthorityScales:
    """Return the lengths of rows beside those of motors' pushes, which are known."""
    rows = np.empty(A.shape[0])
    column_norms(mass_weighted_columns(L, A), rows)
    return AuthorityScales(rows, motors)


@deferred
def row_authorities(H: Matrix, length: AuthorityScales) -> Vector:
    """Return the grip of every row of ``H = A G`` alone, shape ``(m,)``."""
    grips = np.empty(H.shape[0])
    for i in range(H.shape[0]):
        grips[i] = row_authority(H, length, i)
    return grips


@compiled
def row_authority(H: Matrix, length: AuthorityScales, i: int) -> float:
    """Return the grip of one row of ``H = A G`` alone."""
    total = 0.0
    for k in range(H.shape[1]):
        could = length.rows[i] * length.motors[k]
        if could > 0.0 and H[i, k] != 0.0:
            share = H[i, k] / could
            total += share * share
    return float(np.sqrt(total))


@deferred
def zero_uncontrolled_rows(H: Matrix, length: AuthorityScales, rtol: float) -> None:
    """Set the rows of ``H`` to zero whose grip is not above ``rtol``: they are rounding."""
    for i in range(H.shape[0]):
        if row_authority(H, length, i) <= rtol:
            for k in range(H.shape[1]):
                H[i, k] = 0.0


@deferred
def controllable_rows(
    L: Matrix, A: Matrix, G: Matrix, length: AuthorityScales, rtol: float, order: NDArray[np.int64]
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
        rounding[i] = PRODUCT_EPS * n * np.sqrt(rounding[i])
    for rank in range(m):
        best, pivot = 0.0, -1
        for i in range(rank, m):
            response, row_norm = np.sqrt(dot(pushed[i], pushed[i])), np.sqrt(dot(rows[i], rows[i]))
            # independent of the rows before it, moved by motors in what is left, and by more than
            # rounding
            counts = row_norm > rtol and response > max(rtol * row_norm, rounding[i])
            if counts and response > (1.0 + TIE_RTOL) * best:
                best, pivot = response, i
        if pivot < 0:
            return rank
        for X in (rows, pushed):
            size = np.sqrt(dot(X[pivot], X[pivot]))
            for c in range(X.shape[1]):
                X[pivot, c], X[rank, c] = X[rank, c], X[pivot, c] / size
        order[rank], order[pivot] = order[pivot], order[rank]
        rounding[rank], rounding[pivot] = rounding[pivot], rounding[rank]
        for i in range(rank + 1, m):
            along = dot(pushed[rank], pushed[i])
            rounding[i] = np.hypot(rounding[i], along * rounding[rank] / best)
            for X in (rows, pushed):
                for _ in range(2):
                    along = dot(X[rank], X[i])
                    for c in range(X.shape[1]):
                        X[i, c] -= along * X[rank, c]
    return int(m)


@allocating
def row_space_authority(
    L: Matrix, A: Matrix, G: Matrix, length: AuthorityScales, rtol: float
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
    factor = pivoted_lq(rows, rtol)
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
def joint_authority(
    L: Matrix, A: Matrix, G: Matrix, length: AuthorityScales, rtol: float
) -> tuple[float, Vector, int]:
    """Return the grip of all rows together, how much each has of its direction, and their rank.

    That is 1 and nothing without rows; ``rtol`` says which rows depend on each other.
    """
    rows, Q, pushed = row_space_authority(L, A, G, length, rtol)
    rank, nu = pushed.shape
    shares, direction = np.zeros(len(rows)), np.empty(Q.shape[1])
    if rank == 0:
        return 1.0, shares, rank
    if nu == 0 or not np.isfinite(np.sum(pushed)):
        return 0.0 if nu == 0 else np.nan, shares, rank
    U, sigma, _ = svd(pushed)
    weakest = sigma[rank - 1] if rank <= nu else 0.0
    for j in range(rank):
        sigma_j = sigma[j] if j < nu else 0.0
        if sigma_j <= max(rtol, (1.0 + TIE_RTOL) * weakest):  # no single one is determined
            matvec_transposed(U[:, j].copy(), Q, direction)
            for i in range(len(shares)):
                shares[i] += dot(rows[i], direction) ** 2
    return weakest, shares, rank


@allocating
def surely_full_rank(L: Matrix, A: Matrix, G: Matrix, motors: Vector, grips: Vector) -> int:
    r"""Return the rank of rows whose grip together is not weak, for sure, or 0; write that of each.

    Along every $c$ it is $|c N| / |c W|$, of shares ``N`` and unit rows ``W``: above
    `WEAK_AUTHORITY` where $N N^\top - \epsilon^2 W W^\top$ has a Cholesky factor.
    """
    m, nu = len(A), G.shape[1]
    W, N, H, rows = mass_weighted_columns(L, A), np.empty((nu, m)), matmul(A, G), np.empty(m)
    column_norms(W, rows)
    for i in range(m):
        row = 1.0 / rows[i] if rows[i] > 0.0 else 1.0
        for c in range(W.shape[0]):
            W[c, i] *= row
        rows[i] = row
    for k in range(nu):
        motor = 1.0 / motors[k] if motors[k] > 0.0 else 0.0
        for i in range(m):
            N[k, i] = H[i, k] * rows[i] * motor
    column_norms(N, grips)
    square, inner = np.empty((m, m)), np.empty((m, m))
    gram_into(N, square)
    gram_into(W, inner)
    for i in range(m):
        for k in range(i + 1):
            square[i, k] -= WEAK_AUTHORITY * WEAK_AUTHORITY * inner[i, k]
            square[k, i] = square[i, k]
        square[i, i] -= GRAM_ROUNDING
    return 0 if cholesky(square, inner) > 0 else m


def input_authority(
    L: Matrix, A: Matrix, G: Matrix, length: AuthorityScales, lost: float, names: Sequence[str]
) -> InputAuthority:
    """Return how firmly motors hold rows.

    Args:
        L: Cholesky factor of the mass matrix, shape ``(nv, nv)``.
        A: Rows, shape ``(m, nv)``.
        G: Acceleration per unit input, shape ``(nv, nu)``.
        length: What the grip is compared with.
        lost: Grip that is not above this is none.
        names: Names of the rows.
    """
    alone = row_authorities(A @ G, length)
    if not len(A):
        return InputAuthority(alone, 1.0, "", "held")
    # the SVD of so many rows costs more than the tick: each is judged alone
    if len(A) > MAX_JOINT_ROWS:
        i = first_smallest(alone)
        weak: AuthorityLevel = "weak" if alone[i] < WEAK_AUTHORITY else "held"
        return InputAuthority(alone, float(alone[i]), names[i], weak if alone[i] > lost else "lost")
    weakest, shares, rank = joint_authority(L, A, G, length, lost)
    n_controllable = controllable_rows(L, A, G, length, lost, np.empty(len(A), dtype=np.int64))
    hold: AuthorityLevel = (
        "lost" if n_controllable < rank else "weak" if weakest < WEAK_AUTHORITY else "held"
    )
    return InputAuthority(alone, weakest, names[first_largest(shares)], hold)
