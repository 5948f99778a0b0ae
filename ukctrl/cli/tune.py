"""The command `tune`: from its options to a search, and the files of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ukctrl.cli import options
from ukctrl.cli.arguments import (
    ALL_GAINS,
    import_command,
    load_scenario,
    output_folder,
    parse_mismatch,
    parse_ranges,
    prefix_errors,
)
from ukctrl.cli.job_options import ClusterOption, Jobs, job_options
from ukctrl.cli.options import option
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import print_notice, print_result
from ukctrl.cli.terminal.progress_bars import progress_bar
from ukctrl.cli.terminal.studies_text import tuned_lines
from ukctrl.core.errors import InputError
from ukctrl.core.files.catalog import file_name

if TYPE_CHECKING:
    from ukctrl.studies.batch.mismatch_level import MismatchLevel
    from ukctrl.studies.tuning import Plants

DEFAULT_BUDGET = 100
"""Simulations where nobody says how many."""
DEFAULT_HELD_OUT = 8
"""Held-out plants where the search itself is on one."""
DEFAULT_MISMATCH = 0.1
"""Of the plants of an ensemble where nobody says how they differ."""

Simulations = Annotated[int, option("--budget -n N", "Tuning", "Simulations that may be spent.")]
Method = Annotated[str, option("--method METHOD", "Tuning", "simplex, evolution or cma.")]
Mismatch = Annotated[
    str | None,
    option(
        "--mismatch LEVEL",
        "Plants",
        "Largest fraction by which a plant's parameters are off, or the folder of an identified "
        "robot, from whose fit plants are drawn; absent, with --ensemble and without --vary: 0.1.",
    ),
]
AggregateOption = Annotated[
    str, option("--aggregate HOW", "Plants", "Cost over the plants: average, or that of the worst.")
]
HeldOut = Annotated[
    int | None,
    option(
        "--held-out M",
        "Plants",
        "Plants to judge on that were not tuned on; absent: as many as --ensemble, or 8 with "
        "--mismatch or --vary alone.",
    ),
]
Resume = Annotated[
    bool,
    option("--resume", "How it runs", "Go on with the search in the folder, and repeat nothing."),
]
Fuzzy = Annotated[
    str | None,
    option(
        "--fuzzy KEY=VALUE,...",
        "Tuning",
        "Choose kappa of chen_robust in closed form instead, without a simulation: "
        '"start=0:0.1:0.3, uncertainty=0:0.3:1, horizon=10, price=1e-6".',
    ),
]


def tune(
    scenario: options.ScenarioName,
    *,
    controller: options.ControllerOption = None,
    changes: options.Set = None,
    over: options.Over = None,
    cost: options.CostOption = None,
    subject_to: options.SubjectTo = None,
    simulations: Simulations = DEFAULT_BUDGET,
    method: Method = "simplex",
    ensemble: options.Ensemble = None,
    mismatch: Mismatch = None,
    vary: options.Vary = None,
    aggregate: AggregateOption = "average",
    held_out: HeldOut = None,
    searches: options.Searches = None,
    jobs: Jobs = None,
    cluster: ClusterOption = None,
    resume: Resume = False,
    fuzzy: Fuzzy = None,
    out: options.Out = None,
    formats: options.Format = None,
    width: options.Width = None,
    trust: options.Trust = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Search for the gains of a controller by simulation, and write them as a card."""
    base = load_scenario(scenario, controller, changes, trust)
    folder_name = f"{file_name(base.name)}-tune"
    if fuzzy is not None:
        if over or cost or subject_to or vary or ensemble or mismatch or resume:
            raise InputError("--fuzzy simulates nothing; leave out what is about simulations.")
        command = import_command("ukctrl_laws.fuzzy.command")
        with output_folder(out, folder_name) as folder:
            command.tune(base, scenario, fuzzy, folder, quiet, as_json)
        raise typer.Exit(0)
    from ukctrl.studies.tuning import Budget
    from ukctrl.studies.tuning import tune as tune_controller
    from ukctrl.studies.tuning.tuning_page import write_tuned

    budget = Budget(
        simulations=simulations,
        cost=cost or "rms_phi",
        subject_to=tuple(subject_to or ()),
        over=parse_ranges(over),
        in_terms=ALL_GAINS not in (over or ()),
        only=True,
        method=method,
        plants=_parse_plants(ensemble, mismatch, vary, aggregate, held_out),
        searches=1 if searches is None else searches,
    )
    stopping = interruptible()
    with (
        job_options(cluster, jobs) as resources,
        stopping as stop,
        output_folder(out, folder_name) as folder,
    ):
        shown = progress_bar(base.title, quiet or as_json, "simulations")
        with prefix_errors(scenario), shown as progress:
            tuned = tune_controller(
                base,
                budget,
                folder=folder,
                resume=resume,
                progress=stop.checked(progress),
                **resources,
            )
        stop.block()
        write_tuned(tuned, folder)
        print_result(quiet, as_json, tuned.to_dict, lambda: tuned_lines(tuned, scenario, folder))
        if quiet and tuned.stopped:
            print_notice(tuned.verdicts[1].text)
    raise typer.Exit(0 if tuned.ok else 1)


def _parse_plants(
    ensemble: int | None,
    mismatch: str | None,
    vary: list[str] | None,
    aggregate: str,
    held_out: int | None,
) -> Plants:
    from typing import cast

    from ukctrl.studies.sweep import Factor
    from ukctrl.studies.tuning.plants import Aggregate, Plants

    factors = tuple(Factor.parse(text) for text in vary or [])
    count = 1 if ensemble is None else ensemble
    level: MismatchLevel = DEFAULT_MISMATCH if count > 1 and not factors else 0.0
    if mismatch is not None:
        level, *more = parse_mismatch(mismatch)
        if more:
            raise InputError(f"--mismatch of tune must be one level; got '{mismatch}'.")
    differ = bool(level or factors)
    if held_out is None:
        held_out = count if count > 1 else DEFAULT_HELD_OUT if differ else 0
    return Plants(
        count=count,
        mismatch=level,
        vary=factors,
        aggregate=cast("Aggregate", aggregate),
        held_out=held_out,
    )
