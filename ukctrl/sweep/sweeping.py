"""The sweep itself: from a scenario and what varies to a study."""

from __future__ import annotations

import dataclasses as dc
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from ukctrl.batch import Care, Crew, Lost
from ukctrl.errors import InputError
from ukctrl.scenario import Scenario
from ukctrl.sweep.factor import Factor
from ukctrl.sweep.journal import Journal
from ukctrl.sweep.plan import Plan
from ukctrl.sweep.sample import Base, Finished, Samples
from ukctrl.sweep.study import DESCRIPTION, JOURNAL, RESULTS, About, Study, write_tables
from ukctrl.sweep.table import table_of

RETRIES = 1
"""A sample whose process died is tried once more: it may have been killed for another's fault."""
BATCH_SECONDS = 1.0
"""Short samples are handed over in batches that take about so long [s]."""


class Tally(NamedTuple):
    """How far a sweep is."""

    done: float
    """Samples that are finished, and parts of those in progress."""
    total: int
    """Samples that there are."""
    finished: int
    """Samples that are recorded."""
    failed: int
    """Those of them, in this process, that did not complete."""


Progress = Callable[[Tally], None]
"""Called now and then with how far it is."""


def sweep(
    scenario: Scenario,
    factors: Sequence[Factor | str],
    *,
    design: str | None = None,
    n: int | None = None,
    seed: int | None = None,
    repeats: int = 1,
    jobs: int | None = 1,
    executor: Executor | None = None,
    room: int | None = None,
    isolated: bool = False,
    folder: str | Path | None = None,
    resume: bool = False,
    keep: str = "none",
    timeout: float | None = None,
    beside: Path | None = None,
    trust: bool = False,
    progress: Progress | None = None,
) -> Study:
    """Run a scenario many times, with some of its values varied.

    Args:
        scenario: What all samples share.
        factors: What varies, also as text: ``"controller.feedback.alpha=log:1:100"``; nothing
            where only the seed is to.
        design: How the points are chosen, one of ``grid``, ``random``, ``sobol``, ``saltelli``;
            absent: a grid where every factor has so many values and ``n`` is not given, else a
            Sobol sequence.
        n: Points of the design; absent: 64. A grid has as many as there are combinations.
        seed: What points and seeds are drawn from; absent: the scenario's.
        repeats: Runs of each point, each with a seed of its own.
        jobs: How many samples at a time; None: as many as there are processors. The table does not
            depend on it. More than one starts processes: a script that asks for them keeps its
            work under ``if __name__ == "__main__":``.
        executor: Where to run instead, such as a cluster's executor.
        room: How many samples the executor runs at a time; absent: as many as here.
        isolated: Whether to start a process even for one job, so that a sample that crashes costs
            nothing else, and one that never ends is ended from outside.
        folder: Where to keep the study; absent: in memory alone.
        resume: Whether to go on with the study in the folder, of which nothing is run again.
        keep: Which results to keep whole in ``results/``: ``none``, ``failed`` or ``all``.
        timeout: How long a sample may take [s]; absent: for ever.
        beside: File that names among the values are relative to.
        trust: Whether Python code that the scenario names may run.
        progress: Called now and then with how far it is.

    Returns:
        What was recorded; less than all samples where the user has stopped it.

    Raises:
        InputError: A factor does not fit the scenario, arguments contradict each other, or the
            folder holds another study.
    """
    parsed = tuple(Factor.parse(each) if isinstance(each, str) else each for each in factors)
    drawn = scenario.seed if seed is None else seed
    plan = Plan.of(parsed, design=design, n=n, seed=drawn, repeats=repeats)
    base = Base(
        scenario=scenario,
        plan=plan,
        beside=beside,
        trust=trust,
        timeout=timeout,
        keep_all=keep == "all",
        keep_failed=keep == "failed",
    )
    about = About.of(scenario, plan)
    care = Care(
        isolated=isolated or jobs != 1, retries=RETRIES, timeout=timeout, batch=BATCH_SECONDS
    )
    crew = Crew(jobs, executor, room=room, care=care, shared=base)
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary, crew:
            study = _swept(about, base, Path(temporary), crew, progress)
            return dc.replace(study, folder=None)
    home = Path(folder)
    _open(home, about, resume)
    with crew:
        return _swept(about, base, home, crew, progress)


def _open(folder: Path, about: About, resume: bool) -> None:
    """Make the folder ready for a study, or make sure that it holds this one."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / DESCRIPTION).exists():
        if not resume:
            raise InputError(
                f"'{folder}' holds a study already; go on with it (--resume), remove it, or give "
                "another folder."
            )
        if About.read(folder).to_dict() != about.to_dict():
            raise InputError(f"'{folder}' holds another study; give another folder.")
    about.write(folder)


def _swept(about: About, base: Base, folder: Path, crew: Crew, progress: Progress | None) -> Study:
    plan = about.plan
    with Journal(folder / JOURNAL, plan.count) as journal:
        before, failed = journal.done, 0
        tasks = Samples(base, journal.missing)

        def take(k: int, value: Finished | Lost | None) -> None:
            nonlocal failed
            if value is None:
                raise KeyboardInterrupt
            if isinstance(value, Lost):
                lost = tasks[k]
                row = lost.overdue() if value.overdue else lost.failed(value.message)
                value = Finished(row)
            if value.result is not None:
                value.result.save(folder / RESULTS / str(value.row.sample))
            journal.write(value.row)
            failed += not value.row.completed

        def report(done: float, _: float) -> None:
            if progress is not None:
                progress(Tally(before + done, plan.count, journal.done, failed))

        crew.gather(tasks, take, report)
        table = table_of(plan.factors, journal.rows(), journal.done)
    write_tables(folder, table)
    return Study(about=about, table=table, folder=folder)
