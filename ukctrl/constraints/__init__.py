"""Constraints: what the robot shall or must obey, as rows ``A a = b``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ukctrl.constraints.base import Attached, Constraint, Rows, Stack, Trace
from ukctrl.constraints.closures import Closure
from ukctrl.constraints.energy import EnergyFollows
from ukctrl.constraints.frames import (
    OrientationFollows,
    PointFollows,
    PoseFollows,
    RelativePoseFollows,
)
from ukctrl.constraints.geometry import ComFollows, Distance, OnSurface
from ukctrl.constraints.ground import Contact, Ground, Rolling
from ukctrl.constraints.integrability import (
    Integrability,
    RowIntegrability,
    classify,
    classify_parts,
)
from ukctrl.constraints.joints import Expression, Gear, JointFollows, LinearVelocity
from ukctrl.constraints.swarm import Aggregation

AnyConstraint = Annotated[
    PointFollows
    | OrientationFollows
    | PoseFollows
    | RelativePoseFollows
    | ComFollows
    | Closure
    | Distance
    | OnSurface
    | Contact
    | Rolling
    | Gear
    | JointFollows
    | LinearVelocity
    | EnergyFollows
    | Aggregation
    | Expression,
    Field(discriminator="kind"),
]
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
    "Integrability",
    "JointFollows",
    "LinearVelocity",
    "OnSurface",
    "OrientationFollows",
    "PointFollows",
    "PoseFollows",
    "RelativePoseFollows",
    "Rolling",
    "RowIntegrability",
    "Rows",
    "Stack",
    "Trace",
    "classify",
    "classify_parts",
]
