"""What a robot's sensors said over one motion."""

from __future__ import annotations

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
