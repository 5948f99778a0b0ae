"""Logs as arrays: files of NumPy, Parquet, and results of ukctrl."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import InputError
from ukctrl.core.message_text import one_line, printable_name
from ukctrl.robot import Robot
from ukctrl.simulation.result.result import Result
from ukctrl_identification.log_table import LoadedColumns, LogTable, missing_package_error

MAX_LISTED = 6
"""Names that a message lists at most."""
NUMBERS = "fiu"
"""Kinds of arrays that hold real numbers, as NumPy calls them."""


def npz_table(path: Path) -> LogTable:
    """Return the table of an ``.npz`` file: arrays of shape ``(n,)``, or ``(n, k)`` with a column
    a joint, which become ``q1`` to ``qk``. Others are left out.

    Raises:
        InputError: It is no such file.
    """
    columns: dict[str, NDArray[Any]] = {}
    try:
        # opened here: NumPy leaves a file open that is no whole archive
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            for name in arrays.files:
                array = arrays[name]
                if array.dtype.kind in NUMBERS and array.ndim == 1:
                    columns[name] = array
                elif array.dtype.kind in NUMBERS and array.ndim == 2:
                    columns |= {f"{name}{k + 1}": array[:, k] for k in range(array.shape[1])}
    # zipfile and NumPy raise many kinds for a damaged file
    except Exception as error:
        raise InputError(
            f"{path}: must be a file of numpy.savez: {one_line(str(error)).rstrip('.')}."
        ) from None
    return LogTable.of(str(path), columns)


def parquet_table(path: Path) -> LogTable:
    """Return the table of a Parquet file.

    Raises:
        InputError: It is none, or PyArrow is not installed.
    """
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise missing_package_error(path, "PyArrow", "tables") from None
    try:
        schema = parquet.read_schema(path)
    except (OSError, pa.ArrowException) as error:
        raise _parquet_error(path, error) from None
    # instants become nanoseconds, and say so as the header of a text would
    renamed = {
        f"{name} [ns]" if pa.types.is_timestamp(kind) else name: name
        for name, kind in zip(schema.names, schema.types, strict=True)
    }

    def load(names: Sequence[str]) -> LoadedColumns:
        try:
            table = parquet.read_table(path, columns=[renamed[name] for name in names])
        except (OSError, pa.ArrowException) as error:
            raise _parquet_error(path, error) from None
        return LoadedColumns({name: _arrow_numbers(path, table, renamed[name]) for name in names})

    return LogTable(str(path), tuple(renamed), load)


def _parquet_error(path: Path, error: Exception) -> InputError:
    return InputError(f"{path}: must be a whole Parquet file: {one_line(str(error)).rstrip('.')}.")


def _arrow_numbers(path: Path, table: Any, name: str) -> NDArray[Any]:
    array: NDArray[Any] = table.column(name).to_numpy()
    if array.dtype.kind == "M":
        return array.astype("datetime64[ns]").astype(np.int64)
    if array.dtype.kind not in NUMBERS:
        raise InputError(
            f"{path}: column '{printable_name(name)}' must hold numbers; it holds {array.dtype}."
        )
    return array


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:MAX_LISTED])}{', ...' if len(names) > MAX_LISTED else ''}" or "none"


def result_table(path: Path, robot: Robot) -> LogTable:
    """Return the table of a run of ukctrl: what was measured, and what motors put on joints.

    Positions and velocities are those that the law measured, where they were recorded, and else
    the true ones; efforts are ``B u``.

    Raises:
        InputError: It is no result, of another robot, or ``B`` varies with the configuration.
    """
    result = Result.load(path)
    labels = result.labels
    for ours, theirs in (
        (robot.coordinates, labels.coordinates),
        (robot.dofs, labels.dofs),
        (robot.actuators, labels.actuators),
    ):
        if ours != theirs:
            raise InputError(
                f"{path}: must be a run of robot '{robot.name}', with {_listed(ours)}; it is of "
                f"one with {_listed(theirs)}."
            )
    if robot.actuation.varies:
        at, _ = robot.actuation.varying_columns[0]
        raise InputError(
            f"{path}: actuator '{robot.actuators[at]}' must push joints the same way everywhere, "
            "for efforts to follow from inputs; that it depends on the configuration is not "
            "supported in a log."
        )
    q = result["q_measured" if "q_measured" in result.samples else "q"]
    v = result["v_measured" if "v_measured" in result.samples else "v"]
    effort = result["u"] @ robot.actuation.constant.T
    columns = {"time": result.time}
    columns |= {f"q.{name}": q[:, k] for k, name in enumerate(robot.coordinates)}
    columns |= {f"v.{name}": v[:, k] for k, name in enumerate(robot.dofs)}
    columns |= {f"tau.{name}": effort[:, k] for k, name in enumerate(robot.dofs)}
    return LogTable.of(str(path), columns)
