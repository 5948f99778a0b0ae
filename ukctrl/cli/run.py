"""The command `run`: one scenario, its result and its page."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import about, output_folder, scenario_of
from ukctrl.cli.options import Card, Format, Json, Out, Quiet, ScenarioName, Set, Trust, Width
from ukctrl.cli.terminal.lines import answer
from ukctrl.cli.terminal.progress_bars import run_progress
from ukctrl.cli.terminal.stop import stoppable
from ukctrl.cli.terminal.summaries import result_lines
from ukctrl.cli.view import HERE, Host, NoOpen, Port, live_view, until_stopped
from ukctrl.core.errors import InputError
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
    watched: Annotated[
        bool, typer.Option("--view", help="Show it in the browser while it computes, and after.")
    ] = False,
    no_open: NoOpen = False,
    port: Port = None,
    host: Host = HERE,
) -> None:
    """Run a scenario and write its result, figures and report."""
    for option, given in (("--no-open", no_open), ("--port", port is not None)):
        if given and not watched:
            raise InputError(f"{option} goes with --view.")
    chosen = scenario_of(scenario, controller, changes, trust)
    from ukctrl.reports.run_page import write_report
    from ukctrl.simulation.loop.scenario_robots import true_robot
    from ukctrl.simulation.simulate import simulate

    place = out or Path("out") / file_name(chosen.name)
    with contextlib.ExitStack() as stack:
        live = (
            stack.enter_context(live_view(chosen, host, port, no_open, quiet or as_json))
            if watched
            else None
        )
        with stoppable() as stop, output_folder(place) as folder:
            with about(scenario), run_progress(chosen.title, quiet or as_json) as told:
                progress, planning = map(stop.watch, told)
                robot = true_robot(chosen.robot)
                result = simulate(
                    chosen, progress=progress, planning=planning, robot=robot, watch=live
                )
            stop.hold()
            result.save(folder)
            write_report(result, folder, robot)
            answer(quiet, as_json, result.summary, lambda: result_lines(result, folder))
        if live is not None:
            from ukctrl.reports.scene.from_results import of_result

            live.finish(of_result(result, robot))
            until_stopped()
    raise typer.Exit(0 if result.status == "completed" else 1)
