"""Motors whose torque falls with the speed, as rows of a program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ukctrl.core.arrays import Indices, Matrix, Vector
from ukctrl.robot import Robot


class TorqueSpeedLimits(NamedTuple):
    """Torques that fall with the speed: ``u / limit + onto v <= room``, one row a limit."""

    motors: Indices
    limits: Vector
    speed_map: Matrix
    bound: Vector

    @classmethod
    def for_robot(cls, robot: Robot, q: Vector, share: float) -> TorqueSpeedLimits:
        """Return those of a robot, which may use a share of its limits."""
        bounds, B = robot.actuation.bounds, robot.snapshot(q).B
        rows = [
            (j, share * limit[j], sign / (bounds.no_load[j] - bounds.corner[j]))
            for sign, limit in ((1.0, bounds.upper), (-1.0, bounds.lower))
            for j in np.flatnonzero(np.isfinite(bounds.no_load) & np.isfinite(limit)).tolist()
            if limit[j]
        ]
        motors, limits, slopes = np.array(rows).reshape(-1, 3).T
        at = motors.astype(np.intp)
        bound = bounds.no_load[at] * np.abs(slopes)
        return cls(at, limits, slopes[:, None] * B[:, at].T, bound)
