"""The command `view`: a scenario's run, a result or a robot in three dimensions."""

from __future__ import annotations

import contextlib
import os
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ukctrl.cli.arguments import about, is_robot, scenario_of
from ukctrl.cli.options import Card, Quiet, Set, Trust
from ukctrl.cli.terminal.lines import notice, show
from ukctrl.cli.terminal.progress_bars import progress_bar, run_progress
from ukctrl.cli.terminal.stop import stoppable
from ukctrl.core.errors import InputError

if TYPE_CHECKING:
    from ukctrl.reports.scene.stage import Scene
    from ukctrl.reports.viewer.live import Live
    from ukctrl.robot import Robot
    from ukctrl.simulation.result.result import Result
    from ukctrl.simulation.scenario import Scenario

HERE = "127.0.0.1"
MOST_RUNS = 8
"""Of a comparison so many runs are shown, one a colour."""
NoOpen = Annotated[bool, typer.Option("--no-open", help="Print the address; open no browser.")]
Port = Annotated[
    int | None,
    typer.Option("--port", metavar="N", help="Serve at this port; 0: any. Absent: from 8080 on."),
]
Host = Annotated[
    str,
    typer.Option("--host", metavar="ADDRESS", help="Whom to serve; absent: this machine alone."),
]
Record = Annotated[
    Path | None,
    typer.Option("--record", metavar="FILE", help="Make a .mp4, .gif or .png, and open nothing."),
]
Fps = Annotated[int, typer.Option("--fps", metavar="N", help="Pictures of a film in a second.")]
Size = Annotated[str, typer.Option("--size", metavar="WxH", help="Of the film or picture.")]
Camera = Annotated[
    str | None,
    typer.Option("--camera", metavar="VIEW", help="front, side, top, or AZIMUTH,ELEVATION [deg]."),
]
Speed = Annotated[float, typer.Option("--speed", metavar="X", help="How fast a film plays.")]
Strip = Annotated[
    int, typer.Option("--strip", metavar="N", help="Of a .png: so many moments in one picture.")
]

Show = Annotated[
    str | None,
    typer.Option("--show", metavar="WHAT", help="In a film: inputs, reactions, or both as A,B."),
]


