"""The commands `list`, `init` and `schema`: what files there are, and how to begin one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.options import Json
from ukctrl.cli.terminal.lines import answer, show, write_json
from ukctrl.cli.terminal.summaries import catalogue_lines, workspace_lines
from ukctrl.core.errors import InputError


def list_catalogue(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[robots|controllers|scenarios|parts]",
            help="Only these; parts: what files may give as kind, and metrics.",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List what there is, with one line each."""
    from ukctrl.core.errors import unknown_name
    from ukctrl.core.files import catalog
    from ukctrl.core.files.toml import read_toml

    if what is not None and what not in (*catalog.KINDS, "parts"):
        raise unknown_name("kind of content", what, (*catalog.KINDS, "parts"))
    if what == "parts":
        from ukctrl.simulation.scenario.part_kinds import part_kinds

        sorts = part_kinds()
        answer(False, as_json, lambda: sorts, lambda: catalogue_lines(sorts))
        return
    kinds = [kind for kind in catalog.KINDS if what in (None, kind)]
    catalogue: dict[str, dict[str, str]] = {}
    for kind in kinds:
        entries: dict[str, str] = {}
        for name in catalog.names(kind):
            try:
                title = read_toml(catalog.find(kind, name)).get("title", "")
                entries[name] = str(title)
            except InputError as error:  # one broken file must not hide the others
                entries[name] = f"(cannot be read: {error})"
        catalogue[kind] = entries
    answer(False, as_json, lambda: catalogue, lambda: catalogue_lines(catalogue))


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")],
) -> None:
    """Start a workspace: the three folders, with a scenario of your own to edit."""
    from ukctrl.cli.workspace import create

    show(workspace_lines(create(directory), directory))


def schema(
    kind: Annotated[
        str, typer.Argument(metavar="[scenario|controller|robot]", help="Which file format.")
    ] = "scenario",
) -> None:
    """Print the JSON Schema of a file format, for editors."""
    from ukctrl.cli.workspace import json_schema

    write_json(json_schema(kind))
