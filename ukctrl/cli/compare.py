"""The command `compare`: from its options to a comparison, and the files of it."""

from __future__ import annotations

import dataclasses as dc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ukctrl.cli import options
from ukctrl.cli.arguments import (
    GAINS,
    about,
    card_of,
    output_folder,
    ranges_of,
    scenario_of,
    terms_of,
)
from ukctrl.cli.places import ClusterOption, Jobs, place_of
from ukctrl.cli.terminal.lines import answer, notice
from ukctrl.cli.terminal.progress_bars import progress_bar
from ukctrl.cli.terminal.stop import stoppable
from ukctrl.cli.terminal.studies_text import comparison_lines
from ukctrl.core.errors import InputError, MachineFailure, UkctrlError
from ukctrl.core.files.catalog import file_name

if TYPE_CHECKING:
    from ukctrl.control.terms import Terms
    from ukctrl.core.verdict import Verdict
    from ukctrl.studies.comparison import Entry, Front
    from ukctrl.studies.sweep import Factor
    from ukctrl.studies.tuning import Budget, Journal, Plants

Repeats = Annotated[
    int | None,
    typer.Option(
        "--repeats",
        metavar="N",
        help="Runs of each, with the same seeds for all; absent: 1, or 10 with --mismatch.",
    ),
]
Mismatch = Annotated[
    str | None,
    typer.Option(
        "--mismatch",
        metavar="LEVELS",
        help="Repeat with a true robot that is off by up to these fractions: 0,0.1,0.2",
    ),
]
Tune = Annotated[
    int | None,
    typer.Option("--tune", metavar="BUDGET", help="Tune all gains first, with so many runs each."),
]
Equal = Annotated[
    str | None,
    typer.Option(
        "--equal",
        metavar="TERMS",
        help="Design all for the same: bandwidth=100 [rad/s], settling=0.1 [s] or rejection=1e-4 "
        "[s^2], with damping=1.",
    ),
]
FrontOption = Annotated[
    str | None,
    typer.Option(
        "--front",
        metavar="METRIC,METRIC",
        help="Run each law at many gains, and draw what it can do: rms_phi,input_travel",
    ),
]
Points = Annotated[
    int | None,
    typer.Option("--points", metavar="N", help="Settings of each law for --front; absent: 32."),
]


