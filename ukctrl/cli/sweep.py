"""The command `sweep`: from its options to a study, and what is told of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import about, output_folder, scenario_of
from ukctrl.cli.options import Card, Format, Json, Out, Quiet, ScenarioName, Set, Trust, Width
from ukctrl.cli.places import ClusterOption, Jobs, place_of
from ukctrl.cli.terminal.lines import answer
from ukctrl.cli.terminal.progress_bars import progress_bar, sweep_progress
from ukctrl.cli.terminal.stop import stoppable
from ukctrl.cli.terminal.studies_text import study_data, study_lines, unstarted_lines
from ukctrl.core.errors import InputError
from ukctrl.core.files.catalog import file_name

Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="PATH=VALUES",
        help="What varies: a list k=1,2,5, a range k=1:10 or k=log:1:100, values of one k=1:10:5, "
        "k=normal:MEAN:SD, k=whole:1:6; give several.",
    ),
]
Points = Annotated[
    int | None,
    typer.Option("-n", metavar="N", help="Points; absent: 64, or all combinations of lists."),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="S", help="What is drawn is drawn from it; absent: the file's."),
]
DesignOption = Annotated[
    str | None,
    typer.Option("--design", metavar="[grid|random|sobol|saltelli]", help="How points are chosen."),
]
Repeats = Annotated[
    int, typer.Option("--repeats", metavar="R", help="Runs of each point, each with its own seed.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with the study in the folder; repeat nothing.")
]
KeepOption = Annotated[
    str,
    typer.Option(
        "--keep",
        metavar="[none|failed|all|worst:N]",
        help="Results to keep whole; worst:N:METRIC says by what.",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", help="How long one run may take; absent: ever."),
]
Isolated = Annotated[
    bool,
    typer.Option("--isolated", help="A process for each run at a time, in case one crashes it."),
]
NoReport = Annotated[
    bool, typer.Option("--no-report", help="Keep the table alone; ukctrl report DIR makes a page.")
]


def sweep(
    scenario: ScenarioName,
    *,
    vary: Vary = None,
    points: Points = None,
    design: DesignOption = None,
    seed: Seed = None,
    repeats: Repeats = 1,
    controller: Card = None,
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
    base = scenario_of(scenario, controller, changes, trust)
    if not vary and points is None and repeats == 1:
        raise InputError("sweep needs something to vary; give --vary PATH=VALUES, or --repeats.")
    from ukctrl.core.files import catalog
    from ukctrl.studies.insight import Insight, write_study_report
    from ukctrl.studies.sweep import sweep as run_sweep

    where = out or Path("out") / f"{file_name(base.name)}-sweep"
    stopping = stoppable()
    with place_of(cluster, jobs) as place, stopping as stop, output_folder(where) as folder:
        shown = sweep_progress(base.title, quiet or as_json)
        with about(scenario), shown as progress:
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
                progress=stop.watch(progress),
                **place,
            )
        if not study.done:
            nothing = {"planned": study.about.plan.count, "finished": 0}
            data = {"finished": False, "samples": nothing}
            answer(quiet, as_json, lambda: data, lambda: unstarted_lines(study))
            raise typer.Exit(1)
        replays = None
        if no_report:
            insight = Insight.of(study, trust=trust)
        else:
            # What the user has stopped is reported as far as it is, without further runs.
            replaying = progress_bar("replay", quiet or as_json)
            with replaying as replayed:
                _, insight, replays = write_study_report(
                    study, folder, again=study.finished, trust=trust, progress=replayed
                )
        stop.hold()
        told = insight, folder, replays
        answer(quiet, as_json, lambda: study_data(*told), lambda: study_lines(*told))
    raise typer.Exit(0 if study.finished else 1)
