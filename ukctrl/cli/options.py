"""The arguments and options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.core.own_processes import be_quiet

ScenarioName = Annotated[
    str,
    typer.Argument(metavar="SCENARIO", help="A scenario's name, or the path of its .toml file."),
]
Card = Annotated[
    str | None, typer.Option("--controller", "-c", metavar="CARD", help="Another controller card.")
]
Cards = Annotated[
    list[str] | None,
    typer.Option(
        "--controller",
        "-c",
        metavar="ENTRY",
        help="A card, or NAME=CARD{KEY=VALUE, ...} with changes of its own; own is the scenario's. "
        "Give several; absent: own, and cards that suit.",
    ),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a value: --set controller.feedback.alpha=5"
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="DIR", help="Where to write; absent: out/NAME."),
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Let the files run the Python code that they name.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead.")]


def _hush(quiet: bool) -> bool:
    if quiet:
        be_quiet()
    return quiet


Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_hush, help="Print nothing but errors.")
]
