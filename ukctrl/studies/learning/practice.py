"""What trials were worth, and the files that they leave."""

from __future__ import annotations

import dataclasses as dc
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ukctrl.control.controller import law_name
from ukctrl.control.learned import TIME
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.files.catalog import file_name
from ukctrl.core.number_text import number
from ukctrl.core.verdict import Verdict
from ukctrl.reports.table import Column, Table, csv_text
from ukctrl.simulation.result.plain_files import (
    card_text,
    finite_or_none,
    folder_for,
    write_atomically,
)
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.learning.update import Learning

METRICS = ("rms_phi", "peak_phi", "effort", "peak_u")
"""Metrics of a trial that are told."""


class Trial(NamedTuple):
    """One run of the task."""

    learnt: int
    """From how many trials before it its correction is."""
    status: str
    message: str
    metrics: Mapping[str, float]
    """Of the true robot, all that a run has."""

    @classmethod
    def of(cls, learnt: int, result: Result) -> Trial:
        """Return what is kept of a run."""
        return cls(learnt, result.status, result.message, dict(result.metrics))


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class Practice:
    """A task that was repeated, and a law that has learnt from it."""

    scenario: Scenario
    """What was repeated."""
    learning: Learning
    """How it was learnt from."""
    trials: tuple[Trial, ...]
    """The runs in their order; the last has all that is learnt."""
    learned: Scenario
    """The scenario as the last trial ran it."""

    @property
    def errors(self) -> tuple[float, ...]:
        """Rms error of the servo rows in each trial."""
        return tuple(trial.metrics.get("rms_phi", math.nan) for trial in self.trials)

    @property
    def ok(self) -> bool:
        """Whether all trials completed, and the last was better than the first."""
        whole = all(trial.status == "completed" for trial in self.trials)
        return whole and not self.errors[-1] >= self.errors[0]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What was found in plain words."""
        return tuple(self._verdicts())

    def _verdicts(self) -> Iterator[Verdict]:
        last, errors = self.trials[-1], self.errors
        count = last.learnt - self.trials[0].learnt
        if last.status != "completed":
            text = f"Trial {last.learnt} ended as {last.status}: {last.message}"
            yield Verdict("bad", "trials", f"{text} Learn less: a smaller gain or cutoff.")
        elif not self.ok:
            yield Verdict(
                "bad",
                "convergence",
                f"The error did not fall in {count} trials: {number(errors[0])} before, "
                f"{number(errors[-1])} after. Try a smaller gain or cutoff, or a lead where the "
                "loop is late.",
            )
        else:
            text = f"In {count} trials the rms error fell from {number(errors[0])} to "
            yield Verdict("good", "convergence", f"{text}{number(errors[-1])}.")
            best = min(range(len(errors)), key=errors.__getitem__)
            if errors[-1] > 1.5 * errors[best]:
                text = f"It was least, {number(errors[best])}, after {self.trials[best].learnt}"
                text += " trials: later ones learnt noise, or what is late. Try a smaller cutoff."
                yield Verdict("warning", "cutoff", text)
        yield Verdict(
            "note",
            "knowledge",
            "What is learnt holds for this plant, payload, path and start alone: laws that have "
            "not practised here know less.",
        )

    @property
    def name(self) -> str:
        """Name of the card."""
        return file_name(f"{law_name(self.scenario.controller)}-learned", "controller")

    def card(self) -> str:
        """Return the law with what it has learnt as the text of a card, for beside the files."""
        table = self.learned.to_table()["controller"]
        learned = table.get("learned")
        if learned:
            learned = {**learned, "file": Path(learned["file"]).name}
        title = table.get("title") or law_name(self.scenario.controller)
        where = self.scenario.name or self.scenario.title
        how = f"gain {self.learning.gain:g}, cutoff {self.learning.cutoff:g} Hz"
        source = f"{table.get('source') or 'ukctrl'}; {self._count} trials on {where}, {how}"
        return card_text(
            {**table, "learned": learned},
            title=f"{title}, after {self._count} trials",
            source=source,
        )

    @property
    def _count(self) -> int:
        learned = getattr(self.learned.controller, "learned", None)
        return learned.trials if learned else 0

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON-able data; numbers that are not finite are None."""
        plain: dict[str, Any] = finite_or_none(
            {
                "scenario": self.scenario.name or self.scenario.title,
                "controller": law_name(self.scenario.controller),
                "learning": dc.asdict(self.learning),
                "ok": self.ok,
                "trials": [
                    {**trial._asdict(), "metrics": dict(trial.metrics)} for trial in self.trials
                ],
                "verdicts": [{"subject": v.subject, "text": v.text} for v in self.verdicts],
            }
        )
        return plain

    def trials_csv(self) -> str:
        """Return a line a trial: how many went before, its status, and `METRICS`."""
        rows = (
            [trial.learnt, trial.status, *(trial.metrics.get(name) for name in METRICS)]
            for trial in self.trials
        )
        return csv_text(["learnt", "status", *METRICS], rows)


def trial_table(practice: Practice) -> Table:
    """Return a line a trial: its errors and inputs, and what is left of the error before it."""
    columns = [Column(head) for head in ("learnt from", *METRICS, "of the error before")]
    rows, last = [], math.nan
    for trial in practice.trials:
        values = [trial.metrics.get(name, math.nan) for name in METRICS]
        share = number(values[0] / last) if math.isfinite(last) and last else ""
        rows.append([str(trial.learnt), *map(number, values), share])
        last = values[0]
    return Table.of(columns, rows)


def write_practice(practice: Practice, folder: str | Path) -> Path:
    """Write the card and `trials.csv` to the folder of the corrections; return the card's path.

    Raises:
        InputError: The folder cannot be written to.
    """
    with folder_for("the trials", Path(folder)):
        card = Path(folder) / f"{practice.name}.toml"
        texts = {card: practice.card(), Path(folder) / "trials.csv": practice.trials_csv()}
        for path, text in texts.items():
            write_atomically(path, text.encode())
    return card


def write_correction(
    folder: Path, trials: int, times: Vector, c: Matrix, rows: Sequence[str]
) -> Path:
    """Write a correction as `Learned` reads it; return the file.

    Raises:
        InputError: The folder cannot be written to.
    """
    table = zip(times.tolist(), c.tolist(), strict=True)
    text = csv_text([TIME, *rows], ([t, *row] for t, row in table))
    with folder_for("the corrections", folder):
        path = folder / f"after-{trials}.csv"
        write_atomically(path, text.encode())
    return path.resolve()
