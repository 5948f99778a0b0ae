"""What is recorded of a sample: one row of the table, one line of the journal."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

FAILED = "failed"
"""Status of a sample that could not be run, or took its process along."""
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

    @property
    def completed(self) -> bool:
        """Whether the run reached its end."""
        return self.status == "completed"

    def to_line(self) -> str:
        """Return the row as one line of JSON."""
        data = {
            **self._asdict(),
            "reached": _json(self.reached),
            "metrics": {name: _json(value) for name, value in self.metrics.items()},
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
            reached=_float(data["reached"]),
            metrics={name: _float(value) for name, value in data["metrics"].items()},
        )


def _json(value: float) -> float | str | None:
    """Return a number as JSON has it: null for NaN, text for what has no end."""
    if math.isfinite(value):
        return float(value)
    return None if math.isnan(value) else "inf" if value > 0.0 else "-inf"


def _float(value: float | str | None) -> float:
    return math.nan if value is None else float(value)
