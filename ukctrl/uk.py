r"""The theorems, on plain arrays.

A robot with mass matrix $M$, impressed force $Q$ (everything but motors and reactions), motors
$B u$ and passive rows $A_p a = b_p$ answers its input affinely,

$$ a = a_\mathrm{free} + G u , $$

and a servo constraint $A a = b$ becomes a small linear equation in the input, $H u = d$ with
$H = A G$ and $d = b - A a_\mathrm{free}$. Everything here follows from these two lines. This
module knows nothing of Pinocchio, files or time; the arithmetic is in
`ukctrl.core.algebra.dynamics_kernels`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ukctrl.core.algebra import dynamics_kernels, least_norm_input
from ukctrl.core.algebra import input_authority as firmness
from ukctrl.core.algebra.column_space import ColumnSpace, column_space
from ukctrl.core.algebra.factorisation import (
    cholesky,
    independent_rows,
    zero_rounding_lengths,
)
from ukctrl.core.algebra.gram_factor import gram_factor_buffers
from ukctrl.core.algebra.input_authority import InputAuthority
from ukctrl.core.algebra.multipliers import multipliers
from ukctrl.core.algebra.rank_policy import RANK, RankPolicy
from ukctrl.core.algebra.solution_checks import (
    expect_shape,
    matrix,
    raise_if_conflicting,
    raise_if_indefinite,
    raise_if_infeasible,
    raise_if_singular,
    row_names,
    symmetric,
    vector,
)
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.errors import ShapeError

NO_METRIC: Matrix = np.zeros((0, 0))
"""Stands for the identity metric in the kernels."""


class AffineAcceleration(NamedTuple):
    """How the robot answers its input: ``a = a_free + G u``."""

    a_free: Vector
    """Acceleration at zero input, shape ``(nv,)`` [rad/s^2 or m/s^2]."""
    G: Matrix
    """Acceleration per unit input, shape ``(nv, nu)``."""


class Reaction(NamedTuple):
    """What the passive constraints do to the robot."""

    force: Vector
    """Generalised reaction ``A_p' lam``, shape ``(nv,)`` [N m or N]."""
    lam: Vector
    """Multipliers, shape ``(m,)``; of least norm where rows are redundant."""
    rank: int
    """Independent passive rows."""


class RankReport(NamedTuple):
    """Which rows of a matrix are independent, and by how much."""

    rank: int
    independent: tuple[str, ...]
    dependent: tuple[str, ...]
    """Rows that the independent ones already imply."""
    smallest_kept: float
    """Smallest singular value that counts, relative to the largest."""
    largest_dropped: float
    """Largest singular value that does not count, relative to the largest."""


def affine_acceleration(
    M: ArrayLike,
    Q: ArrayLike,
    B: ArrayLike,
    A_p: ArrayLike | None = None,
    b_p: ArrayLike | None = None,
    rank: RankPolicy = RANK,
    rows: Sequence[str] | None = None,
) -> AffineAcceleration:
    r"""Return how the acceleration depends on the input, passive constraints included.

    $$ W = M^{-1} - M^{-1} A_p^\top (A_p M^{-1} A_p^\top)^+ A_p M^{-1}, \quad G = W B, \quad
       a_\mathrm{free} = W Q + M^{-1} A_p^\top (A_p M^{-1} A_p^\top)^+ b_p $$

    Redundant passive rows are normal and change nothing.

    Args:
        M: Mass matrix, symmetric positive definite, shape ``(nv, nv)``.
        Q: Impressed force, shape ``(nv,)`` [N m or N]: applied forces minus ``nle``.
        B: Actuation matrix, shape ``(nv, nu)``.
        A_p: Passive constraint matrix, shape ``(m, nv)``; absent: none.
        b_p: Passive right-hand side, shape ``(m,)``.
        rank: Rank policy.
        rows: Names of the passive rows, for messages.

    Raises:
        ShapeError: The arguments disagree on their sizes.
        SingularMass: ``M`` is not positive definite.
        ConflictingConstraints: No acceleration satisfies all passive rows.

    References:
        Udwadia & Kalaba, Proc. R. Soc. Lond. A 439, 1992; Liu et al. 2015, eqs (5)-(11).
    """
    M_, Q_, B_ = symmetric("M", M), vector("Q", Q), matrix("B", B)
    n = len(Q_)
    expect_shape("M", M_.shape, (n, n))
    expect_shape("B", B_.shape, (n, B_.shape[1]))
    A_, b_ = _rows(A_p, b_p, n, "A_p", "b_p")
    a_free, G = np.empty(n), np.empty(B_.shape)
    pushed = dynamics_kernels.EquationOfMotion(M_, np.zeros(n), Q_, B_)
    answer = dynamics_kernels.AccelerationMap(np.empty((n, n)), a_free, G, np.empty(B_.shape[1]))
    if len(b_):
        right = np.vstack([b_, np.zeros(len(b_))])
        passive = dynamics_kernels.PassiveRows(A_, right, rank.passive, np.empty(n), np.empty(2))
        nowhere = np.empty((0, n)), np.empty(0), gram_factor_buffers(n, len(b_))
        rank_or_failure = dynamics_kernels.constrained_acceleration(
            pushed, passive, answer, *nowhere
        )
    else:
        rank_or_failure = dynamics_kernels.unconstrained_acceleration(pushed, answer)
    raise_if_singular(rank_or_failure)
    raise_if_conflicting(A_, b_, a_free, rank, rows, load=(M_, Q_))
    return AffineAcceleration(a_free, G)


