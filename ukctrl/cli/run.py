"""The command `run`: one scenario, its result and its page."""

from __future__ import annotations

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
from ukctrl.cli.terminal.progress_bars import run_progress
from ukctrl.cli.terminal.summaries import result_lines
from ukctrl.core.files.catalog import file_name


def run(
    scenario: ScenarioName,
    *,
    controller: ControllerOption = None,
    changes: Set = None,
    out: Out = None,
    formats: Format = None,
    width: Width = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario and write its result, figures and report."""
    chosen = load_scenario(scenario, controller, changes, trust)
    from ukctrl.reports.run_page import write_report
    from ukctrl.simulation.assemble.scenario_robots import true_robot
    from ukctrl.simulation.simulate import simulate

    with interruptible() as stop, output_folder(out, file_name(chosen.name)) as folder:
        with prefix_errors(scenario), run_progress(chosen.title, quiet or as_json) as callbacks:
            progress, planning = map(stop.checked, callbacks)
            robot = true_robot(chosen.robot)
            result = simulate(chosen, progress=progress, planning=planning, robot=robot)
        stop.block()
        result.save(folder)
        write_report(result, folder, robot)
        print_result(quiet, as_json, result.summary, lambda: result_lines(result, folder))
    raise typer.Exit(0 if result.status == "completed" else 1)
