"""The sweep itself: from a scenario and what varies to a study."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from ukctrl.core.errors import InputError
from ukctrl.core.fields import written
from ukctrl.core.files import AnyPath
from ukctrl.simulation.result.plain_files import folder_for
from ukctrl.simulation.scenario import Scenario
from ukctrl.studies.batch.crew import Crew
from ukctrl.studies.batch.suits_threads import suits_threads
from ukctrl.studies.batch.task import Care, Lost
from ukctrl.studies.sweep.factor import Factor
from ukctrl.studies.sweep.journal import Journal
from ukctrl.studies.sweep.keep import Keep
from ukctrl.studies.sweep.plan import Plan
from ukctrl.studies.sweep.sample import Base, Finished, Samples
from ukctrl.studies.sweep.study import DESCRIPTION, JOURNAL, RESULTS, About, Study
from ukctrl.studies.sweep.study_table import table_of, write_tables
from ukctrl.studies.sweep.try_out import rehearse, representatives

BATCH_SECONDS = 1.0
"""Short samples are handed over in batches that take about so long [s]."""
LAST_SAVED = "scenario.toml"
"""A result whose folder has this file is there with all its files."""
MOST_DIFFERENCES = 3
"""Differences that a message lists."""


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
    isolated: bool | None = False,
    folder: AnyPath | None = None,
    resume: bool = False,
    keep: Keep | str = "none",
    timeout: float | None = None,
    beside: AnyPath | None = None,
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
            depend on it. Threads compute them where machine code runs from sample to sample;
            otherwise processes do, and a script that asks for several keeps its work under
            ``if __name__ == "__main__":``.
        executor: Where to run instead, such as a cluster's executor.
        room: How many samples the executor runs at a time; absent: as many as here.
        isolated: Whether to start processes in any case, so that a sample that crashes costs
            nothing else, and one that never ends is ended from outside; None: wherever threads do
            not compute them, even for one job.
        folder: Where to keep the study; absent: in memory alone.
        resume: Whether to go on with the study in the folder, of which nothing is run again.
        keep: Which results to keep whole in ``results/``: ``none``, ``failed``, ``all``, or
            ``worst:N`` and ``worst:N:METRIC``, which runs the worst once more at the end.
        timeout: How long a sample may take [s]; absent: for ever.
        beside: File that names among the values are relative to.
        trust: Whether Python code that the scenario names may run.
        progress: Called now and then with how far it is.

    Returns:
        What was recorded; less than all samples where the user has stopped it.

    Raises:
        InputError: A factor does not fit the scenario, arguments contradict each other, or the
            folder holds another study.
        MachineFailure: The machine failed at some samples, and again with nothing beside them. All
            others are recorded; ``resume`` tries these again.
    """
    keeping = Keep.parse(keep) if isinstance(keep, str) else keep
    if timeout is not None and not 0.0 < timeout < math.inf:
        raise InputError(f"timeout must be positive; got {timeout:g} s.")
    if folder is None and keeping.what != "none":
        raise InputError("results can be kept in a folder only; give one, or keep none.")
    plan = Plan.of(
        [Factor.parse(each) if isinstance(each, str) else each for each in factors],
        design=design,
        n=n,
        seed=scenario.seed if seed is None else seed,
        repeats=repeats,
    )
    about = About.of(scenario, plan, beside)
    base = Base(
        scenario=scenario,
        plan=plan,
        beside=None if beside is None else Path(beside),
        trust=trust,
        timeout=timeout,
        keep_all=keeping.what == "all",
        keep_failed=keeping.what == "failed",
    )
    care = Care(timeout=timeout, batch=BATCH_SECONDS, go_on="go on by --resume (resume=True)")
    crew = Crew(jobs, executor, room=room, care=care, files=about.users_files)
    with crew, _home(folder) as home:
        watch, some = _watching(progress, plan.count), []
        if executor is None and not isolated and (jobs != 1 or isolated is None):
            some = representatives(base)
        compiled = bool(some) and suits_threads(some, crew, watch)
        apart = not compiled and (isolated is not False or jobs != 1)
        crew.care = dc.replace(care, compiled=compiled, isolated=apart)
        if not (home / DESCRIPTION).exists():
            rehearse(base, crew, watch)
        open_folder(home, about, resume)
        study = _swept(about, base, home, crew, progress)
        if study.finished and keeping.what == "worst":
            _keep_worst(study, base, keeping, crew)
    return study if folder is not None else dc.replace(study, folder=None)


@contextlib.contextmanager
def _home(folder: AnyPath | None) -> Iterator[Path]:
    """Yield where the study is, which is nowhere for long where there is no folder."""
    if folder is not None:
        yield Path(folder)
        return
    with tempfile.TemporaryDirectory() as temporary:
        yield Path(temporary)


