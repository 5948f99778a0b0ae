"""Reading TOML files: bytes to a table, a table to a typed specification, errors to one line."""

from __future__ import annotations

import contextlib
import dataclasses as dc
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

from ukctrl.core.errors import InputError, did_you_mean
from ukctrl.core.files.file_stamps import record_read
from ukctrl.core.message_text import literal_text, one_line

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
        record_read(path)
        with path.open("rb") as file:
            # one more tells a file that is too long from one that just fits
            raw = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: cannot be read: {error}.") from None
    if len(raw) > MAX_BYTES:
        raise InputError(f"{path}: must be at most {MAX_BYTES // 2**20} MB.")
    try:
        # editors on Windows write a mark at the beginning
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
    # tomllib takes time and depth in proportion to the parts squared
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
        raise InputError(f"{label or path}: {validation_text(error, kind, key)}") from None


def validation_text(error: ValidationError, kind: Any, key: str = "") -> str:
    """Return the most telling complaint of a validation as ``key.path: what must hold; got ...``.

    That is an unknown key, which may be why another one is missing, or else the deepest complaint:
    of the alternatives that a value may be, it is about the one that was meant.
    """
    errors = error.errors(include_url=False)
    # "Or a Python object" is an alternative that no file has, so it is not worth a complaint.
    details = [d for d in errors if d["type"] != "is_instance_of"] or errors
    unknown = [d for d in details if d["type"] in _UNKNOWN]
    # an unknown key explains the rest; else the deepest complaint is of the member that was meant
    chosen = unknown[0] if unknown else max(details, key=lambda d: len(d["loc"]))
    keys, owner, target = locate(kind, chosen["loc"])
    same, count = [chosen], 0
    for detail in details[:MAX_COMPLAINTS]:
        path = locate(kind, detail["loc"])[0]
        if path == keys and detail["type"] == chosen["type"]:
            same.append(detail)
        # complaints above the one that is told are of other members of its union
        count += path != keys[: len(path)]
    more = f" (and {count} more)" if count and not unknown else ""
    segments = (f"[{k}]" if isinstance(k, int) else f".{one_line(k, 60)}" for k in keys)
    where = one_line(f"{key}{''.join(segments)}".lstrip("."))
    message = _complaint(chosen, owner, target, same)
    return f"{where}: {message}{more}" if where else f"{message}{more}"


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


def _complaint(detail: ErrorDetails, owner: Any, target: Any, same: Sequence[ErrorDetails]) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _UNKNOWN:
        fields = _keys(owner)
        name = str(detail["loc"][-1])
        shown = ", ".join(k for k in fields if k != "kind")
        miss = did_you_mean(name, fields)
        # the key exists, one table further in
        if miss == "." and (below := _nested_key(owner, name)):
            miss = f"; did you mean '{below}'?"
        return f"unknown key{miss} Known: {shown or 'none'}."
    if kind in _MISSING:
        return "is missing."
    if kind == "union_tag_not_found":
        return f"needs kind, one of {', '.join(sorted(_tags(target)))}."
    if kind == "union_tag_invalid":
        tags = [tag.strip("' ") for tag in str(context.get("expected_tags", "")).split(",")]
        tag = one_line(str(context.get("tag", "")), 60)
        return (
            f"kind must be one of {', '.join(sorted(tags))}; got '{tag}'{did_you_mean(tag, tags)}"
        )
    cause = context.get("error")
    if isinstance(cause, Exception):
        return one_line(str(cause), 400).rstrip(".") + "."
    came = literal_text(detail["input"])
    if kind == "literal_error":
        expected = (str(entry.get("ctx", {}).get("expected", "")) for entry in same)
        pairs = re.findall(r"'([^']*)'|(-?\d+)", " ".join(expected))
        allowed = list(dict.fromkeys(text or number for text, number in pairs)) or [""]
        miss = did_you_mean(str(detail["input"]), allowed)
        target = f"one of {', '.join(allowed)}" if len(allowed) > 1 else f"'{allowed[0]}'"
        return f"must be {target}; got {came}{miss}"
    if kind in ("too_long", "too_short"):
        bound = "at most" if kind == "too_long" else "at least"
        count = context.get("max_length" if kind == "too_long" else "min_length")
        return f"must have {bound} {count} entr{'y' if count == 1 else 'ies'}; got {came}."
    if kind in ("tuple_type", "list_type") and isinstance(detail["input"], Mapping):
        key = one_line(str(detail["loc"][-1]), 60)
        number = next(iter(detail["input"]), "")
        if str(number).isdigit():  # a change by its number, of a list that is not there
            return (
                f"has no entry {number} to be changed here. List all of them, as [[{key}]], first."
            )
        return f"must be a list; got a table. Write [[{key}]] where the file says [{key}]."
    if kind in _WANTED:
        return f"must be {_WANTED[kind]}; got {came}."
    message = one_line(detail["msg"])
    return f"{message[:1].lower()}{message[1:]}; got {came}."


