"""What stands between the ideal loop and the bench?

In order:

1. ``effect``: the four places where an effect acts. ``encoders``: settings by joint.
   ``compiled_parts``: sensors and drives of kernels. ``sensor_kernels``: those of sensors.
2. On the robot: ``friction``, ``push``, ``mismatch``, ``backlash``.
3. On what is measured: ``sensors``. On what is applied: ``input_effects``. On the clock: ``ticks``.
4. ``chain``: one after the other. ``bound``: all of a scenario, in one run. ``records``: what a run
   keeps of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.core.kinds import any_of, kinds
from ukctrl.simulation.effects.backlash import Backlash, EncoderPlay
from ukctrl.simulation.effects.effect import (
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
from ukctrl.simulation.effects.friction import JointFriction
from ukctrl.simulation.effects.input_effects import DeadZone, InputDelay, RateLimit, Saturation
from ukctrl.simulation.effects.mismatch import Mismatch
from ukctrl.simulation.effects.push import CarriedPayload, Disturbance, Push
from ukctrl.simulation.effects.sensors import (
    Bias,
    Differentiation,
    MeasurementDelay,
    Noise,
    Quantisation,
)
from ukctrl.simulation.effects.ticks import Jitter, MissedTicks

if TYPE_CHECKING:
    AnyEffect = Effect
else:
    AnyEffect = any_of(kinds(__name__, Effect))
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
