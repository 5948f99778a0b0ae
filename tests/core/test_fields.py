"""The field types: what they take, and the sentence in which they refuse."""

from __future__ import annotations

import math
from fractions import Fraction as Ratio
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from ukctrl.core import fields
from ukctrl.core.fields import Quantity


def read(kind, value, base=None):
    return TypeAdapter(kind).validate_python(value, context={"base": base} if base else None)


def refusal(kind, value):
    """Return the sentence with which a field refuses a value, without pydantic's prefix."""
    with pytest.raises(ValidationError) as caught:
        read(kind, value)
    (error,) = caught.value.errors()
    return error["msg"].removeprefix("Value error, ")


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        (fields.Number, 3, 3.0),
        (fields.Number, "30*deg", math.pi / 6),
        (fields.Number, "2*pi", 2 * math.pi),
        (fields.Number, np.float64(0.5), 0.5),
        (fields.Number, np.int64(2), 2.0),
        (fields.Number, Ratio(1, 4), 0.25),
        (fields.Seconds, "5*ms", 0.005),
        (fields.Time, -1, -1.0),
        (fields.Radians, "90*deg", math.pi / 2),
        (fields.NonNegative, 0, 0.0),
        (fields.Fraction, 1, 1.0),
        (fields.Hertz, "2*kHz", 2000.0),
        (fields.Vec3, [1, 2, 3], (1.0, 2.0, 3.0)),
        (fields.Vec3, np.arange(3.0), (0.0, 1.0, 2.0)),
        (fields.Position, ["10*cm", 0, "-5*mm"], (0.1, 0.0, -0.005)),
        (fields.Components, 0.5, (0.5,)),
        (fields.Components, "30*deg", (math.pi / 6,)),
        (fields.Components, [1, "2"], (1.0, 2.0)),
        (fields.Direction, "x", (1.0, 0.0, 0.0)),
        (fields.Direction, "-z", (0.0, 0.0, -1.0)),
        (fields.Direction, [1, 1, 0], (1.0, 1.0, 0.0)),
        (fields.Quaternion, [0, 0, 0.6, 0.8], (0.0, 0.0, 0.6, 0.8)),
        (fields.NumberRows, [[1, 2], [3, 4]], ((1.0, 2.0), (3.0, 4.0))),
        (fields.Count, 3, 3),
        (fields.Index, 0, 0),
        (fields.Formula, "q1 + q2", "q1 + q2"),
        (fields.Formula, 3, "3.0"),
        (fields.Formula, 0.1, "0.1"),
        (Annotated[float, Quantity("N m", minimum=0.0)], "500*mNm", 0.5),
    ],
)
def test_a_field_reads_numbers_text_and_arrays(kind, value, expected):
    assert read(kind, value) == expected


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (fields.Positive, -3.0, "must be positive; got -3.0."),
        (fields.Positive, 0, "must be positive; got 0.0."),
        (fields.Positive, "-3*deg", "must be positive; got -0.05235987755982989 from '-3*deg'."),
        (fields.NonNegative, -1, "must be zero or positive; got -1.0."),
        (fields.Fraction, 1.5, "must be between 0 and 1; got 1.5."),
        (fields.Number, True, 'must be a number or text such as "2*pi"; got true.'),
        (fields.Seconds, False, 'must be a number [s] or text such as "2*pi"; got false.'),
        (fields.Number, None, 'must be a number or text such as "2*pi"; got None.'),
        (fields.Number, [1], 'must be a number or text such as "2*pi"; got [1].'),
        (fields.Number, {}, 'must be a number or text such as "2*pi"; got a table.'),
        (fields.Number, 1j, 'must be a number or text such as "2*pi"; got 1j.'),
        (fields.Number, math.nan, "must be a finite number; got nan."),
        (fields.Number, -math.inf, "must be a finite number; got -inf."),
        (
            fields.Number,
            10**400,
            "must be a finite number; got an integer too large for floating point.",
        ),
        (fields.Seconds, "20*deg", "must be a time [s]; got an angle [rad] from '20*deg'."),
        (fields.Plain, "2*m", "must be a plain number; got a length [m] from '2*m'."),
        (fields.Vec3, [1, 2], "must be a list of 3 numbers; got 2."),
        (fields.Vec3, 3, "must be a list of 3 numbers; got 3."),
        (fields.Vec3, "xyz", "must be a list of 3 numbers; got 'xyz'."),
        (fields.Vec3, {"x": 1}, "must be a list of 3 numbers; got a table."),
        (fields.Vec3, {1.0, 2.0, 3.0}, "must be a list of 3 numbers; got {1.0, 2.0, 3.0}."),
        (fields.Numbers, [], "must be a list of at least 1; got 0."),
        (fields.Position, [0, 0, "1*s"], "must be a length [m]; got a time [s] from '1*s'."),
        (
            fields.Direction,
            "w",
            "must be x, y, z, -x, -y, -z or a list of 3 numbers; got 'w'.",
        ),
        (
            fields.Direction,
            [0, 0, 0],
            "must be a direction, of length about 1; got (0.0, 0.0, 0.0).",
        ),
        (
            fields.Quaternion,
            [0, 0, 0, 2],
            "must be a unit quaternion [x, y, z, w]; got one of length 2.",
        ),
        (
            fields.NumberRows,
            [[1, 2], [1]],
            "must have rows of one length; row 0 has 2 numbers and row 1 has 1.",
        ),
        (fields.Count, 0, "must be at least 1; got 0."),
        (fields.Count, 2.0, "must be a whole number; got 2.0."),
        (fields.Count, True, "must be a whole number; got true."),
        (fields.Index, -1, "must be zero or positive; got -1."),
        (fields.Text, " ", "must be text; got ''."),
        (fields.Text, 3, "must be text; got 3."),
        (fields.Formula, True, 'must be a formula such as "2*sin(pi*t)"; got true.'),
        (fields.InputFile, 3, "must be the name of a file; got 3."),
        (fields.InputFile, "", "must be the name of a file; got ''."),
        (fields.InputFile, "a\0b", "must be the name of a file; got 'a\\x00b'."),
    ],
)
def test_a_field_says_what_must_hold_and_what_came(kind, value, message):
    assert refusal(kind, value) == message


