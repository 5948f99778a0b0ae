"""A planned motion between its knots, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.robot.configuration_kernels import integrate


class Knots(NamedTuple):
    """What is known at ``k`` evenly spaced knots, and between them."""

    times: Vector
    """Shape ``(k,)`` [s]."""
    q: Matrix
    """Shape ``(k, nq)``."""
    v: Matrix
    """Shape ``(k, nv)``."""
    ahead: Matrix
    """Tangent step from each knot to the next, shape ``(k - 1, nv)``."""
    ends: Matrix
    """Rate of that step where it ends, shape ``(k - 1, nv)``."""
    of_v: NDArray[np.float64]
    """Coefficients of the velocity's cubic pieces, highest power first, ``(4, k - 1, nv)``."""
    of_u: NDArray[np.float64]
    """Of the input's, shape ``(4, k - 1, nu)``."""


@compiled
def within(times: Vector, t: float) -> float:
    """Return a time, or the nearest end."""
    return float(min(max(t, times[0]), times[len(times) - 1]))


@compiled
def piece_at(times: Vector, t: float) -> int:
    """Return the piece that a time is in; of two, the later one."""
    last = len(times) - 2
    k = min(max(int((t - times[0]) / (times[1] - times[0])), 0), last)
    while k > 0 and t < times[k]:
        k -= 1
    while k < last and t >= times[k + 1]:
        k += 1
    return k


@compiled
def cubic(pieces: NDArray[np.float64], k: int, s: float, out: Vector) -> None:
    """Write the values of a cubic piece."""
    for i in range(len(out)):
        total, power = 0.0, 1.0
        for degree in range(4):
            total += pieces[3 - degree, k, i] * power
            power *= s
        out[i] = total


@allocating
def planned_state(knots: Knots, blocks: Indices, clock: Vector, q: Vector, v: Vector) -> None:
    """Write ``q`` and ``v`` at a time; beyond the ends, those of the nearest end."""
    t = within(knots.times, clock[0])
    k, h = piece_at(knots.times, t), knots.times[1] - knots.times[0]
    s = (t - knots.times[k]) / h
    xi = np.empty(len(v))
    for i in range(len(v)):
        xi[i] = (s * ((1.0 - s) * (1.0 - s)) * h) * knots.v[k, i]
        xi[i] += (s * s * (3.0 - 2.0 * s)) * knots.ahead[k, i]
        xi[i] += (s * s * (s - 1.0) * h) * knots.ends[k, i]
    integrate(blocks, knots.q[k], xi, q)
    cubic(knots.of_v, k, t - knots.times[k], v)


@compiled
def planned_input(knots: Knots, clock: Vector, ahead: float, u: Vector) -> None:
    """Write ``u`` some time ahead [s]; beyond the ends, that of the nearest end."""
    t = within(knots.times, clock[0] + ahead)
    k = piece_at(knots.times, t)
    cubic(knots.of_u, k, t - knots.times[k], u)


@compiled
def gains_at(
    every: NDArray[np.float64], clock: Vector, start: float, step: float, held: bool, K: Matrix
) -> None:
    """Write the gains at a time: of the nearest tick where they are held, else between two."""
    last, along = len(every) - 1, (clock[0] - start) / step
    share = 0.0
    if held:
        k = min(max(int(np.rint(along)), 0), last)
    else:
        k = min(max(int(along), 0), last - 1)
        share = min(max(along - k, 0.0), 1.0)
    for i in range(K.shape[0]):
        for c in range(K.shape[1]):
            K[i, c] = (1.0 - share) * every[k, i, c]
            if share > 0.0:
                K[i, c] += share * every[k + 1, i, c]
