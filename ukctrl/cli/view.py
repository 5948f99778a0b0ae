"""The command `view`: a scenario's run, a result or a robot in three dimensions."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ukctrl.cli.arguments import import_command, is_robot, load_scenario, prefix_errors
from ukctrl.cli.completion import candidates
from ukctrl.cli.options import ControllerOption, Quiet, Set, Trust
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import print_lines, print_notice
from ukctrl.cli.terminal.progress_bars import run_progress
from ukctrl.core.errors import InputError

if TYPE_CHECKING:
    from ukctrl.reports.scene.scene import Scene
    from ukctrl.robot import Robot
    from ukctrl.simulation.result.result import Result

MAX_RUNS = 8
"""Of a comparison so many runs are shown, one a colour."""
NoOpen = Annotated[bool, typer.Option("--no-open", help="Print the page's path; open no browser.")]
Record = Annotated[
    Path | None,
    typer.Option(
        "--record",
        metavar="FILE",
        help="Make a .mp4, .gif or .png, and open nothing.",
        rich_help_panel="As a film or picture",
        autocompletion=candidates.files_and_folders,
    ),
]
Fps = Annotated[
    int,
    typer.Option(
        "--fps",
        metavar="N",
        help="Pictures of a film in a second.",
        rich_help_panel="As a film or picture",
    ),
]
Size = Annotated[
    str,
    typer.Option(
        "--size",
        metavar="WxH",
        help="Of the film or picture.",
        rich_help_panel="As a film or picture",
    ),
]
Camera = Annotated[
    str | None,
    typer.Option(
        "--camera",
        metavar="VIEW",
        help="front, side, top, or AZIMUTH,ELEVATION \\[deg].",
        rich_help_panel="As a film or picture",
    ),
]
Speed = Annotated[
    float,
    typer.Option(
        "--speed",
        metavar="X",
        help="How fast a film plays.",
        rich_help_panel="As a film or picture",
    ),
]
Strip = Annotated[
    int,
    typer.Option(
        "--strip",
        metavar="N",
        help="Of a .png: so many moments in one picture.",
        rich_help_panel="As a film or picture",
    ),
]

Show = Annotated[
    str | None,
    typer.Option(
        "--show",
        metavar="WHAT",
        help="In a film: inputs, reactions, or both as A,B.",
        rich_help_panel="As a film or picture",
    ),
]


def view(
    target: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO|DIR|ROBOT",
            help="A scenario to simulate, the folder of a result or a comparison, or a robot: its "
            "name, robot.toml or model file.",
            autocompletion=candidates.view_targets,
        ),
    ],
    *,
    controller: ControllerOption = None,
    changes: Set = None,
    no_open: NoOpen = False,
    record: Record = None,
    fps: Fps = 30,
    size: Size = "1280x720",
    camera: Camera = None,
    speed: Speed = 1.0,
    strip: Strip = 0,
    arrows: Show = None,
    trust: Trust = False,
    quiet: Quiet = False,
) -> None:
    """See it move: in a page, with its time to play and set; or make a film.

    Of a robot at rest, sliders move its joints within their limits.
    """
    folder = Path(target)
    stored = folder.is_dir() and not (folder / "robot.toml").is_file()
    robot_only = not stored and is_robot(target)
    for option, value in (("--controller", controller), ("--set", changes)):
        if value and (stored or robot_only):
            target_kind = "a robot" if robot_only else "the folder of a result"
            raise InputError(f"{option} goes with a scenario; '{target}' is {target_kind}.")
    if record is not None:
        films = import_command("ukctrl_film.command")
        film_options = films.film_options(fps, size, camera, speed, strip, arrows)
        scene = _scene(target, stored, robot_only, controller, changes, trust, quiet)
        films.record_scene(scene, record, film_options, quiet)
        return
    from ukctrl.reports.notebook_card import SceneView

    scene = _scene(target, stored, robot_only, controller, changes, trust, quiet)
    page = SceneView(scene.title, scene).open(in_browser=not no_open and _has_display())
    if not quiet:
        print_lines([["page    ", str(page)]])


def _has_display() -> bool:
    graphic = any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    return os.name != "posix" or os.uname().sysname == "Darwin" or graphic


def _scene(
    target: str,
    stored: bool,
    robot_only: bool,
    controller: str | None,
    changes: list[str] | None,
    trust: bool,
    quiet: bool,
) -> Scene:
    """Return what there is to see.

    Raises:
        InputError: Nothing is.
    """
    from ukctrl.reports.scene.run_scene import runs_scene

    if robot_only:
        from ukctrl.reports.scene.robot_scene import robot_scene
        from ukctrl.robot import Robot

        return robot_scene(Robot.load(target, trust=trust))
    robots: dict[str, Robot] = {}
    if stored:
        results = _load_results(Path(target))
    else:
        result, robot = _simulate(target, controller, changes, trust, quiet)
        results, robots = {"": result}, {"": robot}
    scene = runs_scene(results, robots)
    if scene is None:
        raise InputError(f"{target}: there is nothing to see; it has no samples and no robot.")
    return scene


def _simulate(
    target: str, controller: str | None, changes: list[str] | None, trust: bool, quiet: bool
) -> tuple[Result, Robot]:
    chosen = load_scenario(target, controller, changes, trust)
    from ukctrl.simulation.assemble.scenario_robots import true_robot
    from ukctrl.simulation.simulate import simulate

    with interruptible() as stop, prefix_errors(target):
        robot = true_robot(chosen.robot)
        with run_progress(chosen.title, quiet) as callbacks:
            progress, planning = map(stop.checked, callbacks)
            result = simulate(chosen, progress=progress, planning=planning, robot=robot)
    if result.status != "completed":
        print_notice(f"{target} {result.status}: {result.message}")
    return result, robot


def _load_results(folder: Path) -> dict[str, Result]:
    """Return the result of a folder, or those of a comparison's folders, by their names."""
    from ukctrl.simulation.result.result import Result
    from ukctrl.simulation.result.untrusted_hdf5 import probe_in_subprocess

    if (folder / "result.nc").is_file():
        folders = {"": folder}
    else:
        runs = sorted(path.parent for path in folder.glob("*/result.nc"))
        folders = {run.name: run for run in runs[:MAX_RUNS]}
    if not folders:
        study = " A study has no motion to show; run one of its samples." * (
            (folder / "study.json").is_file()
        )
        raise InputError(
            f"'{folder}' must hold a run (result.nc), a comparison's runs, or a robot (robot.toml);"
            f" it has none.{study}"
        )
    for home in folders.values():
        probe_in_subprocess(home / "result.nc")
    results = {name: Result.load(home) for name, home in folders.items()}
    return {"": next(iter(results.values()))} if len(results) == 1 else results
