"""The journal of a study: what is recorded of each finished sample, one line of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from ukctrl.studies.journal_file import (
    UNREADABLE,
    JournalFile,
    number_of,
    number_text,
    whole_lines,
)

FAILED = "failed"
"""Status of a sample that could not be run."""
TIMED_OUT = "timed_out"
"""Status of a sample that took longer than it was granted."""


class Row(NamedTuple):
    """One finished sample. Nothing in it depends on wall time or on who computed it."""

    sample: int
    """Its number."""
    values: Mapping[str, object]
    """What was varied, by path."""
    seed: int
    """The scenario's seed."""
    status: str
    """How the run ended, or ``failed`` or ``timed_out``."""
    message: str
    """Why it ended so; empty where there is nothing to say."""
    reached: float
    """Time of the last recorded sample since the start [s]; NaN where there is none."""
    metrics: Mapping[str, float]
    """By name; nothing where there was no run."""
    verdict: str = ""
    """Whether the run is to be believed; empty where there was none, or it was not asked."""

    @property
    def completed(self) -> bool:
        """Whether the run reached its end."""
        return self.status == "completed"

    def to_line(self) -> str:
        """Return the row as one line of JSON."""
        data = {
            **self._asdict(),
            "reached": number_text(self.reached),
            "metrics": {name: number_text(value) for name, value in self.metrics.items()},
        }
        return json.dumps(data, allow_nan=False, ensure_ascii=True)

    @staticmethod
    def from_line(line: str | bytes) -> Row:
        """Read a row back, to the last bit.

        Raises:
            ValueError: It is no such line; so do KeyError, TypeError and AttributeError.
        """
        data: Any = json.loads(line)
        return Row(
            sample=int(data["sample"]),
            values=dict(data["values"]),
            seed=int(data["seed"]),
            status=str(data["status"]),
            message=str(data["message"]),
            reached=number_of(data["reached"]),
            metrics={name: number_of(value) for name, value in data["metrics"].items()},
            verdict=str(data.get("verdict", "")),
        )


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
