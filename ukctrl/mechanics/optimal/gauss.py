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


class Inside(NamedTuple):
    """What accelerations at the points come to at some parts of a step, shape ``(k, s)`` each."""

    at: Matrix
    """Accelerations there."""
    once: Matrix
    """What they add to the velocity."""
    twice: Matrix
    """To the position."""


@functools.cache
def gauss(stages: int) -> Gauss:
    """Return the scheme with so many points a step."""
    at, weights = (np.asarray(part) for part in np.polynomial.legendre.leggauss(stages))
    nodes = 0.5 * (at + 1.0)
    powers: Matrix = np.asarray(np.linalg.inv(np.vander(nodes, increasing=True)), dtype=float)
    return Gauss(nodes, 0.5 * weights, *inside(powers, nodes)[1:], powers)


def inside(powers: Matrix, parts: Vector) -> Inside:
    """Return what the accelerations of a scheme come to at parts of a step, 0 to 1."""
    k, c = np.arange(len(powers)), parts[:, None]
    sums = c**k, c ** (k + 1) / (k + 1), c ** (k + 2) / ((k + 1) * (k + 2))
    return Inside(*(one @ powers for one in sums))


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


def inside_rows(scheme: Gauss, parts: Vector, steps: int, n: int, h: float) -> sp.csr_array:
    """Return what coordinates, rates and accelerations are at parts of every step of a motion.

    Rows are coordinates, rates and accelerations there, step by step; columns are coordinates and
    rates where steps meet, then accelerations at the points.
    """
    one, begin, each = sp.eye_array(n), sp.eye_array(steps, steps + 1), sp.eye_array(steps)
    if not len(parts):
        return sp.csr_array((0, n * (2 * (steps + 1) + steps * len(scheme.nodes))))
    within, ones = inside(scheme.powers, parts), np.ones((len(parts), 1))

    def spread(matrix: Matrix, over: sp.sparray) -> sp.sparray:
        return sp.kron(sp.kron(over, matrix), one)

    table = [
        [
            spread(ones, begin),
            spread(h * parts[:, None], begin),
            spread(h * h * within.twice, each),
        ],
        [None, spread(ones, begin), spread(h * within.once, each)],
        [None, None, spread(within.at, each)],
    ]
    return sp.block_array(table, format="csr")


def input_rows(scheme: Gauss, steps: int, nu: int) -> sp.csr_array:
    """Return the inputs at both ends of every step and between, from those at the points; constant
    ones are those already.
    """
    s = len(scheme.nodes)
    between = inside(scheme.powers, np.linspace(0.0, 1.0, s)).at
    each = sp.eye_array(steps if s > 1 else 0, steps)
    return sp.kron(sp.kron(each, between), sp.eye_array(nu), format="csr")
