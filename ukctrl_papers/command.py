"""Work of ``ukctrl reproduce``, which imports this module by name."""

from __future__ import annotations

import functools
from pathlib import Path

import typer

from ukctrl.cli.arguments import output_folder
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import print_result
from ukctrl.cli.terminal.progress_bars import spinner
from ukctrl_papers.recompute import recompute
from ukctrl_papers.registry import check_key
from ukctrl_papers.reproduce_text import reproduction_lines
from ukctrl_papers.reproduction_page import write_reproduction


def reproduce(paper: str | None, out: Path | None, quiet: bool, as_json: bool) -> None:
    """Recompute papers, write the page, and print the claims.

    Args:
        paper: Key of the paper; None means all.
        out: Where to write; None: ``out/reproduce[-PAPER]``.
        quiet: Print nothing.
        as_json: Print the data instead.

    Raises:
        typer.Exit: At the end, with the exit code.
        InputError: There is no such paper, or the folder cannot be written to.
    """
    keys = [] if paper is None else [check_key(paper)]
    name = "-".join(["reproduce", *keys])
    with interruptible(recompute.__code__) as stop, output_folder(out, name) as folder:
        with spinner(quiet or as_json) as progress:
            reproduction = recompute(keys, progress=stop.checked(progress))
        stop.block()
        write_reproduction(reproduction, folder)
        lines = functools.partial(reproduction_lines, reproduction, folder)
        print_result(quiet, as_json, reproduction.to_dict, lines)
    raise typer.Exit(0 if reproduction.ok else 1)
