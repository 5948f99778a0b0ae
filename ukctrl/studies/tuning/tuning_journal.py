"""An append-only record of simulations: what is in it is never simulated again.

One line a simulation, written as soon as it is done, in the order in which they end. A process
that is killed loses what it was computing and no more; the line that it was writing, if any, is
cut off when the journal is next opened.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from ukctrl.core.errors import InputError
from ukctrl.simulation.result.metrics import METRICS
from ukctrl.simulation.result.storage import finite_or_none, lock
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch import Outcome

FILE = "journal.jsonl"


class Done(NamedTuple):
    """What is kept of one simulation."""

    status: str
    message: str
    reached: float
    """Fraction of the run that was reached."""
    random: bool
    """Whether a seed had a part in it."""
    metrics: Mapping[str, float]
    """All but wall times."""

    @property
    def completed(self) -> bool:
        """Whether the run reached its end."""
        return self.status == "completed"

    @staticmethod
    def of(outcome: Outcome, duration: float) -> Done:
        """Return what to keep of a run that was to last so long [s]."""
        values = {
            name: value
            for name, value in outcome.metrics.items()
            if name not in METRICS or METRICS[name].function is not None
        }
        reached = outcome.reached / duration
        return Done(outcome.status, outcome.message, reached, outcome.random, values)


def key_of(scenario: Scenario) -> str:
    """Return what a simulation is known by: all that the scenario says, and the version."""
    told = [version("ukctrl"), scenario.to_table()]
    text = json.dumps(told, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


class Journal:
    """Simulations that were done, by their keys; on disk where it has a path."""

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._known: dict[str, Done] = {}
        self._file: IO[bytes] | None = None

    @staticmethod
    def open(path: Path) -> Journal:
        """Open the journal at a path, with what an earlier process has left there.

        Raises:
            InputError: The file cannot be read or written to.
        """
        journal = Journal(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("ab+")
        except OSError as error:
            raise InputError(f"cannot keep a journal in '{path}': {error.strerror}.") from error
        try:
            lock(file.fileno(), "search", path.parent)
            file.seek(0)
            content = file.read()
            whole = content[: content.rfind(b"\n") + 1]
            for line in whole.splitlines():
                journal._read(line)
            file.truncate(len(whole))
        except BaseException:
            file.close()
            raise
        journal._file = file
        return journal

    def _read(self, line: bytes) -> None:
        try:
            data = json.loads(line)
            values = data["metrics"].items()
            self._known[str(data["run"])] = Done(
                status=str(data["status"]),
                message=str(data["message"]),
                reached=float(data["reached"]),
                random=bool(data["random"]),
                metrics={name: math.nan if v is None else float(v) for name, v in values},
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return  # damaged: it is simulated again

    @property
    def path(self) -> Path | None:
        """Where it is kept; None: nowhere."""
        return self._path

    def __len__(self) -> int:
        return len(self._known)

    def find(self, key: str) -> Done | None:
        """Return a simulation; None where it was not done."""
        return self._known.get(key)

    def add(self, key: str, done: Done, told: Mapping[str, Any]) -> None:
        """Write down a simulation.

        Args:
            key: What it is known by.
            done: What came of it.
            told: What else the line says, for people.

        Raises:
            InputError: The file cannot be written to.
        """
        self._known[key] = done
        if self._file is None:
            return
        entry = finite_or_none({**told, **done._asdict(), "metrics": dict(done.metrics)})
        line = json.dumps({"run": key, **entry}, allow_nan=False, ensure_ascii=True)
        try:
            self._file.write(f"{line}\n".encode())
            self._file.flush()
        except OSError as error:
            raise InputError(
                f"cannot write to the journal '{self._path}': {error.strerror}."
            ) from error

    def forget(self) -> None:
        """Drop all of it: it was of something else.

        Raises:
            InputError: The file cannot be written to.
        """
        self._known.clear()
        if self._path is None or self._file is None:
            return
        try:
            self._file.truncate(0)
        except OSError as error:
            raise InputError(f"cannot empty '{self._path}': {error.strerror}.") from error

    def close(self, *, remove: bool = False) -> None:
        """Close the file, and remove it where it has served.

        Raises:
            InputError: It cannot be removed.
        """
        if self._file is not None:
            self._file.close()
            self._file = None
        if remove and self._path is not None:
            try:
                self._path.unlink(missing_ok=True)
            except OSError as error:
                raise InputError(f"cannot remove '{self._path}': {error.strerror}.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def agrees(one: Done, other: Done) -> bool:
    """Tell whether two simulations came out the same, to the last digit."""
    return _line(one) == _line(other)


def _line(done: Done) -> str:
    return json.dumps([*done[:-1], finite_or_none(dict(done.metrics))], sort_keys=True)
