"""The command `check`: a scenario before it is simulated, or a part of one's own."""

from __future__ import annotations

import dataclasses as dc
from pathlib import Path
from typing import Annotated

import typer

from ukctrl.cli.arguments import about, folder_of, is_robot, pairs_of, scenario_of
from ukctrl.cli.options import Card, Format, Json, Quiet, Set, Trust, Width
from ukctrl.cli.terminal.check_text import check_lines
from ukctrl.cli.terminal.lines import answer
from ukctrl.cli.terminal.robot_text import robot_lines
from ukctrl.cli.terminal.summaries import conformance_lines
from ukctrl.core.errors import InputError


def check(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO|ROBOT|FILE",
            help="A scenario's or robot's name, .toml or model file; or a .py file or controller "
            "card of your own.",
        ),
    ],
    *,
    controller: Card = None,
    changes: Set = None,
    on: Annotated[
        str | None,
        typer.Option("--on", metavar="SCENARIO", help="For a file of your own: where to try it."),
    ] = None,
    reach: Annotated[
        str | None,
        typer.Option("--reach", metavar="FRAME", help="Map which part of a plane a frame reaches."),
    ] = None,
    over: Annotated[
        list[str] | None,
        typer.Option(
            "--over",
            metavar="AXIS=LO:HI",
            help="With --reach: a range along x, y or z [m]; y=0.2 says where the plane is.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Write a page, report.html, its figures and check.json there, too.",
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
    if over and reach is None:
        raise InputError("--over goes with --reach FRAME.")
    if reach is not None and (is_part(scenario) or is_robot(scenario)):
        raise InputError("--reach goes with a scenario.")
    if is_part(scenario):
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
        home = None if out is None else folder_of(out)
        if home is not None:
            from ukctrl.analysis.check.robot_page import write_robot

            write_robot(robot, loaded, home)
        answer(quiet, as_json, robot.to_dict, lambda: robot_lines(robot, home))
        return
    if on is not None:
        raise InputError("--on goes with a .py file or a controller card; got a scenario.")
    chosen = scenario_of(scenario, controller, changes, trust)
    from ukctrl.analysis.check import check as check_scenario
    from ukctrl.analysis.check.reach_map import reach_map

    with about(scenario):
        outcome = check_scenario(chosen)
        if reach is not None:
            found = reach_map(chosen, reach, plane_of(over))
            outcome = dc.replace(outcome, reach=found)
    folder = None if out is None else folder_of(out)
    if folder is not None:
        from ukctrl.analysis.check.check_page import write_check

        write_check(outcome, folder)
    answer(quiet, as_json, outcome.to_dict, lambda: check_lines(outcome, folder, whole))
    raise typer.Exit(0 if outcome.ok else 1)


def plane_of(over: list[str] | None) -> dict[str, tuple[float, float]]:
    """Return the ranges that ``--over`` options give, by axis; of one place, twice the same.

    Raises:
        InputError: One of them is none.
    """
    ranges = {}
    for text in over or ():
        axis, _, ends = text.partition("=")
        try:
            low, high = (float(end) for end in (ends.split(":") if ":" in ends else (ends, ends)))
        except ValueError:
            raise InputError(f"--over must be AXIS=LO:HI or AXIS=PLACE; got '{text}'.") from None
        ranges[axis.strip()] = low, high
    return ranges


def is_part(name: str) -> bool:
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
    settings = pairs_of(changes)
    from ukctrl.analysis.conformance.examine import examine_file

    conformance = examine_file(path, settings, Scenario.load(on or "scara-helix"), trust=trust)
    data = [each.to_dict() for each in conformance]
    answer(False, as_json, lambda: data, lambda: conformance_lines(conformance))
    raise typer.Exit(0 if all(each.ok for each in conformance) else 1)
