"""A frame that stays away from where it cannot be moved any more."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import model_validator

from ukctrl.control.safety.inequality import BoundInequality, Inequality, single_row
from ukctrl.control.task import Task
from ukctrl.core.errors import InputError
from ukctrl.core.fields import Positive, spec
from ukctrl.mechanics.constraints.manipulability import Manipulability

AXIS_INDEX = {"x": 0, "y": 1, "z": 2, "rx": 3, "ry": 4, "rz": 5}


@spec
class ManipulabilityLimit(Inequality):
    r"""The manipulability of a frame stays above a bound: $h = \sqrt{\det X X^\top} - w$, with the
    rows $X$ of its Jacobian in world axes.

    It is the product of the singular values of $X$, and zero where the frame loses a direction. Or
    the smallest of them stays there: $h = (\operatorname{tr} (X X^\top)^{-1})^{-1/2} - w$, never
    more than what is left of it. Derivatives are exact. Closures are not counted.
    """

    kind: Literal["manipulability"] = "manipulability"
    frame: str
    """Frame that is moved."""
    axes: tuple[Literal["x", "y", "z", "rx", "ry", "rz"], ...] = ("x", "y", "z")
    """Directions of the world in which it must be able to move, and about which to turn."""
    at_least: Positive
    """Bound $w$; its unit is m for every axis along which the frame moves; m or 1 of the smallest
    singular value."""
    measure: Literal["product", "smallest"] = "product"
    """Of the singular values, their product or the smallest one; that of axes along which it moves,
    or of axes about which it turns, for both have no common unit."""

    @model_validator(mode="after")
    def _check_axes(self) -> Self:
        if not self.axes or len(set(self.axes)) < len(self.axes):
            raise InputError(f"axes must be different ones, at least one; got {list(self.axes)}.")
        if self.measure == "smallest" and 0 < sum(AXIS_INDEX[axis] < 3 for axis in self.axes) < len(
            self.axes
        ):
            raise InputError(
                "axes of the smallest singular value must all move the frame (x, y, z) or all turn "
                f"it (rx, ry, rz), for metres and radians have no smaller one; got "
                f"{list(self.axes)}. Keep two blocks."
            )
        return self

    def keeps(self, task: Task) -> BoundInequality:
        is_smallest, power = (
            self.measure == "smallest",
            sum(AXIS_INDEX[axis] < 3 for axis in self.axes),
        )
        power = min(power, 1) if is_smallest else power
        unit = {0: "", 1: "m"}.get(power, f"m^{power}")
        numbers = tuple(sorted(AXIS_INDEX[axis] for axis in self.axes))
        row = Manipulability(
            frame=self.frame, axes=numbers, bound=self.at_least, smallest_singular_value=is_smallest
        )
        return single_row(self.name or self.frame, row, self.margin, unit=unit)
