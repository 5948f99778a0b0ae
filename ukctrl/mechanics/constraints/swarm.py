"""Swarms: every particle moves as its distances from the others say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import allocating, inlined
from ukctrl.core.errors import InputError
from ukctrl.core.expression.compiled_formula import DomainError
from ukctrl.core.fields import NonNegative, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Constraint, Rows

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot

BLOCK = 64
"""So many particles are looked at together."""


@spec
class Aggregation(Constraint):
    r"""Particles attract each other from afar and repel each other nearby.

    Every particle $i$ shall move down the gradient of the potentials
    $G_{ij} = \tfrac12 k_a\, d_{ij}^2 - k_r\, d_{ij}$ of its distances $d_{ij}$ from the others:

    $$ \psi_i = \dot q_i + \sum_{j \neq i} \Big(k_a - \frac{k_r}{d_{ij}}\Big)(q_i - q_j) = 0 . $$

    One row for each coordinate of a particle, nonholonomic in form.

    References:
        Review of the Udwadia-Kalaba equation, eqs (61)-(65), with $k_a = 1$, $k_r = 0.5$; Gazi &
        Passino 2003.
    """

    has_constant_matrix: ClassVar[bool] = True
    kind: Literal["aggregation"] = "aggregation"
    attraction: NonNegative = 1.0
    """$k_a$ [1/s]."""
    repulsion: NonNegative = 0.5
    """$k_r$ [m/s]: the speed at which two particles that nearly touch separate, each."""
    axes: Literal["xy", "xyz"] = "xy"
    """The coordinates of a particle: those named ``x1 y1 x2 y2 ...``, or with ``z``."""

    def attach(self, robot: Robot) -> BoundConstraint:
        return _Aggregation(self, robot)


class _Aggregation(BoundConstraint):
    def __init__(self, spec: Aggregation, robot: Robot) -> None:
        indices = {name: at for at, name in enumerate(robot.dofs)}
        if robot.rates != tuple(f"v.{name}" for name in robot.coordinates):
            raise InputError(f"robot '{robot.name}' must consist of particles.")
        numbers: list[int] = []
        while all(f"{axis}{len(numbers) + 1}" in indices for axis in spec.axes):
            numbers.append(len(numbers) + 1)
        if len(numbers) < 2:
            names = ", ".join(f"{axis}{number}" for number in (1, 2) for axis in spec.axes)
            raise InputError(
                f"robot '{robot.name}' must have at least two particles, with coordinates {names}."
            )
        dofs = [[f"{axis}{number}" for axis in spec.axes] for number in numbers]
        units = {name: "m" for particle in dofs for name in particle}
        self.name_rows(spec.name or "aggregation", units, holonomic=False)
        self._at = np.array([[indices[name] for name in particle] for particle in dofs])
        self._gains = float(spec.attraction), float(spec.repulsion)

    def steps(self, s: Snapshot, rows: Rows) -> Sequence[KernelStep]:
        rows.A[np.arange(self._at.size), self._at.reshape(-1)] = 1.0  # once and for all
        rows.phi[:] = math.nan

        def met(code: int) -> DomainError:
            i, j = divmod(-1 - code, len(self._at))
            return DomainError(
                f"particles {i + 1} and {j + 1} are at the same place at t = {s.t:g} s; the "
                "direction in which they repel each other is not defined there."
            )

        args = s.q, s.v, self._at, *self._gains, rows.b, rows.beta
        return (BoundKernel(aggregation_rows, *args, fault=met),)


@allocating
def aggregation_rows(
    q: Vector, v: Vector, at: Indices, k_a: float, k_r: float, b: Vector, beta: Vector
) -> int:
    """Write ``b`` and ``beta`` of all particles.

    Each pair is looked at once, block by block, in loops that a processor runs several turns of at
    once.

    Returns 0, or ``-1 - (i * count + j)`` for two particles i, j that are at the same place.
    """
    (count, axes), collision = at.shape, 0
    # behind the last particle a block may go on
    places, speeds = np.zeros((axes, count + BLOCK)), np.zeros((axes, count + BLOCK))
    pushes, changes = np.zeros((axes, count + BLOCK)), np.zeros((axes, count + BLOCK))
    away, rate = np.empty((axes, BLOCK)), np.empty((axes, BLOCK))
    square, gain, turn = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for i in range(count):
        for k in range(axes):
            places[k, i], speeds[k, i] = q[at[i, k]], v[at[i, k]]
    for i in range(count):
        for first in range(0, i, BLOCK):
            size = min(BLOCK, i - first)
            square[:] = turn[:] = 0.0
            for k in range(axes):
                place, speed = places[k, i], speeds[k, i]
                add_distances(place, places[k, first:], away[k], square)
                add_rates(speed, speeds[k, first:], away[k], rate[k], turn)
            for j in range(size):
                # the caller raises then, whatever is written
                if not square[j] > 0.0:
                    collision = -1 - (i * count + first + j)
            write_gains(k_a, k_r, square, turn, gain)
            for j in range(size, BLOCK):
                gain[j] = turn[j] = 0.0
            for k in range(axes):
                # away becomes the push, rate its change
                scale_rates(gain, turn, away[k], rate[k])
                scale(gain, away[k])
                subtract(away[k], pushes[k, first:])
                subtract(rate[k], changes[k, first:])
                pushes[k, i] += folded_sum(away[k])
                changes[k, i] += folded_sum(rate[k])
    for i in range(count):
        for k in range(axes):
            beta[i * axes + k] = v[at[i, k]] + pushes[k, i]
            b[i * axes + k] = -changes[k, i]
    return collision


@inlined
def add_distances(x: float, places: Vector, away: Vector, square: Vector) -> None:
    """Write how far a place is from others along an axis; add the squares."""
    for j in range(BLOCK):
        d = x - places[j]
        away[j] = d
        square[j] += d * d


@inlined
def add_rates(w: float, speeds: Vector, away: Vector, rate: Vector, along: Vector) -> None:
    """Write the rates of such distances; add their products with them."""
    for j in range(BLOCK):
        r = w - speeds[j]
        rate[j] = r
        along[j] += away[j] * r


@inlined
def write_gains(k_a: float, k_r: float, square: Vector, turn: Vector, gain: Vector) -> None:
    """Write ``k_a - k_r/|x|``, and of ``x . x'`` the rate ``k_r (x . x')/|x|^3`` of the second."""
    for j in range(BLOCK):
        inverse = 1.0 / np.sqrt(square[j])
        gain[j] = k_a - k_r * inverse
        turn[j] = k_r * turn[j] * inverse * inverse * inverse


@inlined
def scale_rates(gain: Vector, turn: Vector, away: Vector, rate: Vector) -> None:
    """Overwrite rates by those of the pushes."""
    for j in range(BLOCK):
        rate[j] = gain[j] * rate[j] + turn[j] * away[j]


@inlined
def scale(gain: Vector, x: Vector) -> None:
    """Overwrite numbers by their products with others."""
    for j in range(BLOCK):
        x[j] *= gain[j]


@inlined
def subtract(x: Vector, out: Vector) -> None:
    """Take numbers from others."""
    for j in range(BLOCK):
        out[j] -= x[j]


@inlined
def folded_sum(x: Vector) -> float:
    """Return the sum, half of the numbers added to the other half three times."""
    for j in range(BLOCK // 2):
        x[j] += x[j + BLOCK // 2]
    for j in range(BLOCK // 4):
        x[j] += x[j + BLOCK // 4]
    for j in range(BLOCK // 8):
        x[j] += x[j + BLOCK // 8]
    total = 0.0
    for j in range(BLOCK // 8):
        total += x[j]
    return total
