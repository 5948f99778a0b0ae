"""The sweep itself: from a scenario and what varies to a study."""

from __future__ import annotations

import contextlib
import dataclasses as dc
import math
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import NamedTuple

from ukctrl.core.argument_errors import explain_argument_errors
from ukctrl.core.errors import InputError
from ukctrl.core.files import AnyPath
from ukctrl.core.files.output_folders import output_root
from ukctrl.core.files.table_paths import table_leaves
from ukctrl.core.message_text import literal_text
from ukctrl.simulation.result.atomic_files import output_folder
from ukctrl.simulation.scenario import AnyScenario, as_scenario
from ukctrl.simulation.scenario.scenario_argument import names_beside
from ukctrl.studies.batch.task import RetryPolicy, TaskFailure
from ukctrl.studies.batch.task_runner import TaskRunner
from ukctrl.studies.batch.thread_safety import are_thread_safe
from ukctrl.studies.journal import Journal, write_errors
from ukctrl.studies.sweep.dry_run import dry_run, representative_scenarios
from ukctrl.studies.sweep.factor import AnyFactors, as_factors
from ukctrl.studies.sweep.retention import RetentionPolicy
from ukctrl.studies.sweep.sample_record import SampleRecord
from ukctrl.studies.sweep.sample_task import SampleOutput, SampleTasks, SweepInput
from ukctrl.studies.sweep.sampling_plan import SamplingPlan
from ukctrl.studies.sweep.study import (
    DESCRIPTION_FILE,
    JOURNAL_FILE,
    RESULTS_FOLDER,
    Study,
    StudyDescription,
)
from ukctrl.studies.sweep.study_table import table_of, write_tables

CHUNK_SECONDS = 1.0
"""Short samples are handed over in batches that take about so long [s]."""
COMPLETE_MARKER = "scenario.toml"
"""A result whose folder has this file is there with all its files."""
MAX_DIFFERENCES = 3
"""Differences that a message lists."""


class SweepProgress(NamedTuple):
    """How far a sweep is."""

    done: float
    """Samples that are finished, and parts of those in progress."""
    total: int
    """Samples that there are."""
    finished: int
    """Samples that are recorded."""
    failed: int
    """Those of them, in this process, that did not complete."""


Progress = Callable[[SweepProgress], None]
"""Called now and then with how far it is."""


