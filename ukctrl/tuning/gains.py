"""Which numbers of a controller are its gains, and within which range a search may move them."""

from __future__ import annotations

import dataclasses as dc
import math
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ukctrl.control import Controller, Feedback
from ukctrl.errors import InputError, unknown_name
from ukctrl.fields import Quantity
from ukctrl.scenario import Scenario
from ukctrl.tables import parse_value

DECADE = 10.0
"""By this factor below and above the card's value a range reaches that nobody has given."""
LAWS = ("feedback", "gains")
"""Tables of a controller in which gains stand, beside those at its top."""


class Gain(NamedTuple):
    """One number that a search may change."""

    path: str
    """Its path in the scenario: ``controller.feedback.alpha``."""
    value: float
    """What the card says."""
    low: float
    high: float


def gains_of(scenario: Scenario) -> tuple[Gain, ...]:
    """Return the gains of a scenario's controller, each with a decade of range on both sides.

    They are the positive numbers at the top of the controller and in its feedback, alone, in lists
    or in tables by name. Times are none: they say when, and not how much; nor is what a law takes
    as known, such as the bound of an uncertainty.
    """
    return tuple(
        Gain(f"controller.{path}", value, value / DECADE, value * DECADE)
        for path, value in _numbers(scenario.controller, inner=False)
    )


def with_ranges(
    gains: Mapping[str, Sequence[Gain]],
    over: Mapping[str, tuple[float, float]],
    scenarios: Mapping[str, Scenario],
) -> dict[str, tuple[Gain, ...]]:
    """Return the gains of every controller with the ranges that somebody has given.

    A path that only some controllers have is for these; one that is no gain by itself becomes one.

    Raises:
        InputError: A range is empty or not positive, or no controller has the path.
    """
    result = {name: {gain.path: gain for gain in known} for name, known in gains.items()}
    for path, (low, high) in over.items():
        if not (0.0 < low < high < math.inf):
            raise InputError(
                f"over '{path}': the range must be positive and not empty, as 1:100; "
                f"got {low:g}:{high:g}."
            )
        holders = 0
        for name, scenario in scenarios.items():
            value = _value_at(scenario.to_table(), path)
            if value is not None:
                result[name][path] = Gain(path, value, low, high)
                holders += 1
        if not holders:
            known_paths = {path for known in gains.values() for path in (g.path for g in known)}
            raise unknown_name("gain", path, known_paths)
    return {name: tuple(known.values()) for name, known in result.items()}


def read_range(text: str) -> tuple[str, tuple[float, float]]:
    """Read ``PATH=LO:HI``.

    Raises:
        InputError: It is no such text.
    """
    path, equals, range_text = text.partition("=")
    low, colon, high = range_text.partition(":")
    values = [parse_value(part.strip()) for part in (low, high)]
    if not (equals and colon and path.strip()) or not all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    ):
        raise InputError(
            f"over must be PATH=LO:HI, such as controller.feedback.alpha=1:100; got '{text}'."
        )
    return path.strip(), (float(values[0]), float(values[1]))  # type: ignore[arg-type]


def _numbers(owner: Any, *, inner: bool) -> Iterator[tuple[str, float]]:
    """Yield the path and the value of every positive number of a law that is no time."""
    if not dc.is_dataclass(owner):
        return
    hints = typing.get_type_hints(type(owner), include_extras=True)
    assumed = owner.assumed if isinstance(owner, Controller | Feedback) else ()
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
    """Return the positive number at a path of a table, or None where there is none."""
    for part in path.split("."):
        if isinstance(table, Mapping) and part in table:
            table = table[part]
        elif isinstance(table, list) and part.isdecimal() and int(part) < len(table):
            table = table[int(part)]
        else:
            return None
    is_number = isinstance(table, int | float) and not isinstance(table, bool)
    return float(table) if is_number and 0.0 < table < math.inf else None