def reaction(
    M: ArrayLike,
    Q: ArrayLike,
    A_p: ArrayLike,
    b_p: ArrayLike,
    rank: RankPolicy = RANK,
    rows: Sequence[str] | None = None,
) -> Reaction:
    r"""Return the reaction of the passive rows to the total impressed force ``Q``.

    $$ \lambda = (A_p M^{-1} A_p^\top)^+ (b_p - A_p M^{-1} Q) $$

    ``Q`` must include the motors, ``f - nle + B u``: the reaction moves with the input.
    Arguments and errors are those of `affine_acceleration`.
    """
    M_ = symmetric("M", M)
    force, A_, row_rank = _constraint_force(M_, Q, (A_p, b_p), rank, rows)
    L = np.empty(M_.shape)
    cholesky(M_, L)
    return Reaction(force, multipliers(L, A_, force, row_rank), row_rank)


def constraint_force(
    M: ArrayLike,
    Q: ArrayLike,
    A: ArrayLike,
    b: ArrayLike,
    rank: RankPolicy = RANK,
    rows: Sequence[str] | None = None,
) -> Vector:
    r"""Return the Udwadia-Kalaba force that makes ``M a = Q + Qc`` obey ``A a = b``.

    $$ Q_c = M^{1/2} (A M^{-1/2})^+ (b - A M^{-1} Q) $$

    It is the ideal one: it does no work on any velocity in ``null(A)``, and the acceleration it
    gives is the closest to ``M^-1 Q`` in Gauss's sense. Dependent rows must be consistent.

    Args:
        M: Mass matrix, shape ``(nv, nv)``, symmetric positive definite.
        Q: Impressed force, shape ``(nv,)`` [N m or N].
        A: Constraint matrix, shape ``(m, nv)``.
        b: Constraint vector, shape ``(m,)``.
        rank: Rank policy; its ``passive`` threshold counts.
        rows: Names of the rows, for messages.

    Returns:
        Constraint force, shape ``(nv,)`` [N m or N].

    Raises:
        ShapeError: The arguments disagree on their sizes, or ``M`` is not symmetric.
        SingularMass: ``M`` is not positive definite.
        ConflictingConstraints: No acceleration satisfies all rows.

    References:
        Udwadia & Kalaba 1992; Xu & Liu 2017, eq (7).
    """
    return _constraint_force(symmetric("M", M), Q, (A, b), rank, rows)[0]