ANY, ZERO, POSITIVE, SHARE = (-2.0, 0.0, 2.0), (0.0, 2.0), (1e-9, 2.0), (0.0, 1.0)
REFUSED = {ANY: (), ZERO: (-1e-9,), POSITIVE: (0.0, -1e-9), SHARE: (-1e-9, 1.0 + 1e-9)}
QUANTITIES = {
    "Number": (ANY, ""), "Plain": (ANY, "1"), "Positive": (POSITIVE, ""), "NonNegative": (ZERO, ""),
    "Fraction": (SHARE, "1"), "Seconds": (POSITIVE, "s"), "Time": (ANY, "s"), "Rate": (ZERO, "1/s"),
    "RateSquared": (ZERO, "1/s^2"), "Hertz": (POSITIVE, "Hz"), "Meters": (ANY, "m"),
    "Length": (POSITIVE, "m"), "Radians": (ANY, "rad"), "Speed": (ANY, "m/s"),
    "Kilograms": (ZERO, "kg"), "JointEffort": (ZERO, "N m or N"),
    "JointStiffness": (ZERO, "N m/rad or N/m"), "JointDamping": (ZERO, "N m s/rad or N s/m"),
    "JointPosition": (ANY, "rad or m"), "JointSpeed": (POSITIVE, "rad/s or m/s"),
    "Distance": (ZERO, "m"), "Ratio": (ZERO, "1"),
}  # fmt: skip


@pytest.mark.parametrize("name", QUANTITIES)
def test_a_quantity_has_its_unit_and_is_taken_on_one_side_of_its_border_alone(name):
    (border, unit), kind = QUANTITIES[name], getattr(fields, name)
    assert kind.__metadata__[0].unit == unit
    assert [read(kind, value) for value in border] == list(border)
    for value in REFUSED[border]:
        assert f"; got {value}." in refusal(kind, value)
    schema = TypeAdapter(kind).json_schema()["anyOf"][0]
    least = {ANY: {}, ZERO: {"minimum": 0.0}, POSITIVE: {"exclusiveMinimum": 0.0}}
    assert schema == {"type": "number"} | least.get(border, {"minimum": 0.0, "maximum": 1.0})


def test_every_quantity_is_in_that_table():
    found = {
        name for name, kind in vars(fields).items()
        if isinstance(getattr(kind, "__metadata__", (None,))[0], Quantity)
    }  # fmt: skip
    assert found == set(QUANTITIES)


def test_an_error_inside_a_list_names_the_place():
    with pytest.raises(ValidationError) as caught:
        read(fields.Vec3, [0.0, "1*foo", 2.0])
    (error,) = caught.value.errors()
    assert error["loc"] == (1,)
    assert "no constant or unit named 'foo'" in error["msg"]


def test_a_file_is_found_beside_the_file_that_names_it(tmp_path):
    file = tmp_path / "path.csv"
    file.write_text("t,x\n")
    assert read(fields.InputFile, "path.csv", base=tmp_path) == file.resolve()
    assert read(fields.InputFile, str(file)) == file.resolve()


def test_a_file_that_is_missing_or_no_file_is_refused(tmp_path):
    with pytest.raises(ValidationError, match="must be a file that exists; 'no"):
        read(fields.InputFile, "no.csv", base=tmp_path)
    for name in (tmp_path, Path("/dev/zero"), "x" * 5000):
        assert "must be a file that exists" in refusal(fields.InputFile, name)


def test_every_field_has_a_json_schema_that_admits_what_it_reads():
    schema = TypeAdapter(fields.Seconds).json_schema()
    kinds = {option["type"] for option in schema["anyOf"]}
    assert kinds == {"number", "string"}
    assert schema["description"] == "[s]"
    kinds = [kind for kind in vars(fields).values() if hasattr(kind, "__metadata__")]
    assert len(kinds) > 30
    for kind in kinds:
        assert TypeAdapter(kind).json_schema()
