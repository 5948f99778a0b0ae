"""What the constraint kinds share: a frame evaluated at a snapshot, a path of the right size."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ukctrl.core.errors import InputError
from ukctrl.mechanics.constraints.kinematics import frame_motion
from ukctrl.mechanics.reference import Reference

if TYPE_CHECKING:
    from ukctrl.robot import Robot, Snapshot


def path_of_size(path: Reference, size: int, what: str) -> Callable[[float], tuple[float, ...]]:
    """Return the compiled path, or say that it has the wrong number of components."""
    if path.size != size:
        raise InputError(f"{what} must have {size} components; got {path.size}.")
    return path.compile()


class FrameProbe:
    """Pose, Jacobian, velocity and drift of one frame, evaluated at a snapshot.

    ``motion`` has all five of them, as one tuple.
    """

    def __init__(self, robot: Robot, frame: str) -> None:
        site = robot.site(frame)
        self.frame = frame
        self._place = site.place
        self.R, self.p = np.zeros((3, 3)), np.zeros(3)
        self.J = np.zeros((6, robot.nv))
        self.velocity, self.drift = np.zeros(6), np.zeros(6)
        self.motion = (self.R, self.p, self.J, self.velocity, self.drift)

    def move(self, s: Snapshot) -> None:
        """Evaluate at the snapshot; the arrays are reused."""
        frame_motion(*s.joints, *self._place, *self.motion)
