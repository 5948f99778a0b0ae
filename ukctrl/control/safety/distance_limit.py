"""Two frames that stay apart, or together."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from ukctrl.control.safety.inequality import (
    BoundInequality,
    LengthInequality,
    single_row,
)
from ukctrl.control.task import Task
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Length, spec
from ukctrl.mechanics.constraints.signed_distances import PointDistance


@spec
class DistanceLimit(LengthInequality):
    r"""Two frames stay at least, or at most, so far apart: $h = |p_b - p_a| - d$ [m], or below it.

    At most $d$ is $h = (d^2 - |p_b - p_a|^2) / (2 d)$, which is smooth where the frames meet and
    never more than what is left of the distance.
    """

    kind: Literal["distance"] = "distance"
    frames: tuple[str, str]
    """The two frames; either may be fixed in the world."""
    at_least: Length | None = None
    """Shortest distance [m]; this or ``at_most``."""
    at_most: Length | None = None
    """Longest distance [m]."""

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        if (self.at_least is None) == (self.at_most is None):
            came = "none" if self.at_least is None else "both"
            raise InputError(f"give either at_least or at_most; got {came}. Write two for both.")
        return self

    def keeps(self, task: Task) -> BoundInequality:
        first, second = self.frames
        block, radius = self.name or f"{first}_to_{second}", self.at_least or self.at_most or 1.0
        near = self.at_least is None
        row = PointDistance(frame=second, other=first, radius=radius, inside=near)
        return single_row(block, row, self.margin, -1.0 if near else 1.0)
