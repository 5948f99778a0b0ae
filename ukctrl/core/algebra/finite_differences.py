"""Derivatives by central differences of sixth order, as good as rounding allows, and the length of
the steps that they lead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.tie_breaking import max_abs

STEP = 2e-4
"""Half the width of the innermost difference [rad or m, or their rates].

The error of the formula is $h^6/140$ of the seventh derivative, that of rounding some
$10^{-16}/h$ of the values. Here both are small for smooth functions, and for friction that turns
over within 0.01 rad/s as well.
"""
ROUGH_STEP = 1e-5
"""The same where two evaluations an argument must do, with an error of second order."""
SIXTH_ORDER_WEIGHTS = (45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0)
"""Of the differences over 2, 4 and 6 steps, each times the step."""
SECOND_ORDER_WEIGHTS = (0.5,)
"""Of that over 2 steps alone."""


STATE_STEP = 2.0**-17
"""Step along a state: near the cube root of rounding, and a number that adds without rounding."""


def state_jacobian(values: Callable[[Vector], Vector], at: Vector, bounded: int) -> Matrix:
    """Return the derivative of a function at a state to some nine digits, shape ``(k, n)``.

    Central differences with a step of `STATE_STEP` for positions and velocities [SI], whatever
    their value: an angle that has turned a thousand times is no coarser than one at zero, and a
    column that is always zero needs no step of its own. Beyond these it grows with the entry.

    Args:
        values: The function, from shape ``(n,)`` to shape ``(k,)``.
        at: The state.
        bounded: How many of its entries are positions and velocities.
    """
    columns, x = [], at.copy()
    for i, coordinate in enumerate(at):
        step = STATE_STEP if i < bounded else STATE_STEP * max(1.0, abs(coordinate))
        x[i] = coordinate + step
        f_plus, width = np.array(values(x)), x[i]
        x[i] = coordinate - step
        columns.append((f_plus - values(x)) / (width - x[i]))
        x[i] = coordinate
    return np.ascontiguousarray(np.array(columns).T)


def jacobian(
    values: Callable[[Vector], Vector],
    size: int,
    step: float = STEP,
    weights: Sequence[float] = SIXTH_ORDER_WEIGHTS,
) -> Matrix:
    """Return the derivative of a function at zero, shape ``(k, size)``.

    Args:
        values: The function, from shape ``(size,)`` to a fresh array of shape ``(k,)``.
        size: Number of its arguments.
        step: Step of the differences.
        weights: Of the differences over 2, 4, ... steps.
    """
    if size == 0:  # of what moves nowhere: as many values, and no column
        return np.zeros((len(values(np.zeros(0))), 0))
    columns = []
    move = np.zeros(size)
    for i in range(size):
        total: Vector | float = 0.0
        for times, weight in enumerate(weights, start=1):
            move[i] = times * step
            f_plus = values(move)
            move[i] = -times * step
            total = total + weight * (f_plus - values(move))
        move[i] = 0.0
        columns.append(total / step)
    return np.ascontiguousarray(np.array(columns).T)


def central_jacobian(values: Callable[[Vector], Vector], size: int) -> Matrix:
    """Return the same to some nine digits, for Newton's method, which corrects what it lacks."""
    return jacobian(values, size, ROUGH_STEP, SECOND_ORDER_WEIGHTS)


def limited_step(step: Vector, longest: float) -> Vector:
    """Return a step, scaled down where an entry of it is longer than that."""
    return step * (longest / max(longest, max_abs(step)))
