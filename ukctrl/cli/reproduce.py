"""``ukctrl reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import folder_of
from ukctrl.cli.options import Json, Quiet

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
            metavar="[PAPER]",
            help="scara, pseudoinverses, review, servo or recursive; absent: all.",
        ),
    ] = None,
    out: Out = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Recompute published numbers and set them beside ours, with a verdict each."""
    from ukctrl.cli import terminal
    from ukctrl.papers import recompute, write_reproduction
    from ukctrl.papers.registry import known

    keys = [] if paper is None else [known(paper)]
    with terminal.stoppable(recompute.__code__) as stop:
        folder = folder_of(out or Path("out") / "-".join(["reproduce", *keys]))
        with terminal.working(quiet or as_json) as progress:
            reproduction = recompute(keys, progress=stop.watch(progress))
        stop.hold()
        write_reproduction(reproduction, folder)
        if not quiet:
            terminal.show_reproduction(reproduction, folder, as_json)
    raise typer.Exit(0 if reproduction.ok else 1)