def view(
    target: Annotated[
        str,
        typer.Argument(
            metavar="SCENARIO|DIR|ROBOT",
            help="A scenario to simulate, the folder of a result or a comparison, or a robot: its "
            "name, robot.toml or model file.",
        ),
    ],
    *,
    controller: Card = None,
    changes: Set = None,
    no_open: NoOpen = False,
    port: Port = None,
    host: Host = HERE,
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
    """See it move: in the browser, with its time to play and set; or make a film.

    Of a robot at rest, sliders move its joints within their limits. Ctrl-C ends it.
    """
    folder = Path(target)
    stored = folder.is_dir() and not (folder / "robot.toml").is_file()
    robot_only = not stored and is_robot(target)
    for option, value in (("--controller", controller), ("--set", changes)):
        if value and (stored or robot_only):
            what = "a robot" if robot_only else "the folder of a result"
            raise InputError(f"{option} goes with a scenario; '{target}' is {what}.")
    if record is not None:
        how = {"fps": fps, "size": _size(size), "speed": speed, "strip": strip, **_camera(camera)}
        how["show"] = [each.strip() for each in arrows.split(",")] if arrows is not None else []
        _record(
            _scene(target, stored, robot_only, controller, changes, trust, quiet),
            record,
            how,
            quiet,
        )
        return
    with opened(target, host, port) as server, contextlib.ExitStack() as at_the_end:
        if robot_only:
            from ukctrl.reports.viewer.sliders import AtRest
            from ukctrl.robot import Robot

            AtRest(server, Robot.load(target, trust=trust))
        else:
            from ukctrl.reports.viewer.timeline import show_scene

            scene = _scene(target, stored, robot_only, controller, changes, trust, quiet)
            timeline = show_scene(server, scene)
            if timeline is not None:  # else it would play on to a server that is gone
                at_the_end.callback(timeline.close)
        until_stopped(lambda: tell(server, quiet, open_browser=not no_open))


@contextlib.contextmanager
def opened(title: str, host: str, port: int | None) -> Iterator[Any]:
    """Yield a server, and end it; tell where others than this machine may look."""
    from ukctrl.reports.viewer.server import open_server, stop

    server = open_server(title, host, port)
    if host not in (HERE, "localhost", "::1"):
        notice(f"warning: whoever reaches {host} may look, and move what is shown.")
    try:
        yield server
    finally:
        stop(server)


@contextlib.contextmanager
def live_view(
    scenario: Scenario, host: str, port: int | None, no_open: bool, quiet: bool
) -> Iterator[Live]:
    """Yield what shows a run while it computes; its address is told before."""
    from ukctrl.reports.viewer.live import Live

    with opened(scenario.title, host, port) as server:
        live = Live(server, scenario)
        tell(server, quiet, open_browser=not no_open)
        yield live


def tell(server: Any, quiet: bool, *, open_browser: bool) -> None:
    """Say where it is, and open a browser there where there is a screen."""
    from ukctrl.reports.viewer.server import address

    where = address(server)
    if not quiet:
        show([["view    ", where, "   (Ctrl-C ends it)"]])
    if open_browser and _has_display():
        with contextlib.suppress(webbrowser.Error, OSError):
            webbrowser.open(where)


def until_stopped(first: Callable[[], None] = lambda: None) -> None:
    """Serve until Ctrl-C, which may come as soon as ``first`` has told where."""
    with contextlib.suppress(KeyboardInterrupt):
        first()
        while True:
            time.sleep(0.5)


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
    from ukctrl.reports.scene.from_results import of_results

    if robot_only:
        from ukctrl.reports.scene.from_robot import of_robot
        from ukctrl.robot import Robot

        return of_robot(Robot.load(target, trust=trust))
    robots: dict[str, Robot] = {}
    if stored:
        results = _stored(Path(target))
    else:
        result, robot = _simulated(target, controller, changes, trust, quiet)
        results, robots = {"": result}, {"": robot}
    scene = of_results(results, robots)
    if scene is None:
        raise InputError(f"{target}: there is nothing to see; it has no samples and no robot.")
    return scene


def _simulated(
    target: str, controller: str | None, changes: list[str] | None, trust: bool, quiet: bool
) -> tuple[Result, Robot]:
    chosen = scenario_of(target, controller, changes, trust)
    from ukctrl.simulation.loop.scenario_robots import true_robot
    from ukctrl.simulation.simulate import simulate

    with stoppable() as stop, about(target):
        robot = true_robot(chosen.robot)
        with run_progress(chosen.title, quiet) as told:
            progress, planning = map(stop.watch, told)
            result = simulate(chosen, progress=progress, planning=planning, robot=robot)
    if result.status != "completed":
        notice(f"{target} {result.status}: {result.message}")
    return result, robot


def _stored(folder: Path) -> dict[str, Result]:
    """Return the result of a folder, or those of a comparison's folders, by their names."""
    from ukctrl.simulation.result.foreign_hdf5 import refuse_what_hdf5_does_not_survive
    from ukctrl.simulation.result.result import Result

    if (folder / "result.nc").is_file():
        folders = {"": folder}
    else:
        runs = sorted(path.parent for path in folder.glob("*/result.nc"))
        folders = {run.name: run for run in runs[:MOST_RUNS]}
    if not folders:
        study = " A study has no motion to show; run one of its samples." * (
            (folder / "study.json").is_file()
        )
        raise InputError(
            f"'{folder}' must hold a run (result.nc), a comparison's runs, or a robot (robot.toml);"
            f" it has none.{study}"
        )
    for home in folders.values():
        refuse_what_hdf5_does_not_survive(home / "result.nc")
    results = {name: Result.load(home) for name, home in folders.items()}
    return {"": next(iter(results.values()))} if len(results) == 1 else results


def _size(text: str) -> tuple[int, int]:
    wide, _, high = text.partition("x")
    if not (wide.isdecimal() and high.isdecimal() and int(wide) and int(high)):
        raise InputError(f"--size must be WIDTHxHEIGHT, such as 1280x720; got '{text}'.")
    return int(wide), int(high)


def _record(scene: Scene, path: Path, how: Mapping[str, Any], quiet: bool) -> None:
    from ukctrl.reports.scene.film import record

    with progress_bar("film", quiet, "%") as progress:
        record(scene, path, **how, progress=lambda done: progress(100.0 * done, 100.0))
    if not quiet:
        show([["film    ", str(path)]])


def _camera(text: str | None) -> dict[str, Any]:
    from ukctrl.reports.scene.camera import Camera

    return {} if text is None else {"camera": Camera.parse(text)}
