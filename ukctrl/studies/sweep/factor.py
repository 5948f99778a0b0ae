"""A factor: one path of the scenario language, and how its value varies."""

from __future__ import annotations

import dataclasses as dc
import re
from collections.abc import Mapping
from typing import Any, final

from ukctrl.core.errors import InputError, near_miss
from ukctrl.core.expression.units import constant
from ukctrl.core.files.table_paths import parse_value, split_list
from ukctrl.core.files.toml import blaming
from ukctrl.studies.sweep.spread import Levels, Log, Normal, Spread, Uniform, Whole, spread_from

RANGES = ("uniform", "log", "whole", "normal")
"""Words that a range may begin with."""
ALSO_CALLED = {
    "lin": "uniform",
    "linear": "uniform",
    "linspace": "uniform",
    "range": "uniform",
    "logspace": "log",
    "geomspace": "log",
    "loguniform": "log",
    "gauss": "normal",
    "gaussian": "normal",
    "norm": "normal",
    "int": "whole",
    "integer": "whole",
    "randint": "whole",
}
"""What other programs call them."""


@final
@dc.dataclass(frozen=True)
class Factor:
    """One value that a study varies.

    As text, after ``--vary``:

    | text | what it takes |
    |---|---|
    | ``k=1,2,5`` | each of a list: numbers, text with units, names, truth values |
    | ``k=1:10`` | any value of a range |
    | ``k=1:10:5`` | 5 equally spaced values |
    | ``k=log:1:100``, ``k=log:1:100:5`` | the same, evenly in the logarithm |
    | ``k=whole:1:6`` | any whole number, both ends included |
    | ``k=normal:10:0.5`` | normally distributed: mean and standard deviation |
    """

    path: str
    """Where the value stands, as in ``--set``."""
    spread: Spread
    written: tuple[object, ...] = dc.field(default=(), compare=False, repr=False)
    """Values to try first, as they were written, so that their units are checked."""

    def __post_init__(self) -> None:
        if not self.path or not all(self.path.split(".")):
            raise InputError(f"a factor must have a path such as 'seed'; got '{self.path}'.")

    @staticmethod
    def parse(text: str) -> Factor:
        """Read a factor from text.

        Raises:
            InputError: It is not written as a factor is.
        """
        path, equals, rest = (part.strip() for part in text.partition("="))
        if not (path and equals and rest):
            raise InputError(
                f"a factor must be PATH=VALUES, such as seed=1,2,3 or timing.control=1e-3:1e-2; "
                f"got '{text}'."
            )
        with blaming(path):
            spread, written = _spread(rest)
        return Factor(path, spread, written)

    @property
    def trials(self) -> tuple[object, ...]:
        """Values that must fit the scenario, each by itself."""
        return self.written or tuple(self.spread.ends())

    def to_dict(self) -> dict[str, Any]:
        """Return the factor as JSON-able data."""
        return {"path": self.path, **self.spread.to_dict()}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Factor:
        """Read a factor back from its data."""
        return Factor(str(data["path"]), spread_from(data))


def _spread(text: str) -> tuple[Spread, tuple[object, ...]]:
    """Return the spread of a text, and its values as written where these say more."""
    parts = [part.strip() for part in split_list(text, ":", "the values")]
    if len(parts) > 1:
        return _range(text, parts)
    values = tuple(parse_value(part.strip()) for part in split_list(text, ",", "the values"))
    numbers = [_number(value) for value in values]
    if any(isinstance(value, str) for value in values) and None not in numbers:
        return Levels(tuple(numbers)), values
    return Levels(values), ()


def _range(text: str, parts: list[str]) -> tuple[Spread, tuple[object, ...]]:
    for place, part in enumerate(parts):
        word = ALSO_CALLED.get(part.lower(), part.lower())
        if word in RANGES and (place or word != part):
            others = ":".join(parts[:place] + parts[place + 1 :])
            raise InputError(f"a range of this kind is written {word}:{others}; got '{text}'.")
    kind = parts.pop(0) if not parts[0] or _number(parse_value(parts[0])) is None else "uniform"
    if kind not in RANGES:
        raise InputError(
            f"a range must begin with a number, or with one of {', '.join(RANGES)}; "
            f"got '{kind}'{_unit_hint(kind) or near_miss(kind, RANGES)}"
        )
    if len(parts) not in (2, 3):
        example = "normal:10:0.5" if kind == "normal" else "1:10 or 1:10:5"
        raise InputError(
            f"a range must have two numbers, and a third for how many values, as {example}; "
            f"got '{text}'."
        )
    written = tuple(parse_value(part) for part in parts[:2])
    numbers = [_number(value) for value in written]
    for part, number in zip(parts, numbers, strict=False):
        if number is None:
            hint = _unit_hint(part) or "."
            raise InputError(f"a range must have numbers at its ends; got '{part}'{hint}")
    count = _count(parts[2]) if len(parts) == 3 else None
    low, high = (number for number in numbers if number is not None)
    match kind:
        case "whole":
            return Whole(_whole(low), _whole(high), count), ()
        case "normal":
            return Normal(low, high, count), written[:1]
        case "log":
            return Log(low, high, count), written
        case _:
            return Uniform(low, high, count), written


def _unit_hint(text: str) -> str:
    """Return how a number with a unit is written, where the text seems to be one."""
    match = re.fullmatch(r"([-+]?[\d.]+(?:[eE][-+]?\d+)?)\s*([A-Za-z]+)", text)
    return f"; write {match[1]}*{match[2]}." if match else ""


def _number(value: object) -> float | None:
    """Return a number, or the number that a text such as ``30*deg`` stands for; else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        return constant(value, "")
    except InputError:
        return None


def _count(text: str) -> int:
    value = parse_value(text)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"the number of values must be a whole number; got '{text}'.")
    return value


def _whole(number: float) -> int:
    if number != int(number):
        raise InputError(f"a range of whole numbers must have such ends; got {number:g}.")
    return int(number)
