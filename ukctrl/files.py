"""Reading TOML files: bytes to a table, a table to a typed specification, errors to one line."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import re
import tomllib
import types
import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from ukctrl.errors import InputError, near_miss

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
        raise InputError(f"{label}: not valid TOML: {_one_line(str(error))}.") from None
    except RecursionError:
        raise InputError(f"{label}: not valid TOML: brackets are nested too deeply.") from None
    except ValueError:  # such as an integer with a million digits, or an impossible date
        raise InputError(f"{label}: not valid TOML: a number or a date is out of range.") from None


def read_spec(kind: type[T], table: Mapping[str, Any], path: Path | str) -> T:
    """Return a typed specification from a table.

    Args:
        kind: A pydantic dataclass, or an annotated union of some.
        table: What the file says.
        path: The file; relative file names in the table start at its folder.

    Raises:
        InputError: The table does not fit, in one line: file, key path, what must hold.
    """
    base = path.parent if isinstance(path, Path) else Path()
    try:
        return TypeAdapter(kind).validate_python(dict(table), context={"base": base})
    except ValidationError as error:
        raise InputError(f"{path}: {explain(error, kind)}") from None


def explain(error: ValidationError, kind: Any) -> str:
    """Return the first complaint of a validation as ``key.path: what must hold; got ...``."""
    every = error.errors(include_url=False)
    # "Or a Python object" is an alternative that no file has, so it is not worth a complaint.
    details = [d for d in every if d["type"] != "is_instance_of"] or every
    # An unknown key is the likely cause of a missing one, so it goes first.
    chosen = next((d for d in details if d["type"] in _UNKNOWN), details[0])
    keys, owner = locate(kind, chosen["loc"])
    where = "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in keys).lstrip(".")
    said = _complaint(chosen, owner)
    others = len(details) - 1
    more = f" (and {others} more)" if others and chosen["type"] not in _UNKNOWN else ""
    return f"{where}: {said}{more}" if where else f"{said}{more}"


_UNKNOWN = frozenset({"unexpected_keyword_argument", "extra_forbidden"})
_MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument"})


def _complaint(detail: ErrorDetails, owner: Any) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _UNKNOWN:
        known = [f.name for f in dc.fields(owner)] if dc.is_dataclass(owner) else []
        name = str(detail["loc"][-1])
        shown = ", ".join(k for k in known if k != "kind")
        return f"unknown key{near_miss(name, known)} Known: {shown or 'none'}."
    if kind in _MISSING:
        return "is missing."
    if kind == "union_tag_not_found":
        return f"needs kind = one of {context.get('discriminator', '')}".rstrip(" '") + "."
    if kind == "union_tag_invalid":
        tags = [tag.strip("' ") for tag in str(context.get("expected_tags", "")).split(",")]
        tag = str(context.get("tag", ""))
        return f"kind must be one of {', '.join(sorted(tags))}; got '{tag}'{near_miss(tag, tags)}"
    cause = context.get("error")
    if isinstance(cause, Exception):
        return _one_line(str(cause)).rstrip(".") + "."
    came = _one_line(repr(detail["input"]))
    return f"{_one_line(detail['msg'])[:1].lower()}{_one_line(detail['msg'])[1:]}; got {came}."


@contextlib.contextmanager
def blaming(where: str | Path) -> Iterator[None]:
    """Begin the messages of input errors from within with the place that they are about.

    >>> with blaming("actuator[0]"):
    ...     raise InputError("no joint named 'q9'.")
    Traceback (most recent call last):
    ukctrl.errors.InputError: actuator[0]: no joint named 'q9'.
    """
    try:
        yield
    except InputError as error:
        raise type(error)(f"{where}: {error}") from None


def locate(kind: Any, loc: tuple[int | str, ...]) -> tuple[list[int | str], Any]:
    """Return the key path of a pydantic location, and the dataclass that its last key is in.

    Pydantic mixes the tags of unions into its locations; a file has no such level.
    """
    keys: list[int | str] = []
    owner: Any = None
    for part in loc:
        kind, skip = _descend(kind, part)
        if skip:
            continue
        keys.append(part)
        owner = kind
        kind = _member(kind, part)
    return keys, owner


def _descend(kind: Any, part: int | str) -> tuple[Any, bool]:
    """Strip annotations; return the union member that ``part`` tags, and whether it is a tag."""
    tagged = False
    while typing.get_origin(kind) is Annotated:
        inner, *notes = typing.get_args(kind)
        tagged = tagged or any(isinstance(n, FieldInfo) and n.discriminator for n in notes)
        kind = inner
    if typing.get_origin(kind) not in (typing.Union, types.UnionType):
        return kind, False
    members = [m for m in typing.get_args(kind) if m is not type(None)]
    if len(members) == 1 and not tagged:
        return _descend(members[0], part)
    for member in members:
        if dc.is_dataclass(member) and part in (_tag(member), getattr(member, "__name__", "")):
            return member, True
        if typing.get_origin(member) is Annotated:
            found, skip = _descend(member, part)
            if skip:
                return found, True
    return kind, isinstance(part, str)


def _tag(member: Any) -> str | None:
    default = next((f.default for f in dc.fields(member) if f.name == "kind"), None)
    return default if isinstance(default, str) else None


def _member(kind: Any, part: int | str) -> Any:
    if dc.is_dataclass(kind):
        return typing.get_type_hints(kind, include_extras=True).get(str(part))
    arguments = typing.get_args(kind)
    if isinstance(part, int) and arguments:
        fixed = arguments[-1] is not Ellipsis and part < len(arguments)
        return arguments[part] if fixed else arguments[0]
    return arguments[-1] if arguments else None


def _one_line(text: str, limit: int = 200) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."
