"""Rows with bounds in coordinates of the input, compiled.

Few rows ever bind: those are turned into the coordinates, the others are looked at as they are, all
at once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.algebra.factorisation import long_dot, pivoted_lq, row_norm_squared
from ukctrl.core.algebra.sparse_products import transpose_into
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

FEASIBILITY_TOL = 1e-11
"""By how much bounds may be exceeded, of rows of unit length."""
TERMS_EPS = 4.0 * float(np.finfo(np.float64).eps)
"""And of the terms of a row, which are no more accurate."""
SENSITIVITY_RTOL = 1e-9
"""Rows feel coordinates that move them by more than this part of what any input does."""
NOT_TRANSFORMED, NO_EFFECT = 0.0, -1.0
"""Instead of a length: of a row that has not been turned yet, and of one that feels nothing."""


class BoundedRows(NamedTuple):
    """Rows with bounds, ``low <= C w <= high``, and coordinates, ``w = basis x``."""

    n: int
    """How many coordinates there are."""
    n_costed: int
    """How many of them, the first, cost anything."""
    Ct: Matrix
    """The rows as columns, shape ``(nu, r)``."""
    sizes: Vector
    """Their lengths, shape ``(r,)``."""
    violation: Vector
    """Receives by how much each is exceeded."""
    side: Vector
    """And where: 1 at the lower bound, -1 at the upper."""
    low: Vector
    high: Vector
    orthonormal_basis: Matrix
    """Orthonormal columns that span what the coordinates move, shape ``(nu, nu)``; NaN until a row
    asks for them."""
    basis: Matrix
    """Shape ``(nu, nu)``."""
    norm_bound: float
    """No coordinates go further in the input than so many times their length."""
    rows: Matrix
    """Rows per coordinate, of unit length, where they are known, shape ``(r, nu)``."""
    lengths: Vector
    """What they were divided by, shape ``(r,)``."""


@compiled
def row_in_coordinates(bounds: BoundedRows, row: int, basis: Matrix) -> float:
    """Write a row per coordinate of some way, and return its length."""
    entries, n = bounds.rows[row], bounds.n
    for j in range(n):
        entries[j] = 0.0
    for c in range(len(basis)):
        factor, basis_row = bounds.Ct[c, row], basis[c]
        if factor != 0.0:
            for j in range(n):
                entries[j] += factor * basis_row[j]
    return float(np.sqrt(sum_of_squares(entries, 0, n)))


@compiled
def sum_of_squares(x: Vector, first: int, end: int) -> float:
    """Return the sum of the squares of some entries."""
    total = 0.0
    for j in range(first, end):
        total += x[j] * x[j]
    return total


@allocating
def write_orthonormal_basis(bounds: BoundedRows) -> None:
    """Write orthonormal columns that span what the coordinates move."""
    nu, n = len(bounds.basis), bounds.n
    columns = np.empty((n, nu))
    for j in range(n):
        for c in range(nu):
            columns[j, c] = bounds.basis[c, j]
        length = np.sqrt(row_norm_squared(columns, j))
        for c in range(nu):
            columns[j, c] /= length
    # no coordinates depend on others, so that none is left out
    transpose_into(pivoted_lq(columns, 0.0).Q, bounds.orthonormal_basis)


@compiled
def transform_row(bounds: BoundedRows, row: int) -> bool:
    """Write a row per coordinate, where that is not known; return whether it feels any.

    Those that only rounding would move do not: the input that took the other directions obeys them,
    to rounding, and scaled to unit length that rounding would leave no room. Nor does a row feel
    coordinates that cost nothing and move it by rounding: they would go as far as it needs.
    """
    if bounds.lengths[row] == NOT_TRANSFORMED:
        entries, n, firm, tolerance = (
            bounds.rows[row],
            bounds.n,
            bounds.n_costed,
            SENSITIVITY_RTOL * bounds.sizes[row],
        )
        felts, length, longest = True, row_in_coordinates(bounds, row, bounds.basis), 0.0
        if (
            not length > tolerance * bounds.norm_bound
        ):  # else plain coordinates move it by more than that
            if np.isnan(bounds.orthonormal_basis[0, 0]):
                write_orthonormal_basis(bounds)
            felts = row_in_coordinates(bounds, row, bounds.orthonormal_basis) > tolerance
            length = row_in_coordinates(bounds, row, bounds.basis)
        for c in range(len(bounds.basis) if firm < n else 0):
            longest += bounds.basis[c, firm] * bounds.basis[c, firm]
        if sum_of_squares(entries, firm, n) <= tolerance * tolerance * longest:
            for j in range(firm, n):
                entries[j] = 0.0
            length = np.sqrt(sum_of_squares(entries, 0, firm))
        felts = felts and length > 0.0
        bounds.lengths[row] = length if felts else NO_EFFECT
        for j in range(n):
            entries[j] /= length if felts else 1.0
    return bool(bounds.lengths[row] != NO_EFFECT)


@compiled
def write_violations(bounds: BoundedRows, x: Vector, w: Vector) -> None:
    """Write by how much a point exceeds the bounds of all rows, of unit length, and of which side.

    Not above zero: both are obeyed but for rounding.
    """
    at, terms = bounds.violation, bounds.side
    for c in range(len(w)):
        w[c] = long_dot(bounds.basis[c, : bounds.n], x[: bounds.n])
    for i in range(len(at)):
        at[i] = terms[i] = 0.0
    for c in range(len(w)):
        factor, column = w[c], bounds.Ct[c]
        if factor != 0.0:
            for i in range(len(at)):
                at[i] += column[i] * factor
                terms[i] += abs(column[i] * factor)
    for i in range(len(at)):
        below, above = bounds.low[i] - at[i], at[i] - bounds.high[i]
        size = bounds.sizes[i] if bounds.sizes[i] > 0.0 else 1.0
        # what rounding of its terms alone can make is not held against a row
        at[i] = (max(below, above) - TERMS_EPS * terms[i]) / size - FEASIBILITY_TOL
        terms[i] = 1.0 if below > above else -1.0


@compiled
def most_violated(bounds: BoundedRows, strict: bool, grace: float) -> int:
    """Return the row whose bound is exceeded most, by more than ``grace``; -1: there is none.

    -2: it is one that no coordinate moves, which counts where ``strict`` says so.
    """
    while True:
        worst, row = grace, -1
        for i in range(len(bounds.violation)):
            if bounds.violation[i] > worst and (strict or bounds.lengths[i] != NO_EFFECT):
                worst, row = bounds.violation[i], i
        if row < 0 or transform_row(bounds, row):
            return row
        if strict:
            return -2
