"""``ukctrl reproduce``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import output_folder
from ukctrl.cli.options import Format, Json, Quiet, Width
from ukctrl.cli.terminal.lines import answer
from ukctrl.cli.terminal.progress_bars import working
from ukctrl.cli.terminal.reproduce_text import reproduction_lines
from ukctrl.cli.terminal.stop import stoppable

Out = Annotated[
    Path | None,
    typer.Option(
        "--out", "-o", metavar="DIR", help="Where to write; absent: out/reproduce[-PAPER]."
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
    from ukctrl.papers import recompute, write_reproduction
    from ukctrl.papers.registry import known

    keys = [] if paper is None else [known(paper)]
    place = out or Path("out") / "-".join(["reproduce", *keys])
    with stoppable(recompute.__code__) as stop, output_folder(place) as folder:
        with working(quiet or as_json) as progress:
            reproduction = recompute(keys, progress=stop.watch(progress))
        stop.hold()
        write_reproduction(reproduction, folder)
        lines = functools.partial(reproduction_lines, reproduction, folder)
        answer(quiet, as_json, reproduction.to_dict, lines)
    raise typer.Exit(0 if reproduction.ok else 1)
