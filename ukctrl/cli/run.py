"""The command `run`: one scenario, its result and its page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ukctrl.cli.arguments import import_command, load_scenario, output_folder, prefix_errors
from ukctrl.cli.options import (
    LOGS,
    ControllerOption,
    Format,
    Json,
    LogColumns,
    LogFile,
    Out,
    Quiet,
    ScenarioName,
    Set,
    Trust,
    Width,
    option,
)
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import print_result
from ukctrl.cli.terminal.progress_bars import run_progress
from ukctrl.cli.terminal.summaries import result_lines
from ukctrl.core.errors import InputError
from ukctrl.core.files.catalog import file_name

Against = Annotated[
    Path | None,
    option("--against LOG", LOGS, "Log of the real robot to play, and to show beside the run."),
]
PlayOption = Annotated[
    Literal["references", "inputs", "task"] | None,
    option(
        "--play WHAT",
        LOGS,
        "references: the controller follows the logged joints; inputs: the logged efforts act, "
        "without feedback; task: the scenario goes on from the log's first state. Absent: "
        "references.",
    ),
]


def run(
    scenario: ScenarioName,
    *,
    controller: ControllerOption = None,
    changes: Set = None,
    against: Against = None,
    play: PlayOption = None,
    columns: LogColumns = None,
    log_file: LogFile = None,
    out: Out = None,
    formats: Format = None,
    width: Width = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a scenario and write its result, figures and report."""
    if against is None and (play or columns or log_file):
        raise InputError("--play, --log and --log-file are about a log; give --against LOG, too.")
    chosen = load_scenario(scenario, controller, changes, trust)
    from ukctrl.reports.run_page import write_report
    from ukctrl.simulation.assemble.scenario_robots import true_robot
    from ukctrl.simulation.simulate import simulate

    with interruptible() as stop, output_folder(out, file_name(chosen.name)) as folder:
        with prefix_errors(scenario), run_progress(chosen.title, quiet or as_json) as callbacks:
            progress, planning = map(stop.checked, callbacks)
            robot = true_robot(chosen.robot)
            if against is None:
                result = simulate(chosen, progress=progress, planning=planning, robot=robot)
            else:
                replay = import_command("ukctrl_identification.log_replay")
                log = (against, columns or [], log_file)
                result = replay.simulate_against_file(
                    chosen, robot, log, play, folder, progress, planning
                )
        stop.block()
        result.save(folder)
        write_report(result, folder, robot)
        print_result(quiet, as_json, result.summary, lambda: result_lines(result, folder))
    raise typer.Exit(0 if result.status == "completed" else 1)
