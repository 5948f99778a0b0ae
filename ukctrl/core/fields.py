"""Field types of everything that a TOML file can say: finite numbers with units, vectors, files.

A number may be written as text (``"30*deg"``, ``"2*pi"``); a truth value is never a number. Each
check speaks in a sentence that reads on from the key path: ``path.radius: must be positive; got
-3.0.`` Relative file names are resolved against ``{"base": Path}`` of the validation context, which
is the folder of the file being read, or else against the current folder.

A class that a file can describe is decorated with `spec`; its fields have these types. An own
range or unit: ``Annotated[float, Quantity("N m", minimum=0.0)]``. What goes with the types is
handed on from here, so that such a class has one place to import from.
"""

from __future__ import annotations

import functools
import math
import numbers
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar, dataclass_transform

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.dataclasses import dataclass

from ukctrl.core.errors import ExpressionError, InputError
from ukctrl.core.expression.suggested_text import with_suggestion
from ukctrl.core.expression.syntax import MAX_LENGTH, parse_syntax
from ukctrl.core.expression.units import refuse_units
from ukctrl.core.field_checks import NUMBER as NUMBER
from ukctrl.core.field_checks import ByName as ByName
from ukctrl.core.field_checks import Instance as Instance
from ukctrl.core.field_checks import ListSize as ListSize
from ukctrl.core.field_checks import NumberByName as NumberByName
from ukctrl.core.field_checks import PerElement as PerElement
from ukctrl.core.field_checks import Quantity as Quantity
from ukctrl.core.field_checks import finite
from ukctrl.core.field_checks import is_number as is_number
from ukctrl.core.files.toml import validation_text
from ukctrl.core.message_text import literal_text as literal_text

