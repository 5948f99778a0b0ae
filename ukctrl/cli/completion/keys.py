"""Keys of a scenario by their dotted paths, level by level, as ``--set`` takes them."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ukctrl.cli.completion.index import ROOT, index
from ukctrl.core.errors import UkctrlError
from ukctrl.core.files import catalog
from ukctrl.core.files.table_paths import Table, entry_names, merged, parse_value, set_path

MOST_BYTES = 256 * 1024
"""Of a larger file the keys are not looked at; every one of the catalogue is far smaller [byte]."""
SHOWN = 40
"""A present value is shown with no more letters."""
PLAIN = re.compile(r"[\w-]+")
"""Keys with other letters would need quotes, and are not offered."""
USED: dict[str, catalog.Kind] = {"controller": "controllers", "robot": "robots"}
"""Tables that may be the name of a file instead, or take keys over one that ``use`` names."""


class Node(NamedTuple):
    """A place in a scenario: what the file has there, and the tables that may stand there."""

    value: Any
    tables: Mapping[str, str]

    def below(self, key: str) -> Node:
        """Return the place at a key, or at an entry of a list by its number, name or kind."""
        if isinstance(self.value, list):
            names = dict(zip(entry_names(self.value), self.value, strict=True))
            numbers = {str(k): item for k, item in enumerate(self.value)}
            return Node({**numbers, **names}.get(key), self.tables)
        inside = self.value.get(key) if isinstance(self.value, Mapping) else None
        kept = self._schema().get(key)
        return Node(inside, kept if isinstance(kept, dict) else {})

    def next_keys(self) -> Iterator[str]:
        """Yield what may come next: the keys of the file, then what else the schema has."""
        if isinstance(self.value, list):
            yield from dict.fromkeys(entry_names(self.value))
            return
        present = self.value if isinstance(self.value, Mapping) else {}
        schema = self._schema()
        yield from (key for key in schema if key in present)
        yield from (key for key in present if key not in schema)
        yield from (key for key in schema if key not in present)

    def is_table(self) -> bool:
        """Return whether there are keys below."""
        return bool(self.tables) or isinstance(self.value, Mapping) or self._is_list_of_tables()

    def choices(self, key: str) -> list[str]:
        """Return the values that a key may have, where these are few."""
        if key == "kind":
            return [kind for kind in self.tables if kind]
        kept = self._schema().get(key)
        return list(kept) if isinstance(kept, list) else []

    def _schema(self) -> dict[str, Any]:
        """Return the keys of the kind that the file says; of any kind, where it says none."""
        present = self.value if isinstance(self.value, Mapping) else {}
        kind = str(present.get("kind"))
        names = [self.tables[kind]] if kind in self.tables else list(self.tables.values())
        every = index()["tables"]
        return {key: kept for name in names for key, kept in every[name].items()}

    def _is_list_of_tables(self) -> bool:
        return isinstance(self.value, list) and any(isinstance(x, Mapping) for x in self.value)


def keys(
    scenario: str | None, card: str | None, changes: list[str], typed: str
) -> Iterator[tuple[str, str]]:
    """Yield keys that go on with what is typed, a level at a time, each with its present value.

    A key with others below ends with a dot, one with a value in ``=``.

    Args:
        scenario: Name or file of the scenario on the line, if there is one.
        card: The controller that the line asks for, if it does.
        changes: What the line has set before.
        typed: A path as far as it is typed.
    """
    before, dot, _ = typed.rpartition(".")
    node = _at(_table(scenario, card, changes), before)
    found = [key for key in node.next_keys() if PLAIN.fullmatch(key)]
    for key in found:
        path, below = f"{before}{dot}{key}", node.below(key)
        if path.startswith(typed):
            if path == "robot" or not below.is_table():
                yield f"{path}=", _shown(below.value)
            if below.is_table():
                yield f"{path}.", _shown(below.value)


def values(scenario: str | None, card: str | None, changes: list[str], path: str) -> list[str]:
    """Return values that a key may have: its choices, or else the present one."""
    above, _, key = path.rpartition(".")
    node = _at(_table(scenario, card, changes), above)
    kind = USED.get(above) if key == "use" else USED.get(path) if path == "robot" else None
    if kind is not None:
        return list(catalog.names(kind))
    present = node.below(key).value
    return node.choices(key) or ([_written(present)] if _is_scalar(present) else [])


def _at(table: Table, path: str) -> Node:
    node = Node(table, {"": ROOT})
    for part in filter(None, path.split(".")):
        node = node.below(part)
    return node


def _table(scenario: str | None, card: str | None, changes: list[str]) -> Table:
    """Return the table of a scenario with its controller's card, and what the line changes."""
    table: Table = {}
    beside: Path | None = None
    if scenario:
        with contextlib.suppress(UkctrlError):
            beside = catalog.find("scenarios", scenario)
            table = _read(beside)
    if card is not None:
        table["controller"] = {"use": card}
    for key, equals, text in (change.partition("=") for change in changes):
        with contextlib.suppress(UkctrlError):
            table = set_path(table, key, parse_value(text)) if equals else table
    return table | {key: _with_file(table.get(key), kind, beside) for key, kind in USED.items()}


def _with_file(part: Any, kind: catalog.Kind, beside: Path | None) -> Any:
    """Return a controller or robot with the keys of the file that it uses."""
    table: Table = {"use": part} if isinstance(part, str) else part
    name = table.get("use") if isinstance(table, Mapping) else None
    if not isinstance(name, str):
        return table
    with contextlib.suppress(UkctrlError):
        path = catalog.find(kind, name, None if name.endswith(".toml") else beside)
        return merged(_read(path), dict(table))
    return table


def _read(path: Path) -> Table:
    """Return the table in a file; an empty one where it has none that could be looked at."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        if path.is_file() and path.stat().st_size <= MOST_BYTES:
            return tomllib.loads(path.read_text("utf-8-sig"))
    return {}


def _is_scalar(value: object) -> bool:
    return isinstance(value, bool | int | float | str)


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _shown(value: object) -> str:
    text = _written(value) if _is_scalar(value) else ""
    if isinstance(value, Mapping):
        named = value.get("use") or value.get("kind")
        text = named if isinstance(named, str) else ""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."
