"""Which files something was made of, and whether they are still what they were."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple


class Seen(NamedTuple):
    """A file as it was when it was read."""

    path: Path
    changed: int
    """When it was written last [ns]."""
    size: int
    number: int
    """Of the file in its file system: one that is put in its place has another."""

    @staticmethod
    def of(path: Path) -> Seen:
        """Look at a file.

        Raises:
            OSError: It is not there.
        """
        there = path.stat()
        return Seen(path, there.st_mtime_ns, there.st_size, there.st_ino)


_READ: ContextVar[list[Seen] | None] = ContextVar("read", default=None)


@contextlib.contextmanager
def noting() -> Iterator[list[Seen]]:
    """Yield a list of the files that are read meanwhile, which whoever notes around it has too."""
    files: list[Seen] = []
    token = _READ.set(files)
    try:
        yield files
    finally:
        _READ.reset(token)
        around = _READ.get()
        if around is not None:
            around += files


def note(path: Path) -> None:
    """Note that a file is about to be read."""
    files = _READ.get()
    if files is not None:
        with contextlib.suppress(OSError):  # whoever reads it says so
            files.append(Seen.of(path))


def unchanged(files: list[Seen]) -> bool:
    """Return whether files are what they were; none are none that is known."""
    try:
        return bool(files) and all(Seen.of(each.path) == each for each in files)
    except OSError:
        return False
