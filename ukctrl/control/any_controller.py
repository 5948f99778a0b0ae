"""Any controller of a file: those of the catalogue, and those that entry points bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.control.baselines.joint_space import ComputedTorque, JointPid, PdGravity
from ukctrl.control.baselines.passivity import SlotineLi, SlotineLiAdaptive
from ukctrl.control.baselines.task_space import OperationalSpace, ResolvedAcceleration
from ukctrl.control.baselines.time_delay import TimeDelay
from ukctrl.control.controller import Controller, NoControl
from ukctrl.control.elastic.elastic_row_laws import (
    ElasticCascade,
    ElasticLinearisation,
    ElasticSingularPerturbation,
)
from ukctrl.control.elastic.elastic_tracking import ElasticTracking
from ukctrl.control.feedforward.feedforward_laws import Feedforward, Tvlqr
from ukctrl.control.regulators.pole_placement import PolePlacement
from ukctrl.control.regulators.regulator import Lqi, Lqr
from ukctrl.control.servo import Servo
from ukctrl.core.entry_points import with_entry_points
from ukctrl.core.kind_registry import union_of_kinds

if TYPE_CHECKING:
    AnyController = Controller
else:
    _classes = (
        Servo,
        ComputedTorque,
        PdGravity,
        JointPid,
        OperationalSpace,
        ResolvedAcceleration,
        TimeDelay,
        SlotineLi,
        SlotineLiAdaptive,
        Lqr,
        Lqi,
        PolePlacement,
        Tvlqr,
        Feedforward,
        ElasticTracking,
        ElasticCascade,
        ElasticLinearisation,
        ElasticSingularPerturbation,
        NoControl,
    )
    AnyController = union_of_kinds(
        with_entry_points("controller", Controller, {cls.kind: cls for cls in _classes})
    )
"""Any controller, told apart by its ``kind``."""
