"""Which numbers of a controller are its gains, and within which range a search may move them."""

from __future__ import annotations

import dataclasses as dc
import math
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ukctrl.control.terms import TERMS
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.fields import Quantity
from ukctrl.core.files.table_paths import parse_value
from ukctrl.simulation.scenario import Scenario

DECADE = 10.0
"""By this factor below and above the card's value a range reaches that nobody has given, and by it
a range is widened."""
MOST_WIDENED = 4
"""So often at most."""
AT_BORDER = 0.02
"""A gain this close to an end of its range, as a fraction of it, may belong beyond."""
DIGITS = 4
"""Significant digits of a gain that is tried: what is on the page is what was simulated."""
Scale = Literal["log", "uniform"]
Range = tuple[float, float] | tuple[float, float, Scale]
"""Ends of a range, and how a search is even in it; absent: in the logarithm."""
LAWS = ("feedback", "disturbance", "gains")
"""Tables of a controller in which gains stand, beside those at its top."""


class Gain(NamedTuple):
    """One number that a search may change."""

    path: str
    """Its path in the scenario: ``controller.feedback.alpha``."""
    value: float
    """What the card says; NaN where that is not known, as of the damping of its loop."""
    low: float
    high: float
    scale: Scale = "log"
    """Whether the search is even in the gain's logarithm, or in the gain itself."""
    room: tuple[float, float] | None = None
    """How far a search may widen the range, where its best lies at an end; None: it is given."""
    widened: int = 0
    """How often it has."""

    def at(self, place: float) -> float:
        """Return the value at a place of the range, from 0 to 1, rounded to `DIGITS`."""
        x = min(max(place, 0.0), 1.0)
        if self.scale == "log":
            value = self.low * (self.high / self.low) ** x
        else:
            value = self.low + x * (self.high - self.low)
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)

    def at_end(self, value: float) -> bool:
        """Tell whether a value lies within 2 % of an end of the range, in its scale."""
        return not AT_BORDER < self.place(value) < 1.0 - AT_BORDER

    def beyond(self, value: float) -> Gain:
        """Return the gain with a range that goes on by a decade where a value lies at its end."""
        if self.room is None or self.widened == MOST_WIDENED or not self.at_end(value):
            return self
        low, high = self.low, self.high
        if self.place(value) < 0.5:
            low = max(low / DECADE, self.room[0])
        else:
            high = min(high * DECADE, self.room[1])
        if low >= self.low and high <= self.high:
            return self
        return self._replace(low=low, high=high, widened=self.widened + 1)

    def place(self, value: float) -> float:
        """Return the place of a value in the range; below 0 or above 1 where it lies outside.

        Of one that is not known, the middle.
        """
        if math.isnan(value):
            return 0.5
        if self.scale == "log":
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def gains_of(scenario: Scenario) -> tuple[Gain, ...]:
    """Return the gains of a scenario's controller, each with a decade of range on both sides.

    They are the positive numbers at the top of the controller, in its feedback and its observer,
    alone, in lists or in tables by name. Times are none: they say when, and not how much; nor is
    what a law takes as known, such as the bound of an uncertainty.
    """
    return tuple(
        Gain(f"controller.{path}", value, value / DECADE, value * DECADE, room=(0.0, math.inf))
        for path, value in _numbers(scenario.controller, inner=False)
    )


