"""Work of ``ukctrl identify``, which imports this module by name, and what it prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from ukctrl.cli.arguments import prefix_errors
from ukctrl.cli.terminal.interrupt import interruptible
from ukctrl.cli.terminal.lines import (
    Line,
    file_lines,
    hanging_lines,
    print_result,
    table_lines,
    verdict_lines,
)
from ukctrl.core.arrays import Matrix
from ukctrl.core.files.table_paths import table_of_settings
from ukctrl.core.files.toml import read_spec
from ukctrl.core.verdict import Verdict
from ukctrl.reports import html_page
from ukctrl.robot import Robot
from ukctrl.simulation.result.atomic_files import output_folder
from ukctrl_identification.checked_logs import checked_logs, command_settings
from ukctrl_identification.design_report import (
    CAPTIONS as DESIGN_CAPTIONS,
)
from ukctrl_identification.design_report import design_numbers, design_page
from ukctrl_identification.exciting_design import design, write_design
from ukctrl_identification.exciting_options import ExcitingOptions
from ukctrl_identification.identification_page import CAPTIONS, joint_table, page
from ukctrl_identification.identification_verdicts import verdicts
from ukctrl_identification.identified_files import write_identified
from ukctrl_identification.identified_json import FILE, write_identified_json
from ukctrl_identification.identified_spread import parameter_names
from ukctrl_identification.identify import Identification
from ukctrl_identification.identify import identify as identified


def identify(
    reference: str,
    logs: tuple[Sequence[Path], Sequence[Path]],
    columns: tuple[Sequence[str], Path | None],
    options: Mapping[str, Any],
    folder: Path,
    *,
    trust: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Identify a robot and write what it is.

    Args:
        reference: The robot, as the command line calls it.
        logs: To fit and to judge by.
        columns: What is in them, as pairs and as a file.
        options: Keyword arguments of `ukctrl_identification.identify.identify`.
        folder: Where to write.
        trust: Whether Python of the robot may run.
        quiet: Print nothing.
        as_json: Print the data instead.

    Raises:
        typer.Exit: At the end, with the exit code.
        InputError: A log cannot be used, or the folder cannot be written to.
    """
    with interruptible() as stop:
        robot = Robot.load(reference, trust=trust)
        settings = command_settings(robot, *columns)
        fitted, unseen = (checked_logs(robot, files, settings) for files in logs)
        with prefix_errors(reference):
            result = identified(robot, fitted.logs, validate=unseen.logs, **options)
        stop.block()
        notes = (Verdict("note", "log", text) for text in (*fitted.notes, *unseen.notes))
        judgements = [*verdicts(result), *notes]
        written = write_result(result, judgements, reference, folder)
        print_result(
            quiet,
            as_json,
            lambda: to_dict(result, judgements),
            lambda: lines(result, judgements, written, folder),
        )
    raise typer.Exit(int(any(verdict.level == "bad" for verdict in judgements)))


