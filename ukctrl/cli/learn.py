"""The command `learn`: trials of a scenario, and the card of the law that has learnt from them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import about, output_folder, scenario_of
from ukctrl.cli.options import Card, Format, Json, Out, Quiet, ScenarioName, Set, Trust, Width
from ukctrl.cli.terminal.lines import answer
from ukctrl.cli.terminal.progress_bars import progress_bar
from ukctrl.cli.terminal.stop import stoppable
from ukctrl.cli.terminal.studies_text import practice_lines
from ukctrl.core.files.catalog import file_name

Trials = Annotated[
    int, typer.Option("--trials", "-n", metavar="N", help="How often the task is repeated.")
]
Gain = Annotated[
    float,
    typer.Option("--gain", metavar="SHARE", help="Share of what is left that a trial learns."),
]
Cutoff = Annotated[
    float, typer.Option("--cutoff", metavar="HZ", help="Nothing above this frequency is learnt.")
]
Lead = Annotated[
    int,
    typer.Option("--lead", metavar="TICKS", help="Correct so many ticks before an error shows."),
]


def learn(
    scenario: ScenarioName,
    *,
    controller: Card = None,
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
    base = scenario_of(scenario, controller, changes, trust)
    folder = out or Path("out") / f"{file_name(base.name)}-learn"
    from ukctrl.studies.learning.learn import learn as learn_task
    from ukctrl.studies.learning.practice_page import write_practice
    from ukctrl.studies.learning.update import Learning

    with stoppable() as stop, output_folder(folder):
        with about(scenario), progress_bar(base.title, quiet or as_json, "trials") as shown:
            how = Learning(trials=trials, gain=gain, cutoff=cutoff, lead=lead)
            practice = learn_task(base, how, folder=folder, progress=stop.watch(shown))
        stop.hold()
        card = write_practice(practice, folder)
        answer(quiet, as_json, practice.to_dict, lambda: practice_lines(practice, card))
    raise typer.Exit(0 if practice.ok else 1)
