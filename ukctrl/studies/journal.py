"""Append-only journal of runs: rows as lines of JSON, never changed once they are written.

A line counts when it is complete, its line end included. What a crash has torn off is cut away when
the journal is next opened, so a process that is killed loses what it was computing and no more.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Hashable, Iterable, Iterator
from io import BufferedReader, BytesIO, FileIO
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.core.files.output_folders import open_in_place, remove_file
from ukctrl.simulation.result.atomic_files import lock_file

SYNC_SECONDS = 2.0
"""Interval at which the file is made to survive even a power failure [s]."""
DAMAGED_LINE_ERRORS = (ValueError, KeyError, TypeError, AttributeError)
"""What comes of reading a damaged line, such as the zeros that a power failure leaves."""


class JournalRow(Protocol):
    """Row type of a journal: the record of one run."""

    @property
    def key(self) -> Hashable:
        """What the run is known by."""

    def to_line(self) -> str:
        """Return the row as one line of JSON."""

    @classmethod
    def from_line(cls, line: bytes) -> Self:
        """Read a row back; one of `DAMAGED_LINE_ERRORS` where the line is none."""


Row = TypeVar("Row", bound=JournalRow)


class Journal(Generic[Row]):
    """Journal of runs by their keys, open for writing by this process and no other.

    Args:
        path: The file, which is made when it does not exist; None: in memory.
        row: Type of its rows.
        work: Who writes, such as ``sweep``, for messages.
        keys: Numbers of the runs, of which the first row of each counts; absent: runs have any
            keys, and the last row counts.

    Raises:
        InputError: Another process writes to it, or it cannot be written to.
    """

    def __init__(
        self, path: AnyPath | None, row: type[Row], work: str, keys: range | None = None
    ) -> None:
        self.path = target = None if path is None else Path(path)
        """Where it is; None: in memory."""
        self._row = row
        self._keys = keys
        self._offsets: dict[Hashable, int] = {}
        self._file: FileIO | BytesIO = BytesIO()
        self._last_sync = time.monotonic()
        if target is None:
            return
        with write_errors(f"to the journal '{target}'"):
            self._file = FileIO(target, "ab+", opener=lambda _, flags: open_in_place(target, flags))
        try:
            lock_file(self._file.fileno(), work, target.parent)
            end = 0
            for offset, line in _complete_lines(target):
                end = offset + len(line)
                with contextlib.suppress(*DAMAGED_LINE_ERRORS):  # that run is made again
                    key = row.from_line(line).key
                    if self._accepts(key):
                        self._offsets[key] = offset
            self._file.truncate(end)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._offsets)

    def __contains__(self, key: object) -> bool:
        return key in self._offsets

    def find(self, key: Hashable) -> Row | None:
        """Return the row of a run; None where there is none."""
        offset = self._offsets.get(key)
        return None if offset is None else next(self._read([offset]))

    def rows(self) -> Iterator[Row]:
        """Yield the rows of numbered runs, in order of their numbers."""
        return self._read([self._offsets[key] for key in self._keys or () if key in self])

    def missing(self) -> list[int]:
        """Return the numbers that have no row."""
        return [key for key in self._keys or () if key not in self]

    def append(self, row: Row) -> None:
        """Write a row, unless its number has one.

        Raises:
            InputError: The file cannot be written to.
        """
        if self._accepts(row.key):
            with self._write_errors():
                self._offsets[row.key] = self._write(f"{row.to_line()}\n".encode())

    def clear(self) -> None:
        """Remove all rows: they were of something else.

        Raises:
            InputError: The file cannot be written to.
        """
        self._offsets.clear()
        with self._write_errors():
            self._file.truncate(0)

    def remove(self) -> None:
        """Close the file and remove it: it has served.

        Raises:
            InputError: It cannot be removed.
        """
        self.close()
        if self.path is not None:
            with self._write_errors():
                remove_file(self.path)

    def close(self) -> None:
        """Close the file, once all of it is on the disk."""
        if self.path is not None and not self._file.closed:
            os.fsync(self._file.fileno())
            self._file.close()

    @staticmethod
    def read(path: Path, row: type[Row]) -> Iterator[Row]:
        """Yield the rows of a file as they were written, without touching it.

        Raises:
            OSError: It cannot be read.
        """
        for _, line in _complete_lines(path):
            with contextlib.suppress(*DAMAGED_LINE_ERRORS):
                yield row.from_line(line)

    def _accepts(self, key: Hashable) -> bool:
        return self._keys is None or (key in self._keys and key not in self._offsets)

    def _write(self, line: bytes) -> int:
        """Write a line, and return where it begins [bytes]."""
        offset = self._file.seek(0, os.SEEK_END)
        while line:  # a full disk may take a part of it, and say so at the next
            line = line[self._file.write(line) :]
        if self.path is not None and time.monotonic() - self._last_sync > SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._last_sync = time.monotonic()
        return offset

    def _read(self, offsets: Iterable[int]) -> Iterator[Row]:
        reader = BufferedReader(self._file)  # an old one would still have lines that were cleared
        try:
            for offset in offsets:
                reader.seek(offset)
                yield self._row.from_line(reader.readline())
        finally:
            reader.detach()

    def _write_errors(self) -> contextlib.AbstractContextManager[None]:
        return write_errors(f"to the journal '{self.path}'")


@contextlib.contextmanager
def write_errors(target: str) -> Iterator[None]:
    """Say what is to be done where a file cannot be written, such as on a full disk.

    Args:
        target: Where to, such as ``to the journal 'out/runs.jsonl'``.

    Raises:
        InputError: It cannot.
    """
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write {target}: {error.strerror}. What is recorded there is kept; see to it, "
            "and go on by --resume (resume=True), with compare by the same command."
        ) from error


def json_number(value: float) -> float | str | None:
    """Return a number as JSON has it: null for NaN, text for what has no end."""
    if math.isfinite(value):
        return float(value)
    return None if math.isnan(value) else "inf" if value > 0.0 else "-inf"


def parse_json_number(value: float | str | None) -> float:
    """Return the number that `json_number` has written."""
    return math.nan if value is None else float(value)


def require_regular_file(path: Path) -> None:
    """Refuse what is there and no file: reading a device may never end.

    Raises:
        InputError: It is such.
    """
    if path.exists() and not path.is_file():
        raise InputError(f"'{path}' must be a file.")


def _complete_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield every complete line of a file with where it begins [bytes]."""
    offset = 0
    require_regular_file(path)
    with path.open("rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield offset, line
                offset += len(line)
