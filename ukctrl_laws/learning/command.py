"""Work of ``ukctrl learn``, which imports this module by name, and what it prints."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from ukctrl.cli.arguments import prefix_errors
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import (
    Line,
    StyledText,
    file_lines,
    hanging_lines,
    print_result,
    sanitise,
    table_lines,
    verdict_lines,
)
from ukctrl.cli.terminal.progress_bars import progress_bar
from ukctrl.simulation.scenario import Scenario
from ukctrl_laws.learning import learn as trials
from ukctrl_laws.learning.ilc_update import Learning
from ukctrl_laws.learning.learning_page import next_commands, trial_table, write_learning_result
from ukctrl_laws.learning.learning_result import LearningResult


def learn(
    base: Scenario, name: str, options: Mapping[str, Any], folder: Path, quiet: bool, as_json: bool
) -> None:
    """Repeat a scenario, learn from each trial, and write the law with what it has learnt.

    Args:
        base: The scenario.
        name: What the command line calls it.
        options: Settings of `Learning`.
        folder: Where to write.
        quiet: Print nothing.
        as_json: Print the data instead.

    Raises:
        typer.Exit: At the end, with the exit code.
        InputError: The options do not fit, or the folder cannot be written to.
    """
    with interruptible() as stop:
        with prefix_errors(name), progress_bar(base.title, quiet or as_json, "trials") as shown:
            learning = Learning(**options)
            practice = trials.learn(base, learning, folder=folder, progress=stop.checked(shown))
        stop.block()
        card = write_learning_result(practice, folder)
        print_result(quiet, as_json, practice.to_dict, lambda: learning_lines(practice, card))
    raise typer.Exit(0 if practice.ok else 1)


def learning_lines(practice: LearningResult, card: Path) -> list[Line]:
    """Return what trials were worth, and where the card is."""
    learning = practice.learning
    text = f"gain {learning.gain:g}, cutoff {learning.cutoff:g} Hz, lead {learning.lead} ticks"
    lines: list[Line] = hanging_lines("", practice.scenario.title, text_style="bold")
    lines += hanging_lines(f"  {'learning':<9}", text, text_style="dim")
    lines += table_lines(trial_table(practice))
    lines += verdict_lines(practice.verdicts)
    lines += file_lines(
        card.parent, ("report", "learn.html"), ("data", "trials.csv"), ("card", card.name)
    )
    for _, command in next_commands(practice, card)[-1:]:
        lines.append([StyledText("next    ", "bold"), sanitise(command)])
    return lines
