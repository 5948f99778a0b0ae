"""How far a robot is from a state, along the freedoms that a linear system of it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import final

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.core.program import BoundKernel, KernelStep, RobotBuffers
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise import Linearization
from ukctrl.robot import Snapshot
from ukctrl.robot.manifold_kernels import difference

ReferenceSteps = Callable[[Snapshot, Vector, Vector], Iterator[KernelStep]]
"""Yields what writes the ``q`` and ``v`` that deviations are measured from."""


@compiled
def write_deviation(
    dq: Vector, v: Vector, aim: Vector, positions: Indices, velocities: Indices, x: Vector
) -> None:
    """Write the deviations of the chosen positions and velocities."""
    for i in range(len(positions)):
        x[i] = dq[positions[i]]
    for i in range(len(velocities)):
        x[len(positions) + i] = v[velocities[i]] - aim[velocities[i]]


@compiled
def state_feedback(u: Vector, K: Matrix, x: Vector, integral: Vector, out: Vector) -> None:
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
def cost_to_go(x: Vector, S: Matrix, cost: Vector) -> None:
    """Write ``x' S x``, shape ``(1,)``."""
    cost[0] = 0.0
    for i in range(len(x)):
        for k in range(len(x)):
            cost[0] += x[i] * S[i, k] * x[k]


@final
class StateDeviation:
    """The deviations ``x`` that a law brings back to zero, at the states of robots."""

    def __init__(self, linear: Linearization, aim: ReferenceSteps) -> None:
        self._linear, self._reference = linear, aim
        self._deviations = RobotBuffers(self._build)

    def __call__(self, dynamics: Dynamics) -> Vector:
        """Return the deviations at the state of a robot, shape ``(n,)``."""
        return self._deviations(dynamics).copy()

    def steps(self, dynamics: Dynamics) -> tuple[Vector, tuple[KernelStep, ...]]:
        """Return where they are, and what writes them at the state that the robot has then."""
        return self._deviations.steps(dynamics)

    def _build(self, dynamics: Dynamics) -> tuple[Vector, Iterator[KernelStep]]:
        s, robot, linear = dynamics.snapshot, dynamics.robot, self._linear
        positions, velocities = linear.positions, linear.velocities
        x, dq = np.zeros(len(positions) + len(velocities)), np.zeros(robot.nv)
        q, v = robot.neutral, np.zeros(robot.nv)

        def steps() -> Iterator[KernelStep]:
            yield from self._reference(s, q, v)
            yield BoundKernel(difference, robot.structure.manifold_table, q, s.q, dq)
            yield BoundKernel(write_deviation, dq, s.v, v, positions, velocities, x)

        return x, steps()
