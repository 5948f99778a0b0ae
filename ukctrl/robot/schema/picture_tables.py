"""Schema of ``[[picture]]``: what a robot looks like, where its file says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.expression.symbolic import Vocabulary, check_names
from ukctrl.core.fields import Formula, Fraction, ListSize, Text, spec
from ukctrl.core.files.toml import error_context
from ukctrl.robot.schema.picture_fields import Angles, Color, End, Extent, Point, Turns

MAX_PICTURES = 1000
"""More pictures than this are a typing error."""
Formulas = tuple[tuple[str, tuple[str, ...]], ...]
"""Formulas by the key that they stand in."""


@spec
class PictureBase:
    """What all pictures have, those of forces too."""

    is_body: ClassVar[bool] = True
    """Whether it is always there, as bodies are."""

    name: str = ""
    """What viewers call it; absent: its kind."""
    frame: Text = "world"
    """The axes in which it is placed; a plant without bodies has those of the world alone."""

    def formulas(self) -> Formulas:
        """Return its formulas."""
        return ()

    def refuse_unknown_source(
        self, inputs: tuple[str, ...], passive: Sequence[Mapping[str, Any]]
    ) -> None:
        """Refuse what it shows of the robot that this has not: nothing, of a body."""


@spec
class PictureTable(PictureBase):
    """What all pictures of bodies have."""

    color: Color = "#8e99a6"
    """``"#rrggbb"``, or light, gray, dark, black, white, red, orange, yellow, green, teal, blue,
    purple or brown."""
    opacity: Fraction = 1.0
    """From 0, which nobody sees, to 1."""


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

    def formulas(self) -> Formulas:
        """Return its formulas."""
        turn = ("rpy", self.rpy or ()) if self.angle is None else ("angle", (self.angle,))
        return ("at", self.at), turn


@spec
class StretchedPicture(PictureTable):
    """A picture through points."""

    points: Annotated[tuple[End, ...], ListSize(2, 100)]
    """Each two or three formulas, or the name of a frame."""

    def formulas(self) -> Formulas:
        """Return its formulas."""
        return tuple(("points", end) for end in self.points if not isinstance(end, str))


@spec
class LinePicture(StretchedPicture):
    """A round rod through points; with more than two, it bends at them."""

    kind: Literal["line"] = "line"
    radius: Extent = 0.02
    """[m]."""


@spec
class RopePicture(StretchedPicture):
    """A thin line through points."""

    kind: Literal["rope"] = "rope"
    radius: Extent = 0.006
    """[m]."""
    color: Color = "#3c4654"


@spec
class SpringPicture(StretchedPicture):
    """A spring from one point to another."""

    kind: Literal["spring"] = "spring"
    points: Annotated[tuple[End, End], ListSize(2, 2)]
    """Each two or three formulas, or the name of a frame."""
    radius: Extent = 0.05
    """[m]."""
    turns: Turns = 10
    """How often it winds."""


@spec
class ArrowPicture(StretchedPicture):
    """An arrow from one point to another."""

    kind: Literal["arrow"] = "arrow"
    points: Annotated[tuple[End, End], ListSize(2, 2)]
    """Each two or three formulas, or the name of a frame; it points at the second."""
    radius: Extent = 0.015
    """[m]."""


@spec
class ForcePicture(PictureBase):
    """Where an input or a reaction acts; it is shown among the arrows of forces."""

    is_body = False

    kind: Literal["force"] = "force"
    input: Text | None = None
    """The input whose force or torque it is."""
    reaction: Text | None = None
    """Or the row of a passive constraint, ``name`` or ``name.row``."""
    at: Point = ("0", "0", "0")
    """Formulas of where it acts [m]."""
    along: Point
    """Formulas of its direction where its value is positive: of a torque, its axis."""

    @model_validator(mode="after")
    def _one_source(self) -> ForcePicture:
        if (self.input is None) == (self.reaction is None):
            raise InputError("takes an input or a reaction, one of them.")
        return self

    def formulas(self) -> Formulas:
        """Return its formulas."""
        return ("at", self.at), ("along", self.along)

    def refuse_unknown_source(
        self, inputs: tuple[str, ...], passive: Sequence[Mapping[str, Any]]
    ) -> None:
        """Refuse an input or a reaction that the robot has not."""
        if self.input is not None and self.input not in inputs:
            raise unknown_name("input", self.input, inputs)
        named = [str(table["name"]) for table in passive if "name" in table]
        if self.reaction is not None and self.reaction.partition(".")[0] not in named:
            raise unknown_name("passive constraint", self.reaction, named)


@spec
class BoxPicture(PlacedPicture):
    """A box."""

    kind: Literal["box"] = "box"
    size: Annotated[tuple[Extent, Extent, Extent], ListSize(3, 3)]
    """Its edges [m]."""


@spec
class SpherePicture(PlacedPicture):
    """A sphere."""

    kind: Literal["sphere"] = "sphere"
    radius: Extent = 0.05
    """[m]."""


@spec
class CirclePicture(PlacedPicture):
    """A disc or a ring in the upright plane, such as a wheel, with a mark that shows its turn."""

    kind: Literal["circle"] = "circle"
    radius: Extent = 0.05
    """[m]."""
    depth: Extent | None = None
    """How thick it is [m]; absent: half its radius."""
    ring: bool = False
    """Whether it is a ring."""


@spec
class JointPicture(PlacedPicture):
    """A joint of the upright plane, as joints of bodies are drawn."""

    kind: Literal["joint"] = "joint"
    radius: Extent = 0.05
    """That of the links that it joins [m]."""
    motor: bool = False
    """Whether it is the housing of a motor; else it is an eye on a pin."""


@spec
class CylinderPicture(PlacedPicture):
    """A cylinder along its own z axis."""

    kind: Literal["cylinder"] = "cylinder"
    radius: Extent = 0.05
    """[m]."""
    length: Extent
    """[m]."""


@spec
class TextPicture(PlacedPicture):
    """A text."""

    kind: Literal["text"] = "text"
    text: Annotated[Text, Field(max_length=200)]
    """What stands there."""


SeenPicture = (
    LinePicture
    | RopePicture
    | SpringPicture
    | ArrowPicture
    | BoxPicture
    | SpherePicture
    | CirclePicture
    | JointPicture
    | CylinderPicture
    | TextPicture
)
"""What is always there."""
AnyPicture = Annotated[SeenPicture | ForcePicture, Field(discriminator="kind")]


def refuse_unknown_names(
    pictures: tuple[AnyPicture, ...],
    words: Vocabulary,
    frames: tuple[str, ...],
    inputs: tuple[str, ...],
    passive: Sequence[Mapping[str, Any]],
) -> None:
    """Refuse pictures with a formula or a frame that names what the robot has not.

    Args:
        pictures: The pictures.
        words: What their formulas may name.
        frames: The robot's frames.
        inputs: Its inputs.
        passive: Its ``[[passive]]`` tables.

    Raises:
        InputError: There is one.
    """
    for number, picture in enumerate(pictures):
        with error_context(f"picture[{number}]"):
            if picture.frame not in frames:
                raise unknown_name("frame", picture.frame, frames)
            picture.refuse_unknown_source(inputs, passive)
            ends = picture.points if isinstance(picture, StretchedPicture) else ()
            for end in ends:
                if isinstance(end, str) and end not in frames:
                    with error_context("points"):
                        raise unknown_name("frame", end, frames)
            for key, texts in picture.formulas():
                with error_context(key):
                    for text in texts:
                        check_names(text, words)
