"""The runs of a comparison in a journal: what is there, to the last bit, is not run again."""

from __future__ import annotations

import base64
import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from ukctrl.core.errors import MachineFailure
from ukctrl.core.verdict import Verdict
from ukctrl.simulation.result.verdicts import Belief
from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.run_outcome import Curves, Outcome, Run
from ukctrl.studies.batch.task import Lost, Progress, part
from ukctrl.studies.tuning import Journal
from ukctrl.studies.tuning.tuning_journal import Done, agrees, key_of


@final
class KeptRuns:
    """What a journal knows of the runs of a comparison.

    Files that a scenario names may have changed since. So the first run of every controller is
    always made, and its repeats are believed where it came out as before.

    Args:
        journal: Where they are written down; absent: nowhere.
    """

    def __init__(self, journal: Journal | None) -> None:
        self._journal = Journal() if journal is None else journal
        self._believed: set[str] = set()

    def begin(self, runs: Sequence[Run], outcomes: Sequence[Outcome]) -> None:
        """Take the first runs; forget all that is known where one of them is another than it was.

        Raises:
            InputError: The journal cannot be written to.
        """
        now = {one.entry: one for one in outcomes if not one.stopped}
        firsts = [run for run in runs if run.entry in now]
        before = {run.entry: self._journal.find(key_of(run.scenario)) for run in firsts}
        known = {entry: done for entry, done in before.items() if done is not None}
        if any(not agrees(done, _done(now[entry])) for entry, done in known.items()):
            self._journal.forget()
            known = {}
        self._believed = set(known)
        for run in firsts:
            if run.entry not in known:
                self.add(run, now[run.entry])

    def find(self, run: Run) -> Outcome | None:
        """Return what came of a run; None where it is to be made."""
        if run.entry not in self._believed or run.keep:
            return None
        done = self._journal.find(key_of(run.scenario))
        return None if done is None or done.more is None else _outcome(done, done.more, run)

    def add(self, run: Run, outcome: Outcome) -> None:
        """Write down what came of a run.

        Raises:
            InputError: The journal cannot be written to.
        """
        about = {"entry": run.entry, "stage": "comparison", "repeat": run.repeat}
        level, seed = run.level, run.scenario.seed
        self._journal.add(
            key_of(run.scenario), _done(outcome), {**about, "level": level, "seed": seed}
        )


def _done(outcome: Outcome) -> Done:
    """Return a run as the journal has it, ``reached`` in seconds."""
    curves = outcome.curves
    more = {
        "belief": [outcome.belief.verdict, [list(reason) for reason in outcome.belief.reasons]],
        "curves": curves and {name: _text(y) for name, y in {"": curves[0], **curves[1]}.items()},
    }
    return Done.of(outcome, 1.0)._replace(metrics=dict(outcome.metrics), more=more)


def _outcome(done: Done, more: Mapping[str, Any], run: Run) -> Outcome:
    verdict, reasons = more["belief"]
    curves: Mapping[str, str] | None = more["curves"]
    norms = {name: np.frombuffer(base64.b64decode(y)) for name, y in (curves or {}).items()}
    return dc.replace(
        run.failed(done.status, done.message),  # type: ignore[arg-type]
        reached=done.reached,
        metrics=done.metrics,
        belief=Belief(verdict, tuple(Verdict(*reason) for reason in reasons)),
        random=done.random,
        curves=Curves(norms.pop(""), norms) if norms else None,
    )


def _text(values: np.typing.NDArray[np.float64]) -> str:
    return base64.b64encode(np.asarray(values, dtype="<f8").tobytes()).decode("ascii")


def made(
    runs: Sequence[Run], kept: KeptRuns, crew: Crew, progress: Progress
) -> tuple[list[Outcome], bool, str]:
    """Return what came of runs, in their order, whether the user has stopped them, and at what the
    machine has failed.

    Raises:
        MachineFailure: At every first run.
    """
    outcomes = {k: known for k, run in enumerate(runs) if (known := kept.find(run)) is not None}
    missing, before = [k for k in range(len(runs)) if k not in outcomes], len(outcomes)

    def take(place: int, value: Outcome | Lost) -> None:
        k = missing[place]
        if isinstance(value, Lost):
            value = runs[k].failed("interrupted", value.message)
        if runs[k].strict or not value.stopped:  # half a repeat is none
            outcomes[k] = value
        if value.stopped:
            raise KeyboardInterrupt
        if not runs[k].strict:
            kept.add(runs[k], value)

    stopped, failure = False, ""
    try:
        report = part(progress, before, len(missing), len(runs))
        stopped = not crew.gather([runs[k] for k in missing], take, report)
    except MachineFailure as error:
        if runs[0].strict and not outcomes:  # there is nothing to compare
            raise
        failure = str(error)
    return [outcomes[k] for k in sorted(outcomes)], stopped, failure