def _keys(owner: Any) -> list[str]:
    """Return the keys of a dataclass, as a file writes them."""
    if not dc.is_dataclass(owner):
        return []
    aliases = getattr(owner, "__pydantic_fields__", {})
    names = [field.name for field in dc.fields(owner)]
    return [(aliases[name].alias if name in aliases else None) or name for name in names]


def _nested_key(owner: Any, name: str) -> str:
    """Return the path of a key that stands one table further down; empty where there is none."""
    for key in [field.name for field in dc.fields(owner)] if dc.is_dataclass(owner) else []:
        inside = _without_annotations(_member(owner, key))[0]
        for table in (inside, *_union(inside)):
            if dc.is_dataclass(table) and name in [field.name for field in dc.fields(table)]:
                return f"{key}.{name}"
    return ""


@contextlib.contextmanager
def error_context(where: str | Path) -> Iterator[None]:
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
    for entry in loc:
        kind, is_name = _descend(kind, entry)
        if is_name:
            continue
        keys.append(entry)
        owner = kind
        kind = _member(kind, entry)
    return keys, owner, kind


def _descend(kind: Any, entry: int | str) -> tuple[Any, bool]:
    """Return the type that ``entry`` leads into: a union's member, if it is the name of one."""
    kind, tagged = _without_annotations(kind)
    members = _union(kind)
    if not members:
        return kind, False
    # an optional field is a union that pydantic does not name
    if len(members) == 1 and not tagged:
        return _descend(members[0], entry)
    for member in members:
        if dc.is_dataclass(member) and entry in (_tag(member), getattr(member, "__name__", "")):
            return member, True
        if typing.get_origin(member) is Annotated:
            inner_kind, is_name = _descend(member, entry)
            if is_name and inner_kind is not member:
                return inner_kind, True
        origin = typing.get_origin(_without_annotations(member)[0])
        if (
            isinstance(entry, str)
            and isinstance(origin, type)
            and entry.startswith(origin.__name__)
        ):
            return member, True
    return kind, isinstance(entry, str)


def _without_annotations(kind: Any) -> tuple[Any, bool]:
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
    bare = _without_annotations(kind)[0]
    if dc.is_dataclass(bare):
        return {_tag(bare) or ""} - {""}
    return set().union(*(_tags(member) for member in _union(bare)))


def _tag(member: Any) -> str | None:
    default = next((f.default for f in dc.fields(member) if f.name == "kind"), None)
    return default if isinstance(default, str) else None


def _member(kind: Any, entry: int | str) -> Any:
    """Return the type of an entry of a dataclass, a list or a table."""
    if dc.is_dataclass(kind):
        return typing.get_type_hints(kind, include_extras=True).get(str(entry))
    arguments = typing.get_args(kind)
    if isinstance(entry, int) and arguments:
        fixed = arguments[-1] is not Ellipsis and entry < len(arguments)
        return arguments[entry] if fixed else arguments[0]
    return arguments[-1] if arguments else None
