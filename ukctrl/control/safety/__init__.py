r"""What shall never happen, whatever the task: inequalities $h(q, v, t) \ge 0$ beside servo rows.

In order: ``inequality``, what such a thing is; ``braking``, what joints can brake with;
``joint_limits``, ``formula_limit``, ``region_limits``, ``distance_limit``, ``collision_limit``,
``balance_limits``, ``manipulability_limit`` and ``contact_forces``, the kinds; ``barriers``, what
each asks of the acceleration, compiled; ``relaxation``, which of it gives way; ``tick_prediction``,
what is lost of it until the end of a tick; ``filtered_input``, the input that gives it and is
otherwise as near to the law's as can be; ``safety_filter``, which looks at every tick whether that
is needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.control.safety.balance_limits import SupportPolygonLimit, TiltLimit
from ukctrl.control.safety.collision_limit import CollisionLimit
from ukctrl.control.safety.contact_forces import ContactForceLimit
from ukctrl.control.safety.distance_limit import DistanceLimit
from ukctrl.control.safety.formula_limit import FormulaLimit
from ukctrl.control.safety.inequality import (
    BoundInequality,
    Inequality,
    InequalityRow,
)
from ukctrl.control.safety.joint_limits import JointLimits
from ukctrl.control.safety.manipulability_limit import ManipulabilityLimit
from ukctrl.control.safety.region_limits import BoxLimit, CylinderLimit, HalfSpaceLimit, SphereLimit
from ukctrl.core.entry_points import with_entry_points
from ukctrl.core.kind_registry import classes_by_kind, union_of_kinds

if TYPE_CHECKING:
    AnyKeep = Inequality
else:
    AnyKeep = union_of_kinds(
        with_entry_points("keep", Inequality, classes_by_kind(__name__, Inequality))
    )
"""Anything that can be kept, told apart by its ``kind``."""

__all__ = [
    "AnyKeep",
    "BoundInequality",
    "BoxLimit",
    "CollisionLimit",
    "ContactForceLimit",
    "CylinderLimit",
    "DistanceLimit",
    "FormulaLimit",
    "HalfSpaceLimit",
    "Inequality",
    "InequalityRow",
    "JointLimits",
    "ManipulabilityLimit",
    "SphereLimit",
    "SupportPolygonLimit",
    "TiltLimit",
]
