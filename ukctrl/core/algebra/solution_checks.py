"""Whether an answer is right: shapes, misses, and the errors where it is not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.algebra.factorisation import NEGLIGIBLE_RTOL
from ukctrl.core.algebra.rank_policy import RankPolicy
from ukctrl.core.algebra.stabilisation import SMALL_ACCELERATION
from ukctrl.core.arrays import Array, Flags, Matrix, Vector
from ukctrl.core.compiled import deferred
from ukctrl.core.errors import (
    ConflictingConstraints,
    GainError,
    InfeasibleConstraint,
    InputError,
    ShapeError,
    SingularMass,
)

DRIFT_ROUNDING = 1e-12
"""Part of the motion without inputs that rounding leaves: of masses, closures and products."""
CANCELLATION_EPS = 16.0 * float(np.finfo(np.float64).eps)
"""What rounding may make of forces that cancel, for each coordinate."""
MIN_EIGENVALUE = 1e-13
"""A metric of unit diagonal with a smaller eigenvalue is singular but for rounding."""


def matrix(name: str, value: ArrayLike) -> Matrix:
    """Return ``value`` as a C-contiguous float matrix, or say what it is instead."""
    return _finite(name, value, "matrix", 2)


def vector(name: str, value: ArrayLike) -> Vector:
    """Return ``value`` as a contiguous float vector, or say what it is instead."""
    return _finite(name, value, "vector", 1)


def symmetric(name: str, value: ArrayLike) -> Matrix:
    """Return ``value`` as a symmetric matrix, or say that it is none."""
    array = matrix(name, value)
    rounding = 1e-12 * float(np.abs(array).max(initial=0.0))
    if array.shape != array.T.shape or not np.allclose(array, array.T, rtol=1e-9, atol=rounding):
        raise ShapeError(f"{name} must be a symmetric matrix; it is not.")
    return array


def _floats(name: str, value: ArrayLike) -> Array:
    try:
        array = np.asarray(value)
        if np.iscomplexobj(array):  # NumPy would drop the imaginary part, with a warning
            raise InputError(f"{name} must be real; it is complex.")
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} must be a table of numbers; got {str(value)[:60]!r}.") from None


def _finite(name: str, value: ArrayLike, kind: str, ndim: int) -> Array:
    array = _floats(name, value)
    if array.ndim != ndim:
        raise ShapeError(f"{name} must be a {kind}; got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError(
            f"{name} must be finite; it has {np.sum(~np.isfinite(array))} that are not."
        )
    return array


def expect_shape(name: str, got: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Raise `ShapeError` unless the shapes are equal."""
    if got != shape:
        raise ShapeError(f"{name} must have shape {shape}; got {got}.")


def raise_if_singular(code: int) -> None:
    """Raise `SingularMass` when a kernel answered with a negative code."""
    if code < 0:
        raise singular_mass_error(code)


def singular_mass_error(code: int) -> SingularMass:
    """Return the error of a kernel that answered with a negative code."""
    return SingularMass(
        f"mass matrix must be symmetric positive definite; it fails at coordinate {-code - 1}. "
        "Give every moving link a mass and an inertia."
    )


def raise_if_indefinite(R: Matrix) -> None:
    """Raise `GainError` where an input metric is not positive definite, or only by rounding.

    A metric such as ``G' M G`` of redundant motors is singular, and its factor made of rounding.
    Decided for a unit diagonal, so that units of inputs do not matter.
    """
    size = np.sqrt(np.maximum(np.diag(R), 0.0))
    unit = R / np.outer(size, size) if (size > 0.0).all() else -np.eye(len(R))
    lopsided = not np.allclose(unit, unit.T, rtol=0.0, atol=1e-9)
    if lopsided or np.linalg.eigvalsh(unit).min(initial=1.0) < MIN_EIGENVALUE:
        raise GainError(
            "metric must be symmetric positive definite; it is not. Where it shall measure what "
            'redundant motors do, take "gauss" or "resolved_acceleration" (uk.input_metric).'
        )


def raise_if_conflicting(
    A: Matrix,
    b: Vector,
    a: Vector,
    rank: RankPolicy,
    rows: Sequence[str] | None,
    load: tuple[Matrix, Vector] | None = None,
) -> None:
    """Raise `ConflictingConstraints` when ``a`` misses a passive row.

    Where the reactions cancel a ``load``, a mass matrix and a force, what rounding leaves is no
    miss.
    """
    if not len(b):
        return
    miss = np.abs(A @ a - b)
    # a row that is only rounding beside the longest one holds by itself
    bound = (
        _residual_tolerances(A, b, np.abs(a), rank)
        + NEGLIGIBLE_RTOL * np.abs(A).max() * np.abs(a).sum()
    )
    # only on a miss: the condition number below costs as much as the solve
    if load is not None and (miss > bound).any():
        bound = bound + _cancellation_error(*load, A)
    if not (miss <= bound).all():  # NaN is bad too
        raise conflict_error(miss, bound, rows)


