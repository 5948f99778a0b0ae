"""The commands `init` and `schema`: how to begin one's own files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.completion import candidates
from ukctrl.cli.terminal.lines import print_lines, write_json
from ukctrl.cli.terminal.summaries import workspace_lines


def init(
    directory: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="A new or empty folder.", autocompletion=candidates.folders
        ),
    ],
) -> None:
    """Start a workspace: the three folders, with a scenario of your own to edit."""
    from ukctrl.cli.workspace import create_workspace

    print_lines(workspace_lines(create_workspace(directory), directory))


def schema(
    kind: Annotated[
        str, typer.Argument(metavar="FORMAT", help="scenario, controller or robot.")
    ] = "scenario",
) -> None:
    """Print the JSON Schema of a file format, for editors."""
    from ukctrl.cli.workspace import json_schema

    write_json(json_schema(kind))
