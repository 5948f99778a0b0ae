"""Which files a scenario names, and what they hold: they must not change while a study is away."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ukctrl.core.errors import UkctrlError
from ukctrl.core.files import catalog
from ukctrl.core.files.toml import read_toml

DIGITS = 16
"""Digits of a digest that are kept."""


def named_files(table: Mapping[str, Any]) -> dict[str, str]:
    """Return the files that a scenario's table names, each with a digest of what it holds.

    These are robots with their models, laws and other code of the user's, tables of numbers. What
    a file of code imports, and the meshes of a model, are not among them.
    """
    digests: dict[str, str] = {}
    for text in _texts(table):
        _note(digests, Path(text.rpartition(":")[0] if ".py:" in text else text))
    for robot in _robots(table):
        try:
            path = catalog.find("robots", robot)
            named = list(_texts(read_toml(path))) if path.suffix == ".toml" else []
        except UkctrlError:
            continue  # whoever loads it says what is wrong
        _note(digests, path)
        for text in named:
            _note(digests, path.parent / (text.rpartition(":")[0] if ".py:" in text else text))
    return dict(sorted(digests.items()))


def _robots(table: Mapping[str, Any]) -> Iterator[str]:
    """Yield the robots of a scenario, the true one and the believed one, as they are named."""
    for holder in (table, table.get("believed") or {}):
        robot = holder.get("robot")
        name = robot.get("use") if isinstance(robot, Mapping) else robot
        if isinstance(name, str):
            yield name


def _texts(value: object) -> Iterator[str]:
    """Yield every text in a table."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for entry in value.values():
            yield from _texts(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _texts(entry)


def _note(digests: dict[str, str], path: Path) -> None:
    try:
        if path.suffix and path.is_file():
            digests[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
    except (OSError, ValueError):  # a text that is no path, such as a formula
        return