@explain_argument_errors
def sweep(
    scenario: AnyScenario,
    factors: AnyFactors,
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
    keep: RetentionPolicy | str = "none",
    timeout: float | None = None,
    beside: AnyPath | None = None,
    trust: bool = False,
    progress: Progress | None = None,
) -> Study:
    """Run a scenario many times, with some of its values varied.

    Args:
        scenario: What all samples share: a scenario, its name, or the path of its file.
        factors: What varies, also as text: ``"controller.feedback.alpha=log:1:100"``, or as a table
            of values by path: ``{"believed.mass_scale": [0.7, 1.0, 1.3]}``; nothing where only the
            seed is to.
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
        beside: File that names among the values are relative to; absent: that of the scenario,
            where its name or path is given.
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
    beside, scenario = names_beside(scenario, beside), as_scenario(scenario, trust=trust)
    keeping = RetentionPolicy.parse(keep) if isinstance(keep, str) else keep
    if timeout is not None and not 0.0 < timeout < math.inf:
        raise InputError(f"timeout must be positive; got {timeout:g} s.")
    if folder is None and keeping.what != "none":
        raise InputError("results can be kept in a folder only; give one, or keep none.")
    plan = SamplingPlan.of(
        as_factors(factors),
        design=design,
        n=n,
        seed=scenario.seed if seed is None else seed,
        repeats=repeats,
    )
    about = StudyDescription.of(scenario, plan, beside)
    base = SweepInput(
        scenario=scenario,
        plan=plan,
        base_file=None if beside is None else Path(beside),
        trust=trust,
        timeout=timeout,
        save_all=keeping.what == "all",
        save_failed=keeping.what == "failed",
    )
    advice = "go on by --resume (resume=True)"
    care = RetryPolicy(timeout=timeout, chunk_seconds=CHUNK_SECONDS, resume_advice=advice)
    crew = TaskRunner(jobs, executor, room=room, care=care, files=about.input_file_digests)
    workspace = tempfile.TemporaryDirectory() if folder is None else contextlib.nullcontext(folder)
    with crew, workspace as home_name:
        home, some = Path(home_name), []

        def watch(_: float, __: float) -> None:
            if progress is not None:  # nothing is done before the first sample
                progress(SweepProgress(0.0, plan.count, 0, 0))

        if executor is None and not isolated and (jobs != 1 or isolated is None):
            some = representative_scenarios(base)
        compiled = bool(some) and are_thread_safe(some, crew, watch)
        apart = not compiled and (isolated is not False or jobs != 1)
        crew.policy = dc.replace(care, thread_safe=compiled, in_processes=apart)
        if not (home / DESCRIPTION_FILE).exists():
            dry_run(base, crew, watch)
        prepare_folder(home, about, resume)
        with output_root(home):
            study = _run_samples(about, base, home, crew, progress)
            if study.finished and keeping.what == "worst":
                _save_worst(study, base, keeping, crew)
    return study if folder is not None else dc.replace(study, folder=None)


def _run_samples(
    about: StudyDescription,
    base: SweepInput,
    folder: Path,
    crew: TaskRunner,
    progress: Progress | None,
) -> Study:
    plan = about.plan
    with Journal(folder / JOURNAL_FILE, SampleRecord, "sweep", range(plan.count)) as journal:
        prior_count, failed = len(journal), 0
        tasks = SampleTasks(base, journal.missing())

        def take(k: int, value: SampleOutput | TaskFailure) -> None:
            nonlocal failed
            if isinstance(value, TaskFailure):
                task, message = tasks[k], value.message
                row = task.timeout_row() if value.timed_out else task.failure_row(message)
                value = SampleOutput(row)
            if value.result is not None:  # before the line that says that the sample is done
                value.result.save(folder / RESULTS_FOLDER / str(value.row.sample))
            journal.append(value.row)
            failed += not value.row.completed

        def report(done: float, _: float) -> None:
            if progress is not None:
                progress(SweepProgress(prior_count + done, plan.count, len(journal), failed))

        try:
            crew.run(tasks, take, report)
        finally:  # also where the machine failed, for all the rest
            columns = table_of(plan.factors, journal.rows(), len(journal))
            with write_errors(f"the study to '{folder}'"):
                write_tables(folder, columns)
    return Study(about=about, columns=columns, folder=folder)


def _save_worst(study: Study, base: SweepInput, keep: RetentionPolicy, crew: TaskRunner) -> None:
    """Run the worst samples again, which gives the same numbers, and keep all of them."""
    assert study.folder is not None
    results = study.folder / RESULTS_FOLDER
    missing = [
        k for k in keep.worst(study.columns) if not (results / str(k) / COMPLETE_MARKER).exists()
    ]
    again = dc.replace(base, save_all=True, timeout=None)

    def take(k: int, value: SampleOutput | TaskFailure) -> None:
        if isinstance(value, SampleOutput) and value.result is not None:
            value.result.save(results / str(value.row.sample))

    crew.run(SampleTasks(again, missing), take)


def prepare_folder(folder: Path, about: StudyDescription, resume: bool) -> None:
    """Make the folder ready for a study, or make sure that the study there is this one.

    A study whose design allows it may have grown.

    Raises:
        InputError: It holds a study and none is to be resumed, or another one, or it cannot be
            written to.
    """
    with output_folder("the study", folder):
        if not (folder / DESCRIPTION_FILE).exists():
            if (folder / JOURNAL_FILE).exists():
                raise InputError(
                    f"'{folder}' holds a {JOURNAL_FILE} of other work, for there is no "
                    f"{DESCRIPTION_FILE} beside it; give another folder."
                )
            about.write(folder)
            return
        if not resume:
            raise InputError(
                f"'{folder}' holds a study already. Go on with it by --resume (resume=True), "
                "remove it, or give another folder."
            )
        differences = list(_differences(StudyDescription.read(folder), about))
        if differences:
            left_out = len(differences) - MAX_DIFFERENCES
            more = f" (and {left_out} more)" if left_out > 0 else ""
            raise InputError(
                f"'{folder}' holds another study: {', '.join(differences[:MAX_DIFFERENCES])}"
                f"{more}. Repeat what it was begun with, or give another folder."
            )
        about.write(folder)


def _differences(old: StudyDescription, new: StudyDescription) -> Iterator[str]:
    """Yield in words what two studies differ in."""
    old_table, new_table = old.to_dict(), new.to_dict()
    if old.plan.is_extended_by(new.plan):
        old_table |= new.plan.to_dict()
    for table in (old_table, new_table):
        table["factors"] = {entry["path"]: {**entry} for entry in table["factors"]}
        table.pop("samples")
        table.pop("beside", None)  # where names are looked up is no part of what they mean
        table.pop("files", None)
    for path, digest in (old.files or {}).items():
        if (new.files or {}).get(path, digest) != digest:
            yield f"the file '{path}' has changed"
    ours, theirs = (
        {path.removeprefix("scenario."): value for path, value in table_leaves(table)}
        for table in (old_table, new_table)
    )
    for path in dict.fromkeys((*ours, *theirs)):
        if path not in theirs:
            yield f"{path} was {literal_text(ours[path])} and is not given"
        elif path not in ours:
            yield f"{path} was not given and is {literal_text(theirs[path])}"
        elif ours[path] != theirs[path]:
            yield f"{path} was {literal_text(ours[path])} and is {literal_text(theirs[path])}"
