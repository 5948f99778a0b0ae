"""Reading logs: files of several formats to channels of a robot."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.arrays import Vector
from ukctrl.core.errors import InputError, did_you_mean, quoted
from ukctrl.core.files import AnyPath
from ukctrl.core.files.toml import error_context
from ukctrl.robot import Robot
from ukctrl_identification.array_tables import MAX_LISTED, npz_table, parquet_table, result_table
from ukctrl_identification.bag_table import LOG_TIME, bag_table
from ukctrl_identification.joint_log import JointLog
from ukctrl_identification.log_columns import Channel, TimeColumn, match_columns
from ukctrl_identification.log_header import Header
from ukctrl_identification.log_settings import LogSettings
from ukctrl_identification.log_table import LogTable
from ukctrl_identification.text_table import text_table

ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".parquet", ".npz", ".nc", ".mcap", ".db3")
"""Of the files that a log may be; beside folders of ROS 2 bags and of results."""
TIME_ROUNDING = 1e-9
"""So far beyond start and stop, rounding may have put their samples [s]."""
MIN_SAMPLES = 10
"""Fewer make no log."""
CLOCK_TIME = 1e8
"""A time beyond is that of a clock, which began in 1970: three years [s]."""


def read_logs(
    robot: Robot, files: Sequence[AnyPath] | AnyPath, settings: LogSettings | None = None
) -> list[JointLog]:
    """Read logs of a robot's joints, each from one file.

    Nothing is repaired: what is wrong with a log is said by `log_faults`.

    Args:
        robot: The robot.
        files: Tables of text, Parquet or NumPy, results of ukctrl, bags of ROS 2.
        settings: How their columns are named, and their units; absent: by the names of joints.

    Raises:
        InputError: A file cannot be read, or lacks a column that it must have; in one line.
    """
    settings = settings or LogSettings()
    _check_joint_names(robot, settings)
    paths = [files] if isinstance(files, str | os.PathLike) else files
    return [_read_log(robot, Path(path), settings) for path in paths]


def _check_joint_names(robot: Robot, settings: LogSettings) -> None:
    """Refuse tables by joint that name what there is not."""
    for key in ("position_unit", "velocity_unit", "effort_unit", "sign", "gear", "motor_constant"):
        table = getattr(settings, key)
        for name in table if isinstance(table, dict) else ():
            with error_context(key):
                robot.structure.dof(name)


def _read_log(robot: Robot, path: Path, settings: LogSettings) -> JointLog:
    table = _table(robot, path, settings)
    time_column, channels = match_columns(robot, Header(table.source, table.names), settings)
    columns, notes = table.load([time_column.column, *(c.column for c in channels)])
    raw_time = columns[time_column.column]
    for name, column in columns.items():
        if len(column) != len(raw_time):
            raise InputError(
                f"{table.source}: '{name}' must have a sample for each of the {len(raw_time)} "
                f"times; it has {len(column)}. An array of two axes has one row for each."
            )
    time = _seconds(raw_time, time_column, settings)
    first, last = _or(settings.start, -math.inf), _or(settings.stop, math.inf)
    part = (time >= first - TIME_ROUNDING) & (time <= last + TIME_ROUNDING)
    # what is no number is for `log_faults` to say
    part |= np.isnan(time)
    if np.count_nonzero(part) < MIN_SAMPLES:
        where = "" if part.all() else " between start and stop"
        raise InputError(
            f"{table.source}: must have at least {MIN_SAMPLES} samples{where}; it has "
            f"{np.count_nonzero(part)}."
        )
    notes = (*notes, *_unused_columns(table.names, columns, channels))
    current: dict[str, Vector] = {}
    asked: dict[str, Vector] = {}
    log = JointLog(table.source, time[part], {}, {}, {}, notes, current=current, asked=asked)
    for channel in channels:
        samples = np.asarray(columns[channel.column][part], dtype=np.float64)
        log = _with_channel(log, channel, samples, settings, current, asked)
    return log


def _unused_columns(
    names: Sequence[str], used: Iterable[str], channels: Sequence[Channel]
) -> Iterator[str]:
    """Yield the note that a quantity is absent while there are columns that might hold it."""
    quantities = {"effort" if c.quantity == "current" else c.quantity for c in channels}
    absent = [quantity for quantity in ("velocity", "effort") if quantity not in quantities]
    unused = [name for name in names if name not in used]
    if absent and unused:
        listed = f"{quoted(unused[:MAX_LISTED])}{', ...' if len(unused) > MAX_LISTED else ''}"
        yield f"no column was taken for {' or '.join(absent)}; there are also {listed}."


def _or(value: float | None, default: float) -> float:
    return default if value is None else value


def _table(robot: Robot, path: Path, settings: LogSettings) -> LogTable:
    """Return the columns of a file, by its ending."""
    if not path.exists():
        raise InputError(f"{path}: no such file.")
    if path.is_dir():
        if (path / "result.nc").is_file():
            return result_table(path, robot)
        if not (path / "metadata.yaml").is_file():
            raise InputError(
                f"{path}: a folder must be a bag of ROS 2, with its metadata.yaml, or a run of "
                "ukctrl, with its result.nc."
            )
        return bag_table(path, settings.topic, settings.time == LOG_TIME)
    if not path.is_file():
        raise InputError(f"{path}: must be a file or a folder.")
    match "".join(path.suffixes[-2:]).lower() if path.suffix == ".gz" else path.suffix.lower():
        case ".csv" | ".tsv" | ".txt" | ".csv.gz" | ".tsv.gz" | ".txt.gz":
            return text_table(path)
        case ".parquet":
            return parquet_table(path)
        case ".npz":
            return npz_table(path)
        case ".nc":
            return result_table(path, robot)
        case ".mcap" | ".db3":
            return bag_table(path, settings.topic, settings.time == LOG_TIME)
        case ending:
            raise InputError(
                f"{path}: must end in one of {', '.join(ENDINGS)}; got '{ending}'"
                f"{did_you_mean(ending, ENDINGS)}"
            )


def _seconds(raw: NDArray[Any], column: TimeColumn, settings: LogSettings) -> Vector:
    """Return the time from its origin [s]; differences are taken of whole numbers, if they are."""
    if not len(raw):
        return np.empty(0)
    first = float(raw[0]) * column.unit
    is_clock = settings.origin is None and abs(first) > CLOCK_TIME
    origin = first if is_clock else _or(settings.origin, 0.0)
    time: Vector = (raw - raw[0]).astype(np.float64) * column.unit + (first - origin)
    return time


def _with_channel(
    log: JointLog,
    channel: Channel,
    samples: Vector,
    settings: LogSettings,
    current: dict[str, Vector],
    asked: dict[str, Vector],
) -> JointLog:
    """Return the log with a column added, in the robot's units and on its side of the gear."""
    quantity, name, block = channel.quantity, channel.name, channel.block
    if np.isnan(samples).all():
        return log._replace(
            notes=(*log.notes, f"{quantity}.{name} has no numbers; it is left out.")
        )
    names = (block.name, name)
    sign, gear = (_or(_of_joint(one, names), 1.0) for one in (settings.sign, settings.gear))
    values = samples * channel.unit
    positions = asked if quantity == "asked" else log.position
    if quantity == "current":
        constant = _of_joint(settings.motor_constant, names)
        if constant is None:
            current[name] = values * sign
        else:  # the constant is that at the joint
            log.effort[name] = values * (sign * constant)
    elif quantity == "effort":
        log.effort[name] = values * (sign * gear)
    elif quantity == "velocity":
        log.velocity[name] = values * (sign / gear)
    elif name not in block.coordinates:
        angle = _unwrapped(values, settings.unwrap) * (sign / gear)
        positions[block.coordinates[0]] = np.cos(angle)
        positions[block.coordinates[1]] = np.sin(angle)
    elif block.nq > 1:
        _refuse_direction(log.source, block.name, name, sign, gear)
        positions[name] = values
    else:
        turns = settings.unwrap if block.coordinate_units == ("rad",) else 0.0
        unwrapped = _unwrapped(values, turns)
        positions[name] = unwrapped * (sign / gear)
        jumps = np.flatnonzero(np.abs(np.diff(unwrapped - values)) > 0.5 * turns)
        if turns and jumps.size:
            note = (
                f"{quantity}.{name} was unwrapped at {len(jumps)} jumps of {turns:g} rad, the "
                f"first at t = {log.time[jumps[0] + 1]:g} s."
            )
            return log._replace(notes=(*log.notes, note))
    return log


def _of_joint(setting: float | dict[str, float] | None, names: Sequence[str]) -> float | None:
    """Return the setting of one joint; None where there is none."""
    if isinstance(setting, dict):
        return next((setting[name] for name in names if name in setting), None)
    return setting


def _refuse_direction(source: str, joint: str, name: str, sign: float, gear: float) -> None:
    if (sign, gear) != (1.0, 1.0):
        raise InputError(
            f"{source}: sign and gear are of angles and lengths; joint '{joint}' is logged by "
            f"'{name}'. Name the joints that they are for in a table."
        )


def _unwrapped(values: Vector, period: float) -> Vector:
    """Return an angle without jumps of a period; what is no number does not count."""
    if not period:
        return values
    answer = values.copy()
    is_number = np.isfinite(values)
    jumps = np.diff(values[is_number])
    answer[is_number] -= period * np.cumsum(np.concatenate(([0.0], np.rint(jumps / period))))
    return answer
