"""Two bodies that do not touch."""

from __future__ import annotations

from typing import Literal

from ukctrl.control.safety.inequality import (
    BoundInequality,
    InequalityRow,
    LengthInequality,
)
from ukctrl.control.task import Task
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Distance, spec
from ukctrl.mechanics.constraints.capsule_distance import Capsule, CapsuleDistance


@spec
class CollisionLimit(LengthInequality):
    r"""Two capsules stay apart: $h = \min |p_b - p_a| - r_a - r_b - d$ [m] over their axes.

    Where both have a length, the distances of the ends are kept too, between which the nearest
    points may jump. A capsule without a radius is the smallest around what the model file shows of
    the link, and a hundredth more, for round shapes are drawn with corners.
    """

    kind: Literal["clearance"] = "clearance"
    capsules: tuple[Capsule, Capsule]
    """The two, on different bodies; either may be fixed in the world."""
    at_least: Distance = 0.0
    """Shortest distance of their surfaces [m]."""

    def keeps(self, task: Task) -> BoundInequality:
        first, second = (capsule.fit(task.robot) for capsule in self.capsules)
        block = self.name or f"{first.frame}_to_{second.frame}"
        radius = (first.radius or 0.0) + (second.radius or 0.0) + self.at_least
        if radius == 0.0:
            raise InputError("a radius or at_least must be above zero; got none.")
        row = CapsuleDistance(first=first, second=second, radius=radius)
        sides = (
            InequalityRow(name, "m", k, 1.0, 0.0, margin=self.margin)
            for k, name in enumerate(row.row_names)
        )
        return BoundInequality(block, row, tuple(sides))
