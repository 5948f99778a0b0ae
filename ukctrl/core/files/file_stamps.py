"""Which files something was made of, and whether they are still what they were."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple


class FileStamp(NamedTuple):
    """A file as it was when it was read."""

    path: Path
    mtime_ns: int
    """When it was written last [ns]."""
    size: int
    inode: int
    """Of the file in its file system: one that is put in its place has another."""

    @staticmethod
    def of(path: Path) -> FileStamp:
        """Look at a file.

        Raises:
            OSError: It is not there.
        """
        stat = path.stat()
        return FileStamp(path, stat.st_mtime_ns, stat.st_size, stat.st_ino)


_READ: ContextVar[list[FileStamp] | None] = ContextVar("read", default=None)


@contextlib.contextmanager
def recording_reads() -> Iterator[list[FileStamp]]:
    """Yield a list of the files that are read meanwhile, which whoever notes around it has too."""
    files: list[FileStamp] = []
    token = _READ.set(files)
    try:
        yield files
    finally:
        _READ.reset(token)
        around = _READ.get()
        if around is not None:
            around += files


def record_read(path: Path) -> None:
    """Note that a file is about to be read."""
    files = _READ.get()
    if files is not None:
        with contextlib.suppress(OSError):  # whoever reads it says so
            files.append(FileStamp.of(path))


def is_current(files: list[FileStamp]) -> bool:
    """Return whether files are what they were; none are none that is known."""
    try:
        return bool(files) and all(FileStamp.of(stamp.path) == stamp for stamp in files)
    except OSError:
        return False
