"""Columns of numbers from a CSV file, with errors that name the file and the line."""

from __future__ import annotations

import csv
import math
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from ukctrl.core.arrays import Array
from ukctrl.core.errors import InputError, unknown_name
from ukctrl.core.message_text import literal_text

MAX_BYTES = 100_000_000
"""Largest file that is read."""


def read_columns(path: Path, time: str, columns: Sequence[str] | None) -> tuple[Array, Array]:
    """Return the instants (n,) and the components (n, size) of a CSV file with a header.

    Args:
        path: Comma-separated UTF-8 text; empty lines and lines that start with ``#`` are skipped.
        time: Name of the column of instants, which must increase.
        columns: Names of the columns of components; ``None``: all but the time.

    Raises:
        InputError: The file cannot be read, a column is missing, or a value is not a finite number.
    """
    rows = _rows(path)
    header = _header(rows)
    if not header:
        raise InputError(f"{path.name} must have a header and at least two rows of numbers.")
    repeated = sorted({name for name in header if header.count(name) > 1})
    if repeated:
        raise InputError(
            f"{path.name}: column {literal_text(repeated[0])} appears twice in the header."
        )
    chosen = [name for name in header if name != time] if columns is None else list(columns)
    if not chosen:
        raise InputError(f"{path.name} must have a column beside {literal_text(time)}.")
    for name in (time, *chosen):
        if name not in header:
            raise InputError(f"{path.name}: {unknown_name('column', name, header)}")
    indices = [header.index(name) for name in (time, *chosen)]
    numbers = array("d")  # eight bytes each: a list of texts takes a hundred
    for line, row in rows:
        new = _numbers(path, line, row, header, indices)
        if numbers and new[0] <= numbers[-len(indices)]:
            raise InputError(
                f"{path.name}, line {line}: {literal_text(time)} must increase; got {new[0]:g} "
                "after "
                f"{numbers[-len(indices)]:g}."
            )
        numbers.extend(new)
    values: Array = np.frombuffer(numbers).reshape(-1, len(indices))
    if len(values) < 2:
        raise InputError(f"{path.name} must have a header and at least two rows of numbers.")
    return values[:, 0].copy(), values[:, 1:].copy()


def read_header(path: Path) -> list[str]:
    """Return the names of the columns of a CSV file."""
    return _header(_rows(path))


def _header(rows: Iterator[tuple[int, list[str]]]) -> list[str]:
    return [name.strip() for name in next(rows, (0, []))[1]]


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are neither empty nor comments, with their line numbers."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path.name} must be smaller than {MAX_BYTES // 1_000_000} MB.")
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if any(cell.strip() for cell in row) and not row[0].lstrip().startswith("#"):
                    yield reader.line_num, row
    except UnicodeDecodeError:
        raise InputError(f"{path.name} must be text in UTF-8.") from None
    except csv.Error as error:
        raise InputError(f"{path.name} must be comma-separated text ({error}).") from None
    except OSError as error:
        raise InputError(f"{path.name} cannot be read ({error.strerror}).") from None


def _numbers(
    path: Path, line: int, row: list[str], header: list[str], indices: list[int]
) -> list[float]:
    if len(row) != len(header):
        raise InputError(
            f"{path.name}, line {line}: must have {len(header)} values, as the header; "
            f"got {len(row)}."
        )
    values = []
    for index in indices:
        try:
            value = float(row[index])
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise InputError(
                f"{path.name}, line {line}, column {literal_text(header[index])}: must be a finite "
                f"number; got {literal_text(row[index])}."
            )
        values.append(value)
    return values
