"""The command `identify`: from logs of a robot to a model that one may believe."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from ukctrl.cli.arguments import import_command, output_folder
from ukctrl.cli.options import LOGS, Json, LogColumns, LogFile, Out, Quiet, Trust
from ukctrl.core.errors import InputError

RobotName = Annotated[
    str, typer.Argument(metavar="ROBOT", help="A robot's name, robot.toml or model file.")
]
Logs = Annotated[
    list[Path] | None,
    typer.Argument(metavar="[LOG]...", help="Its logs: CSV, Parquet, NPZ, result.nc, bags, MCAP."),
]
Validate = Annotated[
    list[Path] | None,
    typer.Option(
        "--validate",
        metavar="LOG",
        help="Judge by this log instead of the last third of each.",
        rich_help_panel=LOGS,
    ),
]
Cutoff = Annotated[
    float | None,
    typer.Option(
        "--cutoff",
        metavar="HZ",
        help="Frequency of the filter; absent: 20 times that of the motion.",
        rich_help_panel="The fit",
    ),
]
FrictionOption = Annotated[
    Literal["none", "coulomb", "stribeck"],
    typer.Option("--friction", metavar="MODEL", help="none, coulomb (as absent) or stribeck.",
                 rich_help_panel="The fit"),
]  # fmt: skip
ArmatureOption = Annotated[
    bool,
    typer.Option(
        "--armature",
        help="Fit inertias of rotors, too: for efforts of motors, not of sensors at the joints.",
        rich_help_panel="The fit",
    ),
]
MethodOption = Annotated[
    Literal["weighted", "ordinary", "robust", "instrumental"],
    typer.Option("--method", metavar="METHOD", help="weighted (as absent), ordinary, robust or "
                 "instrumental.", rich_help_panel="The fit"),
]  # fmt: skip

Known = Annotated[
    list[str] | None,
    typer.Option(
        "--known",
        metavar="LINK",
        help="A link whose body is as the model has it, such as a payload that was weighed.",
        rich_help_panel="The fit",
    ),
]
Design = Annotated[
    bool,
    typer.Option(
        "--design",
        help="Without logs: find the motion that tells most, and write it for the robot to make.",
    ),
]
DesignSetting = Annotated[
    list[str] | None,
    typer.Option(
        "--motion",
        metavar="KEY=VALUE",
        help="What --design shall find, such as duration=20 or range.joint1=0.5; repeatable.",
    ),
]


def identify(
    robot: RobotName,
    logs: Logs = None,
    *,
    columns: LogColumns = None,
    log_file: LogFile = None,
    validate: Validate = None,
    cutoff: Cutoff = None,
    friction: FrictionOption = "coulomb",
    armature: ArmatureOption = False,
    method: MethodOption = "weighted",
    known: Known = None,
    design: Design = False,
    motion: DesignSetting = None,
    out: Out = None,
    trust: Trust = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Identify a robot from its logs: base parameters, bodies, friction; judged on unseen motions.

    Writes the identified robot (robot.toml with its model), identified.json and report.html.
    """
    command = import_command("ukctrl_identification.command")
    if design:
        if logs:
            raise InputError("--design finds a motion before there are logs; leave them out.")
        with output_folder(out, f"{Path(robot).stem}-motion") as folder:
            command.design_motion(
                robot, motion or [], folder, trust=trust, quiet=quiet, as_json=as_json
            )
    if motion:
        raise InputError("--motion says what --design shall find; add --design.")
    if not logs:
        raise InputError("identify needs at least one log of the robot's motion.")
    if cutoff is not None and not cutoff > 0.0:
        raise InputError(f"--cutoff must be a positive frequency; got {cutoff:g}.")
    options = {
        "cutoff": cutoff, "friction": friction, "armature": armature, "method": method,
        "known": known or [],
    }  # fmt: skip
    with output_folder(out, f"{Path(robot).stem}-identified") as folder:
        command.identify(
            robot, (logs, validate or []), (columns or [], log_file), options, folder,
            trust=trust, quiet=quiet, as_json=as_json,
        )  # fmt: skip
