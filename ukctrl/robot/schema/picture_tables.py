"""Schema of ``[[picture]]``: what a robot looks like, where its file says it."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)

from ukctrl.core.errors import InputError, near_miss, unknown_name
from ukctrl.core.expression.symbolic import Vocabulary, check
from ukctrl.core.fields import Formula, Fraction, Listed, Quantity, Text, Whole, spec, written
from ukctrl.core.files.toml import blaming

COLORS = {
    "light": "#d3dae2", "gray": "#8e99a6", "dark": "#3c4654", "black": "#15191e",
    "white": "#f7f8fa", "red": "#d1495b", "orange": "#e8833a", "yellow": "#f2c14e",
    "green": "#4f9d69", "teal": "#2a9d8f", "blue": "#3d7ebf", "purple": "#7d5ba6",
    "brown": "#8a6246",
}  # fmt: skip
"""Names that a picture may give a colour."""
MAX_PICTURES = 1000
"""More pictures than this are a typing error."""
MAX_TURNS = 100
"""Most turns of a spring."""


def _color(value: str) -> str:
    if value in COLORS:
        return COLORS[value]
    if not re.fullmatch(r"#[0-9a-fA-F]{6}", value, re.ASCII):
        close = near_miss(value, COLORS)
        raise InputError(
            f"must be such as '#3d7ebf', or a name; got {written(value)}{close} "
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


def _turns(value: int) -> int:
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
    Listed(3, 3),
    BeforeValidator(_point),
    WithJsonSchema(_FORMULAS),
]
"""Formulas of x, y and z [m]; two are x and z, in the upright plane."""
Angles = Annotated[tuple[Formula, Formula, Formula], Listed(3, 3)]
"""Formulas of roll, pitch and yaw [rad]."""
End = Annotated[
    Annotated[Point, Tag("point")] | Annotated[Text, Tag("frame")],
    Discriminator(_is_frame),
    WithJsonSchema({"anyOf": [_FORMULAS, {"type": "string"}]}),
]
"""A point, or the name of a frame, at its origin."""


@spec
class PictureTable:
    """What all pictures have."""

    name: str = ""
    """What viewers call it; absent: its kind."""
    color: Color = "#8e99a6"
    """``"#rrggbb"``, or light, gray, dark, black, white, red, orange, yellow, green, teal, blue,
    purple or brown."""
    opacity: Fraction = 1.0
    """From 0, which nobody sees, to 1."""
    frame: Text = "world"
    """The axes in which it is placed; a plant without bodies has those of the world alone."""


@spec
class PlacedPicture(PictureTable):
    """A picture with a place and an orientation."""

    at: Point = ("0", "0", "0")
    """Formulas of its middle in coordinates, parameters and ``t``: x, y and z, or x and z [m]."""
    angle: Formula | None = None
    """Formula of its turn in the upright plane, from x towards z [rad]."""
    rpy: Angles | None = None
    """Formulas of its roll, pitch and yaw, instead of an angle [rad]."""

    @model_validator(mode="after")
    def _one_turn(self) -> PlacedPicture:
        if self.angle is not None and self.rpy is not None:
            raise InputError("takes an angle or rpy; got both.")
        return self


@spec
class StretchedPicture(PictureTable):
    """A picture through points."""

    points: Annotated[tuple[End, ...], Listed(2, 100)]
    """Each two or three formulas, or the name of a frame."""


@spec
class Rod(StretchedPicture):
    """A round rod through points; with more than two, it bends at them."""

    kind: Literal["line"] = "line"
    radius: Extent = 0.02
    """[m]."""


@spec
class Rope(StretchedPicture):
    """A thin line through points."""

    kind: Literal["rope"] = "rope"
    radius: Extent = 0.006
    """[m]."""
    color: Color = "#3c4654"


@spec
class Coil(StretchedPicture):
    """A spring from one point to another."""

    kind: Literal["spring"] = "spring"
    points: Annotated[tuple[End, End], Listed(2, 2)]
    """Each two or three formulas, or the name of a frame."""
    radius: Extent = 0.05
    """[m]."""
    turns: Annotated[Whole, AfterValidator(_turns)] = 10
    """How often it winds."""


@spec
class Box(PlacedPicture):
    """A box."""

    kind: Literal["box"] = "box"
    size: Annotated[tuple[Extent, Extent, Extent], Listed(3, 3)]
    """Its edges [m]."""


@spec
class Sphere(PlacedPicture):
    """A sphere."""

    kind: Literal["sphere"] = "sphere"
    radius: Extent = 0.05
    """[m]."""


@spec
class Disc(PlacedPicture):
    """A disc or a ring in the upright plane, such as a wheel, with a mark that shows its turn."""

    kind: Literal["circle"] = "circle"
    radius: Extent = 0.05
    """[m]."""
    depth: Extent | None = None
    """How thick it is [m]; absent: half its radius."""
    ring: bool = False
    """Whether it is a ring."""


@spec
class Cylinder(PlacedPicture):
    """A cylinder along its own z axis."""

    kind: Literal["cylinder"] = "cylinder"
    radius: Extent = 0.05
    """[m]."""
    length: Extent
    """[m]."""


@spec
class Label(PlacedPicture):
    """A text."""

    kind: Literal["text"] = "text"
    text: Annotated[Text, Field(max_length=200)]
    """What stands there."""


AnyPicture = Annotated[
    Rod | Rope | Coil | Box | Sphere | Disc | Cylinder | Label, Field(discriminator="kind")
]


def refuse_unknown_names(
    pictures: tuple[AnyPicture, ...], words: Vocabulary, frames: tuple[str, ...]
) -> None:
    """Refuse pictures with a formula or a frame that names what the robot has not.

    Args:
        pictures: The pictures.
        words: What their formulas may name.
        frames: The robot's frames.

    Raises:
        InputError: There is one.
    """
    for number, picture in enumerate(pictures):
        with blaming(f"picture[{number}]"):
            if picture.frame not in frames:
                raise unknown_name("frame", picture.frame, frames)
            ends = picture.points if isinstance(picture, StretchedPicture) else ()
            for end in ends:
                if isinstance(end, str) and end not in frames:
                    with blaming("points"):
                        raise unknown_name("frame", end, frames)
            for key, texts in formulas_of(picture):
                with blaming(key):
                    for text in texts:
                        check(text, words)


def formulas_of(picture: AnyPicture) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the formulas of a picture by the key that they stand in."""
    if isinstance(picture, StretchedPicture):
        return tuple(("points", end) for end in picture.points if not isinstance(end, str))
    turn = ("angle", (picture.angle,)) if picture.angle is not None else ("rpy", picture.rpy or ())
    return ("at", picture.at), turn
