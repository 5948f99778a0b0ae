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
    """Pose, Jacobian, velocity and drift of one frame, evaluated at a snapshot."""

    def __init__(self, robot: Robot, frame: str) -> None:
        site = robot.site(frame)
        self.frame = frame
        self.joint = site.joint
        self.local_rotation, self.local = site.rotation, site.translation
        self.columns = site.columns
        self.R, self.p = np.zeros((3, 3)), np.zeros(3)
        self.J = np.zeros((6, robot.nv))
        self.velocity, self.drift = np.zeros(6), np.zeros(6)

    def move(self, s: Snapshot) -> None:
        """Evaluate at the snapshot; the arrays are reused."""
        frame_motion(
            s.Jt,
            s.dJt,
            s.v,
            s.rotations,
            s.translations,
            self.joint,
            self.local_rotation,
            self.local,
            self.columns,
            self.R,
            self.p,
            self.J,
            self.velocity,
            self.drift,
        )
