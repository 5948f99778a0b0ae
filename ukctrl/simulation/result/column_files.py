"""Tables as NumPy arrays by name, and as the files that hold them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ukctrl.core.errors import InputError
from ukctrl.core.files.output_folders import remove_file
from ukctrl.simulation.result.atomic_files import atomic_replace

if TYPE_CHECKING:
    import pandas as pd

Columns = Mapping[str, NDArray[Any]]
"""Arrays of one length by the names of the columns; texts are objects."""
ROWS_PER_WRITE = 1000
"""Rows that are turned into text at a time."""


def write_csv(columns: Columns, path: Path) -> None:
    """Write a table as CSV: every number with all its digits, nothing where there is none (NaN)."""
    count = max(map(len, columns.values()), default=0)
    with atomic_replace(path) as file:
        target = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(columns)
        for first in range(0, count, ROWS_PER_WRITE):
            rows = zip(
                *(c[first : first + ROWS_PER_WRITE].tolist() for c in columns.values()), strict=True
            )
            # NaN alone differs from itself; pandas, too, leaves its field empty (decision 0159)
            writer.writerows([None if x != x else x for x in row] for row in rows)
        target.detach()


def write_parquet(columns: Columns, path: Path, units: Mapping[str, str] | None = None) -> bool:
    """Write a table as Parquet; return whether PyArrow is installed, without which there is none.

    Args:
        columns: The table.
        path: The file; an old one is removed where no new one takes its place.
        units: The unit of each column, for its metadata.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        remove_file(path)
        return False
    arrays, fields = [], []
    for name, column in columns.items():
        kind = pa.string() if column.dtype == object else None
        arrays.append(pa.array(column, kind, from_pandas=True))
        metadata = None if units is None else {"units": units.get(name, "")}
        fields.append(pa.field(name, arrays[-1].type, metadata=metadata))
    schema = pa.schema(fields, None if units is None else {"units": json.dumps(dict(units))})
    with atomic_replace(path) as file:
        pq.write_table(pa.table(arrays, schema=schema), file)
    return True


def data_frame(feature: str, columns: Columns, index: str | None = None) -> pd.DataFrame:
    """Return a table as a DataFrame of pandas.

    Args:
        feature: What asks for it, for the message.
        columns: The table.
        index: Which column the rows are known by; absent: their number.

    Raises:
        InputError: pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise missing_package_error(feature, "pandas") from None
    # all at once: column by column a wide table would be copied as often
    frame = pd.DataFrame(dict(columns))
    return frame if index is None else frame.set_index(index)


def csv_columns(text: str) -> Columns:
    """Return the columns of a table of comma-separated values: numbers where all are, NaN where
    there is none, else texts.
    """
    head, *rows = csv.reader(text.splitlines())
    return {name: _column(column) for name, *column in zip(head, *rows, strict=True)}


def _column(texts: list[str]) -> NDArray[Any]:
    try:
        return np.array([float(text) if text else np.nan for text in texts])
    except ValueError:
        return np.array(texts, dtype=object)


def missing_package_error(feature: str, package: str) -> InputError:
    """Return the error that says which extra brings what makes a labelled table."""
    return InputError(
        f"{feature} needs {package}, which is not installed; pip install 'ukctrl[tables]'."
    )
