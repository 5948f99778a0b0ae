"""The journal of a study: one line a finished sample, never changed once it is there.

A sample is done when its line is complete, its end included. What a crash has torn off is cut away
before the next line is written, and the sample is run again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Self, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import InputError
from ukctrl.simulation.result.storage import lock
from ukctrl.studies.sweep.row import Row

SYNC_SECONDS = 2.0
"""Interval at which the journal is made to survive even a power failure [s]."""
_UNREADABLE = (ValueError, KeyError, TypeError, AttributeError)


@final
class Journal:
    """The journal of a folder, open for writing by this process and no other.

    Args:
        path: The file, which is made when it does not exist.
        count: How many samples the study has.

    Raises:
        InputError: Another process writes to it, or it cannot be written to.
    """

    def __init__(self, path: Path, count: int) -> None:
        self._path = path
        self._offsets: NDArray[np.int64] = np.full(count, -1, dtype=np.int64)
        self._synced = time.monotonic()
        try:
            self._file = path.open("ab+", buffering=0)
        except OSError as error:
            raise InputError(f"cannot write to '{path}': {error.strerror}.") from error
        try:
            lock(self._file.fileno(), "sweep", path.parent)
            self._file.truncate(self._read())
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        os.fsync(self._file.fileno())
        self._file.close()

    def __contains__(self, sample: int) -> bool:
        return bool(self._offsets[sample] >= 0)

    @property
    def done(self) -> int:
        """How many samples are recorded."""
        return int(np.count_nonzero(self._offsets >= 0))

    @property
    def missing(self) -> NDArray[np.intp]:
        """The samples that are not."""
        return np.flatnonzero(self._offsets < 0)

    def write(self, row: Row) -> None:
        """Record a sample, unless it is recorded already."""
        if row.sample in self:
            return
        at = os.fstat(self._file.fileno()).st_size
        line = row.to_line().encode()
        while line:  # a full disk may take a part of it, and say so at the next
            line = line[self._file.write(line) or 0 :]
        self._offsets[row.sample] = at
        if time.monotonic() - self._synced > SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def rows(self) -> Iterator[Row]:
        """Yield what is recorded, in order of the samples' numbers."""
        with self._path.open("rb") as file:
            for at in self._offsets[self._offsets >= 0]:
                file.seek(int(at))
                yield Row.from_line(file.readline())

    def _read(self) -> int:
        """Note where every sample stands, and return where the last whole line ends."""
        end = 0
        with self._path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                sample = sample_in(line)
                if 0 <= sample < len(self._offsets) and self._offsets[sample] < 0:
                    self._offsets[sample] = end
                end += len(line)
        return end


def sample_in(line: bytes) -> int:
    """Return the sample that a line records; -1 where it cannot be read."""
    try:
        return Row.from_line(line).sample
    except _UNREADABLE:  # such as the zeros that a power failure leaves
        return -1


def read_rows(path: Path, count: int) -> dict[int, Row]:
    """Return what a journal holds by sample, in order, without touching it."""
    found: dict[int, Row] = {}
    with path.open("rb") as file:
        for line in file:
            sample = sample_in(line) if line.endswith(b"\n") else -1
            if 0 <= sample < count:
                found.setdefault(sample, Row.from_line(line))
    return dict(sorted(found.items()))
