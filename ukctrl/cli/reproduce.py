"""``ukctrl reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import import_command
from ukctrl.cli.completion import candidates
from ukctrl.cli.options import OUTPUT, Format, Json, Quiet, Width

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        help="Where to write; absent: out/reproduce\\[-PAPER].",
        autocompletion=candidates.folders,
        rich_help_panel=OUTPUT,
    ),
]


def reproduce(
    paper: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER",
            help="scara, pseudoinverses, review, servo or recursive; absent: all.",
        ),
    ] = None,
    out: Out = None,
    formats: Format = None,
    width: Width = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute published numbers and set them beside ours, with a verdict each."""
    command = import_command("ukctrl_papers.command")
    command.reproduce(paper, out, quiet, as_json)
