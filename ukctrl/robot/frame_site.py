"""Frame sites: where a frame is fixed on a robot, and what carries it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Flags, Indices, Matrix, Vector


class JointKinematics(NamedTuple):
    """How the joints move, from which the motion of every frame follows; see `Snapshot`."""

    Jt: Matrix
    dJt: Matrix
    v: Vector
    rotations: NDArray[np.float64]
    translations: Matrix


class FramePlacement(NamedTuple):
    """What the motion of a frame, and a push there, take from its `Site`."""

    joint: int
    rotation: Matrix
    translation: Vector
    columns: Indices


class Site(NamedTuple):
    """Where a frame is fixed on the robot."""

    joint: int
    """Index of the joint that carries it; 0 is the world."""
    rotation: Matrix
    """Orientation in the joint's frame, shape ``(3, 3)``."""
    translation: Vector
    """Position in the joint's frame, shape ``(3,)`` [m]."""
    support: Flags
    """Which velocities move it, shape ``(nv,)``."""
    columns: Indices
    """The indices of those velocities."""

    @property
    def place(self) -> FramePlacement:
        """All but ``support``."""
        return FramePlacement(self.joint, self.rotation, self.translation, self.columns)
