"""How an optimised motion is found, as a file may say it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import Count, Quantity, Seconds, spec

MAX_STEPS, MAX_STAGES, MAX_STARTS = 1000, 9, 100
"""A motion of more steps is a typing error, and more points a step gain nothing."""


@spec
class OptimisationOptions:
    """How an optimised motion is found: what one path says of it holds for all."""

    cost: Literal["effort", "time"] | None = None
    """What is least; absent: the effort."""
    duration: Seconds | None = None
    """How long the motion takes [s]; of least time, about how long, from where the search begins;
    absent then: until the straight way keeps the limits."""
    share: Annotated[float, Quantity("1", minimum=0.0, maximum=1.0, open_minimum=True)] | None = (
        None
    )
    """Part of the limits of motors and speeds that may be used; absent: 1."""
    steps: Count | None = None
    """Polynomials that the motion is made of; absent: 12, and 30 of least time."""
    stages: Count | None = None
    """Points of each at which it obeys the robot's dynamics, 1 to 9; absent: 5, and 2 of least
    time, whose inputs jump."""
    starts: Count | None = None
    """From how many ways is searched, the straight one and some that are bent, which the scenario's
    seed draws; the best motion is taken, at most 100. Absent: from the straight one, and from four
    others where that leads to no motion that keeps everything."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        for name, value, upper in (
            ("steps", self.steps, MAX_STEPS),
            ("stages", self.stages, MAX_STAGES),
            ("starts", self.starts, MAX_STARTS),
        ):
            if value is not None and value > upper:
                raise InputError(f"{name} must be at most {upper}; got {value}.")
        return self
