"""What trials were worth, in numbers and in words, and the law that comes of them."""

from __future__ import annotations

import dataclasses as dc
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ukctrl.control.controller import law_name
from ukctrl.control.learned_correction import TIME_COLUMN
from ukctrl.core.arrays import Matrix, Vector
from ukctrl.core.files.catalog import file_name
from ukctrl.core.notebook_repr import NotebookRepr
from ukctrl.core.number_text import number, percent
from ukctrl.core.verdict import Verdict
from ukctrl.reports.report_table import csv_text
from ukctrl.simulation.result.atomic_files import (
    card_text,
    finite_or_none,
    output_folder,
    write_atomically,
)
from ukctrl.simulation.result.column_files import csv_columns, data_frame
from ukctrl.simulation.result.result import Result
from ukctrl.simulation.result.sample_measures import error_level
from ukctrl.simulation.result.verdicts.error_floor import NEGLIGIBLE
from ukctrl.simulation.scenario import Scenario
from ukctrl_laws.learning.ilc_update import Learning

if TYPE_CHECKING:
    import pandas as pd

END_TRIALS = ("first", "last")
"""Names of the trials that are kept whole."""
NEGLIGIBLE_GAIN = 0.05
"""A trial that takes off less than this part of the error has little left to learn."""

_TRIALS_SUFFIX = re.compile(r"(, after|;) \d+ trials.*$")
"""What a card says of the trials before."""


class LearningTrial(NamedTuple):
    """One run of the task."""

    learnt: int
    """From how many trials before it its correction is."""
    status: str
    message: str
    metrics: Mapping[str, float]
    """Of the true robot, all that a run has."""

    @classmethod
    def of(cls, learnt: int, result: Result) -> LearningTrial:
        """Return what is kept of a run."""
        return cls(learnt, result.status, result.message, dict(result.metrics))


class DemandTerms(NamedTuple):
    """What a trial adds to the demanded acceleration of its rows at the ticks, ``(n, m)``."""

    learned: Matrix
    feedback: Matrix
    """From the errors that the law measured, the gains times these."""


