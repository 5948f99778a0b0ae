"""When an answer counts as right: shapes, ranks, misses, and the errors when it does not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.algebra.stabilisation import SMALL_ACCELERATION
from ukctrl.core.arrays import Array, Matrix, Vector
from ukctrl.core.errors import (
    ConflictingConstraints,
    InfeasibleConstraint,
    InputError,
    ShapeError,
    SingularMass,
)
from ukctrl.core.fields import Quantity, spec

Threshold = Annotated[float, Quantity("1", minimum=0.0, open_minimum=True, maximum=1.0)]
"""Fraction above zero, up to 1."""


@spec
class RankPolicy:
    """When a row counts as dependent on others, and when it counts as missed.

    One object for the whole run; results record it with the smallest value kept.
    """

    servo: Threshold = 1e-9
    """A servo row, scaled to unit length, is dependent when less than this is left of it outside
    the span of the others; and without grip when ``|H_i|`` is less than this of ``|A_i| |G|``."""
    passive: Threshold = 1e-4
    """A direction that passive rows constrain counts as none when its singular value, of rows
    scaled to unit length in mass-weighted coordinates, is less than this; fully from ten times
    this on, and by a smooth weight between. It must sit well above the closure error that
    integration leaves, or a redundant row of a linkage is taken for an independent one."""
    reach: Threshold = 1e-8
    """A row is missed by more than this fraction of its terms ``|b| + |A| |a|``."""


RUN_RANK = RankPolicy()
"""The default policy of a run, whose states carry the errors of their integration."""
RANK = RankPolicy(passive=1e-7)
"""The default policy for plain arrays, which carry rounding alone."""


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


def expect(name: str, got: tuple[int, ...], wanted: tuple[int, ...]) -> None:
    """Raise `ShapeError` unless the shapes are equal."""
    if got != wanted:
        raise ShapeError(f"{name} must have shape {wanted}; got {got}.")


def raise_if_singular(code: int) -> None:
    """Raise `SingularMass` when a kernel answered with a negative code."""
    if code < 0:
        raise SingularMass(
            f"mass matrix must be symmetric positive definite; it fails at coordinate {-code - 1}. "
            "Give every moving link a mass and an inertia."
        )


def raise_if_conflicting(
    A: Matrix,
    b: Vector,
    a: Vector,
    rank: RankPolicy,
    rows: Sequence[str] | None,
    allowed: Vector | None = None,
) -> None:
    """Raise `ConflictingConstraints` when ``a`` misses a passive row.

    By more than ``allowed``, row by row, where that is given; else than the policy allows.
    """
    if not len(b):
        return
    miss = np.abs(A @ a - b)
    bound = _tolerance(A, b, a, rank) if allowed is None else allowed
    bad = np.flatnonzero(~(miss <= bound))  # NaN is bad too
    if bad.size:
        names = row_names(rows, len(b))
        raise ConflictingConstraints([names[i] for i in bad.tolist()], miss[bad].tolist())


def raise_if_missed(
    A: Matrix,
    b: Vector,
    a_free: Vector,
    miss: Vector,
    found: int,
    rank: RankPolicy,
    rows: Sequence[str] | None,
    *,
    advice: str | None = None,
) -> None:
    """Raise `InfeasibleConstraint`, naming the rows, when the certificate exceeds its tolerance."""
    bad = np.flatnonzero(~(np.abs(miss) <= _tolerance(A, b, a_free, rank)))  # NaN is bad too
    if bad.size:
        names = row_names(rows, len(b))
        if advice is None and found < len(b) and unit_rank(A, rank.servo) <= found:
            advice = InfeasibleConstraint.SINGULAR
        raise InfeasibleConstraint(
            [names[i] for i in bad.tolist()], np.abs(miss[bad]).tolist(), found, len(b), advice
        )


def unit_rank(A: Matrix, tolerance: float) -> int:
    """Return the rank of rows, each scaled to unit length, whatever their units."""
    lengths = np.linalg.norm(A, axis=1)
    unit = A[lengths > 0.0] / lengths[lengths > 0.0, None]
    return int(np.linalg.matrix_rank(unit, tol=tolerance)) if unit.size else 0


def _tolerance(A: Matrix, b: Vector, a: Vector, rank: RankPolicy) -> Vector:
    """Return how far each row may be missed: relative to its own terms, so that units cancel."""
    return rank.reach * (np.abs(b) + np.abs(A) @ (np.abs(a) + SMALL_ACCELERATION))


def row_names(rows: Sequence[str] | None, count: int) -> Sequence[str]:
    """Return the names of rows, or ``row 0``, ``row 1``, ... where none are given."""
    if rows is None:
        return [f"row {i}" for i in range(count)]
    if len(rows) != count:
        raise ShapeError(f"rows must name {count} rows; got {len(rows)} names.")
    return rows
