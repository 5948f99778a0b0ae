"""Two bodies that do not touch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from ukctrl.control.keep.keep import WORLD, KeepLength, Kept, Side, Sight, Solid
from ukctrl.control.keep.regions import THIN
from ukctrl.control.task import Task
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Distance, spec
from ukctrl.mechanics.constraints.capsules import BetweenCapsules, Capsule
from ukctrl.robot.look import meshes


@spec
class KeepClearance(KeepLength):
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

    def keeps(self, task: Task) -> Kept:
        first, second = (capsule.on(task.robot) for capsule in self.capsules)
        block = self.name or f"{first.frame}_to_{second.frame}"
        radius = (first.radius or 0.0) + (second.radius or 0.0) + self.at_least
        if radius == 0.0:
            raise InputError("a radius or at_least must be above zero; got none.")
        row = BetweenCapsules(first=first, second=second, radius=radius)
        sides = (
            Side(name, "m", k, 1.0, 0.0, margin=self.margin) for k, name in enumerate(row.parts)
        )
        return Kept(block, row, tuple(sides))

    def solids(self, sight: Sight) -> Iterable[Solid]:
        for given in self.capsules:
            capsule = given.on(sight.task.robot)
            begin, end = np.array(capsule.start), np.array(capsule.end or capsule.start)
            radius = max(capsule.radius or 0.0, THIN * sight.size)
            long = meshes.rod(begin, end, radius) if capsule.long else None
            body = long or meshes.sphere(radius).moved(np.eye(3), begin)
            yield Solid(capsule.frame, body, "barred" if capsule.frame == WORLD else "mark")
