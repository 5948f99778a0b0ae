"""Steps of a robot that nothing drives but an input that is held.

A rigid robot without passive constraints and applied forces needs its mass matrix and bias force
alone for each evaluation; one kernel does all that lies between them. The arithmetic is that of
`FixedStep`, operation by operation, so that the motion has the same bits whichever made it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import final

import numpy as np

from ukctrl.core.algebra import kernels
from ukctrl.core.algebra.answer_checks import raise_if_singular
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.compiled import compiled
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.integrate.integrator import State
from ukctrl.robot import RigidTerms

Held = Callable[[], Vector]
"""Returns the input that is held now."""

STAGES = ((1.0, 0.5), (2.0, 0.5), (2.0, 1.0), (1.0, 0.0))
"""Of the classical Runge-Kutta method: the weight, and how far the next stage lies ahead."""
ONE_STAGE = ((1.0, 1.0),)
"""Of the semi-implicit Euler method."""
Q, V, SUM_Q, SUM_V, A, A_FREE = range(6)
"""Rows of the work array: the stage's state, the weighted sums, the accelerations."""


@compiled
def stage(
    M: Matrix,
    nle: Vector,
    B: Matrix,
    u: Vector,
    q0: Vector,
    v0: Vector,
    L: Matrix,
    G: Matrix,
    work: Matrix,
    energy: Vector,
    weight: float,
    ahead: float,
) -> int:
    """Add the rates at a stage to the sums, and write the state of the next one.

    ``energy`` is the sum of what is fed to the robot. Returns 0, or ``-1 - i`` when ``M`` is not
    positive definite at i.
    """
    n, nu = B.shape
    code = kernels.plain_answer(M, nle, np.zeros(n), B, L, work[A_FREE], G)
    if code < 0:
        return code
    kernels.acceleration(work[A_FREE], G, u, work[A])
    power = 0.0
    for k in range(nu):
        rate = 0.0
        for i in range(n):
            rate += work[V, i] * B[i, k]
        power += u[k] * rate
    energy[0] += weight * power
    for i in range(n):
        v, a = work[V, i], work[A, i]
        work[SUM_Q, i] += weight * v
        work[SUM_V, i] += weight * a
        work[Q, i] = q0[i] + ahead * v
        work[V, i] = v0[i] + ahead * a
    return 0


@compiled
def begin(q0: Vector, v0: Vector, work: Matrix, energy: Vector) -> None:
    """Write the state of the first stage, and sums of nothing."""
    for i in range(len(v0)):
        work[Q, i], work[V, i] = q0[i], v0[i]
        work[SUM_Q, i], work[SUM_V, i] = 0.0, 0.0
    energy[0] = 0.0


@compiled
def end(
    q0: Vector, v0: Vector, work: Matrix, energy: Vector, h: float, q: Vector, v: Vector, m: Vector
) -> None:
    """Add a step's mean rates to its start; ``m`` has the energy fed before."""
    for i in range(len(v0)):
        q[i] = q0[i] + h * work[SUM_Q, i]
        v[i] = v0[i] + h * work[SUM_V, i]
    m[0] += h * energy[0]


@final
class HeldStep:
    """A step of RK4 or semi-implicit Euler under a held input.

    Args:
        plant: The robot, which `suits` must accept.
        held: Returns the input.
        method: The method.
    """

    def __init__(self, plant: Dynamics, held: Held, method: str) -> None:
        robot = plant.robot
        n, nu = robot.nv, robot.nu
        self._terms, self._held = RigidTerms(robot), held
        self._stages = STAGES if method == "RK4" else ONE_STAGE
        self._B: Matrix = np.ascontiguousarray(robot.actuation.constant)
        self._L, self._G = np.zeros((n, n)), np.zeros((n, nu))
        self._work, self._energy = np.zeros((6, n)), np.zeros(1)
        self._q, self._v = self._work[Q], self._work[V]

    @staticmethod
    def suits(plant: Dynamics) -> bool:
        """Return whether nothing acts on a robot but gravity and its motors."""
        robot = plant.robot
        return (
            RigidTerms.suits(robot)
            and robot.is_euclidean
            and not robot.forces.any
            and not robot.actuation.varies
            and not len(plant.passive)
        )

    def __call__(self, t: float, state: State, h: float) -> State:
        """Return the state after a step.

        Raises:
            SingularMass: The mass matrix is not positive definite somewhere on the way.
        """
        q0, v0, m0 = state
        terms, work, energy, u = self._terms, self._work, self._energy, self._held()
        M, nle, B, L, G = terms.M, terms.nle, self._B, self._L, self._G
        q, v, m = np.empty(len(q0)), np.empty(len(v0)), m0.copy()
        begin(q0, v0, work, energy)
        for weight, reach in self._stages:
            terms.evaluate(self._q, self._v)
            raise_if_singular(stage(M, nle, B, u, q0, v0, L, G, work, energy, weight, reach * h))
        if len(self._stages) > 1:
            end(q0, v0, work, energy, h / 6.0, q, v, m)
        else:
            v[:] = self._v
            q[:] = q0 + h * v
            m += h * energy
        return State(q, v, m)
