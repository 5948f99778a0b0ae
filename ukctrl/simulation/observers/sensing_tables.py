"""Measured quantities: of joints, and of frames by cameras and inertial sensors."""

from __future__ import annotations

from typing import Annotated, final

from pydantic import model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Fraction, Quantity, Seconds, Text, Time, spec

Deviation = Annotated[float, Quantity("m", minimum=0.0, open_minimum=True)]
_READING, _NOISE = "m/s^2 or rad/s", "m/s^2/sqrt(Hz) or rad/s/sqrt(Hz)"
Density = Annotated[float, Quantity(_NOISE, minimum=0.0, open_minimum=True)]
Spread = Annotated[float, Quantity(_READING, minimum=0.0)]
Walk = Annotated[float, Quantity("m/s^3/sqrt(Hz) or rad/s^2/sqrt(Hz)", minimum=0.0)]
Size = Annotated[float, Quantity(_READING, minimum=0.0, open_minimum=True)]


@spec
class FrameSensor:
    """Sensor at a frame: when it reads, and when that arrives."""

    frame: Text
    """The frame."""
    period: Seconds | None = None
    """Between readings, a whole number of control periods [s]; absent: one a tick."""
    delay: Time = 0.0
    """From a reading until the observer has it, a whole number of control periods [s]."""
    dropped: Fraction = 0.0
    """Share of the readings that never arrive."""

    @model_validator(mode="after")
    def _no_future(self) -> FrameSensor:
        if self.delay < 0.0:
            raise InputError(f"delay must be zero or positive; got {self.delay:g} s.")
        return self


@final
@spec
class CameraSensor(FrameSensor):
    r"""A camera that measures where a frame is: $y = p(q) + n$, in world axes."""

    std: Deviation
    """Standard deviation along each axis, white and normal [m]."""


@final
@spec
class TriaxialSensor:
    r"""The errors of three gyroscopes or accelerometers at right angles to each other.

    $y = x + b + n$, $\dot b = w$, with white $n$ and $w$; then steps and range.
    """

    density: Density
    """Of the noise, which has this over the root of the period as standard deviation
    [m/s^2/sqrt(Hz) or rad/s/sqrt(Hz)]."""
    bias: Spread = 0.0
    """Standard deviation of the bias at the start, drawn with the scenario's seed [m/s^2 or
    rad/s]."""
    walk: Walk = 0.0
    """Density of the random walk of the bias [m/s^3/sqrt(Hz) or rad/s^2/sqrt(Hz)]."""
    range: Size | None = None
    """Largest reading along an axis, either way [m/s^2 or rad/s]; absent: no end."""
    step: Size | None = None
    """Resolution [m/s^2 or rad/s]; absent: none."""


@final
@spec
class ImuSensor(FrameSensor):
    r"""An inertial sensor at a frame, along its axes: specific force and rate of turn.

    $y_a = R^\top (a_p - g) + b_a + n_a$ and $y_\omega = R^\top \omega + b_\omega + n_\omega$.
    """

    accelerometer: TriaxialSensor | None = None
    """Its accelerometers; absent: none."""
    gyroscope: TriaxialSensor | None = None
    """Its gyroscopes; absent: none."""

    @model_validator(mode="after")
    def _some_part(self) -> ImuSensor:
        if self.accelerometer is None and self.gyroscope is None:
            raise InputError("must have an accelerometer or a gyroscope; got neither.")
        return self

    def parts(self) -> dict[str, TriaxialSensor]:
        """Return what it has, by a short name: ``a``, ``w``."""
        both = {"a": self.accelerometer, "w": self.gyroscope}
        return {name: triad for name, triad in both.items() if triad is not None}


@final
@spec
class Sensing:
    """Measured quantities. Effects such as noise act on joints; sensors at frames say theirs."""

    joints: tuple[Text, ...] | None = None
    """Joints, or single freedoms of them, whose position is measured; absent: all."""
    speeds: bool | tuple[Text, ...] = False
    """Those whose speed is measured too, by sensors of their own; or of all."""
    camera: tuple[CameraSensor, ...] = ()
    """Cameras."""
    imu: tuple[ImuSensor, ...] = ()
    """Inertial sensors."""

    @model_validator(mode="after")
    def _something(self) -> Sensing:
        if self.joints == () and not (self.speeds or self.camera or self.imu):
            raise InputError(
                "must measure something; got no joints, no speeds, no camera and no imu. Leave "
                "out joints to measure all positions."
            )
        for name in ("camera", "imu"):
            frames = [sensor.frame for sensor in getattr(self, name)]
            if len(set(frames)) < len(frames):
                raise InputError(f"{name}: must have one entry for each frame; one comes twice.")
        return self
