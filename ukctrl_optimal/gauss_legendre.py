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
from scipy.special import comb

from ukctrl.core.arrays import Matrix, Vector


class GaussLegendre(NamedTuple):
    """The scheme on the unit step."""

    nodes: Vector
    """The points in (0, 1), shape ``(s,)``."""
    weights: Vector
    """Of the integral over the step, shape ``(s,)``."""
    velocity_weights: Matrix
    """From accelerations to what they add to the velocities at the points, shape ``(s, s)``."""
    position_weights: Matrix
    """To what they add to the positions there, shape ``(s, s)``."""
    powers: Matrix
    """To the coefficients of the acceleration by powers of the time, shape ``(s, s)``."""

    @property
    def end_position_weights(self) -> Vector:
        """From accelerations to what they add to the position at the end, shape ``(s,)``."""
        # the double integral over the step is that of (1 - c) a
        weights: Vector = self.weights * (1.0 - self.nodes)
        return weights


class EvaluationMatrices(NamedTuple):
    """What accelerations at the points come to at some parts of a step, shape ``(k, s)`` each."""

    acceleration: Matrix
    """Accelerations there."""
    velocity: Matrix
    """What they add to the velocity."""
    position: Matrix
    """To the position."""


@functools.cache
def gauss_legendre(stages: int) -> GaussLegendre:
    """Return the scheme with so many points a step."""
    at, weights = (np.asarray(values) for values in np.polynomial.legendre.leggauss(stages))
    nodes = 0.5 * (at + 1.0)
    powers: Matrix = np.asarray(np.linalg.inv(np.vander(nodes, increasing=True)), dtype=float)
    return GaussLegendre(nodes, 0.5 * weights, *evaluation_matrices(powers, nodes)[1:], powers)


def evaluation_matrices(powers: Matrix, fractions: Vector) -> EvaluationMatrices:
    """Return what the accelerations of a scheme come to at parts of a step, 0 to 1."""
    k, c = np.arange(len(powers)), fractions[:, None]
    # powers, integrated once and twice from the step's beginning
    sums = c**k, c ** (k + 1) / (k + 1), c ** (k + 2) / ((k + 1) * (k + 2))
    return EvaluationMatrices(*(one @ powers for one in sums))


def collocation_rows(scheme: GaussLegendre, steps: int, n: int, h: float) -> sp.csr_array:
    """Return the rows of a scheme, which are zero along a motion of so many steps of a length.

    Columns: coordinates and rates where steps meet, then coordinates, rates and accelerations at
    the points.
    """
    one, step_eye = sp.eye_array(n), sp.eye_array(steps)
    begin, end = sp.eye_array(steps, steps + 1), sp.eye_array(steps, steps + 1, k=1)

    def spread(matrix: Matrix, over: sp.sparray) -> sp.sparray:
        return sp.kron(sp.kron(over, matrix), one)

    s = len(scheme.nodes)
    ones, c, point_eye = np.ones((s, 1)), h * scheme.nodes[:, None], sp.eye_array(steps * s * n)
    last, whole = np.ones((1, 1)), np.full((1, 1), h)
    twice, once = (
        spread(h * h * scheme.position_weights, step_eye),
        spread(h * scheme.velocity_weights, step_eye),
    )
    end_position, gained = (
        spread(h * h * scheme.end_position_weights[None], step_eye),
        spread(h * scheme.weights[None], step_eye),
    )
    table = [
        [spread(ones, begin), spread(c, begin), -point_eye, None, twice],
        [None, spread(ones, begin), None, -point_eye, once],
        [spread(last, begin - end), spread(whole, begin), None, None, end_position],
        [None, spread(last, begin - end), None, None, gained],
    ]
    return sp.block_array(table, format="csr")


def evaluation_rows(
    scheme: GaussLegendre, fractions: Vector, steps: int, n: int, h: float
) -> sp.csr_array:
    """Return what coordinates, rates and accelerations are at parts of every step of a motion.

    Rows are coordinates, rates and accelerations there, step by step; columns are coordinates and
    rates where steps meet, then accelerations at the points.
    """
    one, begin, step_eye = sp.eye_array(n), sp.eye_array(steps, steps + 1), sp.eye_array(steps)
    if not len(fractions):
        return sp.csr_array((0, n * (2 * (steps + 1) + steps * len(scheme.nodes))))
    within, ones = evaluation_matrices(scheme.powers, fractions), np.ones((len(fractions), 1))

    def spread(matrix: Matrix, over: sp.sparray) -> sp.sparray:
        return sp.kron(sp.kron(over, matrix), one)

    table = [
        [
            spread(ones, begin),
            spread(h * fractions[:, None], begin),
            spread(h * h * within.position, step_eye),
        ],
        [None, spread(ones, begin), spread(h * within.velocity, step_eye)],
        [None, None, spread(within.acceleration, step_eye)],
    ]
    return sp.block_array(table, format="csr")


def control_point_rows(
    scheme: GaussLegendre, steps: int, n: int, h: float
) -> tuple[sp.csr_array, sp.csr_array]:
    r"""Return Bezier's control points of coordinates and of rates, each within a step.

    With $y(c) = \sum_i b_i \binom{d}{i} c^i (1 - c)^{d - i}$ a polynomial stays between the least
    and the largest $b_i$. The degrees $d$ are one and two more than that of the accelerations. The
    first and the last points are those where steps meet: rows are of the others, and of the last
    one of rates. Columns are those of `evaluation_rows`.
    """
    rows = []
    for derivative, degree in enumerate((len(scheme.nodes) + 1, len(scheme.nodes))):
        i, fractions = np.arange(degree + 1), np.linspace(0.0, 1.0, degree + 1)
        c = fractions[:, None]
        from_values = np.linalg.inv(comb(degree, i) * c**i * (1.0 - c) ** (degree - i))
        last = degree + derivative
        onto = evaluation_rows(scheme, fractions, steps, n, h)
        values = onto[derivative * len(fractions) * steps * n :][: len(fractions) * steps * n]
        chosen = sp.kron(sp.kron(sp.eye_array(steps), from_values[1:last]), sp.eye_array(n))
        rows.append((chosen @ values).tocsr())
    return rows[0], rows[1]


def end_input_rows(scheme: GaussLegendre, steps: int, nu: int) -> sp.csr_array:
    """Return the inputs at both ends of every step and between, from those at the points; constant
    ones are those already.
    """
    s = len(scheme.nodes)
    between = evaluation_matrices(scheme.powers, np.linspace(0.0, 1.0, s)).acceleration
    step_eye = sp.eye_array(steps if s > 1 else 0, steps)
    return sp.kron(sp.kron(step_eye, between), sp.eye_array(nu), format="csr")
