"""Runs that were made: what a journal has of them, to the last bit, is not made again."""

from __future__ import annotations

import base64
import dataclasses as dc
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple, final

import numpy as np

from ukctrl.core.errors import MachineFailure
from ukctrl.core.files import AnyPath
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result.atomic_files import finite_or_none
from ukctrl.simulation.result.metrics import METRICS
from ukctrl.simulation.result.verdicts import RunVerdict
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.run_summary import ErrorCurves, RunSummary, SimulationTask
from ukctrl.studies.batch.task import ProgressCallback, TaskFailure, scaled_progress
from ukctrl.studies.batch.task_runner import TaskRunner
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


@final
class RunStore:
    """What a journal knows of the runs of a comparison.

    Files that a scenario names may have changed since. So the first run of every controller is
    always made, and its repeats are believed where it came out as before.

    Args:
        journal: Where they are written down; absent: nowhere.
    """

    def __init__(self, journal: SimulationJournal | None) -> None:
        self._journal = SimulationJournal() if journal is None else journal
        self._verified: set[str] = set()

    def verify(self, runs: Sequence[SimulationTask], outcomes: Sequence[RunSummary]) -> None:
        """Take the first runs; forget all that is known where one of them is another than it was.

        Raises:
            InputError: The journal cannot be written to.
        """
        summaries = {one.controller: one for one in outcomes if not one.stopped}
        firsts = [run for run in runs if run.controller in summaries]
        lookups = {
            run.controller: self._journal.find(simulation_key(run.scenario)) for run in firsts
        }
        records = {entry: done for entry, done in lookups.items() if done is not None}
        if any(
            not same_record(done, _to_record(summaries[entry])) for entry, done in records.items()
        ):
            self._journal.clear()
            records = {}
        self._verified = set(records)
        for run in firsts:
            if run.controller not in records:
                self.add(run, summaries[run.controller])

    def find(self, run: SimulationTask) -> RunSummary | None:
        """Return what came of a run; None where it is to be made."""
        if run.controller not in self._verified or run.with_result:
            return None
        done = self._journal.find(simulation_key(run.scenario))
        return None if done is None or done.more is None else _to_summary(done, done.more, run)

    def add(self, run: SimulationTask, outcome: RunSummary) -> None:
        """Write down what came of a run.

        Raises:
            InputError: The journal cannot be written to.
        """
        description = {"entry": run.controller, "stage": "comparison", "repeat": run.repeat}
        description |= {"level": run.mismatch, "seed": run.scenario.seed}
        key = simulation_key(run.scenario)
        self._journal.append(_to_record(outcome)._replace(key=key, description=description))


def _to_record(outcome: RunSummary) -> SimulationRecord:
    """Return a run as the journal has it, ``reached`` in seconds."""
    curves = outcome.curves
    more = {
        "belief": [outcome.validity.verdict, [list(reason) for reason in outcome.validity.reasons]],
        "curves": curves and {name: _base64(y) for name, y in {"": curves[0], **curves[1]}.items()},
    }
    return SimulationRecord.of(outcome, 1.0)._replace(metrics=dict(outcome.metrics), more=more)


def _to_summary(done: SimulationRecord, more: Mapping[str, Any], run: SimulationTask) -> RunSummary:
    verdict, reasons = more["belief"]
    curves: Mapping[str, str] | None = more["curves"]
    norms = {name: np.frombuffer(base64.b64decode(y)) for name, y in (curves or {}).items()}
    return dc.replace(
        run.failure_summary(done.status, done.message),  # type: ignore[arg-type]
        end_time=done.reached,
        metrics=done.metrics,
        validity=RunVerdict(verdict, tuple(Verdict(*reason) for reason in reasons)),
        is_random=done.random,
        curves=ErrorCurves(norms.pop(""), norms) if norms else None,
    )


def _base64(values: np.typing.NDArray[np.float64]) -> str:
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode("ascii")


class RunBatch(NamedTuple):
    """What came of runs."""

    summaries: list[RunSummary]
    """In the order of the runs."""
    stopped: bool
    """Whether the user has stopped them."""
    failure: str
    """At what the machine has failed."""


def run_missing(
    runs: Sequence[SimulationTask], store: RunStore, crew: TaskRunner, progress: ProgressCallback
) -> RunBatch:
    """Return what came of runs, those from the store that it has.

    Raises:
        MachineFailure: At every first run.
    """
    outcomes = {
        k: summary for k, run in enumerate(runs) if (summary := store.find(run)) is not None
    }
    missing, stored_count = [k for k in range(len(runs)) if k not in outcomes], len(outcomes)

    def take(index: int, value: RunSummary | TaskFailure) -> None:
        k = missing[index]
        if isinstance(value, TaskFailure):
            value = runs[k].failure_summary("interrupted", value.message)
        if runs[k].strict or not value.stopped:  # half a repeat is none
            outcomes[k] = value
        if value.stopped:
            raise KeyboardInterrupt
        if not runs[k].strict:
            store.add(runs[k], value)

    stopped, failure = False, ""
    try:
        report = scaled_progress(progress, stored_count, len(missing), len(runs))
        stopped = not crew.run([runs[k] for k in missing], take, report)
    except MachineFailure as error:
        if runs[0].strict and not outcomes:  # there is nothing to compare
            raise
        failure = str(error)
    return RunBatch([outcomes[k] for k in sorted(outcomes)], stopped, failure)
