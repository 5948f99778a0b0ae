"""Schema of ``robots/<name>/robot.toml``: the model, its actuators and its applied forces."""

from __future__ import annotations

from ukctrl.robot.spec.actuators import (
    AnyActuator,
    FormulaInput,
    JointMotor,
    TorqueBetween,
    Transmission,
    Wrench,
)
from ukctrl.robot.spec.elastic import Elastic
from ukctrl.robot.spec.file import ExtraFrame, Extras, Options, RobotFile
from ukctrl.robot.spec.forces import (
    AnyForce,
    DryFriction,
    GivenForce,
    JointDamper,
    JointSpring,
    Spring,
)
from ukctrl.robot.spec.limits import JointLimit

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
