"""The arguments and options that commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ukctrl.cli.completion import candidates
from ukctrl.core.subprocess_safety import set_quiet

OUTPUT = "Output"
"""Help panel of what a command writes and prints."""
LOGS = "Logs"
"""Help panel of logs of real robots."""


def option(spec: str, panel: str | None, text: str) -> Any:
    """Return an option.

    Args:
        spec: Its names, and its value as the help has it: ``--budget -n N``.
        panel: Panel of the help; None: that of options.
        text: What the help says of it.
    """
    words = spec.split()
    names = [word for word in words if word.startswith("-")]
    metavar = " ".join(words[len(names) :]) or None
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel)


ScenarioName = Annotated[
    str,
    typer.Argument(
        metavar="SCENARIO",
        help="A scenario's name, or the path of its .toml file.",
        autocompletion=candidates.scenarios,
    ),
]
ControllerOption = Annotated[
    str | None,
    typer.Option(
        "--controller",
        "-c",
        metavar="CARD",
        help="Another controller card.",
        autocompletion=candidates.cards,
    ),
]
EntriesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--controller",
        "-c",
        metavar="ENTRY",
        help="A card, or NAME=CARD{KEY=VALUE, ...} with changes of its own; own is the scenario's. "
        "Give several; absent: own, and cards that suit.",
        autocompletion=candidates.entries,
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
        rich_help_panel="Tuning",
    ),
]
SubjectTo = Annotated[
    list[str] | None,
    typer.Option(
        "--subject-to",
        metavar="METRIC<=NUMBER",
        help='A constraint, such as "peak_u <= 40" or "worst_margin.wall >= 0".',
        rich_help_panel="Tuning",
    ),
]
Over = Annotated[
    list[str] | None,
    typer.Option(
        "--over",
        metavar="PATH=LO:HI",
        help="Range of a gain, of bandwidth or damping, even in its logarithm; PATH=uniform:LO:HI: "
        "in itself. Absent: bandwidth and damping; 'gains': the card's, a decade to both sides.",
        rich_help_panel="Tuning",
    ),
]
Searches = Annotated[
    int | None,
    typer.Option(
        "--searches",
        metavar="N",
        help="Independent searches, each with the whole budget; absent: 1.",
        rich_help_panel="Tuning",
    ),
]
Ensemble = Annotated[
    int | None,
    typer.Option(
        "--ensemble",
        metavar="N",
        help="Simulate each candidate on so many plants; absent: one.",
        rich_help_panel="Plants",
    ),
]
Vary = Annotated[
    list[str] | None,
    typer.Option(
        "--vary",
        metavar="PATH=VALUES",
        help="What differs from plant to plant, as for sweep.",
        rich_help_panel="Plants",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="DIR",
        help="Where to write; absent: out/NAME.",
        autocompletion=candidates.folders,
        rich_help_panel=OUTPUT,
    ),
]
LogColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--log",
        metavar="KEY=VALUE",
        help="What is in the logs, such as position='q{n}' or effort='tau_{joint}'; repeatable.",
        rich_help_panel=LOGS,
    ),
]
LogFile = Annotated[
    Path | None,
    typer.Option(
        "--log-file",
        metavar="FILE",
        help="The same as a table of a file; absent: log.toml beside the robot.",
        rich_help_panel=LOGS,
    ),
]
Trust = Annotated[
    bool, typer.Option("--trust", help="Let the files run the Python code that they name.")
]
Json = Annotated[
    bool, typer.Option("--json", help="Print JSON for programs instead.", rich_help_panel=OUTPUT)
]


def _apply_figure_option(context: typer.Context, option: typer.CallbackParam, value: Any) -> Any:
    """Write figures as asked for as long as the command lasts."""
    if value and not context.resilient_parsing:  # not while a line is typed
        from ukctrl.reports.plot import figure_files

        context.with_resource(figure_files.figure_formats(**{str(option.name): value}))
    return value


Format = Annotated[
    list[str] | None,
    typer.Option(
        "--format",
        metavar="FORMAT",
        callback=_apply_figure_option,
        help="Figures beside the page as png (absent), pdf or svg, with their fonts; repeatable.",
        rich_help_panel=OUTPUT,
    ),
]
Width = Annotated[
    str | None,
    typer.Option(
        "--width",
        metavar="WIDTH",
        callback=_apply_figure_option,
        help="Figures beside the page as wide as a paper's column (85 mm) or page (178 mm).",
        rich_help_panel=OUTPUT,
    ),
]


def _apply_quiet(quiet: bool) -> bool:
    if quiet:
        set_quiet()
    return quiet


Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        callback=_apply_quiet,
        help="Print nothing but errors.",
        rich_help_panel=OUTPUT,
    ),
]