def conflict_error(
    miss: Vector, bound: Vector, rows: Sequence[str] | None
) -> ConflictingConstraints:
    """Return the error of passive rows that are missed by more than a bound."""
    bad = np.flatnonzero(~(miss <= bound))
    names = row_names(rows, len(miss))
    return ConflictingConstraints([names[i] for i in bad.tolist()], miss[bad].tolist())


def _cancellation_error(M: Matrix, Q: Vector, A: Matrix) -> Vector:
    r"""Return what rounding may leave of rows where reactions cancel forces, shape ``(m,)``.

    $c\, \kappa\, \epsilon\, |A_i|\, |M^{-1} Q|$ in lengths measured by the mass matrix: a structure
    without freedoms stands still under any load, but not to the last digit.
    """
    size = np.sqrt(M.diagonal())
    stiff = float(np.linalg.cond(M / np.outer(size, size)))
    weighted = np.linalg.solve(np.linalg.cholesky(M), np.column_stack((Q, A.T)))
    length = np.linalg.norm(weighted, axis=0)
    return np.asarray(CANCELLATION_EPS * len(Q) * stiff * length[0] * length[1:])


def raise_if_infeasible(
    A: Matrix,
    b: Vector,
    a_free: Vector,
    miss: Vector,
    numeric_rank: int,
    rank: RankPolicy,
    rows: Sequence[str] | None,
    *,
    advice: str | None = None,
    closest: str = InfeasibleConstraint.CLOSEST,
) -> None:
    """Raise `InfeasibleConstraint`, naming the rows, when the certificate exceeds its tolerance.

    Without `advice` the error gives the usual one, in which `closest` says how to go on all the
    same: an allocation that cannot come close itself names one that can.
    """
    bad = np.flatnonzero(violated_rows(A, b, a_free, miss, rank))
    if bad.size:
        names = row_names(rows, len(b))
        if advice is None:
            # the rows themselves depend on each other here: the position is singular, no motor is
            # to blame
            singular = numeric_rank < len(b) and unit_rank(A, rank.servo) <= numeric_rank
            usual = InfeasibleConstraint.SINGULAR if singular else InfeasibleConstraint.ADVICE
            advice = usual.replace(InfeasibleConstraint.CLOSEST, closest)
        raise InfeasibleConstraint(
            [names[i] for i in bad.tolist()],
            np.abs(miss[bad]).tolist(),
            numeric_rank,
            len(b),
            advice,
        )


def unit_rank(A: Matrix, tolerance: float) -> int:
    """Return the rank of rows, each scaled to unit length, whatever their units."""
    lengths = np.linalg.norm(A, axis=1)
    unit = A[lengths > 0.0] / lengths[lengths > 0.0, None]
    return int(np.linalg.matrix_rank(unit, tol=tolerance)) if unit.size else 0


def violated_rows(A: Matrix, b: Vector, a_free: Vector, miss: Vector, rank: RankPolicy) -> Flags:
    """Return which servo rows miss by more than what they ask for explains, shape ``(m,)``."""
    allowed = [residual_tolerance(A, b, i, a_free, float(rank.reach)) for i in range(len(b))]
    over: Flags = ~(np.abs(miss) <= np.array(allowed))  # NaN is over too
    return over


@deferred
def residual_tolerance(A: Matrix, b: Vector, i: int, a_free: Vector, reach: float) -> float:
    """Return how far a servo row may be missed: relative to its own terms, so that units cancel.

    How fast the robot moves without inputs is no excuse: of that only rounding is allowed.
    """
    terms = 0.0
    for c in range(A.shape[1]):
        share = DRIFT_ROUNDING / reach * abs(a_free[c]) + SMALL_ACCELERATION
        terms += abs(A[i, c]) * share
    if terms == 0.0:  # a row of zeros has as much rounding in b as the others
        largest = 0.0
        for k in range(A.shape[0]):
            for c in range(A.shape[1]):
                largest = max(largest, abs(A[k, c]))
        terms = SMALL_ACCELERATION * largest
    return float(reach * (abs(b[i]) + terms))


@deferred
def all_within_tolerance(A: Matrix, b: Vector, a_free: Vector, miss: Vector, reach: float) -> bool:
    """Return whether no servo row, of those that have a miss, is missed by more than allowed."""
    feasible = True
    for i in range(len(miss)):  # NaN is over too
        feasible = feasible and abs(miss[i]) <= residual_tolerance(A, b, i, a_free, reach)
    return feasible


def _residual_tolerances(A: Matrix, b: Vector, size: Vector, rank: RankPolicy) -> Vector:
    """Return how far each row may be missed: relative to its own terms, so that units cancel."""
    return rank.reach * (np.abs(b) + np.abs(A) @ (size + SMALL_ACCELERATION))


def row_names(rows: Sequence[str] | None, count: int) -> Sequence[str]:
    """Return the names of rows, or ``row 0``, ``row 1``, ... where none are given."""
    if rows is None:
        return [f"row {i}" for i in range(count)]
    if len(rows) != count:
        raise ShapeError(f"rows must name {count} rows; got {len(rows)} names.")
    return rows
