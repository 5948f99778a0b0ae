"""The command `run`: one scenario, its result and its page."""

from __future__ import annotations

from pathlib import Path

import typer

from ukctrl.cli.arguments import about, output_folder, scenario_of
from ukctrl.cli.options import Card, Format, Json, Out, Quiet, ScenarioName, Set, Trust, Width
from ukctrl.cli.terminal.lines import answer
from ukctrl.cli.terminal.progress_bars import run_progress
from ukctrl.cli.terminal.stop import stoppable
from ukctrl.cli.terminal.summaries import result_lines
from ukctrl.core.files.catalog import file_name


def run(
    scenario: ScenarioName,
    controller: Card = None,
    changes: Set = None,
    out: Out = None,
    formats: Format = None,
    width: Width = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario and write its result, figures and report."""
    chosen = scenario_of(scenario, controller, changes, trust)
    from ukctrl.reports.run_page import write_report
    from ukctrl.simulation.loop.closed_loop import true_robot
    from ukctrl.simulation.simulate import Simulation, simulate

    place = out or Path("out") / file_name(chosen.name)
    with stoppable(Simulation.run.__code__) as stop, output_folder(place) as folder:
        with about(scenario), run_progress(chosen.title, quiet or as_json) as told:
            progress, planning = map(stop.watch, told)
            robot = true_robot(chosen.robot)
            result = simulate(chosen, progress=progress, planning=planning, robot=robot)
        stop.hold()
        result.save(folder)
        write_report(result, folder, robot)
        answer(quiet, as_json, result.summary, lambda: result_lines(result, folder))
    raise typer.Exit(0 if result.status == "completed" else 1)
