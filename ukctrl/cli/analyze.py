"""``ukctrl analyze``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ukctrl.cli.arguments import about, output_folder, scenario_of, terms_of
from ukctrl.cli.options import Card, Format, Json, Out, Quiet, ScenarioName, Set, Trust, Width
from ukctrl.cli.terminal.analyze_text import analysis_lines, as_table
from ukctrl.cli.terminal.lines import Line, answer
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.files.catalog import file_name

if TYPE_CHECKING:
    from ukctrl.analysis.linear import Design
    from ukctrl.simulation.scenario import Scenario

PLACES = ("start", "equilibrium")
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
    typer.Option(metavar="SECONDS", help="Work out the gains that settle in this time."),
]
Bandwidth = Annotated[
    float | None,
    typer.Option(metavar="RAD/S", help="Work out the gains that give this bandwidth."),
]
DampingRatio = Annotated[float, typer.Option("--damping", metavar="RATIO", help="Of these gains.")]
CardFile = Annotated[
    Path | None,
    typer.Option("--card", metavar="FILE", help="Write the controller with these gains as a card."),
]
Keep = Annotated[
    float | None,
    typer.Option(
        "--keep", metavar="DISK", help="Find the longest hold that keeps this disk margin; 0: any."
    ),
]


def analyze(
    scenario: ScenarioName,
    *,
    controller: Card = None,
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
    when: float | Literal["start"] = "start" if at in PLACES else time_of(at)
    if hold and not resting:
        raise InputError("--hold goes with --at equilibrium.")
    given = {"settling": settling, "bandwidth": bandwidth, "damping": damping}
    asked = settling is not None or bandwidth is not None
    terms = terms_of(given, "--") if asked else None
    if card is not None and terms is None:
        raise InputError(
            "--card needs the gains to write; give --settling SECONDS or --bandwidth RAD/S."
        )
    chosen = scenario_of(scenario, controller, changes, trust)
    from ukctrl.analysis.linear import analyze as analyze_scenario
    from ukctrl.analysis.linear import designed, equilibria, largest_period
    from ukctrl.analysis.linear.linear_page import write_analysis

    place = out or Path("out") / f"analyze-{file_name(chosen.name)}"
    with output_folder(place) as folder:
        with about(scenario):
            design = None if terms is None else designed(chosen, terms)
            chosen = chosen if design is None else chosen.replace(design.gains)
            rests = equilibria(chosen, hold=hold or ()) if resting else ()
            result = analyze_scenario(chosen, rests[0].point if rests else when)
            here = result.plant.point
            period = None if keep is None else largest_period(chosen, here, disk=keep)
        if card is not None and design is not None:
            _write_card(card, chosen, design)
        data = as_table(result, rests, design, period, card)
        write_analysis(result, data, folder)

        def lines() -> list[Line]:
            return analysis_lines(result, folder, rests, design, period, card)

        answer(quiet, as_json, lambda: data, lines)
    raise typer.Exit(1 if result.stability == "unstable" else 0)


def time_of(text: str) -> float:
    """Return the time that ``--at`` names.

    Raises:
        InputError: It is none.
    """
    try:
        time = float(text.removeprefix("t="))
    except ValueError:
        raise unknown_name("place (in --at)", text, (*PLACES, "t=SECONDS")) from None
    if not math.isfinite(time):
        raise InputError(f"--at must be a finite time; got {text}.")
    return time


def _write_card(path: Path, scenario: Scenario, design: Design) -> None:
    """Write the scenario's controller, whose gains are the design's, as a card."""
    from ukctrl.simulation.result.plain_files import card_text, write_atomically

    if path.suffix != ".toml":
        raise InputError(f"--card must name a .toml file; got '{path}'.")
    table = scenario.to_table()["controller"]
    title = f"{table.get('title') or table.get('kind')}, {design.terms}"
    content = card_text(table, title=title, source=table.get("source") or "ukctrl")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content.encode())
    except OSError as error:
        raise InputError(f"--card '{path}' cannot be written: {error.strerror}.") from None
