"""The journal of a study: one line a finished sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import NDArray

from ukctrl.studies.journal_file import UNREADABLE, JournalFile, whole_lines
from ukctrl.studies.sweep.row import Row


@final
class Journal(JournalFile):
    """The journal of a folder, open for writing by this process and no other.

    Args:
        path: The file, which is made when it does not exist.
        count: How many samples the study has.

    Raises:
        InputError: Another process writes to it, or it cannot be written to.
    """

    def __init__(self, path: Path, count: int) -> None:
        self._offsets: NDArray[np.int64] = np.full(count, -1, dtype=np.int64)
        super().__init__(path, "sweep")

    def _note(self, at: int, line: bytes) -> None:
        """Note where a sample stands; a line that cannot be read is run again."""
        row = _row(line)
        if row is not None and 0 <= row.sample < len(self._offsets) and row.sample not in self:
            self._offsets[row.sample] = at

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
        """Record a sample, unless it is recorded already.

        Raises:
            OSError: The file cannot be written to.
        """
        if row.sample not in self:
            self._offsets[row.sample] = self.append(row.to_line())

    def rows(self) -> Iterator[Row]:
        """Yield what is recorded, in order of the samples' numbers."""
        assert self.path is not None
        with self.path.open("rb") as file:
            for at in self._offsets[self._offsets >= 0]:
                file.seek(int(at))
                yield Row.from_line(file.readline())


def read_rows(path: Path, count: int) -> dict[int, Row]:
    """Return what a journal holds by sample, in order, without touching it."""
    rows: dict[int, Row] = {}
    for _, line in whole_lines(path):
        row = _row(line)
        if row is not None and 0 <= row.sample < count:
            rows.setdefault(row.sample, row)
    return dict(sorted(rows.items()))


def _row(line: bytes) -> Row | None:
    try:
        return Row.from_line(line)
    except UNREADABLE:
        return None