T = TypeVar("T")
STRICT = ConfigDict(extra="forbid", arbitrary_types_allowed=True, populate_by_name=True)
"""Configuration of every dataclass that is read from a file; the alias of a field is a key that
Python reserves."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
def spec(cls: type[T]) -> type[T]:
    """Turn a class into a frozen dataclass that checks its fields, from a file and in Python.

    Its fields are keyword-only and of the types in `ukctrl.core.fields`. Made in Python with a
    wrong value it raises `InputError`, in one line; read from a file, the same complaint gets the
    file's name and the key path.
    """
    checked: Any = dataclass(frozen=True, kw_only=True, config=STRICT)(cls)
    check = checked.__init__

    @functools.wraps(check)
    def __init__(self: T, *values: object, **named: object) -> None:  # noqa: N807
        try:
            check(self, *values, **named)
        except ValidationError as error:
            raise InputError(f"{cls.__name__}: {validation_text(error, cls)}") from None

    checked.__init__ = __init__
    finished: type[T] = checked
    return finished


Number = Annotated[float, Quantity()]
"""Finite number in any unit."""
Plain = Annotated[float, Quantity("1")]
"""Finite number without unit."""
Positive = Annotated[float, Quantity(minimum=0.0, open_minimum=True)]
"""Number above zero in any unit."""
NonNegative = Annotated[float, Quantity(minimum=0.0)]
"""Number that is zero or above, in any unit."""
Fraction = Annotated[float, Quantity("1", minimum=0.0, maximum=1.0)]
"""Number between 0 and 1."""
Seconds = Annotated[float, Quantity("s", minimum=0.0, open_minimum=True)]
"""Duration above zero [s]."""
Time = Annotated[float, Quantity("s")]
"""Instant [s]; may be negative."""
Rate = Annotated[float, Quantity("1/s", minimum=0.0)]
"""Gain or rate, zero or above [1/s]."""
RateSquared = Annotated[float, Quantity("1/s^2", minimum=0.0)]
"""Gain, zero or above [1/s^2]."""
Hertz = Annotated[float, Quantity("Hz", minimum=0.0, open_minimum=True)]
"""Frequency above zero [Hz]."""
Meters = Annotated[float, Quantity("m")]
"""Position along a line [m]; may be negative."""
Length = Annotated[float, Quantity("m", minimum=0.0, open_minimum=True)]
"""Length above zero [m]."""
Distance = Annotated[float, Quantity("m", minimum=0.0)]
"""Zero or positive [m]."""
Ratio = Annotated[float, Quantity("1", minimum=0.0)]
"""Zero or positive, without a unit."""
Radians = Annotated[float, Quantity("rad")]
"""Angle [rad]."""
Speed = Annotated[float, Quantity("m/s")]
"""Velocity along a line [m/s]; may be negative."""
Kilograms = Annotated[float, Quantity("kg", minimum=0.0)]
"""Mass, zero or above [kg]."""
JointEffort = Annotated[float, Quantity("N m or N", minimum=0.0)]
"""Torque or force at a joint, zero or above [N m or N]."""
JointStiffness = Annotated[float, Quantity("N m/rad or N/m", minimum=0.0)]
"""Stiffness at a joint, zero or above [N m/rad or N/m]."""
JointDamping = Annotated[float, Quantity("N m s/rad or N s/m", minimum=0.0)]
"""Damping at a joint, zero or above [N m s/rad or N s/m]."""
JointPosition = Annotated[float, Quantity("rad or m")]
"""Coordinate of a joint; may be negative [rad or m]."""
JointSpeed = Annotated[float, Quantity("rad/s or m/s", minimum=0.0, open_minimum=True)]
"""Speed of a joint, above zero [rad/s or m/s]."""

Numbers = Annotated[tuple[Number, ...], ListSize()]
"""At least one number."""
Times = Annotated[tuple[Time, ...], ListSize()]
"""At least one instant [s]."""
Vec3 = Annotated[tuple[Number, Number, Number], ListSize(3, 3)]
"""Three numbers in any unit."""
Position = Annotated[tuple[Meters, Meters, Meters], ListSize(3, 3)]
"""Point in space [m]."""
Angles3 = Annotated[tuple[Radians, Radians, Radians], ListSize(3, 3)]
"""Roll, pitch and yaw [rad]."""
Matrix3 = Annotated[tuple[Vec3, Vec3, Vec3], ListSize(3, 3)]
"""Three rows of three numbers."""


def _scalar_or_list(value: object) -> object:
    return (value,) if is_number(value) or isinstance(value, str) else value


Components = Annotated[
    tuple[Number, ...],
    ListSize(),
    BeforeValidator(_scalar_or_list),
    WithJsonSchema(
        {"anyOf": [{"type": "number"}, {"type": "string"}, {"type": "array", "minItems": 1}]}
    ),
]
"""One number, or a list of them."""


def _rectangular(value: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    for index, row in enumerate(value):
        if len(row) != len(value[0]):
            raise InputError(
                f"must have rows of one length; row 0 has {len(value[0])} numbers "
                f"and row {index} has {len(row)}."
            )
    return value


NumberRows = Annotated[tuple[Numbers, ...], ListSize(), AfterValidator(_rectangular)]
"""Rows of numbers, all of one length."""


_AXES = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def _axis_letter(value: object) -> object:
    if not isinstance(value, str):
        return value
    sign = -1.0 if value.startswith("-") else 1.0
    axis = _AXES.get(value.removeprefix("-").removeprefix("+"))
    if axis is None:
        raise InputError(
            f"must be x, y, z, -x, -y, -z or a list of 3 numbers; got {literal_text(value)}."
        )
    return tuple(sign * component + 0.0 for component in axis)


def _not_zero(value: tuple[float, float, float]) -> tuple[float, float, float]:
    if not 1e-9 < math.hypot(*value) < 1e9:
        raise InputError(f"must be a direction, of length about 1; got {literal_text(value)}.")
    return value


Direction = Annotated[
    tuple[Plain, Plain, Plain],
    ListSize(3, 3),
    BeforeValidator(_axis_letter),
    AfterValidator(_not_zero),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["x", "y", "z", "-x", "-y", "-z"]},
                {"type": "array", "minItems": 3, "maxItems": 3},
            ]
        }
    ),
]
"""Direction in space: ``"x"``, ``"-z"``, or three numbers (normalised where it is used)."""


def _unit_quaternion(value: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    norm = math.hypot(*value)
    if not abs(norm - 1.0) < 1e-3:
        raise InputError(f"must be a unit quaternion [x, y, z, w]; got one of length {norm:g}.")
    return value


Quaternion = Annotated[
    tuple[Plain, Plain, Plain, Plain], ListSize(4, 4), AfterValidator(_unit_quaternion)
]
"""Unit quaternion ``[x, y, z, w]`` (normalised where it is used)."""


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InputError(f"must be a whole number; got {literal_text(value)}.")
    return int(value)


def at_least(minimum: int) -> AfterValidator:
    """Return the annotation of a whole number that is no smaller."""

    def checked(value: int) -> int:
        if value < minimum:
            raise InputError(f"must be at least {minimum}; got {value}.")
        return value

    return AfterValidator(checked)


def _not_negative(value: int) -> int:
    if value < 0:
        raise InputError(f"must be zero or positive; got {value}.")
    return value


Whole = Annotated[int, BeforeValidator(_whole)]
"""Whole number."""
Count = Annotated[int, BeforeValidator(_whole), at_least(1)]
"""Whole number, at least 1."""
Index = Annotated[int, BeforeValidator(_whole), AfterValidator(_not_negative)]
"""Whole number, at least 0; also a seed."""


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"must be text; got {literal_text(value)}.")
    return value


Text = Annotated[str, BeforeValidator(_text)]
"""Text with something in it."""


def _formula(value: object) -> str:
    if is_number(value):
        return repr(finite(value))
    if not isinstance(value, str):
        raise InputError(f'must be a formula such as "2*sin(pi*t)"; got {literal_text(value)}.')
    try:
        parse_syntax(value)
    except ExpressionError as error:
        raise with_suggestion(error, value, refuse_units) from None
    return value


Formula = Annotated[
    str,
    BeforeValidator(_formula),
    WithJsonSchema({"anyOf": [{"type": "string", "maxLength": MAX_LENGTH}, {"type": "number"}]}),
]
"""Formula in the language of ``ukctrl.core.expression``; checked for syntax, not yet for names."""


def _input_file(value: object, info: ValidationInfo) -> Path:
    return _existing_path(
        value, info, "file", Path.is_file
    )  # reading a device or a pipe may never end


def _input_folder(value: object, info: ValidationInfo) -> Path:
    return _existing_path(value, info, "folder", Path.is_dir)


def _existing_path(
    value: object, info: ValidationInfo, noun: str, is_one: Callable[[Path], bool]
) -> Path:
    if not isinstance(value, str | os.PathLike) or not str(value) or "\0" in str(value):
        raise InputError(f"must be the name of a {noun}; got {literal_text(value)}.")
    base = info.context.get("base") if isinstance(info.context, Mapping) else None
    path = (Path(base) if base is not None else Path.cwd()) / Path(value)
    try:
        is_there = is_one(path)
    except OSError:  # such as a name too long for the file system
        is_there = False
    if not is_there:
        looked = "" if path == Path(value) else f" (looked for {literal_text(str(path))})"
        raise InputError(
            f"must be a {noun} that exists; {literal_text(str(value))} is not one{looked}."
        )
    return path.resolve()


InputFile = Annotated[Path, BeforeValidator(_input_file)]
"""File that exists; a relative name starts at the folder of the file that names it."""
InputFolder = Annotated[Path, BeforeValidator(_input_folder)]
"""Folder that exists, likewise."""
