"""The files of a user's that scenarios name: the same wherever something is computed."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ukctrl.core.errors import UkctrlError
from ukctrl.core.files import catalog
from ukctrl.core.files.toml import read_toml
from ukctrl.simulation.scenario import Scenario

DIGITS = 16
"""Digits of a digest that are kept."""
MOST_KNOWN = 4096
"""So many files are not read again while they stay as they are."""


def files_of(scenarios: Iterable[Scenario]) -> dict[str, str]:
    """Return the user's own files that scenarios name, each with a digest of what it holds."""
    digests: dict[str, str] = {}
    for scenario in scenarios:
        digests |= users_own(named_files(scenario.to_table()))
    return digests


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


def users_own(files: Mapping[str, str]) -> dict[str, str]:
    """Return files without those of the catalogue."""
    named, ours = {Path(path): digest for path, digest in files.items()}, catalog.root()
    return {
        str(path): digest
        for path, digest in named.items()
        if path.is_absolute() and not path.is_relative_to(ours)
    }


def strayed(files: Mapping[str, str]) -> str:
    """Return a file of the user's that is missing here, or another than it was; nothing where none.

    Args:
        files: What `named_files` said where it was right, perhaps on another machine.
    """
    for path, digest in files.items():
        here: dict[str, str] = {}
        _note(here, Path(path))
        if here.get(path) != digest:
            return path
    return ""


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
            now = path.stat()
            digests[str(path)] = _digest(path, now.st_mtime_ns, now.st_ctime_ns, now.st_size)
    except (OSError, ValueError):  # a text that is no path, such as a formula
        return


@functools.lru_cache(MOST_KNOWN)
def _digest(path: Path, *_as_it_is: int) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()[:DIGITS]
