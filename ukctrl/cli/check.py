"""The command `check`: a scenario before it is simulated, or a part of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import is_robot, load_scenario, make_folder, prefix_errors
from ukctrl.cli.completion import candidates
from ukctrl.cli.options import OUTPUT, ControllerOption, Format, Json, Quiet, Set, Trust, Width
from ukctrl.cli.terminal.check_text import check_lines, robot_lines
from ukctrl.cli.terminal.lines import print_result
from ukctrl.cli.terminal.summaries import conformance_lines
from ukctrl.core.errors import InputError


def check(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO|ROBOT|FILE",
            help="A scenario's or robot's name, .toml or model file; or a .py file or controller "
            "card of your own.",
            autocompletion=candidates.check_targets,
        ),
    ],
    *,
    controller: ControllerOption = None,
    changes: Set = None,
    on: Annotated[
        str | None,
        typer.Option(
            "--on",
            metavar="SCENARIO",
            help="For a file of your own: where to try it.",
            autocompletion=candidates.scenarios,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write a page, report.html, its figures and check.json there, too.",
            autocompletion=candidates.folders,
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", "-a", help="Show also what follows from each cause.")
    ] = False,
    formats: Format = None,
    width: Width = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Look before simulating: ranks, reach, limits, sampling, along what the task asks for.

    Of a robot: what its file holds, lacks and gets wrong, and a first scenario with it.

    A file with a law, feedback, allocation or constraint of your own, or a controller card, is
    tried on what every one of the catalogue satisfies.
    """
    # A .toml may be each: a part before a robot before a scenario, by its keys.
    if is_user_part(scenario):
        if controller is not None:
            raise InputError("--controller goes with a scenario; use --on SCENARIO for a part.")
        if out is not None:
            raise InputError("--out goes with a scenario; a part has no motion to draw.")
        check_part(scenario, changes, on, trust, as_json)
    if is_robot(scenario):
        for option, value in (("--controller", controller), ("--set", changes)):
            if value:
                raise InputError(f"{option} goes with a scenario; '{scenario}' is a robot.")
        from ukctrl.analysis.check.robot_check import check_robot
        from ukctrl.robot import Robot

        loaded = Robot.load(scenario, trust=trust)
        robot = check_robot(scenario, trust=trust, robot=loaded)
        home = None if out is None else make_folder(out)
        if home is not None:
            from ukctrl.analysis.check.robot_report import write_robot

            write_robot(robot, loaded, home)
        print_result(quiet, as_json, robot.to_dict, lambda: robot_lines(robot, home))
        return
    if on is not None:
        raise InputError("--on goes with a .py file or a controller card; got a scenario.")
    chosen = load_scenario(scenario, controller, changes, trust)
    from ukctrl.analysis.check import check as check_scenario

    with prefix_errors(scenario):
        outcome = check_scenario(chosen)
    folder = None if out is None else make_folder(out)
    if folder is not None:
        from ukctrl.analysis.check.check_report import write_check

        write_check(outcome, folder)
    print_result(quiet, as_json, outcome.to_dict, lambda: check_lines(outcome, folder, whole))
    raise typer.Exit(0 if outcome.ok else 1)


def is_user_part(name: str) -> bool:
    """Return whether an argument of ``check`` names Python code or a controller card."""
    if name.endswith(".py"):
        return True
    path = Path(name)
    if not name.endswith(".toml") or not path.is_file():
        return False
    from ukctrl.core.files.toml import read_toml

    table = read_toml(path)
    return "robot" not in table and bool({"kind", "use"} & set(table))


def check_part(
    name: str, changes: list[str] | None, on: str | None, trust: bool, as_json: bool
) -> None:
    """Try the parts that a file defines on the clauses of their kind, and print what came."""
    from ukctrl.simulation.scenario import Scenario

    path = Path(name).resolve()
    if not path.is_file():
        raise InputError(f"no file '{name}'.")
    from ukctrl.analysis.conformance.examine_file import examine_file
    from ukctrl.core.files.table_paths import parse_settings

    settings = parse_settings("--set", changes or [])
    conformance = examine_file(path, settings, Scenario.load(on or "scara-helix"), trust=trust)
    data = [result.to_dict() for result in conformance]
    print_result(False, as_json, lambda: data, lambda: conformance_lines(conformance))
    raise typer.Exit(0 if all(result.ok for result in conformance) else 1)
