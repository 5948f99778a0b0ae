"""What stands between the ideal loop and the bench?

In order:

1. ``effect``: the four places where an effect acts. ``encoder_settings``: settings by joint.
   ``kernel_effects``: sensors and drives of kernels. ``sensor_kernels``: those of sensors.
2. On the robot: ``friction``, ``external_force``, ``mismatch``, ``backlash``.
3. On what is measured: ``sensors``. On what is applied: ``input_effects``. On the clock:
   ``clock_effects``.
4. ``signal_chain``: one after the other. ``attached_effects``: all of a scenario, in one run.
   ``effect_recorder``: what a run keeps of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.core.entry_points import with_entry_points
from ukctrl.core.kind_registry import classes_by_kind, union_of_kinds
from ukctrl.simulation.effects.backlash import Backlash, EncoderPlay
from ukctrl.simulation.effects.clock_effects import Jitter, MissedTicks
from ukctrl.simulation.effects.effect import (
    Bounds,
    ClockEffect,
    Drive,
    Effect,
    InputEffect,
    PlantEffect,
    RunContext,
    Sensor,
    SensorEffect,
)
from ukctrl.simulation.effects.external_force import CarriedPayload, Disturbance, Push
from ukctrl.simulation.effects.friction import JointFriction
from ukctrl.simulation.effects.input_effects import DeadZone, InputDelay, RateLimit, Saturation
from ukctrl.simulation.effects.mismatch import Mismatch
from ukctrl.simulation.effects.sensors import (
    Bias,
    Differentiation,
    MeasurementDelay,
    Noise,
    Quantisation,
)

if TYPE_CHECKING:
    AnyEffect = Effect
else:
    AnyEffect = union_of_kinds(
        with_entry_points("effect", Effect, classes_by_kind(__name__, Effect))
    )
"""Any effect of the catalogue, told apart by its ``kind``."""

__all__ = [
    "AnyEffect",
    "Backlash",
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
    "RunContext",
    "Saturation",
    "Sensor",
    "SensorEffect",
]
