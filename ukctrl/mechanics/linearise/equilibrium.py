"""Inputs that hold a robot at rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ukctrl.core.algebra.rank_policy import RUN_RANK
from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError
from ukctrl.core.tie_breaking import first_largest
from ukctrl.mechanics.dynamics import Dynamics, StabilisationGains
from ukctrl.robot import AnyRobot, as_robot

ACCELERATION_RTOL = 1e-9
"""An acceleration that is smaller than this fraction of what it adds up from counts as none."""
ACCELERATION_SCALE = 1.0
"""A usual acceleration, for configurations at which every force vanishes [rad/s^2 or m/s^2]."""


@explain_argument_errors
def equilibrium(robot: AnyRobot, q: ArrayLike, t: float = 0.0) -> Vector:
    """Return the least input that holds a robot at rest at a configuration, shape ``(nu,)``.

    Raises:
        ShapeError: ``q`` does not fit the robot.
        InputError: No input does; the velocity that would change most is named.
    """
    robot = as_robot(robot)
    q = robot.checked_q(q)
    dynamics = Dynamics(robot, RUN_RANK, StabilisationGains(0.0, 0.0))
    dynamics.move(t, q, np.zeros(robot.nv))
    a_free, G, s = dynamics.a_free, dynamics.G, dynamics.snapshot
    u = dynamics.least_input(np.zeros(robot.nv))
    a = dynamics.acceleration(u)
    size = np.abs(a_free).max(initial=0.0) + np.abs(G * u).max(initial=0.0)
    size = max(size, float(np.abs(np.linalg.solve(s.M, s.nle - s.f)).max(initial=0.0)))
    if np.abs(a).max(initial=0.0) > ACCELERATION_RTOL * max(size, ACCELERATION_SCALE):
        worst = first_largest(np.abs(a))
        force = float((s.M @ a)[worst])
        unit = robot.dof_units[worst]
        where = np.array2string(q, 10**6, precision=4, separator=", ")
        raise InputError(
            f"robot '{robot.name}' must be held at rest by some input at the configuration "
            f"{where}; the inputs leave an acceleration of {a[worst]:.3g} "
            f"{unit.removesuffix('/s')}/s^2 at '{robot.dofs[worst]}', a force of {force:.3g} "
            f"{'N' if unit == 'm/s' else 'N m'}. Choose a configuration where the forces that no "
            "motor carries vanish."
        )
    return u