def _constraint_force(
    M: Matrix,
    Q: ArrayLike,
    constraint: tuple[ArrayLike, ArrayLike],
    rank: RankPolicy,
    rows: Sequence[str] | None,
) -> tuple[Vector, Matrix, int]:
    """Return the force, the rows as a matrix, and how many directions they constrain."""
    Q_ = vector("Q", Q)
    n = len(Q_)
    expect_shape("M", M.shape, (n, n))
    A, b = _rows(*constraint, n, "A", "b")
    force = np.empty(n)
    rank_or_failure = dynamics_kernels.constraint_force(M, Q_, A, b, rank.passive, force)
    raise_if_singular(rank_or_failure)
    a = np.asarray(np.linalg.solve(M, Q_ + force), dtype=np.float64)
    raise_if_conflicting(A, b, a, rank, rows, load=(M, Q_))
    return force, A, rank_or_failure


def servo_input(
    A: ArrayLike,
    b: ArrayLike,
    a_free: ArrayLike,
    G: ArrayLike,
    *,
    R: ArrayLike | None = None,
    u0: ArrayLike | None = None,
    rank: RankPolicy = RANK,
    rows: Sequence[str] | None = None,
    M: ArrayLike | None = None,
    B: ArrayLike | None = None,
) -> Vector:
    r"""Return the input of least norm that makes the robot obey ``A a = b``.

    With $H = A G$ and $d = b - A a_\mathrm{free}$,

    $$ u = u_0 + R^{-1} H^\top (H R^{-1} H^\top)^+ (d - H u_0) $$

    minimises $(u - u_0)^\top R (u - u_0)$ among all inputs that keep the constraint. Fully,
    under- and redundantly actuated robots are only shapes of ``G`` and ranks of ``H``.

    Args:
        A: Constraint matrix, shape ``(m, nv)``.
        b: Constraint vector, shape ``(m,)`` [m/s^2 or rad/s^2, row by row].
        a_free: Acceleration at zero input, shape ``(nv,)``.
        G: Acceleration per unit input, shape ``(nv, nu)``.
        R: Input metric, symmetric positive definite, shape ``(nu, nu)``; absent: identity.
        u0: Null-space input, shape ``(nu,)``: what the motors do where the task leaves them free.
        rank: Rank policy; a row is lost whose `input_authority` is not above its ``servo``
            threshold.
        rows: Names of the rows, for messages.
        M: Mass matrix, shape ``(nv, nv)``; with ``B``, what `input_authority` is compared with.
        B: Actuation matrix, shape ``(nv, nu)``; absent: ``G`` itself, as in `input_authority`.

    Returns:
        Input ``u``, shape ``(nu,)`` [N m or N].

    Raises:
        ShapeError: The arguments disagree on their sizes.
        GainError: ``R`` is not positive definite, or only by rounding.
        InfeasibleConstraint: Some row asks for what no input can give; it is named.

    References:
        Liu, Zhen, Huang, Zhao, Chen, Shao 2015, eqs (24)-(35); Peters et al. 2008.
    """
    a_, G_ = vector("a_free", a_free), matrix("G", G)
    n, nu = G_.shape
    expect_shape("a_free", a_.shape, (n,))
    A_, b_ = _rows(A, b, n, "A", "b")
    R_ = NO_METRIC if R is None else matrix("R", R)
    if R is not None:
        expect_shape("R", R_.shape, (nu, nu))
        raise_if_indefinite(R_)
    u0_ = np.zeros(nu) if u0 is None else vector("u0", u0)
    expect_shape("u0", u0_.shape, (nu,))
    u, miss = np.empty(nu), np.empty(len(b_))
    L, B_ = _measure(G_, M, B)
    motors = firmness.authority_scales(L, A_, B_).motors
    demand = least_norm_input.ServoProblem(A_, b_, a_, G_, L, motors, R_, u0_, float(rank.servo))
    rank_or_failure = least_norm_input.servo_input(demand, u, miss)
    if rank_or_failure < len(b_):
        raise_if_infeasible(A_, b_, a_, miss, rank_or_failure, rank, rows)
    return u


