"""Texts, values and errors as messages show them: one line, printable, cut short."""

from __future__ import annotations

import datetime
from collections.abc import Mapping


def one_line(text: str, limit: int = 200) -> str:
    """Return text from elsewhere on one line, cut to at most ``limit`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def printable_name(name: str) -> str:
    """Return a name as a message shows it: printable and cut short."""
    return quote_text(name)[1:-1]


def quote_text(text: str) -> str:
    """Return the text as a message quotes it: one line, printable, at most 60 characters."""
    start = " ".join(text[:200].split())
    cut = start if len(start) <= 60 and len(text) <= 200 else start[:57] + "..."
    return "'" + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in cut) + "'"


def literal_text(value: object) -> str:
    """Return a value as a file would write it, on one line and cut short, for a message."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote_text(value)
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, int) and abs(value) > 10**20:
        return "an integer too large for floating point"
    if isinstance(value, datetime.date | datetime.time):
        return str(value)
    return one_line(repr(value)[:200], 60)


def error_text(error: BaseException) -> str:
    """Return the class of an error and what it says, without a full stop."""
    return f"{type(error).__name__}: {error}".strip().rstrip(".: ")
