"""The command `report`: the page of a study or of a run, made again from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import folder_of
from ukctrl.cli.options import Format, Json, Quiet, Trust, Width
from ukctrl.cli.terminal.lines import answer
from ukctrl.cli.terminal.progress_bars import progress_bar
from ukctrl.cli.terminal.studies_text import study_data, study_lines
from ukctrl.cli.terminal.summaries import result_lines
from ukctrl.core.errors import InputError

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of a study or of a run.")]
CostOption = Annotated[
    str | None,
    typer.Option(
        "--cost",
        metavar="METRIC",
        help='By what samples are better or worse: rms_phi (the default), "rms_phi + 0.01*effort".',
    ),
]
Require = Annotated[
    list[str] | None,
    typer.Option(
        "--require",
        metavar="METRIC=NUMBER",
        help="What a sample must keep to succeed: rms_phi=1e-3, worst_margin.wall=0; give several.",
    ),
]
MapOption = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="PATH,PATH",
        help="Factors to draw a map over; absent: the two that matter most; give several.",
    ),
]
NoReplay = Annotated[
    bool, typer.Option("--no-replay", help="Run no sample again; only read the table.")
]
Elsewhere = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Where to write; absent: into the folder."),
]


def report(
    folder: Folder,
    *,
    cost: CostOption = None,
    require: Require = None,
    maps: MapOption = None,
    no_replay: NoReplay = False,
    out: Elsewhere = None,
    formats: Format = None,
    width: Width = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make the report of a study or of a run again, from what its folder holds.

    A study that is still running, or was stopped, is reported as far as it is.
    """
    if (folder / "study.json").is_file():
        from ukctrl.studies.insight import write_study_report
        from ukctrl.studies.sweep import Study

        limits, pairs, home = limits_of(require), pairs_of(maps), folder_of(out or folder)
        with progress_bar("replay", quiet or as_json) as progress:
            report_files = write_study_report(
                Study.load(folder),
                home,
                cost=cost,
                require=limits,
                maps=pairs,
                again=not no_replay,
                trust=trust,
                progress=progress,
            )
        told = report_files.insight, home, report_files.replays
        answer(quiet, as_json, lambda: study_data(*told), lambda: study_lines(*told))
    elif (folder / "result.nc").is_file():
        for name, given in (("cost", cost), ("require", require), ("map", maps)):
            if given:
                raise InputError(f"--{name} is about studies; '{folder}' holds a single run.")
        from ukctrl.simulation.result.foreign_hdf5 import refuse_what_hdf5_does_not_survive

        refuse_what_hdf5_does_not_survive(folder / "result.nc")
        from ukctrl.reports.run_page import write_report
        from ukctrl.simulation.result.result import Result

        home = folder_of(out or folder)
        result = Result.load(folder)
        write_report(result, home)
        answer(quiet, as_json, result.summary, lambda: result_lines(result, home))
    else:
        raise InputError(
            f"'{folder}' must hold a study (study.json) or a run (result.nc); it has neither."
        )


def limits_of(require: list[str] | None) -> dict[str, float]:
    """Read what `--require` says.

    Raises:
        InputError: It is not METRIC=NUMBER.
    """
    from ukctrl.core.files.table_paths import parse_number

    limits: dict[str, float] = {}
    for text in require or []:
        name, _, given = (part.strip() for part in text.partition("="))
        value = parse_number(given)
        if not name or value is None:
            raise InputError(
                f"--require must be METRIC=NUMBER, such as rms_phi=1e-3; got '{text}'."
            )
        if name in limits:
            raise InputError(f"--require gives '{name}' two limits.")
        limits[name] = value
    return limits


def pairs_of(maps: list[str] | None) -> list[tuple[str, str]]:
    """Read what `--map` says.

    Raises:
        InputError: It is not PATH,PATH.
    """
    pairs = []
    for text in maps or []:
        parts = [part.strip() for part in text.split(",")]
        if len(parts) != 2 or not all(parts):
            raise InputError(f"--map must be two factors, PATH,PATH; got '{text}'.")
        pairs.append((parts[0], parts[1]))
    return pairs
