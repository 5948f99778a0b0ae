"""The command `sweep`: from its options to a study, and what is told of it."""

from __future__ import annotations

from typing import Annotated

import typer

from ukctrl.cli import options
from ukctrl.cli.arguments import load_scenario, output_folder, parse_mismatch, prefix_errors
from ukctrl.cli.job_options import ClusterOption, Jobs, job_options
from ukctrl.cli.options import option
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import print_result
from ukctrl.cli.terminal.progress_bars import progress_bar, sweep_progress
from ukctrl.cli.terminal.studies_text import report_lines, study_data
from ukctrl.core.errors import InputError
from ukctrl.core.files.catalog import file_name

Vary = Annotated[
    list[str] | None,
    option(
        "--vary PATH=VALUES",
        "What varies",
        "What varies: a list k=1,2,5, a range k=1:10 or k=log:1:100, values of one k=1:10:5, "
        "k=normal:MEAN:SD, k=whole:1:6; give several.",
    ),
]
Points = Annotated[
    int | None, option("-n N", "What varies", "Points; absent: 64, or all combinations of lists.")
]
Seed = Annotated[
    int | None,
    option("--seed S", "What varies", "What is drawn is drawn from it; absent: the file's."),
]
DesignOption = Annotated[
    str | None,
    option("--design [grid|random|sobol|saltelli]", "What varies", "How points are chosen."),
]
Mismatch = Annotated[
    str | None,
    option(
        "--mismatch LEVEL",
        "What varies",
        "Draw another true robot for each run: off by up to a fraction, or from the fit in the "
        "folder of an identified robot.",
    ),
]
Repeats = Annotated[
    int, option("--repeats R", "What varies", "Runs of each point, each with its own seed.")
]
Resume = Annotated[
    bool, option("--resume", "How it runs", "Go on with the study in the folder; repeat nothing.")
]
KeepOption = Annotated[
    str,
    option(
        "--keep [none|failed|all|worst:N]",
        options.OUTPUT,
        "Results to keep whole; worst:N:METRIC says by what.",
    ),
]
Timeout = Annotated[
    float | None,
    option("--timeout SECONDS", "How it runs", "How long one run may take; absent: ever."),
]
Isolated = Annotated[
    bool,
    option(
        "--isolated", "How it runs", "A process for each run at a time, in case one crashes it."
    ),
]
NoReport = Annotated[
    bool,
    option("--no-report", options.OUTPUT, "Keep the table alone; ukctrl report DIR makes a page."),
]


def sweep(
    scenario: options.ScenarioName,
    *,
    vary: Vary = None,
    points: Points = None,
    design: DesignOption = None,
    seed: Seed = None,
    repeats: Repeats = 1,
    mismatch: Mismatch = None,
    controller: options.ControllerOption = None,
    changes: options.Set = None,
    jobs: Jobs = None,
    cluster: ClusterOption = None,
    resume: Resume = False,
    keep: KeepOption = "none",
    timeout: Timeout = None,
    isolated: Isolated = False,
    no_report: NoReport = False,
    out: options.Out = None,
    formats: options.Format = None,
    width: options.Width = None,
    trust: options.Trust = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run a scenario many times with some of its values varied; keep a table, and report it.

    Killed at any moment, the same command with --resume goes on without losing or repeating a run.
    """
    base = load_scenario(scenario, controller, changes, trust)
    if not vary and points is None and repeats == 1:
        raise InputError("sweep needs something to vary; give --vary PATH=VALUES, or --repeats.")
    from ukctrl.core.files import catalog
    from ukctrl.studies.sweep import sweep as run_sweep
    from ukctrl.studies.sweep_analysis import SweepAnalysis, write_study_report
    from ukctrl.studies.sweep_analysis.study_page import empty_report, report
    from ukctrl.studies.tuning.plants import mismatch_effects, with_mismatch

    levels = parse_mismatch(mismatch)
    if len(levels) > 1:
        raise InputError(f"--mismatch of sweep must be one level; got '{mismatch}'.")
    with prefix_errors(scenario):
        for effect in mismatch_effects(base, levels).values():
            base = with_mismatch(base, effect)

    stopping = interruptible()
    with (
        job_options(cluster, jobs) as resources,
        stopping as stop,
        output_folder(out, f"{file_name(base.name)}-sweep") as folder,
    ):
        shown = sweep_progress(base.title, quiet or as_json)
        with prefix_errors(scenario), shown as progress:
            study = run_sweep(
                base,
                vary or [],
                design=design,
                n=points,
                seed=seed,
                repeats=repeats,
                isolated=isolated or None,
                folder=folder,
                resume=resume,
                keep=keep,
                timeout=timeout,
                beside=catalog.find("scenarios", scenario),
                trust=trust,
                progress=stop.checked(progress),
                **resources,
            )
        if not study.done:
            nothing = {"planned": study.about.plan.count, "finished": 0}
            data = {"finished": False, "samples": nothing}
            print_result(
                quiet, as_json, lambda: data, lambda: report_lines(empty_report(study), folder)
            )
            raise typer.Exit(1)
        replays = None
        if no_report:
            insight = SweepAnalysis.of(study, trust=trust)
        else:
            # What the user has stopped is reported as far as it is, without further runs.
            replaying = progress_bar("replay", quiet or as_json)
            with replaying as replayed:
                _, insight, replays = write_study_report(
                    study, folder, again=study.finished, trust=trust, progress=replayed
                )
        stop.block()
        report_args = insight, folder, replays
        print_result(
            quiet,
            as_json,
            lambda: study_data(*report_args),
            lambda: report_lines(report(*report_args), folder, 10),
        )
    raise typer.Exit(0 if study.finished else 1)
