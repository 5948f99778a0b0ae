"""Swarms: every particle moves as its distances from the others say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np

from ukctrl.core.arrays import Indices, Vector
from ukctrl.core.compiled import allocating
from ukctrl.core.errors import InputError
from ukctrl.core.expression.compiled_formula import DomainError
from ukctrl.core.fields import NonNegative, spec
from ukctrl.core.program import BoundKernel, KernelStep
from ukctrl.mechanics.constraints.constraint import BoundConstraint, Constraint, Rows

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


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

    Returns 0, or ``-1 - (i * count + j)`` for two particles i, j that are at the same place.
    """
    count, axes = at.shape
    collision = 0
    for i in range(count):
        for k in range(axes):
            b[i * axes + k] = 0.0
            beta[i * axes + k] = v[at[i, k]]
    away = np.empty(axes)
    rate = np.empty(axes)
    for i in range(count):
        for j in range(i):
            square = 0.0
            along = 0.0
            for k in range(axes):
                away[k] = q[at[i, k]] - q[at[j, k]]
                rate[k] = v[at[i, k]] - v[at[j, k]]
                square += away[k] * away[k]
                along += away[k] * rate[k]
            # the caller raises then, whatever is written
            if not square > 0.0:
                collision = -1 - (i * count + j)
            distance = np.sqrt(square)
            gain = k_a - k_r / distance
            # the rate of -k_r/|x| is k_r (x . x')/|x|^3
            turn = k_r * along / (square * distance)
            for k in range(axes):
                push = gain * away[k]
                change = gain * rate[k] + turn * away[k]
                beta[i * axes + k] += push
                beta[j * axes + k] -= push
                b[i * axes + k] -= change
                b[j * axes + k] += change
    return collision
