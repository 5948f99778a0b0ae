"""The unit of a factor: that of the field of the scenario that its path leads to."""

from __future__ import annotations

import dataclasses as dc
import typing
from collections.abc import Mapping
from typing import Any

from ukctrl.control.error_dynamics_spec import ERROR_SPEC_FIELDS, ErrorSpec
from ukctrl.core.field_checks import ByName, PerElement, Quantity
from ukctrl.core.number_text import unit_text
from ukctrl.simulation.scenario import Scenario


def with_unit(text: str, unit: str) -> str:
    """Return the label of an axis: a name, and its unit in brackets where it has one."""
    return f"{text} [{unit_text(unit)}]" if unit_text(unit) else text


def factor_unit(scenario: Scenario, path: str) -> str:
    """Return the unit of the value at a path; empty where it has none, or several may be meant.

    Args:
        scenario: One of the study's.
        path: As in ``--set``, or one of the terms, such as ``bandwidth``.
    """
    owner: Any = ErrorSpec(bandwidth=1.0) if path in ERROR_SPEC_FIELDS else scenario
    unit = ""
    for key in path.split("."):
        if isinstance(owner, list | tuple):
            owner = _entry(owner, key)
        elif isinstance(owner, Mapping):
            owner = owner.get(key)
        elif dc.is_dataclass(owner):
            unit = _unit_of(typing.get_type_hints(type(owner), include_extras=True).get(key))
            owner = getattr(owner, key, None)
    return unit if unit != "1" and " or " not in unit else ""


def _entry(items: list[Any] | tuple[Any, ...], key: str) -> Any:
    if key.isdecimal():
        return items[int(key)] if int(key) < len(items) else None
    words = ("name", "frame", "kind")
    return next((x for word in words for x in items if getattr(x, word, None) == key), None)


def _unit_of(hint: Any) -> str:
    """Return the unit that an annotation names, of itself or of a member of its union."""
    for note in reversed(typing.get_args(hint)):  # the last is the narrowest
        reader = note.quantity if isinstance(note, PerElement) else note
        reader = getattr(note.read_one, "__self__", None) if isinstance(note, ByName) else reader
        unit = reader.unit if isinstance(reader, Quantity) else _unit_of(note)
        if unit:
            return unit
    return ""
