"""How one value varies: a list, a range, or a distribution; each over the unit interval."""

from __future__ import annotations

import abc
import dataclasses as dc
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, final

import numpy as np

from ukctrl.core.errors import InputError

ColumnType = Literal["bool", "int", "float", "text"]
"""What a column of a study's table holds."""
MAX_LEVELS = 1_000_000
"""More values of one factor than this are a typing error."""
TAIL_PROBABILITY = 2.0**-32
"""The outermost place of a normal distribution, 6.2 standard deviations off: its ends are nowhere.
"""


class Distribution(abc.ABC):
    """How one value varies."""

    kind: ClassVar[str]

    @abc.abstractmethod
    def quantile(self, probability: float) -> object:
        """Return the value at a place of the unit interval."""

    @abc.abstractmethod
    def grid_values(self) -> Sequence[object] | None:
        """Return the values of a grid; None where their number is not given."""

    @abc.abstractmethod
    def test_values(self) -> Sequence[object]:
        """Return what must be acceptable wherever it goes."""

    @abc.abstractmethod
    def column_type(self) -> ColumnType:
        """Return what a column of these values holds."""

    @abc.abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data."""


@final
@dc.dataclass(frozen=True)
class Levels(Distribution):
    """Some values, each as likely as another."""

    kind = "list"
    values: tuple[object, ...]
    """Numbers, texts, truth values, or lists and tables of them."""

    def __post_init__(self) -> None:
        if not self.values:
            raise InputError("must have at least one value; got none.")

    def quantile(self, probability: float) -> object:
        return self.values[min(int(probability * len(self.values)), len(self.values) - 1)]

    def grid_values(self) -> Sequence[object]:
        return self.values

    def test_values(self) -> Sequence[object]:
        return self.values

    def column_type(self) -> ColumnType:
        if all(isinstance(value, bool) for value in self.values):
            return "bool"
        if any(
            isinstance(value, bool) or not isinstance(value, int | float) for value in self.values
        ):
            return "text"
        return "int" if all(isinstance(value, int) for value in self.values) else "float"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "values": list(self.values)}


class _NumericDistribution(Distribution):
    """What spreads of numbers share: any of them, or so many where a grid is wanted."""

    count: int | None

    def grid_values(self) -> Sequence[object] | None:
        return None if self.count is None else self._grid(self.count)

    @abc.abstractmethod
    def _grid(self, count: int) -> list[Any]:
        """Return so many values."""

    def column_type(self) -> ColumnType:
        return "float"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, **vars(self)}

    def _check(self, right: bool, must: str, got: str) -> None:
        if not right:
            raise InputError(f"{must}; got {got}.")
        if self.count is not None and not 2 <= self.count <= MAX_LEVELS:
            raise InputError(
                f"the number of values must be from 2 to {MAX_LEVELS}; got {self.count}."
            )


@dc.dataclass(frozen=True)
class _RangeDistribution(_NumericDistribution):
    """What ranges share: two ends."""

    low: float
    high: float
    count: int | None = None
    """Values of a grid; absent: any value of the range."""

    def __post_init__(self) -> None:
        rises = math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high
        must = "the range must go up from one number to another"
        self._check(rises, must, f"{self.low:g}:{self.high:g}")

    def test_values(self) -> Sequence[object]:
        return (self.low, self.high)


@final
@dc.dataclass(frozen=True)
class Uniform(_RangeDistribution):
    """Any value of a range, or equally spaced ones."""

    kind = "uniform"

    def quantile(self, probability: float) -> float:
        return self.low + (self.high - self.low) * probability

    def _grid(self, count: int) -> list[Any]:
        return [float(x) for x in np.linspace(self.low, self.high, count)]


@final
@dc.dataclass(frozen=True)
class Log(_RangeDistribution):
    """Any value of a positive range, evenly in its logarithm."""

    kind = "log"

    def __post_init__(self) -> None:
        super().__post_init__()
        must = "the range of 'log' must be positive"
        self._check(self.low > 0.0, must, f"{self.low:g}:{self.high:g}")

    def quantile(self, probability: float) -> float:
        return float(min(self.low * (self.high / self.low) ** probability, self.high))

    def _grid(self, count: int) -> list[Any]:
        return [float(x) for x in np.geomspace(self.low, self.high, count)]


@final
@dc.dataclass(frozen=True)
class IntegerRange(_RangeDistribution):
    """Any whole number from one to another, both included, or some of them."""

    kind = "whole"
    low: int
    high: int

    def quantile(self, probability: float) -> int:
        return min(self.low + int((self.high - self.low + 1) * probability), self.high)

    def _grid(self, count: int) -> list[Any]:
        return sorted({round(value) for value in np.linspace(self.low, self.high, count).tolist()})

    def column_type(self) -> ColumnType:
        return "int"


@final
@dc.dataclass(frozen=True)
class Normal(_NumericDistribution):
    """Values with a normal distribution."""

    kind = "normal"
    mean: float
    sd: float
    """Standard deviation."""
    count: int | None = None
    """Values of a grid, the middles of as many equally likely parts; absent: any value."""

    def __post_init__(self) -> None:
        right = math.isfinite(self.mean) and math.isfinite(self.sd) and self.sd > 0.0
        must = "a normal distribution must have a finite mean and a positive standard deviation"
        self._check(right, must, f"{self.mean:g}:{self.sd:g}")

    def quantile(self, probability: float) -> float:
        from scipy.special import ndtri

        return self.mean + self.sd * float(
            ndtri(min(max(probability, TAIL_PROBABILITY), 1.0 - TAIL_PROBABILITY))
        )

    def _grid(self, count: int) -> list[Any]:
        return [self.quantile((k + 0.5) / count) for k in range(count)]

    def test_values(self) -> Sequence[object]:
        return (self.mean,)


def distribution_from(data: Mapping[str, Any]) -> Distribution:
    """Read a spread back from its data."""
    kinds: dict[str, type[Distribution]] = {one.kind: one for one in (Log, IntegerRange, Normal)}
    if data["kind"] == Levels.kind:
        return Levels(tuple(data["values"]))
    fields = {key: value for key, value in data.items() if key not in ("kind", "path")}
    return kinds.get(data["kind"], Uniform)(**fields)
