"""The files of a scenario's robots, and of fits that robots are drawn from, copied beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ukctrl.core.errors import UkctrlError
from ukctrl.core.files import catalog
from ukctrl.core.files.file_stamps import recording_reads
from ukctrl.robot import Robot
from ukctrl.robot.geometry.model_shapes import model_shapes
from ukctrl.simulation.assemble.scenario_robots import name_and_override
from ukctrl.simulation.result.atomic_files import write_atomically

FIT_FILE = "identified.json"
"""What of the folder of an identified robot is read to draw others."""
FOLDER = "robot"
"""Where the copies lie, beside the scenario."""


def copy_robot_files(table: Mapping[str, Any], folder: Path, *, trust: bool) -> dict[str, Any]:
    """Copy the files of all robots of a scenario; return its table with the copies' paths in it.

    A robot that was made in Python has none, and one with macros may read any file: their names
    stay what they are.

    Args:
        table: The scenario's.
        folder: Where it will lie.
        trust: Whether Python code that the files name may run.
    """
    result = dict(table)
    if "robot" in result:
        result["robot"] = _copy(result["robot"], folder, trust)
    for section, key in (("believed", "robot"), ("controller", "links")):
        robot = result.get(section, {}).get(key)
        if robot is not None:
            result[section] = {**result[section], key: _copy(robot, folder, trust)}
    if "effect" in result:
        effects = enumerate(result["effect"])
        result["effect"] = [_with_fit(effect, folder, k) for k, effect in effects]
    return result


def _with_fit(effect: Mapping[str, Any], folder: Path, number: int) -> dict[str, Any]:
    """Return an effect with the copy of the fit that it draws the true robot from, if any."""
    fit = effect.get("identified")
    if fit is None:
        return dict(effect)
    inside = Path(FOLDER) / f"fit{number}"
    write_atomically(folder / inside / FIT_FILE, (Path(fit) / FIT_FILE).read_bytes())
    return {**effect, "identified": inside.as_posix()}


def _copy(reference: Any, folder: Path, trust: bool) -> Any:
    name, override = name_and_override(reference)
    try:
        with recording_reads() as files:
            for source in Robot.load(name, override=override, trust=trust).shape_sources.models:
                model_shapes(source)  # which reads the meshes
    except UkctrlError:
        return reference
    paths = {stamp.path.resolve() for stamp in files}
    if any(path.suffix == catalog.MACRO_ENDING for path in paths):
        return reference
    # The folder itself goes along: it may be the robot's name, or that of a package.
    top = Path(os.path.commonpath([path.parent for path in paths])).parent
    inner = {parent for path in paths for parent in path.parents if top in parent.parents}
    paths |= {file for parent in inner if (file := parent / "package.xml").is_file()}
    for path in paths:
        copy = folder / FOLDER / path.relative_to(top)
        write_atomically(copy, path.read_bytes())
    model = catalog.find("robots", name).resolve().relative_to(top)
    use = (Path(FOLDER) / model).as_posix()
    return {**override, "use": use} if override else use
