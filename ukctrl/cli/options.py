"""The arguments and options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

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
CostOption = Annotated[
    str | None,
    typer.Option(
        "--cost",
        metavar="METRIC",
        help='What tuning makes small: rms_phi (the default), or "rms_phi + 0.01*effort".',
    ),
]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option(
        "--subject-to",
        metavar="METRIC<=NUMBER",
        help='A constraint, such as "peak_u <= 40" or "worst_margin.wall >= 0".',
    ),
]
Over = Annotated[
    list[str] | None,
    typer.Option(
        "--over",
        metavar="PATH=LO:HI",
        help="Range of a gain, of bandwidth or damping, even in its logarithm; PATH=uniform:LO:HI: "
        "in itself. Absent: bandwidth and damping; 'gains': the card's, a decade to both sides.",
    ),
]
Searches = Annotated[
    int | None,
    typer.Option(
        "--searches",
        metavar="N",
        help="Independent searches, each with the whole budget; absent: 1.",
    ),
]
Ensemble = Annotated[
    int | None,
    typer.Option(
        "--ensemble", metavar="N", help="Simulate each candidate on so many plants; absent: one."
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary", metavar="PATH=VALUES", help="What differs from plant to plant, as for sweep."
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


def _asked(context: typer.Context, option: typer.CallbackParam, value: Any) -> Any:
    """Write figures as asked for as long as the command lasts."""
    if value and not context.resilient_parsing:  # not while a line is typed
        from ukctrl.reports.plot import files

        context.with_resource(files.asked(**{str(option.name): value}))
    return value


Format = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        callback=_asked,
        help="Figures beside the page as png (absent), pdf or svg, with their fonts; repeatable.",
    ),
]
Width = Annotated[
    str | None,
    typer.Option(
        "--width",
        metavar="WIDTH",
        callback=_asked,
        help="Figures beside the page as wide as a paper's column (85 mm) or page (178 mm).",
    ),
]


def _hush(quiet: bool) -> bool:
    if quiet:
        be_quiet()
    return quiet


Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_hush, help="Print nothing but errors.")
]