def input_metric(
    name: Literal["gauss", "resolved_acceleration"], M: ArrayLike, B: ArrayLike, G: ArrayLike
) -> Matrix:
    r"""Return the input metric ``R`` that measures inputs by what they do, for `servo_input`.

    $$ R = G^\top M G = B^\top W B \ \text{(gauss)}, \qquad
       R = G^\top G = B^\top W^2 B \ \text{(resolved acceleration)} . $$

    With it, $a$ is the nearest to $a_\mathrm{free} + G u_0$ of all accelerations that the motors
    and the passive constraints allow and that keep the task: in Gauss's sense, $\Delta a^\top M
    \Delta a$, or in the plain one, $|\Delta a|$. Where several inputs give it, because motors
    repeat each other or press a closed chain against itself, it is the least of them: what moves
    nothing costs a little in ``R``, which else were singular.

    Args:
        name: Which of the two.
        M: Mass matrix, shape ``(nv, nv)``.
        B: Actuation matrix, shape ``(nv, nu)``.
        G: Acceleration per unit input, from `affine_acceleration`, shape ``(nv, nu)``.

    Returns:
        Symmetric positive definite, shape ``(nu, nu)``.

    Raises:
        ShapeError: The arguments disagree on their sizes.
        SingularMass: ``M`` is not positive definite.

    References:
        Udwadia & Kalaba 1992; Peters et al. 2008, sections 3 and 4.
    """
    M_, B_, G_ = symmetric("M", M), matrix("B", B), matrix("G", G)
    n, nu = B_.shape
    expect_shape("M", M_.shape, (n, n))
    expect_shape("G", G_.shape, (n, nu))
    L, R = np.empty((n, n)), np.empty((nu, nu))
    raise_if_singular(-cholesky(M_, L))
    gauss = name == "gauss"
    alone = np.linalg.solve(L if gauss else M_, B_)
    X = np.ascontiguousarray(L.T @ G_ if gauss else G_)
    dynamics_kernels.definite_metric(X, np.linalg.norm(alone, axis=0), True, R)
    return R


def input_authority(
    A: ArrayLike,
    G: ArrayLike,
    M: ArrayLike | None = None,
    B: ArrayLike | None = None,
    *,
    rank: RankPolicy = RANK,
    rows: Sequence[str] | None = None,
) -> InputAuthority:
    r"""Return how firmly the motors hold rows: what they do to them, of what they could.

    In lengths measured by the mass matrix, $|A_i|^2 = A_i M^{-1} A_i^\top$ and
    $|M^{-1} B_k|^2 = B_k^\top M^{-1} B_k$,

    $$ N_{ik} = \frac{A_i\, G_k}{|A_i|\, |M^{-1} B_k|} $$

    knows no units. Passive rows count in ``G = W B``, and not in what it is compared with: what the
    motors could do were the robot free.

    Args:
        A: Constraint matrix, shape ``(m, nv)``.
        G: Acceleration per unit input, shape ``(nv, nu)``.
        M: Mass matrix, shape ``(nv, nv)``; absent: unit masses.
        B: Actuation matrix, shape ``(nv, nu)``; absent: what ``G`` itself does, which cannot tell
            where a reaction leaves only rounding of a motor.
        rank: Rank policy; its ``servo`` threshold says what is lost.
        rows: Names of the rows; absent: ``row 0``, ``row 1``, ...

    Raises:
        ShapeError: The arguments disagree on their sizes.
        SingularMass: ``M`` is not positive definite.
    """
    A_, G_ = matrix("A", A), matrix("G", G)
    expect_shape("A", A_.shape, (len(A_), len(G_)))
    L, B_ = _measure(G_, M, B)
    return firmness.input_authority(
        L, A_, G_, firmness.authority_scales(L, A_, B_), rank.servo, row_names(rows, len(A_))
    )


def servo_matrix(
    A: ArrayLike,
    G: ArrayLike,
    rank: RankPolicy = RANK,
    M: ArrayLike | None = None,
    B: ArrayLike | None = None,
) -> Matrix:
    """Return ``H = A G``, with the rows set to zero of which the motors have lost their
    `input_authority`.

    Such a row comes out of the product as some 1e-17, which any rank taken relative to ``H``
    itself would mistake for grip. Arguments and errors are those of `input_authority`.
    """
    A_, G_ = matrix("A", A), matrix("G", G)
    expect_shape("A", A_.shape, (len(A_), len(G_)))
    H: Matrix = A_ @ G_
    L, B_ = _measure(G_, M, B)
    firmness.zero_uncontrolled_rows(H, firmness.authority_scales(L, A_, B_), rank.servo)
    return H


