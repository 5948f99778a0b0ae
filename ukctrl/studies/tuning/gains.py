"""Which numbers of a controller are its gains, and within which range a search may move them."""

from __future__ import annotations

import dataclasses as dc
import math
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from ukctrl.control.error_dynamics_spec import ERROR_SPEC_FIELDS
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.fields import Quantity
from ukctrl.core.files.table_paths import parse_value, table_leaves
from ukctrl.simulation.scenario import Scenario

DECADE = 10.0
"""By this factor below and above the card's value a range reaches that nobody has given, and by it
a range is widened."""
MAX_WIDENINGS = 4
"""So often at most."""
LIMIT_FRACTION = 0.02
"""A gain this close to an end of its range, as a fraction of it, may belong beyond."""
GAIN_DIGITS = 4
"""Significant digits of a gain that is tried: what is on the page is what was simulated."""
Scale = Literal["log", "uniform"]
Range = tuple[float, float] | tuple[float, float, Scale]
"""Ends of a range, and how a search is even in it; absent: in the logarithm."""
GAIN_TABLES = ("feedback", "disturbance", "gains")
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

    def at(self, fraction: float) -> float:
        """Return the value at a place of the range, from 0 to 1, rounded to `GAIN_DIGITS`."""
        x = min(max(fraction, 0.0), 1.0)
        if self.scale == "log":
            value = self.low * (self.high / self.low) ** x
        else:
            value = self.low + x * (self.high - self.low)
        return min(max(float(f"{value:.{GAIN_DIGITS}g}"), self.low), self.high)

    def at_end(self, value: float) -> bool:
        """Tell whether a value lies within 2 % of an end of the range, in its scale."""
        return not LIMIT_FRACTION < self.place(value) < 1.0 - LIMIT_FRACTION

    def beyond(self, value: float) -> Gain:
        """Return the gain with a range that goes on by a decade where a value lies at its end."""
        if self.room is None or self.widened == MAX_WIDENINGS or not self.at_end(value):
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
        for path, value in _gain_values(scenario.controller, inner=False)
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
    by_path = {name: {gain.path: gain for gain in group} for name, group in gains.items()}
    result: dict[str, dict[str, Gain]] = {
        name: {} if only and over else dict(group) for name, group in by_path.items()
    }
    terms = [path for path in over if path in ERROR_SPEC_FIELDS]
    if terms:
        result = {name: {} for name in gains}
    for path, (low, high, *scales) in over.items():
        scale: Scale = scales[0] if scales else "log"
        if not (-math.inf < low < high < math.inf) or (scale == "log" and low <= 0.0):
            raise InputError(
                f"over '{path}': the range must be positive and not empty, as 1:100, or as "
                f"uniform:0:100 where it starts at zero or below; got {low:g}:{high:g}."
            )
        if path in ERROR_SPEC_FIELDS:
            for group in result.values():
                group[path] = Gain(path, math.nan, low, high, scale)
            continue
        holders, barred = 0, False
        for name, scenario in scenarios.items():
            value = _value_at(scenario.to_table(), path)
            if value is None and path in by_path[name]:  # of a law that no file has
                value = by_path[name][path].value
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
            raise unknown_name("gain", path, {path for group in by_path.values() for path in group})
    return {name: tuple(group.values()) for name, group in result.items()}


def read_range(text: str) -> tuple[str, Range]:
    """Read ``PATH=LO:HI``, ``PATH=log:LO:HI`` or ``PATH=uniform:LO:HI``.

    Raises:
        InputError: It is no such text.
    """
    path, equals, range_text = text.partition("=")
    scale, *ends = (piece.strip() for piece in range_text.split(":"))
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


def _gain_values(owner: Any, *, inner: bool) -> Iterator[tuple[str, float]]:
    """Yield the path and the value of every positive number of a law that is no time."""
    if not dc.is_dataclass(owner):
        return
    hints = typing.get_type_hints(type(owner), include_extras=True)
    assumed: tuple[str, ...] = getattr(owner, "assumed", ())
    for field in dc.fields(owner):
        if field.name in assumed or _is_time(hints.get(field.name)):
            continue
        value = getattr(owner, field.name)
        if dc.is_dataclass(value) and (inner or field.name in GAIN_TABLES):
            for path, number in _gain_values(value, inner=True):
                yield f"{field.name}.{path}", number
        else:
            for path, leaf in table_leaves(value, field.name):
                if isinstance(leaf, float) and 0.0 < leaf < math.inf:
                    yield path, leaf


def _is_time(hint: Any) -> bool:
    """Tell whether a field holds seconds, or nothing, or some of either."""
    if typing.get_origin(hint) is typing.Annotated:
        notes = typing.get_args(hint)[1:]
        return any(isinstance(note, Quantity) and note.unit == "s" for note in notes)
    return any(_is_time(member) for member in typing.get_args(hint))


def _value_at(table: Any, path: str) -> float | None:
    """Return the number at a path of a table, or None where there is none."""
    for key in path.split("."):
        if isinstance(table, Mapping) and key in table:
            table = table[key]
        elif isinstance(table, list) and key.isdecimal() and int(key) < len(table):
            table = table[int(key)]
        else:
            return None
    is_number = isinstance(table, int | float) and not isinstance(table, bool)
    return float(table) if is_number and math.isfinite(table) else None
