"""What gives way where no input keeps everything, and which rows contradict each other.

Rows to keep are ``C u >= least``. They give way level by level, by the least squares of what they
miss.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.control.allocation.bounded_input import LinearBounds, nearest_in_bounds, stack_bounds
from ukctrl.core.algebra.bounded_rows import SENSITIVITY_RTOL
from ukctrl.core.algebra.factorisation import dot
from ukctrl.core.algebra.lexicographic_qp import factor_lexicographic, solve_lexicographic
from ukctrl.core.arrays import Flags, Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled

RELAXATION_RTOL = 1e-9
"""How much more than needed a row gives way, of its size, so that rounding leaves an input."""


class RelaxationOrder(NamedTuple):
    """In which order rows give way where no input obeys all of them."""

    order: Indices
    """Their numbers, level by level, the level that gives way last first, shape ``(k,)``."""
    ends: NDArray[np.int64]
    """One past the last of every level."""
    is_hard: Flags
    """Which must not, shape ``(k,)``."""


@compiled
def absolute_dot(x: Vector, y: Vector) -> float:
    """Return the sum of the terms of ``x' y``, each without its sign."""
    even, odd, n = 0.0, 0.0, len(x)
    for i in range(0, n - 1, 2):
        even += abs(x[i] * y[i])
        odd += abs(x[i + 1] * y[i + 1])
    return even + odd + (abs(x[n - 1] * y[n - 1]) if n % 2 else 0.0)


@allocating
def relax_inequalities(
    low: Vector,
    high: Vector,
    C: Matrix,
    lower_bound: Vector,
    yielding: RelaxationOrder,
    reduced: Vector,
    missed: Vector,
) -> Vector:
    """Write bounds ``C u >= reduced`` that some input obeys, and how much less they are; return it.

    What a row misses is one more unknown, which a lexicographic program makes least.

    Args:
        low: Lowest inputs.
        high: Highest inputs, such that there are some.
        C: Rows to keep, shape ``(k, nu)``.
        lower_bound: Their bounds, shape ``(k,)``.
        yielding: In which order they give way.
        reduced: Receives the bounds.
        missed: Receives zeros where they are the same but for rounding.
    """
    k, nu = C.shape
    n = nu + k
    C_full, miss, bounds = np.eye(n), np.zeros((k, n)), np.full((2, n), np.inf)
    for c in range(nu):
        bounds[0, c], bounds[1, c] = low[c], high[c]
    for i in range(k):
        bounds[0, nu + i], miss[i, nu + yielding.order[i]] = lower_bound[i], 1.0
        for c in range(nu):
            C_full[nu + i, c] = C[i, c]
    levels = miss, np.zeros(k), yielding.ends, np.ones(k), np.eye(n), np.zeros(n)
    x = np.zeros(n)
    solve_lexicographic(
        factor_lexicographic(*levels, C_full, SENSITIVITY_RTOL), bounds[0], bounds[1], x
    )
    u = x[:nu]
    for c in range(nu):
        u[c] = min(max(u[c], low[c]), high[c])
    for i in range(k):
        at = dot(C[i], u)
        less = max(lower_bound[i] - at, 0.0)
        size = RELAXATION_RTOL * (abs(lower_bound[i]) + absolute_dot(C[i], u) + 1.0)
        # less than rounding of its terms is no relaxation, and is not told
        missed[i] = less if less > size else 0.0
        reduced[i] = min(lower_bound[i] - less - size, at)
    return u


def is_infeasible(box: LinearBounds) -> bool:
    """Return whether no input is in a box."""
    return nearest_in_bounds(box, np.zeros(box.C.shape[1])) is None


def lower_bounds(C: Matrix, lower_bound: Vector) -> LinearBounds:
    """Return the box ``C u >= least``."""
    return LinearBounds(C, lower_bound, np.full(len(lower_bound), np.inf))


def irreducible_infeasible_set(
    limits: LinearBounds, C: Matrix, lower_bound: Vector
) -> tuple[Indices, Indices]:
    """Return bounds that no input obeys, but would if any one of them were not there.

    Returns:
        Numbers of the motors' limits among them, and of the rows to keep.
    """
    n = len(limits.C)
    box = stack_bounds(limits, lower_bounds(C, lower_bound))
    mask = np.ones(len(box.C), dtype=bool)
    # deletion filter: what is feasible without a bound needs it; one irreducible set of many
    for i in range(len(mask)):
        mask[i] = False
        if not is_infeasible(LinearBounds(box.C[mask], box.low[mask], box.high[mask])):
            mask[i] = True
    indices = np.flatnonzero(mask)
    return indices[indices < n], indices[indices >= n] - n
