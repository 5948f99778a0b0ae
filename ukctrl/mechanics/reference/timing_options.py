"""What retimed paths and orientations say of their common timing."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import model_validator

from ukctrl.core.errors import InputError
from ukctrl.core.fields import ByName, Count, ListSize, NumberByName, Quantity, Time, spec

RETIMED_PLACE_ERROR = (
    'kind = "retimed" must stand in a servo row: as its path or orientation, as the angle of one, '
    "or as a part of a stacked path. Its timing is that of the scenario's rows together."
)
"""Why a retimed path has no value of its own."""
Accelerations = Annotated[
    NumberByName, ByName(Quantity("rad/s^2 or m/s^2", minimum=0.0, open_minimum=True).read)
]
"""Largest acceleration of every joint, or of some by name."""

Reactions = Annotated[
    NumberByName, ByName(Quantity("N or N m", minimum=0.0, open_minimum=True).read)
]
"""Largest reaction of every passive row, or of some by name."""


Options = TypeVar("Options")


def merge_options(wishes: Sequence[Options], kind: type[Options], label: str) -> Options:
    """Return what several say together, each field by some of them.

    Args:
        wishes: The wishes.
        kind: Their class, whose fields may all be None.
        label: What messages call them.

    Raises:
        InputError: They contradict each other.
    """
    options: dict[str, Any] = {}
    table: Any = kind
    for field in dc.fields(table):
        values = [value for wish in wishes if (value := getattr(wish, field.name)) is not None]
        if any(value != values[0] for value in values):
            shown = " and ".join(str(value) for value in values[:2])
            raise InputError(
                f"{label} paths are worked out together and must agree on {field.name}; got "
                f"{shown}. Give it in one of them."
            )
        if values:
            options[field.name] = values[0]
    return kind(**options)


@spec
class TimingOptions:
    """How the common clock of retimed paths is made: what one of them says holds for all."""

    limits: Literal["robot", "speed"] | None = None
    """``robot``, as without it: joint speeds and what the motors can give; ``speed``: without the
    motors."""
    span: Annotated[tuple[Time, Time], ListSize(2, 2)] | None = None
    """From where to where of s [s]; absent: from end to end of the paths."""
    share: Annotated[float, Quantity("1", minimum=0.0, maximum=1.0, open_minimum=True)] | None = (
        None
    )
    """Part of every limit that may be used; absent: 1."""
    acceleration: Accelerations | None = None
    """Largest acceleration of every joint, or of some by name; absent: any [rad/s^2 or m/s^2]."""
    reaction: Reactions | None = None
    """Largest reaction of every passive row, or of some by name, where the motion determines it;
    absent: any [N or N m]."""
    smoothing: Annotated[float, Quantity("s", minimum=0.0)] | None = None
    """Time over which a change of acceleration is spread; absent: 0.02; 0 lets it jump [s]."""
    points: Count | None = None
    """Intervals at whose ends the limits are kept; absent: 200."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.span is not None and not self.span[1] > self.span[0]:
            raise InputError(f"span must go forward; got {list(self.span)}.")
        if self.points is not None and not 10 <= self.points <= 10_000:
            raise InputError(f"points must be 10 to 10000 intervals; got {self.points}.")
        return self
