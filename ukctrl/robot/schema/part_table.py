"""Schema of ``[[part]]``: a model file that is part of a robot."""

from __future__ import annotations

from ukctrl.core.fields import Angles3, Position, spec
from ukctrl.robot.schema.model_file import ModelFile


@spec
class Part:
    """A model file that is part of a robot."""

    model: ModelFile
    """URDF file, relative to this one; or ``zoo:NAME``."""
    prefix: str = ""
    """Put before the names of its links and joints, such as ``"left_"``."""
    parent: str | None = None
    """Link, of a part further up, that carries it; absent: the ground."""
    position: Position = (0.0, 0.0, 0.0)
    """Origin of its root link in the parent's axes [m]."""
    rpy: Angles3 = (0.0, 0.0, 0.0)
    """Roll, pitch, yaw of its root link in the parent's axes [rad]."""
