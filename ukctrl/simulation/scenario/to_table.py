"""The way back: from a scenario to the table that its file would hold."""

from __future__ import annotations

import dataclasses as dc
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ukctrl.control.allocation.allocation import Allocation
from ukctrl.control.controller import Controller
from ukctrl.control.feedback.feedback import Feedback
from ukctrl.core.files.table_paths import Table
from ukctrl.mechanics.constraints import Constraint
from ukctrl.robot import Robot
from ukctrl.simulation.effects import Effect

PARTS = (Controller, Feedback, Allocation, Constraint, Effect)
"""What a user's own Python file may define."""


def table_of(scenario: object, objects: bool = False) -> Table:
    """Return the table of a scenario; ``objects`` keeps what only Python can hold."""
    table: Table = _plain(scenario, objects)
    return table


def _plain(value: Any, objects: bool) -> Any:
    if isinstance(value, Robot):
        if objects:
            return value
        where = str(value.path or f"{value.name} (made in Python)")
        return {"use": where, **_plain(value.override, objects)} if value.override else where
    if dc.is_dataclass(value) and type(value).__module__.startswith("ukctrl."):
        fields = {f.name: _plain(getattr(value, f.name), objects) for f in dc.fields(value)}
        return {key: item for key, item in fields.items() if item is not None}
    if isinstance(value, PARTS):
        return value if objects else _code_of(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item, objects) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, objects) for item in value]
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, str | int | float | bool) or value is None or objects:
        return value
    return repr(value)


def _code_of(part: Any) -> Table:
    """Return the table that names a user's own class and its fields."""
    file = inspect.getsourcefile(type(part))
    fields = dc.fields(part) if dc.is_dataclass(part) else ()
    gains = {f.name: _plain(getattr(part, f.name), False) for f in fields}
    gains = {key: item for key, item in gains.items() if item is not None}
    return {**gains, "kind": f"{file}:{type(part).__name__}"}
