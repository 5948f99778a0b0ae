"""What `tune` prints: before and after, gains at the ends of their ranges, and what next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import (
    Line,
    Part,
    clean,
    files,
    hanging,
    show,
    table_lines,
    verdict_lines,
    write_json,
)

if TYPE_CHECKING:
    from ukctrl.studies.tuning import Tuned
    from ukctrl.studies.tuning.fuzzy_gain import FuzzyChoice

MOST_METRICS = 8
"""Metrics of more than these are on the page alone."""


def show_tuned(tuned: Tuned, scenario: str, folder: Path, as_json: bool) -> None:
    """Print what a search has found.

    Args:
        tuned: What it has found.
        scenario: As the user has named it.
        folder: Where the files are.
        as_json: Whether to print the content of `tune.json` instead.
    """
    if as_json:
        write_json(tuned.to_dict())
        return
    from ukctrl.studies.tuning import METHODS
    from ukctrl.studies.tuning.tuning_page import card_name
    from ukctrl.studies.tuning.tuning_tables import cost_table, gain_table, metric_table

    tuning = tuned.tuning
    lines: list[Line] = hanging("", tuned.title, text_style="bold")
    plants = f" on {tuning.plants} plants, {tuning.aggregate}" if tuning.plants > 1 else ""
    facts = [
        ("tuned", f"{tuning.entry}: {METHODS[tuning.method]}"),
        ("cost", f"{tuning.cost}{plants}"),
        ("limits", ", ".join(tuning.limits)),
        ("budget", f"{tuning.simulations} of {tuning.budget} simulations"),
    ]
    for name, text in facts:
        if text:
            lines += hanging(f"  {name:<8}", text, text_style="dim")
    lines += table_lines(gain_table(tuning))
    lines += table_lines(cost_table(tuned))
    metrics = metric_table(tuned, blocks=False)
    lines += table_lines(metrics, MOST_METRICS) if metrics is not None else []
    lines += verdict_lines(tuned.verdicts)
    card = f"{card_name(tuned)}.toml"
    lines += files(folder, ("report", "tune.html"), ("data", "history.csv"))
    if tuned.tuning.best.cost < float("inf"):
        lines += files(folder, ("card", card))
        if tuned.ok:
            command = f"ukctrl run {shlex.quote(scenario)} -c {shlex.quote(str(folder / card))}"
            lines.append([Part("next    ", "bold"), clean(command)])
    show(lines)


def show_fuzzy(choice: FuzzyChoice, folder: Path, as_json: bool) -> None:
    """Print the optimal gain of a fuzzy uncertainty, and what other prices would give."""
    if as_json:
        write_json(choice.to_dict())
        return
    from ukctrl.core.number_text import number
    from ukctrl.reports.table import Cell, Column, Table

    before, after = number(choice.before, 4), number(choice.kappa, 4)
    lines: list[Line] = hanging("", choice.scenario.title, text_style="bold")
    lines += hanging(f"  {'kappa':<8}", f"{after} 1/s in closed form; the card's is {before}")
    lines += hanging(f"  {'for':<8}", choice.given, text_style="dim")
    heads = ("price", "kappa", "cost", "transient", "steady", "effort")
    chosen = choice.found.price
    rows = [
        [Cell(number(line[head], 4), "strong" if line["price"] == chosen else "") for head in heads]
        for line in choice.to_dict()["prices"]
    ]
    lines += table_lines(Table([Column(head) for head in heads], rows))
    written = [("curve", "fuzzy_gain.csv"), ("figure", "fuzzy_gain.png")]
    show([*lines, *files(folder, *written, ("card", f"{choice.name}.toml"))])
