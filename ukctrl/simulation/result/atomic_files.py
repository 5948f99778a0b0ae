"""Plain data and plain files: what JSON and TOML can express, written whole or not at all."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import fcntl
import io
import math
import os
import re
import secrets
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ukctrl.core.errors import InputError
from ukctrl.core.files.output_folders import open_folder, output_root, refuse_link

UNFINISHED = ".unfinished"
"""How the names of files end that are being written."""
_NUMBERS = re.compile(r"\[\n((?:[ ]+[^\[\]{}\n\"'=,]+,\n)+)[ ]*\]")
"""A list of numbers over several lines. No text holds a line break, so none can look like it."""


def to_plain_data(value: object, where: str) -> Any:
    """Return the value as the dicts, lists, texts and numbers that JSON and TOML share.

    Entries that are None are dropped from mappings.

    Raises:
        InputError: Something is of no such type; the message says where.
    """
    if type(value) in (bool, int, float):
        return value
    if isinstance(value, str):
        return utf8_text(value)
    # before float, of which NumPy's float64 is a kind: files are written from Python's own
    if isinstance(value, np.generic | np.ndarray):
        return to_plain_data(value.tolist(), where)
    if isinstance(value, int | float):
        return value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        items = ((str(key), entry) for key, entry in value.items() if entry is not None)
        return {key: to_plain_data(entry, f"{where}.{key}") for key, entry in items}
    if isinstance(value, list | tuple | set | frozenset):
        # sets have no order: equal runs shall have equal files
        entries = sorted(value, key=str) if isinstance(value, set | frozenset) else value
        return [to_plain_data(entry, f"{where}[{i}]") for i, entry in enumerate(entries)]
    if dc.is_dataclass(value) and not isinstance(value, type):
        return to_plain_data(
            {field.name: getattr(value, field.name) for field in dc.fields(value)}, where
        )
    raise InputError(
        f"{where} must be made of text, numbers, lists and tables; got {type(value).__name__}."
    )


def attributes_of(component: object, *names: str) -> dict[str, Any]:
    """Return some attributes of a part by their names."""
    return {name: getattr(component, name) for name in names}


def toml_text(table: Mapping[str, Any]) -> str:
    """Return a table as TOML, with lists of numbers on one line each."""
    import tomli_w

    return _NUMBERS.sub(
        lambda found: f"[{', '.join(found[1].replace(',', ' ').split())}]", tomli_w.dumps(table)
    )


def card_text(controller: Mapping[str, Any], *, title: str, source: str) -> str:
    """Return a controller's table as the text of a card, whose file gives it its name.

    Args:
        controller: The table.
        title: What the card says that it is.
        source: Where the law and its gains are from.
    """
    settings = {k: v for k, v in controller.items() if k not in ("name", "title", "source")}
    return toml_text({"title": title, "source": source, **settings})


def utf8_text(text: str) -> str:
    """Return the text without what no UTF-8 file or HDF5 string can hold."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def finite_or_none(value: Any) -> Any:
    """Return plain data as JSON holds it: None for no finite number, a pair for a complex one.

    Arrays become lists.
    """
    if isinstance(value, np.ndarray):
        return finite_or_none(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, complex):
        return [finite_or_none(value.real), finite_or_none(value.imag)]
    if isinstance(value, Mapping):
        return {key: finite_or_none(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [finite_or_none(entry) for entry in value]
    return value


def one_line(error: Exception) -> str:
    """Return what an error says, without breaks; its name where it says nothing."""
    return " ".join(str(error).split()).rstrip(".") or type(error).__name__


@contextlib.contextmanager
def output_folder(subject: str, folder: Path) -> Iterator[None]:
    """Make a folder to write to, and say in one line where something could not be.

    All that is written below it meanwhile stays inside of it; see `output_root`.

    Args:
        subject: What is written, such as ``the report``.
        folder: Where.

    Raises:
        InputError: The folder cannot be written to, or through links alone.
    """
    try:
        with output_root(folder):
            yield
    except OSError as error:
        reason = error.strerror or one_line(error)
        raise InputError(f"cannot write {subject} to '{folder}': {reason}.") from error


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file so that at every moment the old or the new one stands there whole."""
    with atomic_replace(path) as file:
        file.write(content)


@contextlib.contextmanager
def atomic_replace(path: Path) -> Iterator[io.BufferedRandom]:
    """Yield a file to write to, which takes the place of the old one when it is whole.

    What a process that was killed has left unfinished in the folder is removed.

    Raises:
        InputError: The old one is a link; folders are as in `open_folder`.
    """
    with open_folder(path.parent) as folder:
        for leftover in path.parent.glob(f".*{UNFINISHED}"):
            _remove_unless_held(leftover.name, folder)
        refuse_link(path, folder)
        handle, temporary = _locked_temporary(path.name, folder)
        try:
            with open(handle, "w+b") as file:
                yield file
                file.flush()
                # still locked; a link that was put there meanwhile is replaced, and not followed
                os.replace(temporary, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)


def _locked_temporary(name: str, folder: int) -> tuple[int, str]:
    """Make a file that this process holds as long as the handle is open, and others leave alone."""
    while True:
        temporary = f".{name}.{secrets.token_hex(4)}{UNFINISHED}"
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        handle = os.open(temporary, flags, 0o666, dir_fd=folder)
        # a file system may have no locks; then nobody can hold a file
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        # else somebody took it for a left-over before it was held: another one is made
        if os.fstat(handle).st_nlink:
            return handle, temporary
        os.close(handle)


def _remove_unless_held(name: str, folder: int) -> None:
    with contextlib.suppress(OSError):
        # no link is followed, and a pipe of that name blocks nobody
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(name, dir_fd=folder)
        finally:
            os.close(handle)


def lock_file(handle: int, work: str, folder: Path) -> None:
    """Make sure that no other process writes; the system lets go when this one ends, however.

    Args:
        handle: Of the open file.
        work: What would be writing there, such as ``sweep``, for the message.
        folder: Where.

    Raises:
        InputError: Another process writes to it.
    """
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            f"another {work} is writing to '{folder}'; wait for it, or give another folder."
        ) from None
