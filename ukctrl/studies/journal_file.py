"""A journal on disk: lines of JSON, never changed once they are there.

A line is there when it is whole, its end included. What a crash has torn off is cut away when the
journal is next opened, so a process that is killed loses what it was computing and no more.
"""

from __future__ import annotations

import abc
import math
import os
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path
from typing import Self

from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.simulation.result.plain_files import lock

SYNC_SECONDS = 2.0
"""Interval at which the file is made to survive even a power failure [s]."""
UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)
"""What comes of reading a damaged line, such as the zeros that a power failure leaves."""


class JournalFile(abc.ABC):
    """A journal, open for writing by this process and no other.

    Args:
        path: The file, which is made when it does not exist; None: nothing is kept.
        work: Who writes, such as ``sweep``, for messages.

    Raises:
        InputError: Another process writes to it, or it cannot be written to.
    """

    def __init__(self, path: AnyPath | None, work: str) -> None:
        self.path = None if path is None else Path(path)
        """Where it is kept; None: nowhere."""
        self._file: FileIO | None = None
        self._synced = time.monotonic()
        if self.path is None:
            return
        path = self.path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = FileIO(path, "ab+")
        except OSError as error:
            raise InputError(f"cannot write to the journal '{path}': {error.strerror}.") from error
        try:
            lock(self._file.fileno(), work, path.parent)
            end = 0
            for at, line in whole_lines(path):
                self._note(at, line)
                end = at + len(line)
            self._file.truncate(end)
        except BaseException:
            self._file.close()
            raise

    @abc.abstractmethod
    def _note(self, at: int, line: bytes) -> None:
        """Take notice of a whole line that is there, and where it begins [bytes]."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def append(self, text: str) -> int:
        """Add a line, and return where it begins [bytes].

        Raises:
            OSError: The file cannot be written to.
        """
        if self._file is None:
            return 0
        at = os.fstat(self._file.fileno()).st_size
        line = f"{text}\n".encode()
        while line:  # a full disk may take a part of it, and say so at the next
            line = line[self._file.write(line) :]
        if time.monotonic() - self._synced > SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()
        return at

    def clear(self) -> None:
        """Remove all lines.

        Raises:
            OSError: The file cannot be written to.
        """
        if self._file is not None:
            self._file.truncate(0)

    def close(self) -> None:
        """Close the file, once all of it is on the disk."""
        if self._file is not None and not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()


def number_text(value: float) -> float | str | None:
    """Return a number as JSON has it: null for NaN, text for what has no end."""
    if math.isfinite(value):
        return float(value)
    return None if math.isnan(value) else "inf" if value > 0.0 else "-inf"


def number_of(value: float | str | None) -> float:
    """Return the number that `number_text` has written."""
    return math.nan if value is None else float(value)


def refuse_devices(path: Path) -> None:
    """Refuse what is there and no file: reading a device may never end.

    Raises:
        InputError: It is such.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"'{path}' must be a file.")


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield every whole line of a journal with where it begins [bytes], without touching it."""
    at = 0
    refuse_devices(path)
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield at, line
                at += len(line)
