"""The command `learn`: trials of a scenario, and the card of the law that has learnt from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import load_scenario, output_folder, prefix_errors
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
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import print_result
from ukctrl.cli.terminal.progress_bars import progress_bar
from ukctrl.cli.terminal.studies_text import learning_lines
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
    folder = out or Path("out") / f"{file_name(base.name)}-learn"
    from ukctrl.studies.learning.ilc_update import Learning
    from ukctrl.studies.learning.learn import learn as learn_task
    from ukctrl.studies.learning.learning_page import write_learning_result

    with interruptible() as stop, output_folder(folder):
        with prefix_errors(scenario), progress_bar(base.title, quiet or as_json, "trials") as shown:
            learning = Learning(trials=trials, gain=gain, cutoff=cutoff, lead=lead)
            practice = learn_task(base, learning, folder=folder, progress=stop.checked(shown))
        stop.block()
        card = write_learning_result(practice, folder)
        print_result(quiet, as_json, practice.to_dict, lambda: learning_lines(practice, card))
    raise typer.Exit(0 if practice.ok else 1)
