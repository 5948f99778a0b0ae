"""``ukctrl reproduce``."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.completion import candidates
from ukctrl.cli.options import OUTPUT, Format, Json, Quiet, Width
from ukctrl.core.errors import InputError

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
    try:
        command = importlib.import_module("ukctrl_papers.command")
    except ModuleNotFoundError as error:
        if error.name != "ukctrl_papers":
            raise
        raise InputError(
            "the papers are in the package ukctrl_papers, which comes with ukctrl and is not "
            "installed; pip install --force-reinstall --no-deps ukctrl."
        ) from error
    command.reproduce(paper, out, quiet, as_json)
