"""What does the controller do: which inputs, given the state of the robot it believes in?

In order: ``task``, ``error_dynamics_spec``, ``error_polynomial``, ``command``, ``state_evaluator``
(what is asked, and answered); ``inverse_actuation``, ``allocation`` (which input); ``feedback``,
``disturbance``, ``learned_correction`` (which acceleration); ``safety`` (which input never);
``anti_windup``, ``controller``, ``function_controller``; ``servo``, ``elastic`` (laws on rows);
``joint_motion``, ``regulators``, ``feedforward``, ``baselines`` (laws on motions worked out before
the run), ``any_controller``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ukctrl.core.lazy_names import lazy_name

if TYPE_CHECKING:
    from ukctrl.control.allocation import AnyAllocation
    from ukctrl.control.allocation.allocation import Allocation, Allocator
    from ukctrl.control.allocation.bounded import Bounded
    from ukctrl.control.allocation.chen import Chen
    from ukctrl.control.allocation.hierarchical import Damped, Prioritized
    from ukctrl.control.allocation.internal_force import InternalForce
    from ukctrl.control.allocation.least_norm import LeastNorm
    from ukctrl.control.allocation.null_space import Damping, Posture, SelfMotion
    from ukctrl.control.any_controller import AnyController
    from ukctrl.control.baselines.joint_space import ComputedTorque, JointPid, PdGravity
    from ukctrl.control.baselines.passivity import SlotineLi, SlotineLiAdaptive
    from ukctrl.control.baselines.task_space import OperationalSpace, ResolvedAcceleration
    from ukctrl.control.baselines.time_delay import TimeDelay
    from ukctrl.control.command import Command
    from ukctrl.control.controller import Controller, Law, NoControl, law_name
    from ukctrl.control.disturbance import AnyDisturbanceObserver
    from ukctrl.control.disturbance.disturbance_observer import BoundObserver, DisturbanceObserver
    from ukctrl.control.disturbance.low_pass_observers import AccelerationObserver, MomentumObserver
    from ukctrl.control.elastic.elastic_row_laws import (
        ElasticCascade,
        ElasticLinearisation,
        ElasticSingularPerturbation,
    )
    from ukctrl.control.elastic.elastic_tracking import ElasticTracking
    from ukctrl.control.feedback import AnyFeedback
    from ukctrl.control.feedback.chen_robust import AdaptiveRobust, ChenRobust
    from ukctrl.control.feedback.feedback import (
        BoundFeedback,
        ErrorBound,
        Feedback,
        FeedbackOutput,
        ModelFeedback,
    )
    from ukctrl.control.feedback.integral_sliding_mode import IntegralSliding
    from ukctrl.control.feedback.linear_feedback import Baumgarte, Exact, FirstOrder, Pid
    from ukctrl.control.feedback.lyapunov import Lyapunov
    from ukctrl.control.feedback.model_mismatch import ModelMismatch, RowMismatch
    from ukctrl.control.feedback.odd_functions import Arctan, OddFunction, Power, Sat, Sinh, Tanh
    from ukctrl.control.feedback.sliding_mode import BoundSliding, Sliding
    from ukctrl.control.feedback.sliding_surface import DecayBound
    from ukctrl.control.feedforward.feedforward_laws import Feedforward, Tvlqr
    from ukctrl.control.feedforward.inversion import AnyInversion
    from ukctrl.control.feedforward.inversion.flat_outputs import Flat
    from ukctrl.control.feedforward.inversion.inversion import Inversion, JointMotion
    from ukctrl.control.feedforward.inversion.recorded_motion import Recorded
    from ukctrl.control.feedforward.inversion.servo_dae import ServoDae
    from ukctrl.control.feedforward.inversion.stable_inversion import StableInversion
    from ukctrl.control.feedforward.nominal_motion import NominalMotion
    from ukctrl.control.learned_correction import LearnedCorrection
    from ukctrl.control.regulators.pole_placement import PolePlacement
    from ukctrl.control.regulators.regulator import Lqi, Lqr, RegulatorLaw
    from ukctrl.control.regulators.riccati import RegulatorGains
    from ukctrl.control.servo import Servo
    from ukctrl.control.task import Signal, Task
    from ukctrl_laws.io_linearisation import IoLinearisation
    from ukctrl_laws.predictive.model_predictive import ModelPredictive
    from ukctrl_laws.swing_up import SwingUp
    from ukctrl_laws.switching import Switching, SwitchingMode
    from ukctrl_laws.thrust_vectoring import ThrustVectoring

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
    "DecayBound",
    "DisturbanceObserver",
    "ElasticCascade",
    "ElasticLinearisation",
    "ElasticSingularPerturbation",
    "ElasticTracking",
    "ErrorBound",
    "Exact",
    "Feedback",
    "FeedbackOutput",
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
    "LearnedCorrection",
    "LeastNorm",
    "Lqi",
    "Lqr",
    "Lyapunov",
    "ModelFeedback",
    "ModelMismatch",
    "ModelPredictive",
    "MomentumObserver",
    "NoControl",
    "NominalMotion",
    "OddFunction",
    "OperationalSpace",
    "PdGravity",
    "Pid",
    "PolePlacement",
    "Posture",
    "Power",
    "Prioritized",
    "Recorded",
    "RegulatorGains",
    "RegulatorLaw",
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
    "SwitchingMode",
    "Tanh",
    "Task",
    "ThrustVectoring",
    "TimeDelay",
    "Tvlqr",
    "law_name",
]


def __getattr__(name: str) -> Any:
    return lazy_name(__name__, name)


def __dir__() -> list[str]:
    return __all__
