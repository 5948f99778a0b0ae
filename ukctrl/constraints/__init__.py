"""Constraints: what the robot shall or must obey, as rows ``A a = b``."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ukctrl.constraints.base import Attached, Constraint, Rows, Stack, Trace
from ukctrl.constraints.closures import Closure
from ukctrl.constraints.frames import (
    OrientationFollows,
    PointFollows,
    PoseFollows,
    RelativePoseFollows,
)
from ukctrl.constraints.geometry import ComFollows, Distance, OnSurface
from ukctrl.constraints.integrability import (
    Integrability,
    RowIntegrability,
    classify,
    classify_parts,
)
from ukctrl.constraints.joints import Expression, JointFollows, LinearVelocity
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
    | JointFollows
    | LinearVelocity
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
    "Distance",
    "Expression",
    "Integrability",
    "JointFollows",
    "LinearVelocity",
    "OnSurface",
    "OrientationFollows",
    "PointFollows",
    "PoseFollows",
    "RelativePoseFollows",
    "RowIntegrability",
    "Rows",
    "Stack",
    "Trace",
    "classify",
    "classify_parts",
]
