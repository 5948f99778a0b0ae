r"""What lies ahead of a linear-quadratic law, compiled.

Under $w = -K x + c$ the deviations go on as $x' = F x + B c$ with $F = A - B K$, tick by tick.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled

Array3 = NDArray[np.float64]


class HorizonTables(NamedTuple):
    """Linear systems at ``p`` ticks, of which the last goes on for ever, and their limits.

    Limits are deviations from what is followed, infinite where there are none.
    """

    F: Array3
    """Of the deviations under the law, shape ``(p, n, n)``."""
    B: Array3
    """Of the inputs, shape ``(p, n, nu)``."""
    K: Array3
    """Gains, shape ``(p, nu, n)``."""
    E: Array3
    """Limited positions and speeds from the deviations, shape ``(p, r, n)``."""
    u_low: Matrix
    """Shape ``(p, nu)``."""
    u_high: Matrix
    """Shape ``(p, nu)``."""
    x_low: Matrix
    """Where ticks begin, shape ``(p + 1, r)``; or one row, for all."""
    x_high: Matrix
    """Shape as ``x_low``."""
    ends: Indices
    """Ticks at which the blocks of the horizon end, shape ``(k,)``."""
    start: float
    """Time of the first tick [s]."""
    period: float
    """[s]."""
    moving: bool
    """Whether the ticks are those of a run, and nothing is beyond the last; else they are counted
    from the present one."""


@compiled
def tick_index(horizon: HorizonTables, clock: Vector) -> int:
    """Return which tick is the present one."""
    if not horizon.moving:
        return 0
    k = int(np.rint((clock[0] - horizon.start) / horizon.period))
    return min(max(k, 0), len(horizon.F) - 1)


@compiled
def law_within_limits(
    horizon: HorizonTables,
    clock: Vector,
    x: Vector,
    followed: Vector,
    now_low: Vector,
    now_high: Vector,
    slack: Matrix,
    passing: Matrix,
    u: Vector,
) -> bool:
    """Write the law's input; return whether it keeps all limits of the horizon.

    Inputs are looked at where blocks begin, positions and speeds where they end.

    Args:
        horizon: The horizon.
        clock: The time, shape ``(1,)``.
        x: The deviations, shape ``(n,)``.
        followed: The input that is followed, shape ``(nu,)``.
        now_low: Lowest present input, shape ``(nu,)``.
        now_high: Highest present input.
        slack: Receives how far each limited number may go down and up, shape ``(2, m)``.
        passing: Room for the deviations on the way, shape ``(2, n)``.
        u: Receives the input.
    """
    first, p, n, nu, r = tick_index(horizon, clock), *horizon.B.shape, horizon.E.shape[1]
    y, z = passing[0], passing[1]
    for i in range(n):
        y[i] = x[i]
    is_feasible, row, j = True, 0, 0
    for end in horizon.ends:
        at = min(first + j, p - 1)
        # past the end of a run nothing is limited
        is_inside = not horizon.moving or first + j < p
        for i in range(nu):
            w = 0.0
            for c in range(n):
                w -= horizon.K[at, i, c] * y[c]
            low, high = horizon.u_low[at, i], horizon.u_high[at, i]
            # the present input has limits of its own, from the state and the last input
            if j == 0:
                u[i] = followed[i] + w
                low, high = now_low[i] - followed[i], now_high[i] - followed[i]
            slack[0, row] = low - w if is_inside else -np.inf
            slack[1, row] = high - w if is_inside else np.inf
            is_feasible = is_feasible and slack[0, row] <= 0.0 <= slack[1, row]
            row += 1
        for tick in range(j, end):
            at = min(first + tick, p - 1)
            for i in range(n):
                z[i] = 0.0
                for c in range(n):
                    z[i] += horizon.F[at, i, c] * y[c]
            for i in range(n):
                y[i] = z[i]
        j = end
        is_inside = not horizon.moving or first + j <= p
        at, of = min(first + j, p - 1), min(first + j, len(horizon.x_low) - 1)
        for i in range(r):
            value = 0.0
            for c in range(n):
                value += horizon.E[at, i, c] * y[c]
            slack[0, row] = horizon.x_low[of, i] - value if is_inside else -np.inf
            slack[1, row] = horizon.x_high[of, i] - value if is_inside else np.inf
            is_feasible = is_feasible and slack[0, row] <= 0.0 <= slack[1, row]
            row += 1
    return is_feasible


@compiled
def write_input_sensitivities(
    horizon: HorizonTables, first: int, W: Array3, X: Matrix, Y: Matrix, C: Matrix
) -> None:
    """Write what changes of the law's input in every block change of the limited numbers.

    Args:
        horizon: The horizon.
        first: The present tick.
        W: Change of the inputs of a block by its unknowns, shape ``(k, nu, nu)``.
        X: Room for the deviations by the unknowns, shape ``(n, k nu)``.
        Y: Room for them one tick later.
        C: Receives the limited numbers by the unknowns, shape ``(m, k nu)``.
    """
    p, n, nu = horizon.B.shape
    r = horizon.E.shape[1]
    X[:] = 0.0
    C[:] = 0.0
    row, j = 0, 0
    for block in range(len(horizon.ends)):
        # later blocks do not move what is before them: C is a lower triangle, and loops end at
        # `stop`
        start, stop = block * nu, (block + 1) * nu
        at = min(first + j, p - 1)
        for i in range(nu):
            for c in range(n):
                for k in range(start):
                    C[row, k] -= horizon.K[at, i, c] * X[c, k]
            for k in range(nu):
                C[row, start + k] = W[block, i, k]
            row += 1
        for tick in range(j, horizon.ends[block]):
            at = min(first + tick, p - 1)
            for i in range(n):
                for k in range(stop):
                    Y[i, k] = 0.0
                for c in range(n):
                    for k in range(stop):
                        Y[i, k] += horizon.F[at, i, c] * X[c, k]
                for c in range(nu):
                    for k in range(nu):
                        Y[i, start + k] += horizon.B[at, i, c] * W[block, c, k]
            for i in range(n):
                for k in range(stop):
                    X[i, k] = Y[i, k]
        j = horizon.ends[block]
        at = min(first + j, p - 1)
        for i in range(r):
            for c in range(n):
                for k in range(stop):
                    C[row, k] += horizon.E[at, i, c] * X[c, k]
            row += 1


@compiled
def deadbeat_rate(active: Vector, memory: Vector, period: float, rate: Vector) -> None:
    """Write the rate at which a memory becomes the active limits within one control period."""
    for k in range(len(rate)):
        rate[k] = (active[k] - memory[k]) / period
