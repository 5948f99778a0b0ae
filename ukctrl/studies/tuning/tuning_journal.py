"""An append-only record of simulations: what is in it is never simulated again.

One line a simulation, written as soon as it is done, in the order in which they end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any, NamedTuple, final

from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.simulation.result.metrics import METRICS
from ukctrl.simulation.result.plain_files import finite_or_none
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.run_outcome import Outcome
from ukctrl.studies.journal_file import UNREADABLE, JournalFile, number_of, number_text


class Done(NamedTuple):
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

    @property
    def completed(self) -> bool:
        """Whether the run reached its end."""
        return self.status == "completed"

    @staticmethod
    def of(outcome: Outcome, duration: float) -> Done:
        """Return what to keep of a run that was to last so long [s]."""
        reached, values = outcome.reached / duration, untimed(outcome.metrics)
        return Done(outcome.status, outcome.message, reached, outcome.random, values)


def untimed(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return metrics without those that a clock has a part in."""
    return {
        name: value
        for name, value in metrics.items()
        if name not in METRICS or METRICS[name].function is not None
    }


def key_of(scenario: Scenario) -> str:
    """Return what a simulation is known by: all that the scenario says, and the version."""
    known_by = [version("ukctrl"), scenario.to_table()]
    text = json.dumps(known_by, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:24]


@final
class Journal(JournalFile):
    """Simulations that were done, by their keys.

    Args:
        path: Where they are kept, with what an earlier process has left there; None: nowhere.

    Raises:
        InputError: Another process writes to it, or it cannot be written to.
    """

    def __init__(self, path: AnyPath | None = None) -> None:
        self._known: dict[str, Done] = {}
        super().__init__(path, "search")

    def _note(self, at: int, line: bytes) -> None:
        """Note a simulation; one whose line is damaged is made again."""
        with contextlib.suppress(*UNREADABLE):
            data = json.loads(line)
            self._known[str(data["run"])] = Done(
                status=str(data["status"]),
                message=str(data["message"]),
                reached=float(data["reached"]),
                random=bool(data["random"]),
                metrics={name: number_of(value) for name, value in data["metrics"].items()},
                more=data.get("more"),
            )

    def __len__(self) -> int:
        return len(self._known)

    def find(self, key: str) -> Done | None:
        """Return a simulation; None where it was not done."""
        return self._known.get(key)

    def add(self, key: str, done: Done, order: Mapping[str, Any]) -> None:
        """Write down a simulation.

        Args:
            key: What it is known by.
            done: What came of it.
            order: What else the line says, for people.

        Raises:
            InputError: The file cannot be written to.
        """
        self._known[key] = done
        metrics = {name: number_text(value) for name, value in done.metrics.items()}
        entry = {"run": key, **finite_or_none({**order, **done._asdict()}), "metrics": metrics}
        if done.more is None:
            del entry["more"]
        line = json.dumps(entry, allow_nan=False, ensure_ascii=True)
        with self._writing():
            self.append(line)

    def forget(self) -> None:
        """Drop all of it: it was of something else.

        Raises:
            InputError: The file cannot be written to.
        """
        self._known.clear()
        with self._writing():
            self.clear()

    def remove(self) -> None:
        """Close the file and remove it: it has served.

        Raises:
            InputError: It cannot be removed.
        """
        self.close()
        if self.path is not None:
            with self._writing():
                self.path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise InputError(
                f"cannot write to the journal '{self.path}': {error.strerror}."
            ) from error


def agrees(one: Done, other: Done) -> bool:
    """Tell whether two simulations came out the same, to the last digit, wall times aside."""
    return _line(one) == _line(other)


def _line(done: Done) -> str:
    metrics = {name: number_text(value) for name, value in untimed(done.metrics).items()}
    return json.dumps([*done[:4], metrics], sort_keys=True)
