"""How the errors of constraint rows change with a robot's deviations."""

from __future__ import annotations

import numpy as np

from ukctrl.core.algebra.differences import jacobian
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.mechanics.constraints import Stack
from ukctrl.mechanics.linearise.linearization import Linearization


def output_matrix(stack: Stack, linear: Linearization, t: float) -> Matrix:
    """Return how the errors of rows change with all deviations ``(dq, dv)``, shape ``(m, 2 nv)``.

    The error of a row on positions is ``phi``, that of one on velocities ``beta``. Times
    ``linear.full`` it is the ``C`` of an output.
    """
    robot = linear.robot
    n, snapshot = robot.nv, robot.snapshot(linear.q)

    def error(d: Vector) -> Vector:
        snapshot.move(robot.integrate(linear.q, d[:n]), linear.v + d[n:], t)
        rows = stack.write(snapshot)
        return np.where(stack.holonomic, rows.phi, rows.beta)

    return jacobian(error, 2 * n)
