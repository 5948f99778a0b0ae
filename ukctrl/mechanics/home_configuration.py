"""Where a robot is before anything moves it: at home, and with its loops closed."""

from __future__ import annotations

import numpy as np

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import StartError
from ukctrl.mechanics.consistent_state import consistent_state, random_consistent_configuration
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.dynamics import passive_constraints
from ukctrl.robot import Robot


def home_configuration(robot: Robot) -> Vector:
    """Return where the robot begins: at home, or at zero where its limits allow it."""
    if robot.home is not None:
        return robot.home
    q = np.array(robot.neutral)
    outside = (q < robot.q_lower) | (q > robot.q_upper)
    both = outside & np.isfinite(robot.q_lower) & np.isfinite(robot.q_upper)
    q[outside] = np.clip(q, robot.q_lower, robot.q_upper)[outside]
    q[both] = 0.5 * (robot.q_lower[both] + robot.q_upper[both])
    return q


def close_loops(robot: Robot, q: Vector) -> Vector:
    """Return the nearest configuration that keeps the passive constraints; where none is near, one
    from elsewhere, and at last the given one.
    """
    stack = Stack(passive_constraints(robot), robot)
    try:
        return consistent_state(stack, q, np.zeros(robot.nv)).q
    except StartError:
        candidate = random_consistent_configuration(stack)
        return q if candidate is None else candidate
