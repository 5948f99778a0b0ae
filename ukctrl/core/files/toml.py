"""Reading TOML files: bytes to a table, a table to a typed specification, errors to one line."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import datetime
import re
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ukctrl.core.errors import InputError, near_miss
from ukctrl.core.files.unchanged import note

T = TypeVar("T")

MAX_BYTES = 4 * 2**20
"""Larger TOML files are refused; data belongs in CSV files beside them."""
MAX_KEY_PARTS = 32
"""Deeper dotted keys are refused: the parser's time grows with their square."""

_DOTTED = re.compile(r"""[\w"'-]++(?:[ \t]*+\.[ \t]*+[\w"'-]++)*+""")


def read_toml(path: Path) -> dict[str, Any]:
    """Return the table in a TOML file.

    Raises:
        InputError: The file is missing, too large, not UTF-8 or not TOML.
    """
    try:
        if not path.is_file():
            raise InputError(f"{path}: no such file.")
        note(path)
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read: {error}.") from None
    if len(raw) > MAX_BYTES:
        raise InputError(f"{path}: must be at most {MAX_BYTES // 2**20} MB.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: must be UTF-8 text; byte {error.start} is not. Save it as UTF-8."
        ) from None
    return parse_toml(text, str(path))


def parse_toml(text: str, label: str) -> dict[str, Any]:
    """Return the table in a TOML text; ``label`` names it in messages.

    Raises:
        InputError: It is not TOML, or nested absurdly.
    """
    if any(match[0].count(".") > MAX_KEY_PARTS for match in _DOTTED.finditer(text)):
        raise InputError(f"{label}: a dotted key must have at most {MAX_KEY_PARTS} parts.")
    try:
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{label}: not valid TOML: {one_line(str(error))}.") from None
    except RecursionError:
        raise InputError(f"{label}: not valid TOML: brackets are nested too deeply.") from None
    except ValueError:  # such as an integer with a million digits, or an impossible date
        raise InputError(f"{label}: not valid TOML: a number or a date is out of range.") from None


def read_spec(
    kind: type[T],
    table: Mapping[str, Any],
    path: Path | str,
    *,
    label: str | None = None,
    key: str = "",
) -> T:
    """Return a typed specification from a table.

    Args:
        kind: A pydantic dataclass, or an annotated union of some.
        table: What the file says.
        path: The file; relative file names in the table start at its folder.
        label: What messages call the file; absent: its path.
        key: Where in the file the table stands; absent: it is all of the file.

    Raises:
        InputError: The table does not fit, in one line: file, key path, what must hold.
    """
    base = path.parent if isinstance(path, Path) else Path()
    try:
        return TypeAdapter(kind).validate_python(dict(table), context={"base": base})
    except ValidationError as error:
        raise InputError(f"{label or path}: {explain(error, kind, key)}") from None


def explain(error: ValidationError, kind: Any, key: str = "") -> str:
    """Return the most telling complaint of a validation as ``key.path: what must hold; got ...``.

    That is an unknown key, which may be why another one is missing, or else the deepest complaint:
    of the alternatives that a value may be, it is about the one that was meant.
    """
    every = error.errors(include_url=False)
    # "Or a Python object" is an alternative that no file has, so it is not worth a complaint.
    details = [d for d in every if d["type"] != "is_instance_of"] or every
    unknown = [d for d in details if d["type"] in _UNKNOWN]
    chosen = unknown[0] if unknown else max(details, key=lambda d: len(d["loc"]))
    keys, owner, wanted = locate(kind, chosen["loc"])
    same, others = [chosen], 0
    for detail in details[:MAX_COMPLAINTS]:
        place = locate(kind, detail["loc"])[0]
        if place == keys and detail["type"] == chosen["type"]:
            same.append(detail)
        others += place != keys[: len(place)]
    more = f" (and {others} more)" if others and not unknown else ""
    parts = (f"[{k}]" if isinstance(k, int) else f".{one_line(k, 60)}" for k in keys)
    where = one_line(f"{key}{''.join(parts)}".lstrip("."))
    said = _complaint(chosen, owner, wanted, same)
    return f"{where}: {said}{more}" if where else f"{said}{more}"


MAX_COMPLAINTS = 100
"""Complaints that are looked at to count them; a file can earn a million."""
_UNKNOWN = frozenset({"unexpected_keyword_argument", "extra_forbidden"})
_MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})
_WANTED = {
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "dataclass_type": "a table",
    "model_attributes_type": "a table",
    "string_type": "text",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "float_type": "a number",
    "float_parsing": "a number",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
}
"""What must hold, for pydantic's own types of complaint."""


