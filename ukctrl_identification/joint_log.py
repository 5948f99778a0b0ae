"""What a robot's sensors said over one motion."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ukctrl.core.arrays import Vector


class JointLog(NamedTuple):
    """Channels of one recording, in the units of the robot; each of shape ``(n,)``.

    Positions are named by the robot's coordinates (`Robot.coordinates`), velocities and efforts by
    its velocities (`Robot.dofs`), which for a joint with one freedom is the joint's name. What was
    not measured is absent.
    """

    source: str
    """The file that it was read from, and what in it."""
    time: Vector
    """From the log's own origin [s]; what `log_faults` finds sound grows strictly."""
    position: dict[str, Vector]
    """[rad or m]; of a joint without end its cosine and sine."""
    velocity: dict[str, Vector]
    """[rad/s or m/s]."""
    effort: dict[str, Vector]
    """What motors put on joints, after the gear [N m or N]."""
    notes: tuple[str, ...] = ()
    """What reading it did or left out, in sentences."""
    acceleration: Mapping[str, Vector] = MappingProxyType({})
    """By velocities, as simulations have them [rad/s^2 or m/s^2]."""
    current: Mapping[str, Vector] = MappingProxyType({})
    """By velocities: currents of motors whose constants are to be fitted, which have no effort [A].
    """
    asked: Mapping[str, Vector] = MappingProxyType({})
    """Positions that the robot's controller was asked for, which no sensor's noise is in."""