def compare(
    scenario: options.ScenarioName,
    *,
    controllers: options.Cards = None,
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
    base = scenario_of(scenario, None, changes, trust)
    from ukctrl.core.files import catalog
    from ukctrl.studies.comparison import compare as compare_controllers
    from ukctrl.studies.comparison.comparison_page import write_comparison
    from ukctrl.studies.comparison.entries import suited
    from ukctrl.studies.sweep import Factor
    from ukctrl.studies.tuning import Journal

    if not controllers:
        controllers = suited(base, beside=catalog.find("scenarios", scenario), trust=trust)
    entries = [_entry(text, scenario) for text in controllers]
    levels, factors = _levels(mismatch), tuple(map(Factor.parse, vary or []))
    about_tuning = {"cost": cost, "over": None if front else over, "searches": searches}
    about_tuning |= {"subject-to": subject_to}
    plants = _plants(ensemble, levels, factors)
    budget = _budget(tune, plants, {**about_tuning, "ensemble": ensemble})
    fronts = _front(front, over, points)
    place = out or Path("out") / f"{file_name(base.name)}-compare"
    stopping = stoppable()
    with (
        place_of(cluster, jobs) as where,
        stopping as stop,
        output_folder(place) as folder,
        Journal(folder / "runs.jsonl") as journal,
    ):
        shown = progress_bar(base.title, quiet or as_json)
        try:
            with about(scenario), shown as progress:
                comparison = compare_controllers(
                    base,
                    entries,
                    repeats=repeats,
                    mismatch=levels,
                    equal=None if equal is None else _terms(equal),
                    tuning=budget,
                    front=fronts,
                    vary=factors,
                    journal=journal,
                    beside=catalog.find("scenarios", scenario),
                    trust=trust,
                    warn=None if quiet or as_json else _announce,
                    progress=stop.watch(progress),
                    **where,
                )
        except (KeyboardInterrupt, UkctrlError) as error:
            stop.hold()
            if _keep(journal) and isinstance(error, KeyboardInterrupt):
                raise typer.Exit(1) from error
            raise
        stop.hold()
        write_comparison(comparison, folder)
        failure = comparison.conditions.failure
        if comparison.conditions.whole:
            journal.remove()
        else:
            _keep(journal)
        answer(quiet, as_json, comparison.to_dict, lambda: comparison_lines(comparison, folder))
    if failure:
        raise MachineFailure(f"{scenario}: {failure}")
    whole = comparison.conditions.whole and all(run.completed for run in comparison.outcomes)
    raise typer.Exit(0 if whole else 1)


def _announce(verdict: Verdict) -> None:
    """Say what is unfair before anything runs; what is merely worth knowing comes at the end."""
    if verdict.level == "warning":
        notice(verdict.text)


def _keep(journal: Journal) -> bool:
    """Say what is kept of a comparison that was not ended; where it is nothing, leave none."""
    if not len(journal):
        journal.remove()
        return False
    notice(
        f"{len(journal)} simulations are kept in {journal.path}, and the same command goes on "
        "from them."
    )
    return True


def _entry(text: str, scenario: str) -> Entry:
    """Read an entry, its card looked up as `card_of` does."""
    from ukctrl.studies.comparison import Entry

    entry = Entry.parse(text)
    return dc.replace(entry, controller=card_of(str(entry.controller), scenario))


def _levels(text: str | None) -> list[float]:
    from ukctrl.core.files.table_paths import parse_number

    parts = [] if text is None else text.split(",")
    levels = [level for part in parts if (level := parse_number(part.strip())) is not None]
    if len(levels) < len(parts):
        raise InputError(f"--mismatch must be fractions such as 0,0.1,0.2; got '{text}'.")
    return levels


def _terms(text: str) -> Terms:
    """Read what loops are designed for: ``bandwidth=100,damping=0.7``."""
    from ukctrl.control.terms import TERMS
    from ukctrl.core.files.table_paths import parse_value

    table: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or name not in TERMS:
            raise InputError(
                "--equal must be one of bandwidth=, settling= and rejection=, with damping= where "
                f"it is not 1; got '{text}'."
            )
        table[name] = parse_value(value)
    return terms_of(table, "--equal ")


def _front(text: str | None, over: list[str] | None, points: int | None) -> Front | None:
    from ukctrl.studies.comparison import Front

    if text is None:
        if points is not None:
            raise InputError("--points is about a front; give --front METRIC,METRIC with it.")
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2:
        raise InputError(
            f"--front must be two metrics, such as rms_phi,input_travel; got '{text}'."
        )
    count = {} if points is None else {"points": points}
    if GAINS in (over or ()):
        raise InputError("--over gains is about tuning; a front is over bandwidth and damping.")
    return Front(metrics=(names[0], names[1]), over=ranges_of(over), **count)


def _plants(ensemble: int | None, levels: Sequence[float], factors: tuple[Factor, ...]) -> Plants:
    """Return what candidates are tuned on: robots as those they are judged on, but others."""
    from ukctrl.studies.tuning import Plants

    if ensemble is None:
        return Plants()
    return Plants(count=ensemble, mismatch=max(levels, default=0.0), vary=factors)


def _budget(tune: int | None, plants: Plants, given: Mapping[str, Any]) -> Budget | None:
    from ukctrl.studies.tuning import Budget

    if tune is None:
        for name, value in given.items():
            if value:
                raise InputError(f"--{name} is about tuning; give --tune BUDGET with it.")
        return None
    return Budget(
        simulations=tune,
        cost=given["cost"] or "rms_phi",
        subject_to=tuple(given["subject-to"] or ()),
        over=ranges_of(given["over"]),
        in_terms=GAINS not in (given["over"] or ()),
        plants=plants,
        searches=1 if given["searches"] is None else given["searches"],
    )
