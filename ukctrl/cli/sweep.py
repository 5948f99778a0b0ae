"""The command `sweep`: from its options to a study, and what is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import load_scenario, output_folder, prefix_errors
from ukctrl.cli.job_options import ClusterOption, Jobs, job_options
from ukctrl.cli.options import (
    OUTPUT,
    ControllerOption,
    Format,
    Json,
    Out,
    Quiet,
    ScenarioName,
    Set,
    Trust,
    Width,
)
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import print_result
from ukctrl.cli.terminal.progress_bars import progress_bar, sweep_progress
from ukctrl.cli.terminal.studies_text import report_lines, study_data
from ukctrl.core.errors import InputError
from ukctrl.core.files.catalog import file_name

Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="PATH=VALUES",
        help="What varies: a list k=1,2,5, a range k=1:10 or k=log:1:100, values of one k=1:10:5, "
        "k=normal:MEAN:SD, k=whole:1:6; give several.",
        rich_help_panel="What varies",
    ),
]
Points = Annotated[
    int | None,
    typer.Option(
        "-n",
        metavar="N",
        help="Points; absent: 64, or all combinations of lists.",
        rich_help_panel="What varies",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="S",
        help="What is drawn is drawn from it; absent: the file's.",
        rich_help_panel="What varies",
    ),
]
DesignOption = Annotated[
    str | None,
    typer.Option(
        "--design",
        metavar="[grid|random|sobol|saltelli]",
        help="How points are chosen.",
        rich_help_panel="What varies",
    ),
]
Repeats = Annotated[
    int,
    typer.Option(
        "--repeats",
        metavar="R",
        help="Runs of each point, each with its own seed.",
        rich_help_panel="What varies",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with the study in the folder; repeat nothing.",
        rich_help_panel="How it runs",
    ),
]
KeepOption = Annotated[
    str,
    typer.Option(
        "--keep",
        metavar="[none|failed|all|worst:N]",
        help="Results to keep whole; worst:N:METRIC says by what.",
        rich_help_panel=OUTPUT,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        metavar="SECONDS",
        help="How long one run may take; absent: ever.",
        rich_help_panel="How it runs",
    ),
]
Isolated = Annotated[
    bool,
    typer.Option(
        "--isolated",
        help="A process for each run at a time, in case one crashes it.",
        rich_help_panel="How it runs",
    ),
]
NoReport = Annotated[
    bool,
    typer.Option(
        "--no-report",
        help="Keep the table alone; ukctrl report DIR makes a page.",
        rich_help_panel=OUTPUT,
    ),
]


def sweep(
    scenario: ScenarioName,
    *,
    vary: Vary = None,
    points: Points = None,
    design: DesignOption = None,
    seed: Seed = None,
    repeats: Repeats = 1,
    controller: ControllerOption = None,
    changes: Set = None,
    jobs: Jobs = None,
    cluster: ClusterOption = None,
    resume: Resume = False,
    keep: KeepOption = "none",
    timeout: Timeout = None,
    isolated: Isolated = False,
    no_report: NoReport = False,
    out: Out = None,
    formats: Format = None,
    width: Width = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
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

    where = out or Path("out") / f"{file_name(base.name)}-sweep"
    stopping = interruptible()
    with job_options(cluster, jobs) as resources, stopping as stop, output_folder(where) as folder:
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
