"""Which quantities an observer gets: positions and speeds of joints, and frames seen by cameras."""

from __future__ import annotations

from typing import Annotated, final

from pydantic import model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Fraction, Quantity, Seconds, Text, Time, spec

Deviation = Annotated[float, Quantity("m", minimum=0.0, open_minimum=True)]


@final
@spec
class Camera:
    r"""A camera that measures where a frame is: $y = p(q) + n$, in world axes."""

    frame: Text
    """The frame."""
    std: Deviation
    """Standard deviation along each axis, white and normal [m]."""
    period: Seconds | None = None
    """Between pictures, a whole number of control periods [s]; absent: one a tick."""
    delay: Time = 0.0
    """From a picture until the observer has it, a whole number of control periods [s]."""
    dropped: Fraction = 0.0
    """Share of the pictures that never arrive."""

    @model_validator(mode="after")
    def _no_future(self) -> Camera:
        if self.delay < 0.0:
            raise InputError(f"delay must be zero or positive; got {self.delay:g} s.")
        return self


@final
@spec
class Sensing:
    """What is measured. Effects such as noise act on joints; cameras have their own."""

    joints: tuple[Text, ...] | None = None
    """Joints, or single freedoms of them, whose position is measured; absent: all."""
    speeds: bool | tuple[Text, ...] = False
    """Those whose speed is measured too, by sensors of their own; or of all."""
    camera: tuple[Camera, ...] = ()
    """Cameras."""

    @model_validator(mode="after")
    def _something(self) -> Sensing:
        if self.joints == () and not self.speeds and not self.camera:
            raise InputError(
                "must measure something; got no joints, no speeds and no camera. Leave out joints "
                "to measure all positions."
            )
        frames = [camera.frame for camera in self.camera]
        if len(set(frames)) < len(frames):
            raise InputError("camera: must have one entry for each frame; one comes twice.")
        return self
