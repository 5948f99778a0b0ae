"""Schema of ``robots/<name>/robot.toml``: the model, its actuators and its applied forces."""

from __future__ import annotations

from ukctrl.robot.schema.actuator_tables import (
    AnyActuator,
    FormulaInput,
    JointMotor,
    TorqueBetween,
    Transmission,
    Wrench,
)
from ukctrl.robot.schema.elastic_table import Elastic
from ukctrl.robot.schema.force_tables import (
    AnyForce,
    DryFriction,
    GivenForce,
    JointDamper,
    JointSpring,
    Spring,
)
from ukctrl.robot.schema.limit_tables import JointLimit
from ukctrl.robot.schema.robot_file import ExtraFrame, Extras, Options, RobotFile

__all__ = [
    "AnyActuator",
    "AnyForce",
    "DryFriction",
    "Elastic",
    "ExtraFrame",
    "Extras",
    "FormulaInput",
    "GivenForce",
    "JointDamper",
    "JointLimit",
    "JointMotor",
    "JointSpring",
    "Options",
    "RobotFile",
    "Spring",
    "TorqueBetween",
    "Transmission",
    "Wrench",
]
