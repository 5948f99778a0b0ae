r"""The Jacobian of a closed loop's rates, for implicit integrators: exact where it may be.

$\dot q = v$ and $\dot v = a(q, v, u)$ with $u$ held or that of the law, so that

$$ \frac{\partial \dot v}{\partial x} = \frac{\partial a}{\partial x} + G\,
   \frac{\partial u}{\partial x}, $$

the first in closed form by `plant_slopes`, $\partial u/\partial x$ zero, the law's own
(`Law.slopes`), or differences of its command alone. Both functions return the derivative of
``(a, memory_rate)`` with ``(dq, v, memory)``, ``dq`` along the tangent, of a plant with
`has_slopes`.
"""

from __future__ import annotations

import numpy as np

from ukctrl.control.controller import Law
from ukctrl.core.algebra.differences import state_jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise.plant_slopes import acceleration_slopes, power_slopes


def held_slopes(plant: Dynamics, t: float, q: Vector, v: Vector, u: Vector) -> Matrix:
    """Return it under a held input, the energy fed to the robot being the memory."""
    n = len(v)
    plant.move(t, q, v)
    J = _of_plant(plant, u, 1)
    J[n, n : 2 * n] = power_slopes(plant, u)
    return J


def commanded_slopes(
    plant: Dynamics, belief: Dynamics, law: Law, t: float, q: Vector, v: Vector, memory: Vector
) -> Matrix:
    """Return it under the law's own input; the robot that it believes in is moved about."""
    n, nu = len(v), plant.robot.nu

    def command(x: Vector) -> Vector:
        belief.move(t, belief.robot.integrate(q, x[:n]), x[n : 2 * n])
        answer = law.step(belief, x[2 * n :])
        return np.concatenate([answer.u, answer.memory_rate])

    belief.move(t, q, v)
    K = law.slopes(belief, memory)
    if K is None:
        K = state_jacobian(command, np.concatenate([np.zeros(n), v, memory]), 2 * n)
    belief.move(t, q, v)
    u = law.step(belief, memory).u.copy()
    plant.move(t, q, v)
    J = _of_plant(plant, u, len(memory))
    J[:n] += plant.G @ K[:nu]
    J[n:] = K[nu:]
    return J


def _of_plant(plant: Dynamics, u: Vector, memory: int) -> Matrix:
    n = len(plant.a_free)
    J: Matrix = np.zeros((n + memory, 2 * n + memory))
    J[:n, :n], J[:n, n : 2 * n] = acceleration_slopes(plant, plant.acceleration(u))
    return J
