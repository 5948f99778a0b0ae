"""Tables as files hold them: laid over each other, and changed by path."""

from __future__ import annotations

import dataclasses as dc
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ukctrl.core.errors import InputError, unknown_name

Table = dict[str, Any]
_PAIRS = MappingProxyType({"{": "}", "[": "]", "(": ")"})


def merged(base: Table, override: Table) -> Table:
    """Return ``base`` with the keys of ``override`` laid over it, table by table."""
    result = dict(base)
    for key, value in override.items():
        old = result.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            same_kind = value.get("kind", old.get("kind")) == old.get("kind")
            result[key] = merged(old, value) if same_kind else value
        else:
            result[key] = value
    return result


def table_leaves(value: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Yield every plain value below a table with its dotted path; entries of a list by index."""
    if isinstance(value, Mapping):
        items: Iterable[tuple[object, object]] = value.items()
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    else:
        yield path, value
        return
    for key, item in items:
        yield from table_leaves(item, f"{path}.{key}" if path else str(key))


def set_path(table: Table, key: str, value: object) -> Any:
    """Return a copy of a table with the value at a dotted path changed.

    Another ``kind`` replaces the table that it stands in. Entries of a list are named by their
    index, their name or frame, or a kind that no other has. A law made in Python is a table of its
    fields.

    Raises:
        InputError: The path leads through something that is no table.
    """
    return _set(table, key.split("."), value, key)


def _set(node: Any, path: Sequence[str], value: object, key: str) -> Any:
    head, *tail = path
    if isinstance(node, list | tuple):
        index = _entry(node, head, key)
        items = list(node)
        items[index] = _set(items[index], tail, value, key) if tail else value
        return items
    if dc.is_dataclass(node) and not isinstance(node, type):
        names = [field.name for field in dc.fields(node)]
        if head not in names:
            raise unknown_name(f"field of {type(node).__name__} (in '{key}')", head, names)
        changed = _set(getattr(node, head), tail, value, key) if tail else value
        return dc.replace(node, **{head: changed})
    if not isinstance(node, Mapping):
        raise InputError(f"'{key}' cannot be set: there is no table above '{head}'.")
    if head == "kind" and not tail and node.get("kind", value) != value:
        return {"kind": value}  # the settings of one kind mean nothing to another
    result: Table = dict(node)
    result[head] = _set(result.get(head, {}), tail, value, key) if tail else value
    return result


RUN_NAMES = {
    "joints": ("joint_limits", "joint_follows"),
    "com": ("com_follows",),
    "velocity": ("linear_velocity",),
}
"""What a run calls blocks without a name, where that is not their kind."""


def _entry(items: Sequence[Any], head: str, key: str) -> int:
    names = entry_names(items)
    if head.isdecimal() and int(head) < len(items):
        return int(head)
    if head in names:
        return names.index(head)
    kinds = [item.get("kind") if isinstance(item, Mapping) else None for item in items]
    if kinds.count(head) == 1:
        return kinds.index(head)
    unnamed = [k for k, name in enumerate(names) if name in RUN_NAMES.get(head, ())]
    if len(unnamed) == 1:
        return unnamed[0]
    raise unknown_name(f"entry (in '{key}')", head, names)


def entry_names(items: Sequence[Any]) -> list[str]:
    """Return what a path may call the entries of a list, beside their numbers."""
    return [
        str(item.get("name") or item.get("frame") or item.get("kind"))
        if isinstance(item, Mapping)
        else str(i)
        for i, item in enumerate(items)
    ]


def parse_value(text: str) -> object:
    """Return the TOML value of a text, or the text itself: ``--set`` needs no quotes."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (tomllib.TOMLDecodeError, RecursionError, ValueError):
        return text


def parse_settings(option: str, pairs: Iterable[str]) -> dict[str, object]:
    """Return the values that KEY=VALUE pairs of a command's option give, by their keys.

    Raises:
        InputError: One of them is not KEY=VALUE.
    """
    settings: dict[str, object] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key.strip():
            raise InputError(f"{option} must be KEY=VALUE; got '{pair}'.")
        settings[key.strip()] = parse_value(text.strip())
    return settings


def table_of_settings(option: str, pairs: Iterable[str]) -> Table:
    """Return the same as a table, keys being dotted paths."""
    table: Table = {}
    for key, value in parse_settings(option, pairs).items():
        table = set_path(table, key, value)
    return table


def parse_number(text: str) -> float | None:
    """Return the number that a text is; None where it is none."""
    value = parse_value(text)
    return None if isinstance(value, bool) or not isinstance(value, int | float) else float(value)


def split_list(text: str, separator: str, label: str) -> Iterator[str]:
    """Yield what separators part, but not those inside brackets or quotes.

    Raises:
        InputError: A bracket or a quote has no partner.
    """
    open_brackets: list[str] = []
    quote, start = "", 0
    for index, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _PAIRS:
            open_brackets.append(_PAIRS[letter])
        elif letter in _PAIRS.values():
            if not open_brackets or open_brackets.pop() != letter:
                raise InputError(f"{label}: '{letter}' closes what was not opened.")
        elif letter == separator and not open_brackets:
            yield text[start:index]
            start = index + 1
    if open_brackets or quote:
        raise InputError(f"{label}: '{quote or open_brackets[-1]}' is missing.")
    if text[start:].strip():
        yield text[start:]
