"""A look: coloured meshes, what carries each, and where the carriers are at a configuration."""

from __future__ import annotations

import abc
import dataclasses as dc
import re
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Matrix, Vector
from ukctrl.robot.geometry.primitive_meshes import Mesh

HEX_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
"""A colour of red, green and blue."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class VisualPart:
    """A mesh of one colour that a carrier moves."""

    name: str
    """What a user calls it, such as a link or a picture."""
    mesh: Mesh
    """In the carrier's axes [m]."""
    frame: int
    """Row of `Poses` that it moves with."""
    color: str = ""
    """Such as ``"#c0c8d0"``; empty: the renderer's choice for the robot's bodies."""
    opacity: float = 1.0
    """From 0 to 1."""
    text: str = ""
    """Written at the carrier's origin; such a part has no faces."""


class MountPoint(NamedTuple):
    """Where a robot is fastened to the world, and what would carry it where there is a floor."""

    at: Vector
    """Shape ``(3,)`` [m]."""
    radius: float
    """Of the post below it [m]."""


class Poses(NamedTuple):
    """Where carriers are at ``n`` moments, in world axes."""

    position: NDArray[np.float64]
    """Shape ``(n, c, 3)`` [m]."""
    quaternion: NDArray[np.float64]
    """Orientation, ``w x y z``, of unit length, shape ``(n, c, 4)``."""
    stretch: NDArray[np.float64]
    """Factor along the carrier's z axis, shape ``(n, c)``; 1 but for ropes, rods and springs."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class VisualModel(abc.ABC):
    """What a robot looks like."""

    parts: tuple[VisualPart, ...]
    frame_names: tuple[str, ...]
    """Names of what moves the parts: joints, frames or pictures."""
    mounts: tuple[MountPoint, ...] = ()
    """Where posts carry it: a scene with a floor draws them that far."""
    notes: tuple[str, ...] = ()
    """What a user should know of it, such as meshes that are missing; a sentence each."""

    @abc.abstractmethod
    def poses(self, q: Matrix, t: Vector) -> Poses:
        """Return where the carriers are.

        Args:
            q: Configurations, shape ``(n, nq)``.
            t: Their times, shape ``(n,)`` [s].
        """
