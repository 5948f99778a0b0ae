"""The journal of simulations: what is in it is never simulated again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, NamedTuple

from ukctrl.core.files import AnyPath
from ukctrl.simulation.result.atomic_files import finite_or_none
from ukctrl.simulation.result.metrics import METRICS
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.run_summary import RunSummary
from ukctrl.studies.journal import Journal, json_number, parse_json_number


class SimulationRecord(NamedTuple):
    """What is kept of one simulation."""

    status: str
    message: str
    reached: float
    """Fraction of the run that was reached."""
    random: bool
    """Whether a seed had a part in it."""
    metrics: Mapping[str, float]
    """All but wall times, which a run has that is kept whole."""
    more: Mapping[str, Any] | None = None
    """What else is kept of it, as JSON has it."""
    key: str = ""
    """What it is known by, see `simulation_key`."""
    description: Mapping[str, Any] | None = None
    """What else its line says for people, such as the controller; it is not read back."""

    @property
    def completed(self) -> bool:
        """Whether the run reached its end."""
        return self.status == "completed"

    def to_line(self) -> str:
        """Return the row as one line of JSON."""
        data = {**(self.description or {}), **dict(zip(self._fields[:4], self[:4], strict=True))}
        data |= {"metrics": {name: json_number(value) for name, value in self.metrics.items()}}
        data |= {} if self.more is None else {"more": self.more}
        line = {"run": self.key, **finite_or_none(data)}
        return json.dumps(line, allow_nan=False, ensure_ascii=True)

    @classmethod
    def from_line(cls, line: str | bytes) -> SimulationRecord:
        """Read a row back, to the last bit.

        Raises:
            ValueError: It is no such line; so do KeyError, TypeError and AttributeError.
        """
        data: Any = json.loads(line)
        return cls(
            status=str(data["status"]),
            message=str(data["message"]),
            reached=float(data["reached"]),
            random=bool(data["random"]),
            metrics={name: parse_json_number(value) for name, value in data["metrics"].items()},
            more=data.get("more"),
            key=str(data["run"]),
        )

    @staticmethod
    def of(outcome: RunSummary, duration: float) -> SimulationRecord:
        """Return what to keep of a run that was to last so long [s]."""
        reached, values = outcome.end_time / duration, without_wall_times(outcome.metrics)
        return SimulationRecord(outcome.status, outcome.message, reached, outcome.is_random, values)


def without_wall_times(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return metrics without those that a clock has a part in."""
    return {
        name: value
        for name, value in metrics.items()
        if name not in METRICS or METRICS[name].function is not None
    }


def simulation_key(scenario: Scenario) -> str:
    """Return what a simulation is known by: all that the scenario says, and the version."""
    known_by = [version("ukctrl"), scenario.to_table()]
    text = json.dumps(known_by, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


class SimulationJournal(Journal[SimulationRecord]):
    """Simulations that were done, by their keys.

    Args:
        path: Where they are kept, with what an earlier process has left there; None: in memory.

    Raises:
        InputError: Another process writes to it, or it cannot be written to.
    """

    def __init__(self, path: AnyPath | None = None) -> None:
        super().__init__(path, SimulationRecord, "search")


def same_record(one: SimulationRecord, peer: SimulationRecord) -> bool:
    """Tell whether two simulations came out the same, to the last digit, wall times aside."""
    return _comparable_text(one) == _comparable_text(peer)


def _comparable_text(done: SimulationRecord) -> str:
    metrics = {name: json_number(value) for name, value in without_wall_times(done.metrics).items()}
    return json.dumps([*done[:4], metrics], sort_keys=True)
