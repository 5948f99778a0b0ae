"""The command `report`: the page of a study or of a run, made again from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import make_folder
from ukctrl.cli.completion import candidates
from ukctrl.cli.options import OUTPUT, Format, Json, Quiet, Trust, Width
from ukctrl.cli.terminal.lines import print_result
from ukctrl.cli.terminal.progress_bars import progress_bar
from ukctrl.cli.terminal.studies_text import report_lines, study_data
from ukctrl.cli.terminal.summaries import result_lines
from ukctrl.core.errors import InputError

Folder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR", help="The folder of a study or of a run.", autocompletion=candidates.folders
    ),
]
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
OutOption = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        help="Where to write; absent: into the folder.",
        autocompletion=candidates.folders,
        rich_help_panel=OUTPUT,
    ),
]


def report(
    folder: Folder,
    *,
    cost: CostOption = None,
    require: Require = None,
    maps: MapOption = None,
    no_replay: NoReplay = False,
    out: OutOption = None,
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
        from ukctrl.studies.sweep import Study
        from ukctrl.studies.sweep_analysis import study_page, write_study_report

        limits, pairs, home = (
            parse_requirements(require),
            parse_map_pairs(maps),
            make_folder(out or folder),
        )
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
        report_args = report_files.insight, home, report_files.replays
        print_result(
            quiet,
            as_json,
            lambda: study_data(*report_args),
            lambda: report_lines(study_page.report(*report_args), home, 10),
        )
    elif (folder / "result.nc").is_file():
        for name, value in (("cost", cost), ("require", require), ("map", maps)):
            if value:
                raise InputError(f"--{name} is about studies; '{folder}' holds a single run.")
        from ukctrl.simulation.result.untrusted_hdf5 import probe_in_subprocess

        probe_in_subprocess(folder / "result.nc")
        from ukctrl.reports.run_page import write_report
        from ukctrl.simulation.result.result import Result

        home = make_folder(out or folder)
        result = Result.load(folder)
        write_report(result, home)
        print_result(quiet, as_json, result.summary, lambda: result_lines(result, home))
    else:
        raise InputError(
            f"'{folder}' must hold a study (study.json) or a run (result.nc); it has neither."
        )


def parse_requirements(require: list[str] | None) -> dict[str, float]:
    """Read what `--require` says.

    Raises:
        InputError: It is not METRIC=NUMBER.
    """
    from ukctrl.core.files.table_paths import parse_number

    limits: dict[str, float] = {}
    for text in require or []:
        name, _, bound_text = (piece.strip() for piece in text.partition("="))
        value = parse_number(bound_text)
        if not name or value is None:
            raise InputError(
                f"--require must be METRIC=NUMBER, such as rms_phi=1e-3; got '{text}'."
            )
        if name in limits:
            raise InputError(f"--require gives '{name}' two limits.")
        limits[name] = value
    return limits


def parse_map_pairs(maps: list[str] | None) -> list[tuple[str, str]]:
    """Read what `--map` says.

    Raises:
        InputError: It is not PATH,PATH.
    """
    pairs = []
    for text in maps or []:
        paths = [path.strip() for path in text.split(",")]
        if len(paths) != 2 or not all(paths):
            raise InputError(f"--map must be two factors, PATH,PATH; got '{text}'.")
        pairs.append((paths[0], paths[1]))
    return pairs