@dc.dataclass(frozen=True, kw_only=True, eq=False)
class LearningResult(NotebookRepr):
    """A task that was repeated, and a law that has learnt from it."""

    repr_module: ClassVar[str] = "ukctrl_laws.learning.learning_page"

    scenario: Scenario
    """What was repeated."""
    learning: Learning
    """How it was learnt from."""
    trials: tuple[LearningTrial, ...]
    """The runs in their order; the last has all that is learnt."""
    learned: Scenario
    """The scenario as the last trial ran it."""
    times: Vector
    """Instants of the ticks, shape ``(n,)`` [s]."""
    results: Mapping[str, Result]
    """Runs of the first and of the last trial, by `END_TRIALS`."""
    demands: Mapping[str, DemandTerms]
    """Of the first and of the last trial that completed."""
    stopped: bool = False
    """Whether the user has stopped it before its end."""

    def __repr__(self) -> str:
        name = self.scenario.name or self.scenario.title
        return f"<LearningResult of {name!r}: {len(self.trials)} trials>"

    @property
    def told(self) -> tuple[str, ...]:
        """Metrics of a trial that are told, the one that is learnt from first."""
        run = self.results[END_TRIALS[0]]
        level = error_level(run.samples) if len(run.samples) else "phi"
        return f"rms_{level}", f"peak_{level}", "effort", "peak_u"

    @property
    def errors(self) -> tuple[float, ...]:
        """Rms error of the servo rows in each trial."""
        return tuple(trial.metrics.get(self.told[0], math.nan) for trial in self.trials)

    @property
    def ok(self) -> bool:
        """Whether all trials completed, and the last was better than the first."""
        whole = all(trial.status == "completed" for trial in self.trials)
        return whole and not self.stopped and self.errors[-1] < self.errors[0]

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """What was found in plain words, the outcome first."""
        return tuple(self._verdicts())

    def _verdicts(self) -> Iterator[Verdict]:
        yield self._outcome()
        count, errors = len(self.trials) - 1, self.errors
        if self.stopped:
            text = f"Stopped by the user after {count} of {self.learning.trials} trials; "
            yield Verdict("warning", "stopped", f"{text}learning with the card goes on from there.")
        if self.ok:
            best = min(range(len(errors)), key=errors.__getitem__)
            off = 1.0 - errors[-1] / errors[-2]
            if errors[-1] > 1.5 * errors[best]:
                text = f"It was least, {number(errors[best])}, after "
                text += f"{self.trials[best].learnt} trials: later ones learnt noise, or "
                text += "what is late. Try a smaller cutoff."
                yield Verdict("warning", "cutoff", text)
            elif off < NEGLIGIBLE_GAIN:
                text = "No more to gain: the last trial took off less than "
                text += (
                    f"{percent(NEGLIGIBLE_GAIN)} of the error. What is left does not repeat, is "
                )
                yield Verdict(
                    "note", "more", f"{text}above the cutoff, or comes before inputs act."
                )
            else:
                text = f"The last trial still took off {percent(off)} of the error: more trials, "
                yield Verdict("note", "more", f"{text}from the card on, may take off more.")
        yield Verdict(
            "note",
            "knowledge",
            "What is learnt holds for this plant, payload, path and start alone: laws that have "
            "not practised here know less.",
        )

    def _outcome(self) -> Verdict:
        """Return whether it was learnt."""
        last, errors, count = self.trials[-1], self.errors, len(self.trials) - 1
        first_rms, last_rms = number(errors[0]), number(errors[-1])
        if last.status != "completed":
            advice = "Learn less: a smaller gain or cutoff."
            if not count:
                advice = "Nothing is learnt yet: make this task work, or begin without its card."
            text = f"Trial {last.learnt} ended as {last.status}: {last.message.rstrip('.')}."
            return Verdict("bad", "trials", f"{text} {advice}")
        if not count:
            return Verdict("note", "convergence", f"One trial, nothing learnt: error {first_rms}.")
        if self.errors[-1] < self.errors[0]:
            trial = last.learnt
            text = f"Learnt: the rms error fell from {first_rms} to {last_rms} in trial {trial}."
            return Verdict("good", "convergence", text)
        if max(errors) < NEGLIGIBLE:
            text = f"There is nothing to learn: the rms error, {first_rms}, is rounding."
            return Verdict("note", "convergence", text)
        text = f"Not learnt: the rms error went from {first_rms} to {last_rms}. Try a "
        text += "smaller gain or cutoff, or a lead where the loop is late."
        return Verdict("bad", "convergence", text)

    @property
    def name(self) -> str:
        """Name of the card."""
        law = law_name(self.scenario.controller).removesuffix("-learned")
        return file_name(f"{law}-learned", "controller")

    def card(self) -> str:
        """Return the law with what it has learnt as the text of a card, for beside the files."""
        table = dict(self.learned.to_table()["controller"])
        if learned := table.get("learned"):
            table["learned"] = {**learned, "file": Path(learned["file"]).name}
        title = _TRIALS_SUFFIX.sub("", table.get("title") or law_name(self.scenario.controller))
        where = self.scenario.name or self.scenario.title
        settings = f"gain {self.learning.gain:g}, cutoff {self.learning.cutoff:g} Hz"
        source = _TRIALS_SUFFIX.sub("", table.get("source") or "ukctrl")
        source += f"; {self._count} trials on {where}, {settings}"
        return card_text(
            table,
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
                "stopped": self.stopped,
                "trials": [
                    {**trial._asdict(), "metrics": dict(trial.metrics)} for trial in self.trials
                ],
                "verdicts": [{"subject": v.subject, "text": v.text} for v in self.verdicts],
            }
        )
        return plain

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per trial, as `trials_csv` does.

        Raises:
            InputError: pandas is not installed.
        """
        return data_frame("LearningResult.to_pandas", csv_columns(self.trials_csv()))

    def trials_csv(self) -> str:
        """Return a line a trial: how many went before, its status, and what is `told`."""
        rows = (
            [trial.learnt, trial.status, *(trial.metrics.get(name) for name in self.told)]
            for trial in self.trials
        )
        return csv_text(["learnt", "status", *self.told], rows)


def write_correction(
    folder: Path, trials: int, times: Vector, c: Matrix, rows: Sequence[str]
) -> Path:
    """Write a correction as `LearnedCorrection` reads it; return the file.

    Raises:
        InputError: The folder cannot be written to.
    """
    table = zip(times.tolist(), c.tolist(), strict=True)
    text = csv_text([TIME_COLUMN, *rows], ([t, *row] for t, row in table))
    with output_folder("the corrections", folder):
        path = folder / f"after-{trials}.csv"
        write_atomically(path, text.encode())
    return path.resolve()
