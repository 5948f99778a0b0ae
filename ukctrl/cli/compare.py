"""The command `compare`: from its options to a comparison, and the files of it."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ukctrl.cli import options
from ukctrl.cli.arguments import (
    ALL_GAINS,
    load_scenario,
    output_folder,
    parse_mismatch,
    parse_ranges,
    parse_terms,
    prefix_errors,
    resolve_card,
)
from ukctrl.cli.job_options import ClusterOption, Jobs, job_options
from ukctrl.cli.options import option
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import print_notice, print_result
from ukctrl.cli.terminal.progress_bars import progress_bar
from ukctrl.cli.terminal.studies_text import report_lines
from ukctrl.core.errors import InputError, MachineFailure, UkctrlError
from ukctrl.core.files.catalog import file_name

if TYPE_CHECKING:
    from ukctrl.control.error_dynamics_spec import ErrorSpec
    from ukctrl.core.verdict import Verdict
    from ukctrl.studies.batch.mismatch_level import MismatchLevel
    from ukctrl.studies.comparison import Entry, Front
    from ukctrl.studies.sweep import Factor
    from ukctrl.studies.tuning import Budget, SimulationJournal

Repeats = Annotated[
    int | None,
    option(
        "--repeats N",
        "Plants",
        "Runs of each, with the same seeds for all; absent: 1, or 10 with --mismatch.",
    ),
]
Mismatch = Annotated[
    str | None,
    option(
        "--mismatch LEVELS",
        "Plants",
        "Repeat with a true robot that is off by up to these fractions, 0,0.1,0.2, or drawn from "
        "the fit in the folder of an identified robot.",
    ),
]
Tune = Annotated[
    int | None, option("--tune BUDGET", "Tuning", "Tune all gains first, with so many runs each.")
]
Equal = Annotated[
    str | None,
    option(
        "--equal TERMS",
        None,
        "Design all for the same: bandwidth=100 \\[rad/s], settling=0.1 \\[s] or "
        "rejection=1e-4 \\[s^2], with damping=1.",
    ),
]
FrontOption = Annotated[
    str | None,
    option(
        "--front METRIC,METRIC",
        "Fronts",
        "Run each law at many gains, and draw what it can do: rms_phi,input_travel",
    ),
]
Points = Annotated[
    int | None, option("--points N", "Fronts", "Settings of each law for --front; absent: 32.")
]


def compare(
    scenario: options.ScenarioName,
    *,
    controllers: options.EntriesOption = None,
    changes: options.Set = None,
    repeats: Repeats = None,
    mismatch: Mismatch = None,
    equal: Equal = None,
    tune: Tune = None,
    cost: options.CostOption = None,
    subject_to: options.SubjectTo = None,
    over: options.Over = None,
    searches: options.Searches = None,
    ensemble: options.Ensemble = None,
    vary: options.Vary = None,
    front: FrontOption = None,
    points: Points = None,
    jobs: Jobs = None,
    cluster: ClusterOption = None,
    out: options.Out = None,
    formats: options.Format = None,
    width: options.Width = None,
    trust: options.Trust = False,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Run several controllers on the same scenario and set them side by side."""
    base = load_scenario(scenario, None, changes, trust)
    from ukctrl.core.files import catalog
    from ukctrl.studies.comparison import compare as compare_controllers
    from ukctrl.studies.comparison.comparison_page import report, write_comparison
    from ukctrl.studies.sweep import Factor
    from ukctrl.studies.tuning import SimulationJournal

    entries = [_parse_entry(text, scenario) for text in controllers or ()]
    levels, factors = parse_mismatch(mismatch), tuple(map(Factor.parse, vary or []))
    about_tuning = {"cost": cost, "over": None if front else over, "searches": searches}
    about_tuning |= {"subject-to": subject_to, "ensemble": ensemble}
    budget = _parse_budget(tune, levels, factors, about_tuning)
    fronts = _parse_front(front, over, points)
    stopping = interruptible()
    with (
        job_options(cluster, jobs) as where,
        stopping as stop,
        output_folder(out, f"{file_name(base.name)}-compare") as folder,
        SimulationJournal(folder / "runs.jsonl") as journal,
    ):
        shown = progress_bar(base.title, quiet or as_json)
        try:
            with prefix_errors(scenario), shown as progress:
                comparison = compare_controllers(
                    base,
                    entries or None,
                    repeats=repeats,
                    mismatch=levels,
                    equal=None if equal is None else _parse_terms(equal),
                    tuning=budget,
                    front=fronts,
                    vary=factors,
                    journal=journal,
                    beside=catalog.find("scenarios", scenario),
                    trust=trust,
                    warn=None if quiet or as_json else _print_warning,
                    progress=stop.checked(progress),
                    **where,
                )
        except (KeyboardInterrupt, UkctrlError) as error:
            stop.block()
            if _report_journal(journal) and isinstance(error, KeyboardInterrupt):
                raise typer.Exit(1) from error
            raise
        stop.block()
        write_comparison(comparison, folder)
        failure = comparison.conditions.failure
        if comparison.conditions.whole:
            journal.remove()
        else:
            _report_journal(journal)
        print_result(
            quiet, as_json, comparison.to_dict, lambda: report_lines(report(comparison), folder)
        )
    if failure:
        raise MachineFailure(f"{scenario}: {failure}")
    whole = comparison.conditions.whole and all(run.completed for run in comparison.outcomes)
    raise typer.Exit(0 if whole else 1)


