"""What ``[[picture]]`` is written with: colours, lengths, points, and where lines end."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Discriminator, Tag, WithJsonSchema

from ukctrl.core.errors import InputError, did_you_mean
from ukctrl.core.fields import Formula, ListSize, Quantity, Text, Whole
from ukctrl.core.message_text import literal_text

COLORS = {
    "light": "#d3dae2", "gray": "#8e99a6", "dark": "#3c4654", "black": "#15191e",
    "white": "#f7f8fa", "red": "#d1495b", "orange": "#e8833a", "yellow": "#f2c14e",
    "green": "#4f9d69", "teal": "#2a9d8f", "blue": "#3d7ebf", "purple": "#7d5ba6",
    "brown": "#8a6246",
}  # fmt: skip
"""Names that a picture may give a colour."""
MAX_TURNS = 100
"""Most turns of a spring."""


def _color(value: str) -> str:
    if value in COLORS:
        return COLORS[value]
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", value, re.ASCII):
        close = did_you_mean(value, COLORS)
        raise InputError(
            f"must be such as '#3d7ebf', or a name; got {literal_text(value)}{close} "
            f"Known: {', '.join(COLORS)}."
        )
    return value.lower()


def _point(value: object) -> object:
    """Read a point of two formulas as one of the upright plane."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return (value[0], 0.0, value[1])
    return value


def _is_frame(value: object) -> str:
    return "frame" if isinstance(value, str) else "point"


def _few(value: int) -> int:
    if not 1 <= value <= MAX_TURNS:
        raise InputError(f"must be between 1 and {MAX_TURNS}; got {value}.")
    return value


_FORMULAS = {"type": "array", "items": {"type": ["string", "number"]}, "minItems": 2, "maxItems": 3}
Color = Annotated[Text, AfterValidator(_color)]
"""``"#rrggbb"``, or one of a few names."""
Extent = Annotated[float, Quantity("m", minimum=0.0, maximum=1e4, open_minimum=True)]
"""Length of a picture [m]."""
Point = Annotated[
    tuple[Formula, Formula, Formula],
    ListSize(3, 3),
    BeforeValidator(_point),
    WithJsonSchema(_FORMULAS),
]
"""Formulas of x, y and z [m]; two are x and z, in the upright plane."""
Angles = Annotated[tuple[Formula, Formula, Formula], ListSize(3, 3)]
"""Formulas of roll, pitch and yaw [rad]."""
End = Annotated[
    Annotated[Point, Tag("point")] | Annotated[Text, Tag("frame")],
    Discriminator(_is_frame),
    WithJsonSchema({"anyOf": [_FORMULAS, {"type": "string"}]}),
]
"""A point, or the name of a frame, at its origin."""
Turns = Annotated[Whole, AfterValidator(_few)]
"""How often a spring winds."""
