"""Constraints: what the robot shall or must obey, as rows ``A a = b``.

In order: ``kinematics`` (rows, compiled); ``constraint`` (what a constraint is, a stack of them);
``swarm``, ``frames``, ``joints``, ``loop_closure``, ``ground`` and ``contact``;
``signed_distances``, whose lengths are those of ``geometry`` too; ``energy``; ``capsule_distance``,
``tilt_margin`` and ``manipulability``, which others keep above zero as they do regions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.core.entry_points import with_entry_points
from ukctrl.core.kind_registry import classes_by_kind, union_of_kinds
from ukctrl.mechanics.constraints.constraint import (
    BoundConstraint,
    Constraint,
    FrameTrace,
    Rows,
    SlidingVelocity,
    Stack,
)
from ukctrl.mechanics.constraints.contact import Contact
from ukctrl.mechanics.constraints.energy import EnergyFollows
from ukctrl.mechanics.constraints.frames import (
    OrientationFollows,
    PointFollows,
    PoseFollows,
    RelativePoseFollows,
)
from ukctrl.mechanics.constraints.geometry import ComFollows, Distance, OnSurface
from ukctrl.mechanics.constraints.ground import Ground, Rolling
from ukctrl.mechanics.constraints.joints import Expression, Gear, JointFollows, LinearVelocity
from ukctrl.mechanics.constraints.loop_closure import Closure
from ukctrl.mechanics.constraints.swarm import Aggregation

if TYPE_CHECKING:
    AnyConstraint = Constraint
else:
    AnyConstraint = union_of_kinds(
        with_entry_points("constraint", Constraint, classes_by_kind(__name__, Constraint))
    )
"""Any constraint of the catalogue, told apart by its ``kind``."""

__all__ = [
    "Aggregation",
    "AnyConstraint",
    "BoundConstraint",
    "Closure",
    "ComFollows",
    "Constraint",
    "Contact",
    "Distance",
    "EnergyFollows",
    "Expression",
    "FrameTrace",
    "Gear",
    "Ground",
    "JointFollows",
    "LinearVelocity",
    "OnSurface",
    "OrientationFollows",
    "PointFollows",
    "PoseFollows",
    "RelativePoseFollows",
    "Rolling",
    "Rows",
    "SlidingVelocity",
    "Stack",
]
