"""``ukctrl export``: a designed controller for one's own loop."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ukctrl.cli.arguments import load_scenario, output_folder, prefix_errors
from ukctrl.cli.options import ControllerOption, Json, Out, Quiet, ScenarioName, Set, Trust
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import print_result
from ukctrl.cli.terminal.progress_bars import run_progress
from ukctrl.cli.terminal.summaries import export_data, export_lines
from ukctrl.core.errors import InputError
from ukctrl.core.files.catalog import file_name

STEPS_PER_PERIOD = 10.0
"""Steps of a plant in a control period, unless the scenario's integrator has fixed ones."""
Period = Annotated[
    str | None,
    typer.Option(
        "--period",
        metavar="SECONDS",
        help="Period of the loop that calls it; absent: the scenario's timing.control.",
    ),
]
Points = Annotated[
    str, typer.Option("--points", metavar="SECONDS", help="Time between points of the trajectory.")
]

To = Annotated[
    Literal["python", "c", "fmu"],
    typer.Option(
        "--to",
        metavar="FORM",
        help="What it becomes: python (a class and tables), c (a library) or fmu.",
    ),
]
For = Annotated[
    list[str] | None,
    typer.Option(
        "--target",
        metavar="PROCESSOR",
        help="Of a library: host (as absent), x86-64, x86-64-v3 or aarch64; of an FMU, again for "
        "each.",
    ),
]
Part = Annotated[
    Literal["controller", "plant"],
    typer.Option(
        "--part",
        metavar="PART",
        help="Of a library or FMU: the controller, or the plant (the robot, with RK4 steps).",
    ),
]
Fast = Annotated[
    bool,
    typer.Option(
        "--fast", help="Of a library or FMU: let arithmetic be reordered; bits may differ."
    ),
]
Fmi = Annotated[
    Literal["2", "3"] | None,
    typer.Option("--fmi", metavar="VERSION", help="Of an FMU: 3 (as absent) or 2."),
]
OnRefusal = Annotated[
    Literal["hold", "zero", "damped"] | None,
    typer.Option(
        "--on-refusal",
        metavar="INPUTS",
        help="Inputs of a tick that it refuses: hold (those before, as absent), zero or damped.",
    ),
]


def export(
    scenario: ScenarioName,
    *,
    controller: ControllerOption = None,
    changes: Set = None,
    period: Period = None,
    points: Points = "0.01",
    to: To = "python",
    part: Part = "controller",
    target: For = None,
    fast: Fast = False,
    on_refusal: OnRefusal = None,
    fmi: Fmi = None,
    out: Out = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Hand a controller over: as a class with tables, or as a library of C without Python.

    With --part plant it is the robot instead, as a library or an FMU for somebody else's loop.
    """
    if to == "python" and (fast or on_refusal):
        raise InputError("--fast and --on-refusal are of a C library; add --to c or --to fmu.")
    if to == "python" and part == "plant":
        raise InputError("a plant becomes a C library or an FMU; add --to c or --to fmu.")
    if to == "python" and target:
        raise InputError("--target is of a library or an FMU; add --to c or --to fmu.")
    if to == "c" and target and len(target) > 1:
        raise InputError("a C library is for one processor; give --target once.")
    if to != "fmu" and fmi:
        raise InputError("--fmi is of an FMU; add --to fmu.")
    ticks = None if period is None else _parse_seconds("period", period)
    spacing = _parse_seconds("points", points)
    chosen = load_scenario(scenario, controller, changes, trust)
    ticks = ticks or chosen.timing.control
    if ticks is None:
        raise InputError(
            f"{scenario}: its controller is continuous; give the period of the loop that will call "
            "it, such as --period 0.001."
        )
    chosen = chosen.replace({"timing.control": ticks, "timing.sample": ticks}, trust=trust)
    if part == "plant" and chosen.integrator.step is None:
        steps = {"method": "RK4", "step": ticks / STEPS_PER_PERIOD}
        chosen = chosen.replace({"integrator": steps}, trust=trust)
    from ukctrl.simulation.export.export_controller import (
        export_c_library,
        export_controller,
        export_fmu,
    )
    from ukctrl.simulation.simulate import simulate

    name = f"{file_name(chosen.name)}-export"
    with interruptible() as stop, output_folder(out, name) as folder:
        with prefix_errors(scenario), run_progress(chosen.title, quiet or as_json) as callbacks:
            progress, planning = map(stop.checked, callbacks)
            result = simulate(chosen, progress=progress, planning=planning)
        stop.block()
        with prefix_errors(scenario):
            given, policy = (chosen, result, folder), on_refusal or "hold"
            if to == "c":
                [processor] = target or ["host"]
                done = export_c_library(
                    *given, part=part, target=processor, fast=fast, on_refusal=policy
                )
            elif to == "fmu":
                done = export_fmu(
                    *given, part=part, fmi=int(fmi or 3), targets=tuple(target or ["x86-64"]),
                    fast=fast, on_refusal=policy,
                )  # fmt: skip
            else:
                done = export_controller(chosen, result, folder, points=spacing, trust=trust)
        print_result(quiet, as_json, lambda: export_data(done), lambda: export_lines(done))
    good = result.status == "completed" and done.is_good
    raise typer.Exit(0 if good else 1)


def _parse_seconds(name: str, text: str) -> float:
    from ukctrl.core.files.table_paths import parse_number

    value = parse_number(text)
    if value is None or not 0.0 < value < 1e6:
        raise InputError(f"--{name} must be a positive time in seconds; got '{text}'.")
    return value
