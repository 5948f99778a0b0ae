"""The journal of a study: what is recorded of each finished sample, one line of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ukctrl.studies.journal import Journal, json_number, parse_json_number

FAILED_STATUS = "failed"
"""Status of a sample that could not be run."""
TIMED_OUT = "timed_out"
"""Status of a sample that took longer than it was granted."""


class SampleRecord(NamedTuple):
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

    @property
    def key(self) -> int:
        """Number of the sample, by which a journal knows the row."""
        return self.sample

    def to_line(self) -> str:
        """Return the row as one line of JSON."""
        data = {
            **self._asdict(),
            "reached": json_number(self.reached),
            "metrics": {name: json_number(value) for name, value in self.metrics.items()},
        }
        return json.dumps(data, allow_nan=False, ensure_ascii=True)

    @classmethod
    def from_line(cls, line: str | bytes) -> SampleRecord:
        """Read a row back, to the last bit.

        Raises:
            ValueError: It is no such line; so do KeyError, TypeError and AttributeError.
        """
        data: Any = json.loads(line)
        return cls(
            sample=int(data["sample"]),
            values=dict(data["values"]),
            seed=int(data["seed"]),
            status=str(data["status"]),
            message=str(data["message"]),
            reached=parse_json_number(data["reached"]),
            metrics={name: parse_json_number(value) for name, value in data["metrics"].items()},
            verdict=str(data.get("verdict", "")),
        )


def read_samples(path: Path, count: int) -> dict[int, SampleRecord]:
    """Return what a journal holds by sample, in order, without touching it."""
    rows: dict[int, SampleRecord] = {}
    for row in Journal.read(path, SampleRecord):
        if 0 <= row.sample < count:
            rows.setdefault(row.sample, row)
    return dict(sorted(rows.items()))
