"""``ukctrl analyze``."""

from __future__ import annotations

import dataclasses as dc
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ukctrl.cli.arguments import load_scenario, output_folder, parse_terms, prefix_errors
from ukctrl.cli.completion import candidates
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
from ukctrl.cli.terminal.analyze_text import analysis_data, analysis_lines
from ukctrl.cli.terminal.lines import Line, print_result
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.files.catalog import file_name

if TYPE_CHECKING:
    from ukctrl.analysis.linear import Design
    from ukctrl.simulation.scenario import Scenario

UNSTABLE_DESIGN = (
    "the loop with these gains is unstable, and no motion has its bandwidth or settling time: ask "
    "for less, or shorten timing.control."
)
"""What to say of gains that were worked out all the same."""
POINTS = ("start", "equilibrium")
At = Annotated[
    str,
    typer.Option(
        "--at", metavar="PLACE", help="start, equilibrium, or a time of the run, such as t=1.5."
    ),
]
Hold = Annotated[
    list[str] | None,
    typer.Option("--hold", metavar="JOINT", help="With --at equilibrium: leave it where it is."),
]
Settling = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Work out the gains that settle in this time.",
        rich_help_panel="Design",
    ),
]
Bandwidth = Annotated[
    float | None,
    typer.Option(metavar="RAD/S", help="Work out the gains that give this bandwidth."),
]
DampingRatio = Annotated[
    float,
    typer.Option("--damping", metavar="RATIO", help="Of these gains.", rich_help_panel="Design"),
]
CardFile = Annotated[
    Path | None,
    typer.Option(
        "--card",
        metavar="FILE",
        help="Write the controller with these gains as a card.",
        rich_help_panel="Design",
        autocompletion=candidates.files_and_folders,
    ),
]
Keep = Annotated[
    float | None,
    typer.Option(
        "--keep",
        metavar="DISK",
        help="Find the longest hold that keeps this disk margin; 0: any.",
        rich_help_panel="Design",
    ),
]


def analyze(
    scenario: ScenarioName,
    *,
    controller: ControllerOption = None,
    changes: Set = None,
    at: At = "start",
    hold: Hold = None,
    settling: Settling = None,
    bandwidth: Bandwidth = None,
    damping: DampingRatio = 1.0,
    card: CardFile = None,
    keep: Keep = None,
    out: Out = None,
    formats: Format = None,
    width: Width = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Linearise plant and loop: poles, zeros, margins at each motor; design gains from them."""
    resting = at == "equilibrium"
    when: float | Literal["start"] = "start" if at in POINTS else parse_time(at)
    if hold and not resting:
        raise InputError("--hold goes with --at equilibrium.")
    term_options = {"settling": settling, "bandwidth": bandwidth, "damping": damping}
    has_terms = settling is not None or bandwidth is not None
    terms = parse_terms(term_options, "--") if has_terms else None
    if card is not None and terms is None:
        raise InputError(
            "--card needs the gains to write; give --settling SECONDS or --bandwidth RAD/S."
        )
    chosen = load_scenario(scenario, controller, changes, trust)
    from ukctrl.analysis.linear import analyze as analyze_scenario
    from ukctrl.analysis.linear import designed, equilibria, largest_period
    from ukctrl.analysis.linear.linear_page import write_analysis

    with output_folder(out, f"analyze-{file_name(chosen.name)}") as folder:
        with prefix_errors(scenario):
            design = None if terms is None else designed(chosen, terms)
            chosen = chosen if design is None else chosen.replace(design.gains)
            rests = equilibria(chosen, hold=hold or ()) if resting else ()
            result = analyze_scenario(chosen, rests[0].point if rests else when)
            point = result.plant.point
            period = None if keep is None else largest_period(chosen, point, disk=keep)
        if design is not None and result.stability == "unstable":
            design = dc.replace(design, notes=(*design.notes, UNSTABLE_DESIGN))
        if card is not None and design is not None:
            _write_card(card, chosen, design)
        data = analysis_data(result, rests, design, period, card)
        write_analysis(result, data, folder)

        def lines() -> list[Line]:
            return analysis_lines(result, folder, rests, design, period, card)

        print_result(quiet, as_json, lambda: data, lines)
    raise typer.Exit(1 if result.stability == "unstable" else 0)


def parse_time(text: str) -> float:
    """Return the time that ``--at`` names.

    Raises:
        InputError: It is none.
    """
    try:
        time = float(text.removeprefix("t="))
    except ValueError:
        raise unknown_name("place (in --at)", text, (*POINTS, "t=SECONDS")) from None
    if not math.isfinite(time):
        raise InputError(f"--at must be a finite time; got {text}.")
    return time


def _write_card(path: Path, scenario: Scenario, design: Design) -> None:
    """Write the scenario's controller, whose gains are the design's, as a card."""
    from ukctrl.simulation.result.atomic_files import card_text, write_atomically

    if path.suffix != ".toml":
        raise InputError(f"--card must name a .toml file; got '{path}'.")
    table = scenario.to_table()["controller"]
    title = f"{table.get('title') or table.get('kind')}, {design.terms}"
    content = card_text(table, title=title, source=table.get("source") or "ukctrl")
    try:
        write_atomically(path, content.encode())
    except OSError as error:
        raise InputError(f"--card '{path}' cannot be written: {error.strerror}.") from None
