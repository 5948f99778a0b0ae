"""Constraints: what the robot shall or must obey, as rows ``A a = b``.

In order: ``kinematics`` (rows, compiled); ``constraint`` (what a constraint is, a stack of them);
``swarm``, ``frames``, ``joints``, ``closures``, ``ground`` and ``contact``; ``regions``, whose
lengths are those of ``geometry`` too; ``energy``; ``capsules``, ``tilt`` and ``manipulability``,
which others keep above zero as they do regions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ukctrl.core.kinds import any_of, kinds
from ukctrl.mechanics.constraints.closures import Closure
from ukctrl.mechanics.constraints.constraint import (
    Attached,
    Constraint,
    Rows,
    Slip,
    Stack,
    Trace,
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
from ukctrl.mechanics.constraints.swarm import Aggregation

if TYPE_CHECKING:
    AnyConstraint = Constraint
else:
    AnyConstraint = any_of(kinds(__name__, Constraint))
"""Any constraint of the catalogue, told apart by its ``kind``."""

__all__ = [
    "Aggregation",
    "AnyConstraint",
    "Attached",
    "Closure",
    "ComFollows",
    "Constraint",
    "Contact",
    "Distance",
    "EnergyFollows",
    "Expression",
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
    "Slip",
    "Stack",
    "Trace",
]
