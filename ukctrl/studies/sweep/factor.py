"""A factor: one path of the scenario language, and how its value varies."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, final

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.arguments import argument_error, by_name
from ukctrl.core.errors import InputError, did_you_mean
from ukctrl.core.expression.units import constant_value
from ukctrl.core.fields import is_number
from ukctrl.core.files.table_paths import parse_value, split_list
from ukctrl.core.files.toml import error_context
from ukctrl.studies.sweep.distributions import (
    Distribution,
    IntegerRange,
    Levels,
    Log,
    Normal,
    Uniform,
    distribution_from,
)

DISTRIBUTION_NAMES = ("uniform", "log", "whole", "normal")
"""Words that a range may begin with."""
ALIASES = {
    **dict.fromkeys(("lin", "linear", "linspace", "range"), "uniform"),
    **dict.fromkeys(("logspace", "geomspace", "loguniform"), "log"),
    **dict.fromkeys(("gauss", "gaussian", "norm"), "normal"),
    **dict.fromkeys(("int", "integer", "randint"), "whole"),
}
"""What other programs call them."""


@final
@explain_argument_errors
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
    spread: Distribution
    written: tuple[object, ...] = dc.field(default=(), compare=False, repr=False)
    """Values to try first, as they were written, so that their units are checked."""

    def __post_init__(self) -> None:
        if not self.path or not all(self.path.split(".")):
            raise InputError(f"a factor must have a path such as 'seed'; got '{self.path}'.")

    @staticmethod
    @explain_argument_errors
    def parse(text: str) -> Factor:
        """Read a factor from text.

        Raises:
            InputError: It is not written as a factor is.
        """
        path, equals, value_text = (piece.strip() for piece in text.partition("="))
        if not (path and equals and value_text):
            raise InputError(
                f"a factor must be PATH=VALUES, such as seed=1,2,3 or timing.control=1e-3:1e-2; "
                f"got '{text}'."
            )
        with error_context(path):
            spread, written = _parse_distribution(value_text)
        return Factor(path, spread, written)

    @property
    def trials(self) -> tuple[object, ...]:
        """Values that must fit the scenario, each by itself."""
        return self.written or tuple(self.spread.test_values())

    def to_dict(self) -> dict[str, Any]:
        """Return the factor as JSON-able data."""
        return {"path": self.path, **self.spread.to_dict()}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Factor:
        """Read a factor back from its data."""
        return Factor(str(data["path"]), distribution_from(data))


AnyFactors = str | Factor | Mapping[str, Any] | Sequence[Factor | str | tuple[str, Any]]
"""What may be varied: factors, texts, or values by path."""


def as_factors(factors: AnyFactors) -> list[Factor]:
    """Return what is varied as factors.

    Raises:
        ArgumentError: Something stands for no factor.
        InputError: A text is not written as a factor is, or a value can be none of a list.
    """
    if isinstance(factors, Mapping):
        factors = list(factors.items())
    elif isinstance(factors, str | Factor):
        factors = [factors]
    if not isinstance(factors, Iterable):
        raise argument_error("factors", f"a list, each {ACCEPTED}", factors)
    return [_as_factor(factor) for factor in factors]


ACCEPTED = 'a Factor, a text such as "seed=1,2,3", or a path and its values'


def _as_factor(factor: Any) -> Factor:
    if isinstance(factor, Factor):
        return factor
    if isinstance(factor, str):
        return Factor.parse(factor)
    if not (isinstance(factor, tuple | list) and len(factor) == 2 and isinstance(factor[0], str)):
        raise argument_error("a factor", ACCEPTED, factor)
    path, values = factor[0], by_name(factor[1])
    if isinstance(values, str):
        return Factor.parse(f"{path}={values}")
    if isinstance(values, Distribution):
        return Factor(path, values)
    if not isinstance(values, list | tuple):
        raise argument_error(f"the values of '{path}'", "a list, or a text such as '1:10'", values)
    return Factor(path, Levels(tuple(values)))


def _parse_distribution(text: str) -> tuple[Distribution, tuple[object, ...]]:
    """Return the spread of a text, and its values as written where these say more."""
    pieces = [piece.strip() for piece in split_list(text, ":", "the values")]
    if len(pieces) > 1:
        return _parse_range(text, pieces)
    values = tuple(parse_value(piece.strip()) for piece in split_list(text, ",", "the values"))
    numbers = [_number(value) for value in values]
    if any(isinstance(value, str) for value in values) and None not in numbers:
        return Levels(tuple(numbers)), values
    return Levels(values), ()


def _parse_range(text: str, pieces: list[str]) -> tuple[Distribution, tuple[object, ...]]:
    for index, piece in enumerate(pieces):
        word = ALIASES.get(piece.lower(), piece.lower())
        if word in DISTRIBUTION_NAMES and (index or word != piece):
            remainder = ":".join(pieces[:index] + pieces[index + 1 :])
            raise InputError(f"a range of this kind is written {word}:{remainder}; got '{text}'.")
    kind = pieces.pop(0) if not pieces[0] or _number(parse_value(pieces[0])) is None else "uniform"
    if kind not in DISTRIBUTION_NAMES:
        raise InputError(
            f"a range must begin with a number, or with one of {', '.join(DISTRIBUTION_NAMES)}; "
            f"got '{kind}'{_unit_hint(kind) or did_you_mean(kind, DISTRIBUTION_NAMES)}"
        )
    if len(pieces) not in (2, 3):
        example = "normal:10:0.5" if kind == "normal" else "1:10 or 1:10:5"
        raise InputError(
            f"a range must have two numbers, and a third for how many values, as {example}; "
            f"got '{text}'."
        )
    written = tuple(parse_value(piece) for piece in pieces[:2])
    numbers = [_number(value) for value in written]
    for piece, number in zip(pieces, numbers, strict=False):
        if number is None:
            hint = _unit_hint(piece) or "."
            raise InputError(f"a range must have numbers at its ends; got '{piece}'{hint}")
    count = _count(pieces[2]) if len(pieces) == 3 else None
    low, high = (number for number in numbers if number is not None)
    match kind:
        case "whole":
            return IntegerRange(_integer(low), _integer(high), count), ()
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
    if is_number(value):
        return float(value)
    with contextlib.suppress(InputError):
        return constant_value(value, "") if isinstance(value, str) else None
    return None


def _count(text: str) -> int:
    value = parse_value(text)
    if isinstance(value, bool) or not isinstance(value, int):
        raise InputError(f"the number of values must be a whole number; got '{text}'.")
    return value


def _integer(number: float) -> int:
    if number != int(number):
        raise InputError(f"a range of whole numbers must have such ends; got {number:g}.")
    return int(number)
