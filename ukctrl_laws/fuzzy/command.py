"""Work of ``ukctrl tune --fuzzy``, which imports this module by name, and what it prints."""

from __future__ import annotations

from pathlib import Path

from ukctrl.cli.arguments import prefix_errors
from ukctrl.cli.terminal.lines import Line, file_lines, hanging_lines, print_result, table_lines
from ukctrl.core.number_text import number
from ukctrl.reports.report_table import ReportTable, TableCell, TableColumn
from ukctrl.simulation.scenario import Scenario
from ukctrl_laws.fuzzy.fuzzy_gain_design import FuzzyGainDesign


def tune(base: Scenario, name: str, fuzzy: str, folder: Path, quiet: bool, as_json: bool) -> None:
    """Choose a gain without a simulation, and write the card, the curve and its figure.

    Args:
        base: The scenario.
        name: What the command line calls it.
        fuzzy: The uncertainty, as written.
        folder: Where to write.
        quiet: Print nothing.
        as_json: Print the data instead.

    Raises:
        InputError: The law or the text does not fit, or the folder cannot be written to.
    """
    with prefix_errors(name):
        choice = FuzzyGainDesign.of(base, fuzzy)
    choice.save(folder)
    print_result(quiet, as_json, choice.to_dict, lambda: fuzzy_lines(choice, folder))


def fuzzy_lines(choice: FuzzyGainDesign, folder: Path) -> list[Line]:
    """Return the optimal gain of a fuzzy uncertainty, and what other prices would give."""
    card_kappa, optimal_kappa = number(choice.card_kappa, 4), number(choice.kappa, 4)
    lines: list[Line] = hanging_lines("", choice.scenario.title, text_style="bold")
    lines += hanging_lines(
        f"  {'kappa':<8}", f"{optimal_kappa} 1/s in closed form; the card's is {card_kappa}"
    )
    lines += hanging_lines(f"  {'for':<8}", choice.uncertainty, text_style="dim")
    heads = ("price", "kappa", "cost", "transient", "steady", "effort")
    chosen = choice.fuzzy_gain.price
    rows = [
        [
            TableCell(number(line[head], 4), "strong" if line["price"] == chosen else "")
            for head in heads
        ]
        for line in choice.to_dict()["prices"]
    ]
    lines += table_lines(ReportTable([TableColumn(head) for head in heads], rows))
    written = [("curve", "fuzzy_gain.csv"), ("figure", "fuzzy_gain.png")]
    return [*lines, *file_lines(folder, *written, ("card", f"{choice.name}.toml"))]
