"""A planned motion between its knots, compiled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import allocating, compiled
from ukctrl.robot.manifold_kernels import integrate


class KnotTable(NamedTuple):
    """What is known at ``k`` evenly spaced knots, and between them."""

    times: Vector
    """Shape ``(k,)`` [s]."""
    q: Matrix
    """Shape ``(k, nq)``."""
    v: Matrix
    """Shape ``(k, nv)``."""
    tangent_steps: Matrix
    """Tangent step from each knot to the next, shape ``(k - 1, nv)``."""
    tangent_rates: Matrix
    """Rate of that step where it ends, shape ``(k - 1, nv)``."""
    v_coefficients: NDArray[np.float64]
    """Coefficients of the velocity's cubic pieces, highest power first, ``(4, k - 1, nv)``."""
    u_coefficients: NDArray[np.float64]
    """Of the input's, shape ``(4, k - 1, nu)``."""


@compiled
def clamp_time(times: Vector, t: float) -> float:
    """Return a time, or the nearest end."""
    return float(min(max(t, times[0]), times[len(times) - 1]))


@compiled
def piece_index(times: Vector, t: float) -> int:
    """Return the piece that a time is in; of two, the later one."""
    last = len(times) - 2
    k = min(max(int((t - times[0]) / (times[1] - times[0])), 0), last)
    # at a knot rounding may have put the quotient one piece off
    while k > 0 and t < times[k]:
        k -= 1
    while k < last and t >= times[k + 1]:
        k += 1
    return k


@compiled
def evaluate_cubic(pieces: NDArray[np.float64], k: int, s: float, out: Vector) -> None:
    """Write the values of a cubic piece."""
    for i in range(len(out)):
        total, power = 0.0, 1.0
        for degree in range(4):
            total += pieces[3 - degree, k, i] * power
            power *= s
        out[i] = total


@allocating
def nominal_state(knots: KnotTable, blocks: Indices, clock: Vector, q: Vector, v: Vector) -> None:
    """Write ``q`` and ``v`` at a time; beyond the ends, those of the nearest end."""
    t = clamp_time(knots.times, clock[0])
    k, h = piece_index(knots.times, t), knots.times[1] - knots.times[0]
    s = (t - knots.times[k]) / h
    xi = np.empty(len(v))
    for i in range(len(v)):
        # Hermite's cubic in the tangent space of the left knot, from zero
        xi[i] = (s * ((1.0 - s) * (1.0 - s)) * h) * knots.v[k, i]
        xi[i] += (s * s * (3.0 - 2.0 * s)) * knots.tangent_steps[k, i]
        xi[i] += (s * s * (s - 1.0) * h) * knots.tangent_rates[k, i]
    integrate(blocks, knots.q[k], xi, q)
    evaluate_cubic(knots.v_coefficients, k, t - knots.times[k], v)


@compiled
def nominal_input(knots: KnotTable, clock: Vector, lead: float, u: Vector) -> None:
    """Write ``u`` some time ahead [s]; beyond the ends, that of the nearest end."""
    t = clamp_time(knots.times, clock[0] + lead)
    k = piece_index(knots.times, t)
    evaluate_cubic(knots.u_coefficients, k, t - knots.times[k], u)


@compiled
def interpolate_gains(
    gains: NDArray[np.float64], clock: Vector, start: float, step: float, is_held: bool, K: Matrix
) -> None:
    """Write the gains at a time: of the nearest tick where they are held, else between two."""
    last, along = len(gains) - 1, (clock[0] - start) / step
    share = 0.0
    # held gains belong to their ticks: between two there is nothing to blend
    if is_held:
        k = min(max(int(np.rint(along)), 0), last)
    else:
        k = min(max(int(along), 0), last - 1)
        share = min(max(along - k, 0.0), 1.0)
    for i in range(K.shape[0]):
        for c in range(K.shape[1]):
            K[i, c] = (1.0 - share) * gains[k, i, c]
            if share > 0.0:
                K[i, c] += share * gains[k + 1, i, c]