def with_ranges(
    gains: Mapping[str, Sequence[Gain]],
    over: Mapping[str, Range],
    scenarios: Mapping[str, Scenario],
    *,
    only: bool = False,
) -> dict[str, tuple[Gain, ...]]:
    """Return the gains of every controller with the ranges that somebody has given.

    A path that only some controllers have is for these; one that is no gain by itself becomes one.
    A term, such as ``bandwidth``, is for all, whose gains then follow from it; other gains without
    a range stay as they are.

    Args:
        gains: Of every controller, by its name.
        over: Ranges by path.
        scenarios: In which the controllers stand, by their names.
        only: Whether gains without a range are left at their value.

    Raises:
        InputError: A range is empty, or not positive where its scale is logarithmic, or no
            controller has the path.
    """
    known = {name: {gain.path: gain for gain in every} for name, every in gains.items()}
    result: dict[str, dict[str, Gain]] = {
        name: {} if only and over else dict(every) for name, every in known.items()
    }
    terms = [path for path in over if path in TERMS]
    if terms:
        result = {name: {} for name in gains}
    for path, (low, high, *how) in over.items():
        scale: Scale = how[0] if how else "log"
        if not (-math.inf < low < high < math.inf) or (scale == "log" and low <= 0.0):
            raise InputError(
                f"over '{path}': the range must be positive and not empty, as 1:100, or as "
                f"uniform:0:100 where it starts at zero or below; got {low:g}:{high:g}."
            )
        if path in TERMS:
            for every in result.values():
                every[path] = Gain(path, math.nan, low, high, scale)
            continue
        holders, barred = 0, False
        for name, scenario in scenarios.items():
            value = _value_at(scenario.to_table(), path)
            if value is None and path in known[name]:  # of a law that no file has
                value = known[name][path].value
            if value is not None and (value > 0.0 or scale == "uniform"):
                result[name][path] = Gain(path, value, low, high, scale)
                holders += 1
            barred = barred or value is not None
        if barred and not holders:
            raise InputError(
                f"over '{path}': a value that is not positive has no logarithm; give the range as "
                f"uniform:{low:g}:{high:g}."
            )
        if not holders:
            raise unknown_name("gain", path, {path for every in known.values() for path in every})
    return {name: tuple(every.values()) for name, every in result.items()}


def read_range(text: str) -> tuple[str, Range]:
    """Read ``PATH=LO:HI``, ``PATH=log:LO:HI`` or ``PATH=uniform:LO:HI``.

    Raises:
        InputError: It is no such text.
    """
    path, equals, range_text = text.partition("=")
    scale, *ends = (part.strip() for part in range_text.split(":"))
    if len(ends) == 1:
        scale, ends = "", [scale, *ends]
    values = [parse_value(end) for end in ends]
    numbers = [float(v) for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    right = equals and path.strip() and len(values) == len(numbers) == 2
    if not right or scale not in ("", *typing.get_args(Scale)):
        raise InputError(
            f"over must be PATH=LO:HI, such as controller.feedback.alpha=1:100, or "
            f"PATH=uniform:LO:HI; got '{text}'."
        )
    low, high = numbers
    return path.strip(), (low, high, "uniform") if scale == "uniform" else (low, high)


def _numbers(owner: Any, *, inner: bool) -> Iterator[tuple[str, float]]:
    """Yield the path and the value of every positive number of a law that is no time."""
    if not dc.is_dataclass(owner):
        return
    hints = typing.get_type_hints(type(owner), include_extras=True)
    assumed: tuple[str, ...] = getattr(owner, "assumed", ())
    for field in dc.fields(owner):
        if field.name in assumed or _is_time(hints.get(field.name)):
            continue
        value = getattr(owner, field.name)
        if dc.is_dataclass(value) and (inner or field.name in LAWS):
            for path, number in _numbers(value, inner=True):
                yield f"{field.name}.{path}", number
        else:
            yield from _leaves(field.name, value)


def _leaves(path: str, value: object) -> Iterator[tuple[str, float]]:
    if isinstance(value, float) and 0.0 < value < math.inf:
        yield path, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}", item)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _leaves(f"{path}.{index}", item)


def _is_time(hint: Any) -> bool:
    """Tell whether a field holds seconds, or nothing, or some of either."""
    if typing.get_origin(hint) is typing.Annotated:
        notes = typing.get_args(hint)[1:]
        return any(isinstance(note, Quantity) and note.unit == "s" for note in notes)
    return any(_is_time(member) for member in typing.get_args(hint))


def _value_at(table: Any, path: str) -> float | None:
    """Return the number at a path of a table, or None where there is none."""
    for part in path.split("."):
        if isinstance(table, Mapping) and part in table:
            table = table[part]
        elif isinstance(table, list) and part.isdecimal() and int(part) < len(table):
            table = table[int(part)]
        else:
            return None
    is_number = isinstance(table, int | float) and not isinstance(table, bool)
    return float(table) if is_number and math.isfinite(table) else None
