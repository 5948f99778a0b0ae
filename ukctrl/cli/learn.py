"""The command `learn`: trials of a scenario, and the card of the law that has learnt from them."""

from __future__ import annotations

from typing import Annotated

import typer

from ukctrl.cli.arguments import import_command, load_scenario, output_folder
from ukctrl.cli.options import (
    ControllerOption,
    Format,
    Json,
    Out,
    Quiet,
    ScenarioName,
    Set,
    Trust,
    Width,
)
from ukctrl.core.files.catalog import file_name

Trials = Annotated[
    int,
    typer.Option(
        "--trials",
        "-n",
        metavar="N",
        help="How often the task is repeated.",
        rich_help_panel="How it learns",
    ),
]
Gain = Annotated[
    float,
    typer.Option(
        "--gain",
        metavar="SHARE",
        help="Share of what is left that a trial learns.",
        rich_help_panel="How it learns",
    ),
]
Cutoff = Annotated[
    float,
    typer.Option(
        "--cutoff",
        metavar="HZ",
        help="Nothing above this frequency is learnt.",
        rich_help_panel="How it learns",
    ),
]
Lead = Annotated[
    int,
    typer.Option(
        "--lead",
        metavar="TICKS",
        help="Correct so many ticks before an error shows.",
        rich_help_panel="How it learns",
    ),
]


def learn(
    scenario: ScenarioName,
    *,
    controller: ControllerOption = None,
    changes: Set = None,
    trials: Trials = 10,
    gain: Gain = 0.5,
    cutoff: Cutoff = 20.0,
    lead: Lead = 0,
    out: Out = None,
    formats: Format = None,
    width: Width = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Repeat a scenario, learn from each trial, and write the law with what it has learnt."""
    base = load_scenario(scenario, controller, changes, trust)
    learning = {"trials": trials, "gain": gain, "cutoff": cutoff, "lead": lead}
    command = import_command("ukctrl_laws.learning.command")
    with output_folder(out, f"{file_name(base.name)}-learn") as folder:
        command.learn(base, scenario, learning, folder, quiet, as_json)
