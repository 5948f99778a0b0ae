"""Where a frame is fixed on a robot."""

from __future__ import annotations

from typing import NamedTuple

from ukctrl.core.arrays import Flags, Indices, Matrix, Vector


class Place(NamedTuple):
    """What the motion of a frame takes from its `Site`."""

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
    def place(self) -> Place:
        """All but ``support``."""
        return Place(self.joint, self.rotation, self.translation, self.columns)
