"""Field types of everything that a TOML file can say: finite numbers with units, vectors, files.

A number may be written as text (``"30*deg"``, ``"2*pi"``); a truth value is never a number. Each
check speaks in a sentence that reads on from the key path: ``path.radius: must be positive; got
-3.0.`` Relative file names are resolved against ``{"base": Path}`` of the validation context, which
is the folder of the file being read, or else against the current folder.

A class that a file can describe is decorated with `spec`; its fields have these types. An own
range or unit: ``Annotated[float, Quantity("N m", minimum=0.0)]``.
"""

from ukctrl.fields.checks import Each, Instance, Listed, Quantity, is_number, written
from ukctrl.fields.spec import spec
from ukctrl.fields.types import (
    STRICT,
    Angles3,
    Components,
    Count,
    Direction,
    Formula,
    Fraction,
    Hertz,
    Index,
    InputFile,
    Kilograms,
    Length,
    Matrix,
    Matrix3,
    Meters,
    NonNegative,
    Number,
    Plain,
    Position,
    Positive,
    Quaternion,
    Radians,
    Rate,
    RateSquared,
    Seconds,
    Speed,
    Text,
    Time,
    Times,
    Vec3,
    Vector,
    Whole,
)

__all__ = [
    "STRICT",
    "Angles3",
    "Components",
    "Count",
    "Direction",
    "Each",
    "Formula",
    "Fraction",
    "Hertz",
    "Index",
    "InputFile",
    "Instance",
    "Kilograms",
    "Length",
    "Listed",
    "Matrix",
    "Matrix3",
    "Meters",
    "NonNegative",
    "Number",
    "Plain",
    "Position",
    "Positive",
    "Quantity",
    "Quaternion",
    "Radians",
    "Rate",
    "RateSquared",
    "Seconds",
    "Speed",
    "Text",
    "Time",
    "Times",
    "Vec3",
    "Vector",
    "Whole",
    "is_number",
    "spec",
    "written",
]
