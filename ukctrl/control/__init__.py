"""What does the controller do: which inputs, given the state of the robot it believes in?

In order:

1. ``task``: what a law is started on. ``terms``: what is asked of an error. ``actuation``: from a
   force to the inputs that give it.
2. ``error_dynamics``: linear errors. ``allocation``: which input. ``feedback``: what to ask for.
   ``disturbance``: what the model does not explain. ``learned``: what trials have taught.
3. ``tick``: what a law answers. ``keep``: what shall never happen, whatever it answers.
   ``measured_tick``: the same at the states of one's own loop.
   ``controller``: what a controller and its started law are. ``servo``: a feedback and an
   allocation.
4. ``fuzzy_gain``: the gain of a robust law. ``elastic``: links that springs drive.

The parts on these, whose files use each other's:

- ``planned``: motions worked out before the run, and what holds to them.
- ``baselines``, ``regulators``: the classical laws. ``predictive``: those of them with limits.
  ``special``: for one kind of robot or task.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ukctrl.control.allocation import AnyAllocation
from ukctrl.control.allocation.allocation import Allocation, Allocator
from ukctrl.control.allocation.bounded import Bounded
from ukctrl.control.allocation.chen import Chen
from ukctrl.control.allocation.internal_force import InternalForce
from ukctrl.control.allocation.least_norm import LeastNorm
from ukctrl.control.allocation.levels import Damped, Prioritized
from ukctrl.control.allocation.null_space import Damping, Posture, SelfMotion
from ukctrl.control.baselines.joint_space import ComputedTorque, JointPid, PdGravity
from ukctrl.control.baselines.passivity import SlotineLi, SlotineLiAdaptive
from ukctrl.control.baselines.task_space import OperationalSpace, ResolvedAcceleration
from ukctrl.control.baselines.time_delay import TimeDelay
from ukctrl.control.controller import Controller, Law, NoControl, law_name
from ukctrl.control.disturbance import AnyDisturbanceObserver
from ukctrl.control.disturbance.low_pass import AccelerationObserver, MomentumObserver
from ukctrl.control.disturbance.observer import BoundObserver, DisturbanceObserver
from ukctrl.control.elastic.laws import (
    ElasticCascade,
    ElasticLinearisation,
    ElasticSingularPerturbation,
)
from ukctrl.control.elastic.tracking import ElasticTracking
from ukctrl.control.feedback import AnyFeedback
from ukctrl.control.feedback.chen_robust import AdaptiveRobust, ChenRobust
from ukctrl.control.feedback.feedback import Ask, BoundFeedback, Feedback, ModelFeedback, Promise
from ukctrl.control.feedback.integral_sliding import IntegralSliding
from ukctrl.control.feedback.linear import Baumgarte, Exact, FirstOrder, Pid
from ukctrl.control.feedback.lyapunov import Lyapunov
from ukctrl.control.feedback.model_error import ModelError, RowMismatch
from ukctrl.control.feedback.odd_functions import Arctan, OddFunction, Power, Sat, Sinh, Tanh
from ukctrl.control.feedback.sliding import BoundSliding, Sliding
from ukctrl.control.feedback.surface import Decay
from ukctrl.control.learned import Learned
from ukctrl.control.planned.inversion import AnyInversion
from ukctrl.control.planned.inversion.flat import Flat
from ukctrl.control.planned.inversion.inversion import Inversion, JointMotion
from ukctrl.control.planned.inversion.servo_dae import ServoDae
from ukctrl.control.planned.inversion.stable import StableInversion
from ukctrl.control.planned.nominal_motion import Nominal
from ukctrl.control.planned.planned_laws import Feedforward, Tvlqr
from ukctrl.control.predictive.model_predictive import ModelPredictive
from ukctrl.control.regulators.pole_placement import PolePlacement
from ukctrl.control.regulators.regulator import Lqi, Lqr, Regulation
from ukctrl.control.regulators.riccati import Regulator
from ukctrl.control.servo import Servo
from ukctrl.control.special.io_linearisation import IoLinearisation
from ukctrl.control.special.swing_up import SwingUp
from ukctrl.control.special.switching import Mode, Switching
from ukctrl.control.special.thrust_vectoring import ThrustVectoring
from ukctrl.control.task import Signal, Task
from ukctrl.control.tick import Command

AnyController = Annotated[
    Servo
    | ComputedTorque
    | PdGravity
    | JointPid
    | OperationalSpace
    | ResolvedAcceleration
    | TimeDelay
    | SlotineLi
    | SlotineLiAdaptive
    | Lqr
    | Lqi
    | PolePlacement
    | Tvlqr
    | ModelPredictive
    | Feedforward
    | ElasticTracking
    | ElasticCascade
    | ElasticLinearisation
    | ElasticSingularPerturbation
    | IoLinearisation
    | SwingUp
    | Switching
    | ThrustVectoring
    | NoControl,
    Field(discriminator="kind"),
]
"""Any controller of the catalogue, told apart by its ``kind``."""

__all__ = [
    "AccelerationObserver",
    "AdaptiveRobust",
    "Allocation",
    "Allocator",
    "AnyAllocation",
    "AnyController",
    "AnyDisturbanceObserver",
    "AnyFeedback",
    "AnyInversion",
    "Arctan",
    "Ask",
    "Baumgarte",
    "BoundFeedback",
    "BoundObserver",
    "BoundSliding",
    "Bounded",
    "Chen",
    "ChenRobust",
    "Command",
    "ComputedTorque",
    "Controller",
    "Damped",
    "Damping",
    "Decay",
    "DisturbanceObserver",
    "ElasticCascade",
    "ElasticLinearisation",
    "ElasticSingularPerturbation",
    "ElasticTracking",
    "Exact",
    "Feedback",
    "Feedforward",
    "FirstOrder",
    "Flat",
    "IntegralSliding",
    "InternalForce",
    "Inversion",
    "IoLinearisation",
    "JointMotion",
    "JointPid",
    "Law",
    "Learned",
    "LeastNorm",
    "Lqi",
    "Lqr",
    "Lyapunov",
    "Mode",
    "ModelError",
    "ModelFeedback",
    "ModelPredictive",
    "MomentumObserver",
    "NoControl",
    "Nominal",
    "OddFunction",
    "OperationalSpace",
    "PdGravity",
    "Pid",
    "PolePlacement",
    "Posture",
    "Power",
    "Prioritized",
    "Promise",
    "Regulation",
    "Regulator",
    "ResolvedAcceleration",
    "RowMismatch",
    "Sat",
    "SelfMotion",
    "Servo",
    "ServoDae",
    "Signal",
    "Sinh",
    "Sliding",
    "SlotineLi",
    "SlotineLiAdaptive",
    "StableInversion",
    "SwingUp",
    "Switching",
    "Tanh",
    "Task",
    "ThrustVectoring",
    "TimeDelay",
    "Tvlqr",
    "law_name",
]
