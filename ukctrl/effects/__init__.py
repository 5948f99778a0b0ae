"""Effects: what stands between the ideal loop and the bench."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ukctrl.effects.backlash import Backlash, EncoderPlay
from ukctrl.effects.base import (
    Bench,
    Bounds,
    ClockEffect,
    Drive,
    Effect,
    InputEffect,
    PlantEffect,
    Sensor,
    SensorEffect,
)
from ukctrl.effects.clock import Jitter, MissedTicks
from ukctrl.effects.drives import DeadZone, InputDelay, RateLimit, Saturation
from ukctrl.effects.friction import JointFriction
from ukctrl.effects.mismatch import Mismatch
from ukctrl.effects.payload import CarriedPayload
from ukctrl.effects.push import Disturbance, Push
from ukctrl.effects.sensors import (
    Bias,
    Differentiation,
    MeasurementDelay,
    Noise,
    Quantisation,
)

AnyEffect = Annotated[
    CarriedPayload
    | JointFriction
    | Mismatch
    | Push
    | Disturbance
    | Backlash
    | Noise
    | Bias
    | Quantisation
    | EncoderPlay
    | Differentiation
    | MeasurementDelay
    | Saturation
    | DeadZone
    | RateLimit
    | InputDelay
    | Jitter
    | MissedTicks,
    Field(discriminator="kind"),
]
"""Any effect of the catalogue, told apart by its ``kind``."""

__all__ = [
    "AnyEffect",
    "Backlash",
    "Bench",
    "Bias",
    "Bounds",
    "CarriedPayload",
    "ClockEffect",
    "DeadZone",
    "Differentiation",
    "Disturbance",
    "Drive",
    "Effect",
    "EncoderPlay",
    "InputDelay",
    "InputEffect",
    "Jitter",
    "JointFriction",
    "MeasurementDelay",
    "Mismatch",
    "MissedTicks",
    "Noise",
    "PlantEffect",
    "Push",
    "Quantisation",
    "RateLimit",
    "Saturation",
    "Sensor",
    "SensorEffect",
]
