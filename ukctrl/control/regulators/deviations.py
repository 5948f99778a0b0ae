"""How far a robot is from a state, along the freedoms that a linear system of it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import final

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import Call, Kept, Step, Steps
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise import Linearization
from ukctrl.robot import Snapshot
from ukctrl.robot.configuration_kernels import difference

Aim = Callable[[Snapshot, Vector, Vector], Iterator[Step]]
"""Yields what writes the ``q`` and ``v`` that deviations are measured from."""


@compiled
def chosen(
    dq: Vector, v: Vector, aim: Vector, positions: Indices, velocities: Indices, x: Vector
) -> None:
    """Write the deviations of the chosen positions and velocities."""
    for i in range(len(positions)):
        x[i] = dq[positions[i]]
    for i in range(len(velocities)):
        x[len(positions) + i] = v[velocities[i]] - aim[velocities[i]]


@compiled
def fed_back(u: Vector, K: Matrix, x: Vector, integral: Vector, out: Vector) -> None:
    """Write ``u - K x``, with integrals behind ``x``."""
    n = len(x)
    for i in range(len(out)):
        total = 0.0
        for k in range(n):
            total += K[i, k] * x[k]
        for k in range(len(integral)):
            total += K[i, n + k] * integral[k]
        out[i] = u[i] - total


@compiled
def cost_left(x: Vector, S: Matrix, cost: Vector) -> None:
    """Write ``x' S x``, shape ``(1,)``."""
    cost[0] = 0.0
    for i in range(len(x)):
        for k in range(len(x)):
            cost[0] += x[i] * S[i, k] * x[k]


@final
class Deviations:
    """The deviations ``x`` that a law brings back to zero, at the states of robots."""

    def __init__(self, linear: Linearization, aim: Aim) -> None:
        self._linear, self._aim = linear, aim
        self._of: Kept[Dynamics, tuple[Vector, Steps]] = Kept(self._of_robot)

    def __call__(self, dynamics: Dynamics) -> Vector:
        """Return the deviations at the state of a robot, shape ``(n,)``."""
        x, steps = self._of(dynamics)
        steps()
        return x.copy()

    def steps(self, dynamics: Dynamics) -> tuple[Vector, tuple[Step, ...]]:
        """Return where they are, and what writes them at the state that the robot has then."""
        x, steps = self._of(dynamics)
        return x, steps.every

    def _of_robot(self, dynamics: Dynamics) -> tuple[Vector, Steps]:
        s, robot, linear = dynamics.snapshot, dynamics.robot, self._linear
        positions, velocities = linear.positions, linear.velocities
        x, dq = np.zeros(len(positions) + len(velocities)), np.zeros(robot.nv)
        q, v = robot.neutral, np.zeros(robot.nv)

        def steps() -> Iterator[Step]:
            yield from self._aim(s, q, v)
            yield Call(difference, robot.structure.configurations, q, s.q, dq)
            yield Call(chosen, dq, s.v, v, positions, velocities, x)

        return x, Steps(steps())
