"""What `tune` prints: before and after, gains at the ends of their ranges, and what next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ukctrl.cli.terminal.lines import Line, Part, clean, files, hanging, show, table, write_json

if TYPE_CHECKING:
    from ukctrl.studies.tuning import Tuned
    from ukctrl.studies.tuning.fuzzy_gain import FuzzyChoice

LEVEL_STYLE = {"bad": "red", "warning": "yellow", "good": "bold green"}
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
    from ukctrl.core.number_text import number
    from ukctrl.studies.tuning import METHODS
    from ukctrl.studies.tuning.tuning_page import card_name, cost_rows, metric_rows

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
    rows: list[Sequence[Part | str]] = [
        [*("", ""), *(Part(head, "bold") for head in ("card", "tuned", "")), ""]
    ]
    for gain in tuning.gains:
        at_end = "at an end" if gain.path in tuning.at_border else ""
        span = f"{number(gain.low)} to {number(gain.high)}"
        value = number(tuning.best.gains[gain.path], 4)
        path = clean(gain.path.removeprefix("controller."))
        rows.append(
            [
                Part(path, "cyan"),
                "",
                number(gain.value, 4),
                Part(value, "bold"),
                Part(span, "dim"),
                Part(at_end, "yellow"),
            ]
        )
    for row in cost_rows(tuned):
        rows.append(_row(row["what"], row["where"], row))
    shown = [row for row in metric_rows(tuned) if "." not in row["what"]][:MOST_METRICS]
    rows += [_row(row["what"], row["where"], row) for row in shown]
    lines += table(rows, "<<>>><")
    for verdict in tuned.verdicts:
        lines += hanging("", verdict.text, text_style=LEVEL_STYLE.get(verdict.level, ""))
    card = f"{card_name(tuned)}.toml"
    lines += files(folder, ("report", "tune.html"), ("data", "history.csv"))
    if tuned.tuning.best.cost < float("inf"):
        lines += files(folder, ("card", card))
        if tuned.ok:
            command = f"ukctrl run {shlex.quote(scenario)} -c {shlex.quote(str(folder / card))}"
            lines.append([Part("next    ", "bold"), clean(command)])
    show(lines)


def _row(what: str, where: str, row: dict[str, str]) -> list[Part | str]:
    return [
        Part(what, "cyan"),
        Part(where, "dim"),
        row["card"],
        Part(row["tuned"], "bold"),
        Part(row["change"], "dim"),
        "",
    ]


def show_fuzzy(choice: FuzzyChoice, folder: Path, as_json: bool) -> None:
    """Print the optimal gain of a fuzzy uncertainty, and what other prices would give."""
    if as_json:
        write_json(choice.to_dict())
        return
    from ukctrl.core.number_text import number

    lines: list[Line] = hanging("", choice.scenario.title, text_style="bold")
    lines += hanging(f"  {'kappa':<8}", f"{number(choice.kappa, 4)} 1/s in closed form; the "
                     f"card's is {number(choice.before, 4)}")  # fmt: skip
    lines += hanging(f"  {'for':<8}", choice.given, text_style="dim")
    heads = ("price", "kappa", "cost", "transient", "steady", "effort")
    rows: list[Sequence[Part | str]] = [[Part(head, "dim") for head in heads]]
    for line in choice.to_dict()["prices"]:
        style = "bold" if line["price"] == choice.found.price else ""
        rows.append([Part(number(line[head], 4), style) for head in heads])
    lines += table(rows, ">>>>>>")
    lines += files(
        folder, ("curve", "fuzzy_gain.csv"), ("figure", "fuzzy_gain.png"),
        ("card", f"{choice.name}.toml"),
    )  # fmt: skip
    show(lines)
