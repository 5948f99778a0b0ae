"""How an exciting motion is found, as a file may say it."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import ByName, Count, Index, NumberByName, Quantity, Seconds, spec

MIN_HARMONICS, MAX_HARMONICS, MAX_STARTS = 2, 50, 100
"""One harmonic cannot begin at rest; more than these are a typing error."""
Ranges = Annotated[NumberByName, ByName(Quantity("rad or m", minimum=0.0, open_minimum=True).read)]
Efforts = Annotated[NumberByName, ByName(Quantity("N m or N", minimum=0.0, open_minimum=True).read)]


@spec
class ExcitingOptions:
    """How an exciting motion is found: what one path says of it holds for all."""

    duration: Seconds | None = None
    """Period, after which the motion begins again [s]."""
    harmonics: Count | None = None
    """How many frequencies it has, 2 to 50; absent: 5."""
    criterion: Literal["D", "A"] | None = None
    """What is least: ``D``, the volume of the ellipsoid of errors, as without it; or ``A``, the sum
    of their variances beside the model's values."""
    margin: Annotated[float, Quantity("1", minimum=0.0, maximum=0.9)] | None = None
    """Part of each limit of joints, speeds and motors that stays unused; absent: 0.1."""
    range: Ranges | None = None
    """How far joints may go from the start, for all or by joint [rad or m]; absent: as far as their
    limits let them."""
    noise: Efforts | None = None
    """Standard deviation of the measured efforts at a sample, for all or by joint [N m or N];
    absent: a hundredth of what the joint's motors can give."""
    starts: Count | None = None
    """From how many motions is searched, a sine on each joint and random ones, at most 100; absent:
    4, and 2 of closed chains."""
    seed: Index | None = None
    """Seed of the random ones; absent: the scenario's."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.harmonics is not None and not MIN_HARMONICS <= self.harmonics <= MAX_HARMONICS:
            raise InputError(
                f"harmonics must be {MIN_HARMONICS} to {MAX_HARMONICS}, since one alone cannot "
                f"begin at rest; got {self.harmonics}."
            )
        if self.starts is not None and self.starts > MAX_STARTS:
            raise InputError(f"starts must be at most {MAX_STARTS}; got {self.starts}.")
        return self