def _measure(G: Matrix, M: ArrayLike | None, B: ArrayLike | None) -> tuple[Matrix, Matrix]:
    """Return the factor of the mass matrix and ``B``, with which grip is measured."""
    n, nu = G.shape
    if M is None:
        if B is not None:
            raise ShapeError("M must be given where B is.")
        return np.eye(n), G
    M_, L = symmetric("M", M), np.empty((n, n))
    expect_shape("M", M_.shape, (n, n))
    raise_if_singular(-cholesky(M_, L))
    B_ = M_ @ G if B is None else matrix("B", B)
    expect_shape("B", B_.shape, (n, nu))
    return L, B_


def reach_residual(H: ArrayLike, d: ArrayLike, rank: RankPolicy = RANK) -> Vector:
    r"""Return ``(I - H H^+) d``, the part of the demand that no input can give.

    Zero exactly when $H u = d$ is solvable. The pseudoinverse alone would answer with a silent
    zero there.

    Args:
        H: Acceleration of the rows per unit input, shape ``(m, nu)``.
        d: Demanded acceleration of the rows, shape ``(m,)``.
        rank: Rank policy.
    """
    H_, d_ = matrix("H", H), vector("d", d)
    expect_shape("H", H_.shape, (len(d_), H_.shape[1]))
    return _span(H_, rank).residual(d_)


def least_squares_input(
    H: ArrayLike, d: ArrayLike, R: ArrayLike | None = None, rank: RankPolicy = RANK
) -> Vector:
    r"""Return the input whose ``H u`` is closest to ``d``, of least ``u' R u`` among those.

    This is Chen's pseudoinverse formula taken where ``H`` has lost rank: an answer that misses
    the rows, to be used only when asked for by name.
    """
    H_, d_ = matrix("H", H), vector("d", d)
    return _span(H_, rank).solve(d_, None if R is None else matrix("R", R))


def _span(H: Matrix, rank: RankPolicy) -> ColumnSpace:
    """Return what inputs give to rows of unit length; one that is rounding beside others has none.

    Motors count in the units of their inputs: ``H`` does not say what they could do.
    """
    rows = np.linalg.norm(H, axis=1)
    zero_rounding_lengths(rows)
    return column_space(H, np.ones(H.shape[1]), rank.servo, rows=rows)


def rank_report(
    H: ArrayLike,
    rows: Sequence[str] | None = None,
    rtol: float = RANK.servo,
) -> RankReport:
    """Return the rank of ``H`` and the names of its independent and dependent rows.

    Args:
        H: Any matrix of rows, shape ``(m, n)``.
        rows: Names of the rows; absent: ``row 0``, ``row 1``, ...
        rtol: Fraction of a row below which its remainder counts as zero.
    """
    H_ = matrix("H", H)
    names = row_names(rows, len(H_))
    order = np.empty(len(H_), dtype=np.int64)
    rank = independent_rows(H_, rtol, order)
    return rank_report_from(H_, names, rank, order)


def rank_report_from(
    H: Matrix, names: Sequence[str], rank: int, order: NDArray[np.int64]
) -> RankReport:
    """Return the report of rows of which the first ``rank`` in an order are independent."""
    independent, dropped = sorted(order[:rank].tolist()), sorted(order[rank:].tolist())
    sigma = np.linalg.svd(H, compute_uv=False) if H.size else np.zeros(0)
    scale = sigma[0] if sigma.size and sigma[0] > 0.0 else 1.0
    return RankReport(
        rank=rank,
        independent=tuple(names[i] for i in independent),
        dependent=tuple(names[i] for i in dropped),
        smallest_kept=float(sigma[rank - 1] / scale) if rank else 0.0,
        largest_dropped=float(sigma[rank] / scale) if rank < len(sigma) else 0.0,
    )


def _rows(
    A: ArrayLike | None, b: ArrayLike | None, n: int, A_name: str, b_name: str
) -> tuple[Matrix, Vector]:
    if A is None or b is None:
        if A is not b:
            raise ShapeError(f"{A_name} and {b_name} must be given together or not at all.")
        return np.zeros((0, n)), np.zeros(0)
    A_, b_ = matrix(A_name, A), vector(b_name, b)
    expect_shape(A_name, A_.shape, (len(b_), n))
    return A_, b_
