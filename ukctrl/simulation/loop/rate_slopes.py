r"""The Jacobian of a closed loop's rates, for implicit integrators: exact where it may be.

$\dot q = v$ and $\dot v = a(q, v, u)$ with $u$ held or that of the law, so that

$$ \frac{\partial \dot v}{\partial x} = \frac{\partial a}{\partial x} + G\,
   \frac{\partial u}{\partial x}, $$

the first in closed form by `PlantSlopes`, $\partial u/\partial x$ zero, the law's own
(`Law.slopes`), or differences of its command alone.
"""

from __future__ import annotations

from typing import final

import numpy as np

from ukctrl.control.controller import Law
from ukctrl.core.algebra.differences import state_jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.dynamics import Dynamics
from ukctrl.mechanics.linearise.plant_slopes import PlantSlopes


@final
class RateSlopes:
    """The Jacobian of ``(a, memory_rate)`` with ``(dq, v, memory)``, ``dq`` along the tangent.

    Args:
        plant: The true robot, which `PlantSlopes` suits.
        belief: The believed robot; it is moved about.
        law: The law.
    """

    def __init__(self, plant: Dynamics, belief: Dynamics, law: Law) -> None:
        self._plant, self._belief, self._law = plant, belief, law
        self._slopes = PlantSlopes(plant)

    def held(self, t: float, q: Vector, v: Vector, u: Vector) -> Matrix:
        """Return it under a held input, the energy fed to the robot being the memory."""
        n = len(v)
        self._plant.move(t, q, v)
        J = self._of_plant(u, 1)
        J[n, n : 2 * n] = self._slopes.power(u)
        return J

    def commanded(self, t: float, q: Vector, v: Vector, memory: Vector) -> Matrix:
        """Return it under the law's own input."""
        n, nu = len(v), self._plant.robot.nu
        belief, law = self._belief, self._law

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
        self._plant.move(t, q, v)
        J = self._of_plant(u, len(memory))
        J[:n] += self._plant.G @ K[:nu]
        J[n:] = K[nu:]
        return J

    def _of_plant(self, u: Vector, memory: int) -> Matrix:
        n = len(self._plant.a_free)
        J: Matrix = np.zeros((n + memory, 2 * n + memory))
        a = self._plant.acceleration(u)
        J[:n, :n], J[:n, n : 2 * n] = self._slopes.acceleration(a)
        return J
