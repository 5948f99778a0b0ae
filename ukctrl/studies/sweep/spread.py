"""How one value varies: a list, a range, or a distribution; each over the unit interval."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from ukctrl.core.errors import InputError

Column = Literal["bool", "int", "float", "text"]
"""What a column of a study's table holds."""
MOST_LEVELS = 1_000_000
"""More values of one factor than this are a typing error."""


@final
@dc.dataclass(frozen=True)
class Levels:
    """Some values, each as likely as another."""

    kind: ClassVar[str] = "list"
    values: tuple[object, ...]
    """Numbers, texts, truth values, or lists and tables of them."""

    def __post_init__(self) -> None:
        if not self.values:
            raise InputError("must have at least one value; got none.")

    def at(self, place: float) -> object:
        """Return the value at a place of the unit interval."""
        return self.values[min(int(place * len(self.values)), len(self.values) - 1)]

    def levels(self) -> Sequence[object]:
        """Return the values of a grid."""
        return self.values

    def ends(self) -> Sequence[object]:
        """Return what must be acceptable wherever it goes: all of it."""
        return self.values

    def column(self) -> Column:
        """Return what a column of these values holds."""
        if all(isinstance(value, bool) for value in self.values):
            return "bool"
        if any(
            isinstance(value, bool) or not isinstance(value, int | float) for value in self.values
        ):
            return "text"
        return "int" if all(isinstance(value, int) for value in self.values) else "float"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {"kind": self.kind, "values": list(self.values)}


@dc.dataclass(frozen=True)
class _Interval:
    """What ranges share: two ends, and a number of values where a grid is wanted."""

    low: float
    high: float
    count: int | None = None
    """Values of a grid; absent: any value of the range."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise InputError(
                f"the range must go up from one number to another; got {self.low:g}:{self.high:g}."
            )
        _check_count(self.count)

    def ends(self) -> Sequence[object]:
        """Return what must be acceptable wherever it goes."""
        return (self.low, self.high)

    def column(self) -> Column:
        """Return what a column of these values holds."""
        return "float"


@final
@dc.dataclass(frozen=True)
class Uniform(_Interval):
    """Any value of a range, or equally spaced ones."""

    kind: ClassVar[str] = "uniform"

    def at(self, place: float) -> float:
        """Return the value at a place of the unit interval."""
        return self.low + (self.high - self.low) * place

    def levels(self) -> Sequence[object] | None:
        """Return the values of a grid; None where their number is not given."""
        return None if self.count is None else np.linspace(self.low, self.high, self.count).tolist()

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {"kind": self.kind, **dc.asdict(self)}


@final
@dc.dataclass(frozen=True)
class Log(_Interval):
    """Any value of a positive range, evenly in its logarithm."""

    kind: ClassVar[str] = "log"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.low > 0.0:
            raise InputError(
                f"the range of 'log' must be positive; got {self.low:g}:{self.high:g}."
            )

    def at(self, place: float) -> float:
        """Return the value at a place of the unit interval."""
        return float(min(self.low * (self.high / self.low) ** place, self.high))

    def levels(self) -> Sequence[object] | None:
        """Return the values of a grid; None where their number is not given."""
        return (
            None if self.count is None else np.geomspace(self.low, self.high, self.count).tolist()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {"kind": self.kind, **dc.asdict(self)}


@final
@dc.dataclass(frozen=True)
class Whole:
    """Any whole number from one to another, both included, or some of them."""

    kind: ClassVar[str] = "whole"
    low: int
    high: int
    count: int | None = None
    """Values of a grid; absent: any value of the range."""

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise InputError(
                f"the range must go up from one number to another; got {self.low}:{self.high}."
            )
        _check_count(self.count)

    def at(self, place: float) -> int:
        """Return the value at a place of the unit interval."""
        return min(self.low + int((self.high - self.low + 1) * place), self.high)

    def levels(self) -> Sequence[object] | None:
        """Return the values of a grid; None where their number is not given."""
        if self.count is None:
            return None
        levels = {round(value) for value in np.linspace(self.low, self.high, self.count).tolist()}
        return sorted(levels)

    def ends(self) -> Sequence[object]:
        """Return what must be acceptable wherever it goes."""
        return (self.low, self.high)

    def column(self) -> Column:
        """Return what a column of these values holds."""
        return "int"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {"kind": self.kind, **dc.asdict(self)}


@final
@dc.dataclass(frozen=True)
class Normal:
    """Values with a normal distribution."""

    kind: ClassVar[str] = "normal"
    mean: float
    sd: float
    """Standard deviation."""
    count: int | None = None
    """Values of a grid, the middles of as many equally likely parts; absent: any value."""

    def __post_init__(self) -> None:
        if not (math.isfinite(self.mean) and math.isfinite(self.sd) and self.sd > 0.0):
            raise InputError(
                "a normal distribution must have a finite mean and a positive standard deviation; "
                f"got {self.mean:g}:{self.sd:g}."
            )
        _check_count(self.count)

    def at(self, place: float) -> float:
        """Return the value at a place of the unit interval."""
        from scipy.special import ndtri

        return self.mean + self.sd * float(ndtri(min(max(place, TAIL), 1.0 - TAIL)))

    def levels(self) -> Sequence[object] | None:
        """Return the values of a grid; None where their number is not given."""
        if self.count is None:
            return None
        return [self.at((k + 0.5) / self.count) for k in range(self.count)]

    def ends(self) -> Sequence[object]:
        """Return what must be acceptable wherever it goes."""
        return (self.mean,)

    def column(self) -> Column:
        """Return what a column of these values holds."""
        return "float"

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""
        return {"kind": self.kind, **dc.asdict(self)}


TAIL = 2.0**-32
"""The outermost place of a normal distribution, 6.2 standard deviations off: its ends are nowhere.
"""
Spread = Levels | Uniform | Log | Whole | Normal


def spread_from(data: Mapping[str, Any]) -> Spread:
    """Read a spread back from its data."""
    fields = {key: value for key, value in data.items() if key not in ("kind", "path")}
    match data["kind"]:
        case "list":
            return Levels(tuple(fields["values"]))
        case "log":
            return Log(**fields)
        case "whole":
            return Whole(**fields)
        case "normal":
            return Normal(**fields)
        case _:
            return Uniform(**fields)


def _check_count(count: int | None) -> None:
    if count is not None and not 2 <= count <= MOST_LEVELS:
        raise InputError(f"the number of values must be from 2 to {MOST_LEVELS}; got {count}.")