def _complaint(detail: ErrorDetails, owner: Any, wanted: Any, same: Sequence[ErrorDetails]) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _UNKNOWN:
        known = [f.name for f in dc.fields(owner)] if dc.is_dataclass(owner) else []
        name = str(detail["loc"][-1])
        shown = ", ".join(k for k in known if k != "kind")
        miss = near_miss(name, known)
        if miss == "." and (below := _below(owner, name)):
            miss = f"; did you mean '{below}'?"
        return f"unknown key{miss} Known: {shown or 'none'}."
    if kind in _MISSING:
        return "is missing."
    if kind == "union_tag_not_found":
        return f"needs kind, one of {', '.join(sorted(_tags(wanted)))}."
    if kind == "union_tag_invalid":
        tags = [tag.strip("' ") for tag in str(context.get("expected_tags", "")).split(",")]
        tag = one_line(str(context.get("tag", "")), 60)
        return f"kind must be one of {', '.join(sorted(tags))}; got '{tag}'{near_miss(tag, tags)}"
    cause = context.get("error")
    if isinstance(cause, Exception):
        return one_line(str(cause), 400).rstrip(".") + "."
    came = _written(detail["input"])
    if kind == "literal_error":
        expected = (str(entry.get("ctx", {}).get("expected", "")) for entry in same)
        pairs = re.findall(r"'([^']*)'|(-?\d+)", " ".join(expected))
        allowed = list(dict.fromkeys(text or number for text, number in pairs)) or [""]
        miss = near_miss(str(detail["input"]), allowed)
        wanted = f"one of {', '.join(allowed)}" if len(allowed) > 1 else f"'{allowed[0]}'"
        return f"must be {wanted}; got {came}{miss}"
    if kind in ("too_long", "too_short"):
        bound = "at most" if kind == "too_long" else "at least"
        count = context.get("max_length" if kind == "too_long" else "min_length")
        return f"must have {bound} {count} entr{'y' if count == 1 else 'ies'}; got {came}."
    if kind in ("tuple_type", "list_type") and isinstance(detail["input"], Mapping):
        key = one_line(str(detail["loc"][-1]), 60)
        return f"must be a list; got a table. Write [[{key}]] where the file says [{key}]."
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}; got {came}."
    said = one_line(detail["msg"])
    return f"{said[:1].lower()}{said[1:]}; got {came}."


def _below(owner: Any, name: str) -> str:
    """Return the path of a key that stands one table further down; empty where there is none."""
    for key in [field.name for field in dc.fields(owner)] if dc.is_dataclass(owner) else []:
        inside = _bare(_member(owner, key))[0]
        for table in (inside, *_union(inside)):
            if dc.is_dataclass(table) and name in [field.name for field in dc.fields(table)]:
                return f"{key}.{name}"
    return ""


def _written(value: object) -> str:
    """Return a value as a file would write it, cut short."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, datetime.date | datetime.time):
        return str(value)
    return one_line(repr(value), 60)


@contextlib.contextmanager
def blaming(where: str | Path) -> Iterator[None]:
    """Begin the messages of input errors from within with the place that they are about.

    >>> with blaming("actuator[0]"):
    ...     raise InputError("no joint named 'q9'.")
    Traceback (most recent call last):
    ukctrl.core.errors.InputError: actuator[0]: no joint named 'q9'.
    """
    try:
        yield
    except InputError as error:
        raise type(error)(f"{where}: {error}") from None


def locate(kind: Any, loc: tuple[int | str, ...]) -> tuple[list[int | str], Any, Any]:
    """Return the key path of a pydantic location, the class that its last key is in, and the type
    that stands there.

    Pydantic mixes the names of a union's members into its locations; a file has no such level.
    """
    keys: list[int | str] = []
    owner: Any = None
    for part in loc:
        kind, is_name = _descend(kind, part)
        if is_name:
            continue
        keys.append(part)
        owner = kind
        kind = _member(kind, part)
    return keys, owner, kind


def _descend(kind: Any, part: int | str) -> tuple[Any, bool]:
    """Return the type that ``part`` leads into: a union's member, if it is the name of one."""
    kind, tagged = _bare(kind)
    members = _union(kind)
    if not members:
        return kind, False
    if len(members) == 1 and not tagged:
        return _descend(members[0], part)
    for member in members:
        if dc.is_dataclass(member) and part in (_tag(member), getattr(member, "__name__", "")):
            return member, True
        if typing.get_origin(member) is Annotated:
            inner_kind, is_name = _descend(member, part)
            if is_name and inner_kind is not member:
                return inner_kind, True
        origin = typing.get_origin(_bare(member)[0])
        if isinstance(part, str) and isinstance(origin, type) and part.startswith(origin.__name__):
            return member, True
    return kind, isinstance(part, str)


def _bare(kind: Any) -> tuple[Any, bool]:
    """Strip annotations; tell whether one of them makes a union's members known by a tag."""
    tagged = False
    while typing.get_origin(kind) is Annotated:
        inner, *notes = typing.get_args(kind)
        tagged = tagged or any(isinstance(n, FieldInfo) and n.discriminator for n in notes)
        kind = inner
    return kind, tagged


def _union(kind: Any) -> list[Any]:
    """Return the members of a union, but for None; nothing for any other type."""
    if typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return []
    return [m for m in typing.get_args(kind) if m is not type(None)]


def _tags(kind: Any) -> set[str]:
    """Return the kinds that a union of dataclasses tells apart, unions in it included."""
    bare = _bare(kind)[0]
    if dc.is_dataclass(bare):
        return {_tag(bare) or ""} - {""}
    return set().union(*(_tags(member) for member in _union(bare)))


def _tag(member: Any) -> str | None:
    default = next((f.default for f in dc.fields(member) if f.name == "kind"), None)
    return default if isinstance(default, str) else None


def _member(kind: Any, part: int | str) -> Any:
    """Return the type of an entry of a dataclass, a list or a table."""
    if dc.is_dataclass(kind):
        return typing.get_type_hints(kind, include_extras=True).get(str(part))
    arguments = typing.get_args(kind)
    if isinstance(part, int) and arguments:
        fixed = arguments[-1] is not Ellipsis and part < len(arguments)
        return arguments[part] if fixed else arguments[0]
    return arguments[-1] if arguments else None


def one_line(text: str, limit: int = 200) -> str:
    """Return text from elsewhere on one line, cut to at most ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