def _watching(progress: Progress | None, count: int) -> Callable[[float, float], None]:
    """Return a callback for what comes before the first sample."""

    def watch(_: float, __: float) -> None:
        if progress is not None:
            progress(Tally(0.0, count, 0, 0))

    return watch


def _swept(about: About, base: Base, folder: Path, crew: Crew, progress: Progress | None) -> Study:
    plan = about.plan
    with Journal(folder / JOURNAL, plan.count) as journal:
        before, failed = journal.done, 0
        tasks = Samples(base, journal.missing)

        def take(k: int, value: Finished | Lost) -> None:
            nonlocal failed
            if isinstance(value, Lost):
                lost = tasks[k]
                value = Finished(lost.overdue() if value.overdue else lost.failed(value.message))
            if value.result is not None:  # before the line that says that the sample is done
                value.result.save(folder / RESULTS / str(value.row.sample))
            with _writing(folder):
                journal.write(value.row)
            failed += not value.row.completed

        def report(done: float, _: float) -> None:
            if progress is not None:
                progress(Tally(before + done, plan.count, journal.done, failed))

        try:
            crew.gather(tasks, take, report)
        finally:  # also where the machine failed, for all the rest
            columns = table_of(plan.factors, journal.rows(), journal.done)
            with _writing(folder):
                write_tables(folder, columns)
    return Study(about=about, columns=columns, folder=folder)


@contextlib.contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Say what is to be done where a file cannot be written.

    Raises:
        InputError: It cannot, such as on a full disk.
    """
    try:
        yield
    except OSError as error:
        raise InputError(
            f"cannot write the study to '{folder}': {error.strerror}. What is recorded there is "
            "kept; see to it, and go on by --resume (resume=True)."
        ) from error


def _keep_worst(study: Study, base: Base, keep: Keep, crew: Crew) -> None:
    """Run the worst samples again, which gives the same numbers, and keep all of them."""
    assert study.folder is not None
    results = study.folder / RESULTS
    missing = [k for k in keep.worst(study.columns) if not (results / str(k) / LAST_SAVED).exists()]
    again = dc.replace(base, keep_all=True, timeout=None)

    def take(k: int, value: Finished | Lost) -> None:
        if isinstance(value, Finished) and value.result is not None:
            value.result.save(results / str(value.row.sample))

    crew.gather(Samples(again, missing), take)


def open_folder(folder: Path, about: About, resume: bool) -> None:
    """Make the folder ready for a study, or make sure that the study there is this one.

    A study whose design allows it may have grown.

    Raises:
        InputError: It holds a study and none is to be resumed, or another one, or it cannot be
            written to.
    """
    with folder_for("the study", folder):
        if not (folder / DESCRIPTION).exists():
            if (folder / JOURNAL).exists():
                raise InputError(
                    f"'{folder}' holds a {JOURNAL} of other work, for there is no {DESCRIPTION} "
                    "beside it; give another folder."
                )
            about.write(folder)
            return
        if not resume:
            raise InputError(
                f"'{folder}' holds a study already. Go on with it by --resume (resume=True), "
                "remove it, or give another folder."
            )
        differences = list(_differences(About.read(folder), about))
        if differences:
            left_out = len(differences) - MOST_DIFFERENCES
            more = f" (and {left_out} more)" if left_out > 0 else ""
            raise InputError(
                f"'{folder}' holds another study: {', '.join(differences[:MOST_DIFFERENCES])}"
                f"{more}. Repeat what it was begun with, or give another folder."
            )
        about.write(folder)


def _differences(old: About, new: About) -> Iterator[str]:
    """Yield in words what two studies differ in."""
    before, after = old.to_dict(), new.to_dict()
    if old.plan.grows_to(new.plan):
        before |= new.plan.to_dict()
    for table in (before, after):
        table["factors"] = {entry["path"]: {**entry} for entry in table["factors"]}
        table.pop("samples")
        table.pop("beside", None)  # where names are looked up is no part of what they mean
        table.pop("files", None)
    for path, digest in (old.files or {}).items():
        if (new.files or {}).get(path, digest) != digest:
            yield f"the file '{path}' has changed"
    ours, theirs = dict(_leaves("", before)), dict(_leaves("", after))
    for path in dict.fromkeys((*ours, *theirs)):
        if path not in theirs:
            yield f"{path} was {written(ours[path])} and is not given"
        elif path not in ours:
            yield f"{path} was not given and is {written(theirs[path])}"
        elif ours[path] != theirs[path]:
            yield f"{path} was {written(ours[path])} and is {written(theirs[path])}"


def _leaves(path: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield every plain value below a table, with its path."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _leaves(f"{path}.{key}".removeprefix("."), item)
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            yield from _leaves(f"{path}.{number}", item)
    else:
        yield path.removeprefix("scenario."), value