def design_motion(
    reference: str,
    settings: Sequence[str],
    folder: Path,
    *,
    trust: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Find the motion that tells most of a robot, and write it.

    Args:
        reference: The robot, as the command line calls it.
        settings: Of `ExcitingOptions`, as KEY=VALUE.
        folder: Where to write.
        trust: Whether Python of the robot may run.
        quiet: Print nothing.
        as_json: Print the data instead.

    Raises:
        typer.Exit: At the end, with exit code 0.
        InputError: A setting is none, there is no such motion, or the folder cannot be written to.
    """
    with interruptible() as stop:
        options = read_spec(ExcitingOptions, table_of_settings("--motion", settings), "--motion")
        robot = Robot.load(reference, trust=trust)
        with prefix_errors(reference):
            motion = design(robot, options)
        stop.block()
        files = write_design(motion, folder, reference=reference, trust=trust)
        text, figures = design_page(motion)
        html_page.write_page("the motion", folder, {"report.html": text}, figures, DESIGN_CAPTIONS)

        def shown() -> list[Line]:
            told = hanging_lines("", robot.title, text_style="bold")
            told += hanging_lines("", motion.sentence())
            labels = {"scenario.toml": "run", "motion.csv": "table", "trajectory.yaml": "ros"}
            named = [(labels[name], name) for name in files]
            return told + file_lines(folder, *named, ("report", "report.html"))

        print_result(quiet, as_json, lambda: design_numbers(motion), shown)
    raise typer.Exit(0)


def write_result(
    result: Identification, judgements: Sequence[Verdict], reference: str, folder: Path
) -> dict[str, str]:
    """Write the robot's files, the data and the page; return what each is."""
    files = write_identified(result.robot, reference, result.dynamics, folder)
    with output_folder("the identification", folder):
        write_identified_json(
            folder / FILE, result.robot, result.dynamics, _file_covariance(result),
            to_dict(result, judgements),
        )  # fmt: skip
    text, figures = page(result, judgements)
    html_page.write_page("the identification", folder, {"report.html": text}, figures, CAPTIONS)
    return files


def _file_covariance(result: Identification) -> Matrix:
    """Return the covariance of what the robot's files say, in their order."""
    robot, own = result.robot, dict[tuple[str, str], int]()
    joints = {block.joint: block for block in robot.blocks}
    for k, one in enumerate(result.regression.parameters):
        if k >= result.regression.inertial:
            own[one.owner, one.symbol] = k
            continue
        block = joints[k // 10 + 1]
        own[(block.dofs[0], "armature") if block.rotor and one.symbol == "Izz" else
            (block.name, one.symbol)] = k  # fmt: skip
    # of friction's asymmetry nothing was fitted: a sensor's offset would look like it
    at = [own.get(name, -1) for name in parameter_names(result.dynamics)]
    known = np.array(at) >= 0
    covariance: Matrix = np.zeros((len(at), len(at)))
    covariance[np.ix_(known, known)] = result.consistent.covariance[
        np.ix_(*[[k for k in at if k >= 0]] * 2)
    ]
    return covariance


def to_dict(result: Identification, judgements: Sequence[Verdict]) -> dict[str, Any]:
    """Return what is told beside the robot's parameters, as JSON has it."""
    model = result.regression.model_values()
    base = zip(
        result.formulas, result.base.independent, result.fit.values, result.fit.deviations,
        result.base.values(model), strict=True,
    )  # fmt: skip
    offsets = {
        one.owner: float(value)
        for one, value in zip(result.regression.parameters, result.consistent.values, strict=True)
        if one.symbol == "offset"
    }
    return {
        "robot": result.robot.name,
        "logs": list(result.sources),
        "verdicts": [verdict._asdict() for verdict in judgements],
        "cutoff": result.cutoff if np.isfinite(result.cutoff) else None,
        "samples": {"fitted": result.samples[0], "held_out": result.samples[1]},
        "base_parameters": [
            {"formula": formula, "unit": result.regression.parameters[k].unit,
             "value": float(value),
             "deviation": float(deviation) if np.isfinite(deviation) else None,
             "model": float(before)}
            for formula, k, value, deviation, before in base
        ],
        "condition": result.excited.condition if np.isfinite(result.excited.condition) else None,
        "not_excited": result.excited.names(result.formulas),
        "validation": {
            "rms": _by_joint(result, result.validation["consistent"].rms),
            "model_rms": _by_joint(result, result.validation["model"].rms),
            "least_squares_rms": _by_joint(result, result.validation["fit"].rms),
            "correlation": _by_joint(result, result.validation["consistent"].correlation),
        },
        "training": {"rms": _by_joint(result, result.training.rms)},
        "noise": _by_joint(result, result.fit.noise),
        "sensor_offsets": offsets,
        "motor_constants": {
            name: {"value": value, "deviation": deviation, "unit": unit}
            for name, value, deviation, unit in result.motor_constants()
        },
    }  # fmt: skip


def _by_joint(result: Identification, values: Any) -> dict[str, float]:
    return {name: float(value) for name, value in zip(result.rows, values, strict=True)}


def lines(
    result: Identification, judgements: Sequence[Verdict], written: Mapping[str, str], folder: Path
) -> list[Line]:
    """Return what the terminal shows."""
    shown: list[Line] = hanging_lines("", result.robot.title, text_style="bold")
    shown += table_lines(joint_table(result))
    shown += verdict_lines(judgements)
    model = next(name for name in written if not name.endswith(".toml"))
    shown += file_lines(
        folder, ("robot", "robot.toml"), ("model", model), ("data", "identified.json"),
        ("report", "report.html"),
    )  # fmt: skip
    return shown
