"""Schema of ``[[limit]]``: how far and how fast a joint may go."""

from __future__ import annotations

from typing import Annotated

from pydantic import model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import JointPosition, JointSpeed, Listed, Text, spec

Between = Annotated[tuple[JointPosition, JointPosition], Listed(2, 2)]
"""A lower and a higher position [rad or m]."""


@spec
class JointLimit:
    """Where a joint may be and how fast it may move, in place of what the model says.

    Nothing stops a joint at its limits: they are what `ukctrl check` measures a task by.
    """

    joint: Text
    """Joint; or one velocity, such as ``root_vx``, of a joint with several freedoms."""
    position: Between | None = None
    """Lowest and highest position [rad or m]; absent: the model's."""
    velocity: JointSpeed | None = None
    """Largest speed [rad/s or m/s]; absent: the model's."""

    @model_validator(mode="after")
    def _limits_something(self) -> JointLimit:
        if self.position is None and self.velocity is None:
            raise InputError("needs a position or a velocity; got neither.")
        if self.position is not None and not self.position[0] < self.position[1]:
            raise InputError(
                "position must be a lower and a higher number; got "
                f"{self.position[0]:g} and {self.position[1]:g}."
            )
        return self