def _print_warning(verdict: Verdict) -> None:
    """Say what is unfair before anything runs; what is merely worth knowing comes at the end."""
    if verdict.level == "warning":
        print_notice(verdict.text)


def _report_journal(journal: SimulationJournal) -> bool:
    """Say what is kept of a comparison that was not ended; where it is nothing, leave none."""
    if not len(journal):
        journal.remove()
        return False
    summary = f"{len(journal)} simulations are kept in {journal.path}"
    print_notice(f"{summary}, and the same command goes on from them.")
    return True


def _parse_entry(text: str, scenario: str) -> Entry:
    """Read an entry, its card looked up as `resolve_card` does."""
    from ukctrl.studies.comparison import Entry

    entry = Entry.parse(text)
    return dc.replace(entry, controller=resolve_card(str(entry.controller), scenario))


def _parse_terms(text: str) -> ErrorSpec:
    """Read what loops are designed for: ``bandwidth=100,damping=0.7``."""
    from ukctrl.control.error_dynamics_spec import ERROR_SPEC_FIELDS
    from ukctrl.core.files.table_paths import parse_value

    table: dict[str, Any] = {}
    for pair in text.split(","):
        name, equals, value = (piece.strip() for piece in pair.partition("="))
        if not equals or name not in ERROR_SPEC_FIELDS:
            raise InputError(
                "--equal must be one of bandwidth=, settling= and rejection=, with damping= where "
                f"it is not 1; got '{text}'."
            )
        table[name] = parse_value(value)
    return parse_terms(table, "--equal ")


def _parse_front(text: str | None, over: list[str] | None, points: int | None) -> Front | None:
    from ukctrl.studies.comparison import Front

    if text is None:
        if points is not None:
            raise InputError("--points is about a front; give --front METRIC,METRIC with it.")
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        example = "rms_phi,input_travel"
        raise InputError(f"--front must be two metrics, such as {example}; got '{text}'.")
    count = {} if points is None else {"points": points}
    if ALL_GAINS in (over or ()):
        raise InputError("--over gains is about tuning; a front is over bandwidth and damping.")
    return Front(metrics=(names[0], names[1]), over=parse_ranges(over), **count)


def _parse_budget(
    tune: int | None,
    levels: Sequence[MismatchLevel],
    factors: tuple[Factor, ...],
    settings: Mapping[str, Any],
) -> Budget | None:
    """Return what gains are tuned with: on robots as those they are judged on, but others."""
    if tune is None:
        for name, value in settings.items():
            if value not in (None, []):
                raise InputError(f"--{name} is about tuning; give --tune BUDGET with it.")
        return None
    from ukctrl.studies.batch.mismatch_level import mismatch_order
    from ukctrl.studies.tuning import Budget, Plants

    plants, count = Plants(), settings["ensemble"]
    if count is not None:
        largest = max(levels, key=mismatch_order, default=0.0)
        plants = Plants(count=count, mismatch=largest, vary=factors)
    return Budget(
        simulations=tune,
        cost=settings["cost"] or "rms_phi",
        subject_to=tuple(settings["subject-to"] or ()),
        over=parse_ranges(settings["over"]),
        in_terms=ALL_GAINS not in (settings["over"] or ()),
        plants=plants,
        searches=1 if settings["searches"] is None else settings["searches"],
    )
