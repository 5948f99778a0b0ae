r"""Collocation at Gauss's points for $\ddot y = a$: the position is a polynomial of each step.

On a step of length $h$ the acceleration is the polynomial of degree $s - 1$ through its values at
the $s$ points, so that position, velocity and acceleration belong together exactly. As collocation
of a second-order equation it is of order $2 s$ where steps meet, and so is the optimum that it
leads to, since the scheme is symplectic.

References:
    Hairer, Norsett, Wanner, "Solving Ordinary Differential Equations I", 1993, section II.14;
    Moreno-Martin, Ros, Celaya, "Collocation methods for second and higher order systems",
    Autonomous Robots 48, 2024.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ukctrl.core.arrays import Matrix, Vector


class Gauss(NamedTuple):
    """The scheme on the unit step."""

    nodes: Vector
    """The points in (0, 1), shape ``(s,)``."""
    weights: Vector
    """Of the integral over the step, shape ``(s,)``."""
    once: Matrix
    """From accelerations to what they add to the velocities at the points, shape ``(s, s)``."""
    twice: Matrix
    """To what they add to the positions there, shape ``(s, s)``."""
    powers: Matrix
    """To the coefficients of the acceleration by powers of the time, shape ``(s, s)``."""

    @property
    def ahead(self) -> Vector:
        """From accelerations to what they add to the position at the end, shape ``(s,)``."""
        ahead: Vector = self.weights * (1.0 - self.nodes)
        return ahead


@functools.cache
def gauss(stages: int) -> Gauss:
    """Return the scheme with so many points a step."""
    at, weights = (np.asarray(part) for part in np.polynomial.legendre.leggauss(stages))
    nodes, k = 0.5 * (at + 1.0), np.arange(stages)
    powers: Matrix = np.asarray(np.linalg.inv(np.vander(nodes, increasing=True)), dtype=float)
    once = nodes[:, None] ** (k + 1) / (k + 1)
    twice = nodes[:, None] ** (k + 2) / ((k + 1) * (k + 2))
    return Gauss(nodes, 0.5 * weights, once @ powers, twice @ powers, powers)


def motion_rows(scheme: Gauss, steps: int, n: int, h: float) -> sp.csr_array:
    """Return the rows of a scheme, which are zero along a motion of so many steps of a length.

    Columns: coordinates and rates where steps meet, then coordinates, rates and accelerations at
    the points.
    """
    one, each = sp.eye_array(n), sp.eye_array(steps)
    begin, end = sp.eye_array(steps, steps + 1), sp.eye_array(steps, steps + 1, k=1)

    def spread(matrix: Matrix, over: sp.sparray) -> sp.sparray:
        return sp.kron(sp.kron(over, matrix), one)

    s = len(scheme.nodes)
    ones, c, here = np.ones((s, 1)), h * scheme.nodes[:, None], sp.eye_array(steps * s * n)
    last, whole = np.ones((1, 1)), np.full((1, 1), h)
    twice, once = spread(h * h * scheme.twice, each), spread(h * scheme.once, each)
    ahead, gained = spread(h * h * scheme.ahead[None], each), spread(h * scheme.weights[None], each)
    table = [
        [spread(ones, begin), spread(c, begin), -here, None, twice],
        [None, spread(ones, begin), None, -here, once],
        [spread(last, begin - end), spread(whole, begin), None, None, ahead],
        [None, spread(last, begin - end), None, None, gained],
    ]
    return sp.block_array(table, format="csr")


def input_rows(scheme: Gauss, steps: int, nu: int) -> sp.csr_array:
    """Return the inputs at both ends of every step, from those at the points; constant ones are
    those already.
    """
    s = len(scheme.nodes)
    ends = np.vander([0.0, 1.0], s, increasing=True) @ scheme.powers
    each = sp.eye_array(steps if s > 1 else 0, steps)
    return sp.kron(sp.kron(each, ends), sp.eye_array(nu), format="csr")
